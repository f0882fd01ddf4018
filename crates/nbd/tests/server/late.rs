//! Clients that stall, or are slow.

use std::time::Duration;

use crate::common::rig::Rig;
use crate::common::*;
use crate::{MIB, large};

#[test]
fn a_client_that_stops_reading_is_dropped_and_its_credits_return() {
    let mut rig = Rig::new(large(), 4);
    let mut client = rig.open(&simple_opening());
    let reads: Vec<u8> = (0..4).flat_map(|cookie| request(READ, 0, cookie, 0, MIB)).collect();
    client.send(&reads);
    rig.carry_out();
    assert_eq!(rig.memory.in_use(), 4);
    rig.pass(Duration::from_secs(29));
    assert_eq!((rig.server.connections(), rig.memory.in_use()), (1, 4));
    rig.pass(Duration::from_secs(1));
    rig.assert_nothing_held();
    assert_eq!(rig.server.statistics().timed_out, 1);
}

#[test]
fn a_client_that_reads_slowly_is_kept() {
    let mut rig = Rig::new(large(), 4);
    let mut client = rig.open(&simple_opening());
    client.send(&request(READ, 0, 1, 0, MIB));
    rig.carry_out();
    while client.received() < 16 + MIB as usize {
        rig.pass(Duration::from_secs(29));
        assert!(client.pull());
        rig.settle();
    }
    assert_eq!(rig.memory.in_use(), 0);
}

#[test]
fn a_client_that_stalls_in_a_payload_is_dropped() {
    for length in [4096, u32::MAX] {
        let mut rig = Rig::new(limits(), 4);
        let mut client = rig.open(&simple_opening());
        client.send(&[request(WRITE, 0, 1, 0, length), vec![0; 100]].concat());
        rig.settle();
        rig.pass(Duration::from_secs(29));
        client.send(&[0]);
        rig.settle();
        assert_eq!(rig.server.connections(), 1);
        rig.pass(Duration::from_secs(1));
        rig.assert_nothing_held();
    }
}

#[test]
fn an_idle_client_is_kept_and_a_late_handshake_dropped() {
    let mut rig = Rig::new(limits(), 4);
    let mut idle = rig.open(&simple_opening());
    let mut late = rig.connect();
    late.send(&client_flags(3));
    rig.settle();
    rig.pass(Duration::from_secs(9));
    assert_eq!(rig.server.deadline(), Some(rig.now + Duration::from_secs(1)));
    assert!(late.pull());
    rig.pass(Duration::from_secs(1));
    late.pull();
    assert!(!late.pull());
    rig.pass(Duration::from_secs(100_000));
    assert!(idle.pull());
    assert_eq!(rig.server.connections(), 1);
    assert_eq!(rig.server.deadline(), None);
}

#[test]
fn handshakes_that_stand_still_keep_nobody_out() {
    let mut rig = Rig::new(limits(), 4);
    let idle = rig.open(&simple_opening());
    let stalled: Vec<_> = (0..4).map(|_| rig.connect()).collect();
    let mut client = rig.open(&simple_opening());
    client.send(&request(FLUSH, 0, 5, 0, 0));
    rig.carry_out();
    assert_eq!(client.receive().simple(), (0, 5));
    assert_eq!(rig.server.statistics().displaced, 2);
    drop((idle, stalled));
}

/// Regression test: a process that had been stopped for 33 seconds checked deadlines before it
/// read, and reset a client that had sent its whole write by then.
#[test]
fn what_has_come_while_the_process_was_stopped_is_read_before_anybody_is_late() {
    let mut rig = Rig::new(limits(), 4);
    let mut client = rig.open(&simple_opening());
    let bytes = write(0, 1, 0, &[5; 60_000]);
    client.send(&bytes[..1_000]);
    rig.settle();
    client.send(&bytes[1_000..]);
    rig.now += Duration::from_secs(33);
    rig.carry_out();
    assert_eq!(client.receive().simple(), (0, 1));
    assert_eq!(rig.server.statistics().timed_out, 0);
}

#[test]
fn the_time_for_which_the_process_was_stopped_is_not_the_clients() {
    let mut rig = Rig::new(large(), 4);
    let mut sender = rig.open(&simple_opening());
    let mut greeted = rig.connect();
    let bytes = write(0, 1, 0, &vec![5; MIB as usize]);
    sender.send(&bytes[..40_000]);
    rig.settle();
    // The client could send no more than the socket accepts.
    sender.send(&bytes[40_000..50_000]);
    rig.now += Duration::from_secs(3_600);
    rig.settle();
    assert_eq!(rig.server.connections(), 2);
    rig.pass(Duration::from_secs(7));
    greeted.send(&simple_opening());
    rig.pass(Duration::from_secs(20));
    sender.send(&bytes[50_000..]);
    while !sender.unsent.is_empty() {
        rig.settle();
        sender.send(&[]);
    }
    rig.carry_out();
    assert_eq!(sender.receive().simple(), (0, 1));
    // A client that sends nothing is late nevertheless.
    sender.send(&bytes[..40_000]);
    rig.settle();
    rig.pass(Duration::from_secs(30));
    assert_eq!((rig.server.connections(), rig.server.statistics().timed_out), (1, 1));
}
