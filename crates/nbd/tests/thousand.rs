//! Tests a thousand simultaneous connections, most of them of misbehaving clients. It is the only
//! test of its program, because it measures the memory of the whole process.

mod common;

use common::rig::{Client, Rig};
use common::*;
use parlour_nbd::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const CROWD: usize = 1000;
/// A buffer for each client that may be in the middle of a request.
const BUFFERS: usize = 1024;
const PAYLOAD: u32 = 64 << 10;
/// The memory that the server may use for a connection: 256 KiB of input, and about as much output.
const CONNECTION: u64 = 512 << 10;

/// The behaviour of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Sends its handshake and then a write one byte at a time.
    Slow,
    /// Requests more than its socket can hold, and reads nothing.
    Deaf,
    /// Sends invalid requests without end, and reads no replies.
    Babbling,
    /// Disconnects in the middle of a write.
    Vanishing,
    /// Completes the handshake, and does nothing more.
    Idle,
}

struct Member {
    manner: Manner,
    client: Client,
    to_send: Vec<u8>,
}

impl Member {
    fn new(index: usize, client: Client) -> Self {
        let (manner, behind) = match index % 10 {
            0..4 => (Manner::Slow, write(0, 7, 0, &[1; 100])),
            4 => (Manner::Deaf, vec![request(READ, 0, 1, 0, PAYLOAD); 8].concat()),
            5 => (Manner::Babbling, babble()),
            6..9 => (Manner::Vanishing, write(0, 1, 0, &[1; 5000])[..3000].to_vec()),
            _ => (Manner::Idle, Vec::new()),
        };
        Self { manner, client, to_send: [simple_opening(), behind].concat() }
    }

    /// Does one step. Returns false when the client disconnects.
    fn act(&mut self, round: usize) -> bool {
        match self.manner {
            Manner::Slow if self.to_send.is_empty() => {}
            Manner::Slow => {
                let byte = self.to_send.remove(0);
                self.client.send(&[byte]);
            }
            Manner::Vanishing if round > 100 => return false,
            _ if round == 0 => self.client.send(&self.to_send),
            // The socket is soon full. The server has to handle what the socket has accepted.
            Manner::Babbling if self.client.unsent.is_empty() => self.client.send(&babble()),
            _ => self.client.send(&[]),
        }
        true
    }
}

/// Requests of a command that does not exist.
fn babble() -> Vec<u8> {
    vec![request(99, 0, 1, 0, 0); 1 << 10].concat()
}

/// Raises the limit to two descriptors per connection, and some more.
fn raise_descriptor_limit() {
    let wanted = Some(2 * CROWD as u64 + 200);
    let limit = getrlimit(Resource::Nofile);
    let enough = |have: Option<u64>| have.is_none() || have >= wanted;
    if !enough(limit.current) {
        let maximum = if enough(limit.maximum) { limit.maximum } else { wanted };
        setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum })
            .expect("2200 descriptors are allowed");
    }
}

/// The anonymous memory of this process, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has a line for it");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number");
    kib << 10
}

/// Checks that requests of a well-behaved client are answered, whatever the others do.
fn assert_served(rig: &mut Rig, good: &mut Client, round: usize) {
    let offset = round as u64 * 100;
    good.send(&[write(0, 1, offset, &[round as u8; 100]), request(READ, 0, 2, offset, 100)].concat());
    rig.carry_out();
    let mut replies = good.receive();
    assert_eq!(replies.simple(), (0, 1));
    assert_eq!(replies.simple(), (0, 2));
    assert_eq!(replies.take(100), [round as u8; 100]);
    assert!(rig.memory.in_use() <= BUFFERS);
}

#[test]
fn a_thousand_connections_stay_within_the_bound_and_a_good_client_is_served_among_them() {
    raise_descriptor_limit();
    let before = memory();
    let limits =
        Limits { connections: CROWD + 1, handshakes: CROWD + 1, payload: PAYLOAD, held: PAYLOAD, ..limits() };
    let mut rig = Rig::new(limits, BUFFERS);
    let mut good = rig.open(&simple_opening());
    let mut crowd: Vec<Member> = (0..CROWD).map(|index| Member::new(index, rig.connect())).collect();
    assert_eq!(rig.server.connections(), CROWD + 1);
    for round in 0..200 {
        crowd.retain_mut(|member| member.act(round));
        rig.turn();
        assert_served(&mut rig, &mut good, round);
    }
    assert!(memory() < before + CROWD as u64 * CONNECTION + BUFFERS as u64 * u64::from(PAYLOAD));
    assert_eq!(rig.server.connections(), crowd.len() + 1, "those that vanished are gone, the others kept");
    assert_eq!(rig.server.statistics().turned_away, 0);

    // The server reads no more from clients that read no replies.
    let babbling = |member: &&Member| member.manner == Manner::Babbling;
    assert!(crowd.iter().filter(babbling).all(|member| !member.client.unsent.is_empty()));

    // The slow clients are served as well.
    for member in crowd.iter_mut().filter(|member| member.manner == Manner::Slow) {
        assert_eq!(member.client.receive().0[..8], *b"NBDMAGIC");
        member.client.send(&request(READ, 0, 9, 0, 100));
    }
    rig.carry_out();
    for member in crowd.iter_mut().filter(|member| member.manner == Manner::Slow) {
        assert_eq!(member.client.receive().0.len(), 16 + 100);
    }
    drop((crowd, good));
    rig.carry_out();
    rig.assert_nothing_held();
}
