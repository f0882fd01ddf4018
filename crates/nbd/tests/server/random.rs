//! Whatever clients do, at random.

use std::time::Duration;

use parlour_nbd::{NbdError, Request};
use proptest::prelude::*;

use crate::common::rig::{Client, Rig};
use crate::common::*;

/// The next step of a client in the random test.
#[derive(Clone, Debug)]
enum Step {
    Write { client: usize, at: u64, length: usize },
    Read { client: usize, at: u64, length: u32 },
    Garbage { client: usize, bytes: Vec<u8> },
    Vanish { client: usize },
    Pull { client: usize },
    Complete { which: prop::sample::Index },
    Pass { seconds: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..3_usize;
    prop_oneof![
        6 => (client.clone(), 0..SIZE - 70_000, 1..66_000_usize)
            .prop_map(|(client, at, length)| Step::Write { client, at, length }),
        6 => (client.clone(), 0..SIZE - 70_000, 1..65_000_u32)
            .prop_map(|(client, at, length)| Step::Read { client, at, length }),
        1 => (client.clone(), prop::collection::vec(any::<u8>(), 1..100))
            .prop_map(|(client, bytes)| Step::Garbage { client, bytes }),
        1 => client.clone().prop_map(|client| Step::Vanish { client }),
        3 => client.prop_map(|client| Step::Pull { client }),
        8 => any::<prop::sample::Index>().prop_map(|which| Step::Complete { which }),
        1 => (0..12_u64).prop_map(|seconds| Step::Pass { seconds }),
    ]
}

fn take_step(rig: &mut Rig, clients: &mut [Client], step: Step) {
    match step {
        Step::Write { client, at, length } => clients[client].send(&write(0, at, at, &vec![7; length])),
        Step::Read { client, at, length } => clients[client].send(&request(READ, 0, at, at, length)),
        Step::Garbage { client, bytes } => clients[client].send(&bytes),
        Step::Vanish { client } => clients[client] = rig.open_or_not(),
        Step::Pull { client } => {
            clients[client].pull();
            clients[client].send(&[]);
        }
        Step::Complete { which } if !rig.memory.submitted.is_empty() => {
            let (token, request, _) =
                rig.memory.submitted.swap_remove(which.index(rig.memory.submitted.len()));
            let result =
                if matches!(request, Request::Read { offset: 0, .. }) { Err(NbdError::Eio) } else { Ok(()) };
            rig.server.complete(token, result, &mut rig.memory);
        }
        Step::Complete { .. } => {}
        Step::Pass { seconds } => rig.now += Duration::from_secs(seconds),
    }
    rig.turn();
}

impl Rig {
    /// A client that has completed its handshake, or was refused.
    fn open_or_not(&mut self) -> Client {
        let mut client = self.connect();
        client.send(&structured_opening());
        self.turn();
        client
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_clients_do_every_buffer_comes_back_once(
        credits in 1_usize..6,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut rig = Rig::new(limits(), credits);
        let mut clients: Vec<_> = (0..3).map(|_| rig.open_or_not()).collect();
        for step in steps {
            take_step(&mut rig, &mut clients, step);
            prop_assert!(rig.memory.in_use() <= credits);
        }
        drop(clients);
        rig.carry_out();
        rig.assert_nothing_held();
    }
}
