//! Clients that disconnect or vanish, and the end of the server.

use parlour_nbd::{Disconnect, NbdError, RequestToken};

use crate::common::rig::Rig;
use crate::common::*;
use crate::{MIB, large};

#[test]
fn a_vanished_client_releases_everything_once_its_requests_are_complete() {
    let mut rig = Rig::new(limits(), 8);
    let mut client = rig.open(&simple_opening());
    let half = write(0, 3, 0, &[1; 4096])[..1000].to_vec();
    client.send(&[request(READ, 0, 1, 0, 4096), write(0, 2, 0, &[1; 4096]), half].concat());
    rig.settle();
    assert_eq!((rig.memory.submitted.len(), rig.memory.in_use()), (2, 3));
    drop(client);
    rig.settle();
    assert_eq!(rig.server.connections(), 0);
    assert_eq!(rig.memory.in_use(), 2, "the backend still works on these");
    assert_eq!(rig.server.in_flight(), 2);
    rig.carry_out();
    rig.assert_nothing_held();
}

#[test]
fn a_client_that_vanishes_while_starved_or_not_reading_releases_everything() {
    let mut rig = Rig::new(large(), 4);
    let mut client = rig.open(&simple_opening());
    let reads: Vec<u8> = (0..8).flat_map(|cookie| request(READ, 0, cookie, 0, MIB)).collect();
    client.send(&reads);
    rig.carry_out();
    assert_eq!((rig.memory.in_use(), rig.server.starved()), (4, 1), "replies wait for the client");
    drop(client);
    rig.carry_out();
    rig.assert_nothing_held();
}

#[test]
fn completions_for_the_past_are_recognised() {
    let mut rig = Rig::new(limits(), 8);
    let mut client = rig.open(&simple_opening());
    client.send(&request(FLUSH, 0, 1, 0, 0));
    rig.settle();
    let (token, ..) = rig.memory.submitted.remove(0);
    drop(client);
    rig.settle();
    rig.server.complete(token, Ok(()), &mut rig.memory);
    let mut next = rig.open(&simple_opening());
    next.send(&request(FLUSH, 0, 2, 0, 0));
    rig.settle();
    for stray in [token, RequestToken::from_bits(0), RequestToken::from_bits(u64::MAX)] {
        rig.server.complete(stray, Err(NbdError::Eio), &mut rig.memory);
    }
    rig.settle();
    assert!(next.receive().is_empty());
    rig.carry_out();
    assert_eq!(next.receive().simple(), (0, 2));
}

#[test]
fn a_client_that_breaks_the_protocol_is_disconnected_and_counted() {
    let mut rig = Rig::new(limits(), 4);
    let mut client = rig.open(&simple_opening());
    client.send(&[request(READ, 0, 1, 0, 4096), vec![0; 28]].concat());
    rig.settle();
    assert!(!client.pull());
    let statistics = rig.server.statistics();
    assert_eq!((statistics.violations, statistics.last_violation), (1, Some(Disconnect::RequestMagic(0))));
    rig.carry_out();
    rig.assert_nothing_held();
}

#[test]
fn disc_is_carried_out_after_what_is_in_flight() {
    let mut rig = Rig::new(limits(), 4);
    let mut client = rig.open(&simple_opening());
    client.send(&[request(READ, 0, 1, 0, 4096), request(DISC, 0, 0, 0, 0)].concat());
    rig.settle();
    assert_eq!(rig.server.connections(), 1);
    rig.carry_out();
    assert!(!client.pull());
    assert_eq!(client.received(), 16 + 4096);
    rig.assert_nothing_held();
}

#[test]
fn abort_is_acknowledged_before_the_socket_closes() {
    let mut rig = Rig::new(limits(), 4);
    let mut client = rig.connect();
    client.send(&[client_flags(3), option(ABORT, &[])].concat());
    rig.settle();
    assert!(!client.pull());
    assert_eq!(client.received(), 18 + 20);
    rig.assert_nothing_held();
}

#[test]
fn draining_answers_what_is_in_flight_and_closes() {
    let mut rig = Rig::new(limits(), 4);
    let mut busy = rig.open(&simple_opening());
    let mut idle = rig.open(&simple_opening());
    let half = write(0, 2, 0, &[1; 4096])[..1000].to_vec();
    busy.send(&[request(READ, 0, 1, 0, 4096), half].concat());
    rig.settle();
    rig.server.drain(&mut rig.memory);
    assert!(!idle.pull());
    assert_eq!((rig.server.connections(), rig.memory.in_use()), (1, 1));
    assert!(!rig.connect().pull());
    rig.carry_out();
    assert!(!busy.pull());
    assert_eq!(busy.received(), 16 + 4096);
    rig.assert_nothing_held();
}

#[test]
fn closing_connections_leaves_only_what_is_in_flight() {
    let mut rig = Rig::new(limits(), 4);
    let mut client = rig.open(&simple_opening());
    client.send(&request(READ, 0, 1, 0, 4096));
    rig.settle();
    rig.server.close_connections(&mut rig.memory);
    assert!(!client.pull());
    assert_eq!((rig.server.connections(), rig.server.in_flight()), (0, 1));
    rig.carry_out();
    rig.assert_nothing_held();
}
