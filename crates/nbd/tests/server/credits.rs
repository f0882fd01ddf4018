//! Requests, and the memory that they may take.

use std::time::Duration;

use parlour_nbd::Limits;

use crate::common::rig::{Client, Rig};
use crate::common::*;
use crate::{MIB, large};

#[test]
fn what_is_written_is_read_back() {
    let mut rig = Rig::new(limits(), 8);
    for opening in [simple_opening(), structured_opening()] {
        let mut client = rig.open(&opening);
        client.send(&[write(0, 1, 4096, &[9; 5000]), request(READ, 0, 2, 4000, 6000)].concat());
        rig.carry_out();
        let mut replies = client.receive();
        assert_eq!(replies.simple(), (0, 1));
        let data = if opening == simple_opening() {
            assert_eq!(replies.simple(), (0, 2));
            replies.take(6000)
        } else {
            replies.chunk().2[8..].to_vec()
        };
        assert_eq!(data[..96], pattern(4000, 96));
        assert_eq!(data[96..5096], [9; 5000]);
        assert!(replies.is_empty());
    }
    assert_eq!(rig.memory.in_use(), 0);
}

#[test]
fn payloads_larger_than_the_sockets_buffer_pass_in_pieces() {
    let mut rig = Rig::new(large(), 8);
    let mut client = rig.open(&simple_opening());
    let data: Vec<u8> = (0..MIB).map(|at| (at / 7 % 256) as u8).collect();
    client.send(
        &[write(0, 1, 0, &data), request(READ, 0, 2, 0, MIB), write(0, 3, 0, &data[..70_000])].concat(),
    );
    let expected = 3 * 16 + MIB as usize;
    while client.received() < expected {
        rig.carry_out();
        client.send(&[]);
        assert!(client.pull());
    }
    let mut replies = client.receive();
    assert_eq!(replies.simple(), (0, 1));
    assert_eq!(replies.simple(), (0, 2));
    assert_eq!(replies.take(MIB as usize), data);
    assert_eq!(replies.simple(), (0, 3));
    assert_eq!(rig.memory.in_use(), 0);
}

#[test]
fn without_credit_a_connection_is_not_read_while_others_go_on() {
    let mut rig = Rig::new(limits(), 2);
    let mut greedy = rig.open(&simple_opening());
    let mut modest = rig.open(&simple_opening());
    let writes: Vec<u8> = (0..200).flat_map(|cookie| write(0, cookie, 0, &vec![1; 60_000])).collect();
    greedy.send(&writes);
    for _ in 0..10 {
        rig.settle();
        greedy.send(&[]);
    }
    assert_eq!((rig.memory.submitted.len(), rig.memory.in_use()), (2, 2));
    assert_eq!(rig.server.starved(), 1);
    assert!(!greedy.is_writable(), "what is not read piles up at the client");
    modest.send(&request(FLUSH, 0, 5, 0, 0));
    rig.settle();
    assert_eq!(rig.memory.submitted.len(), 3);
    let (token, ..) = rig.memory.submitted.remove(2);
    rig.server.complete(token, Ok(()), &mut rig.memory);
    rig.settle();
    assert_eq!(modest.receive().simple(), (0, 5));
    // A client that waits for the server is not late.
    rig.pass(Duration::from_secs(1000));
    assert_eq!(rig.server.connections(), 2);

    while greedy.received() < 200 * 16 {
        rig.carry_out();
        greedy.send(&[]);
        assert!(greedy.pull());
        assert!(rig.memory.in_use() <= 2);
    }
    let mut replies = greedy.receive();
    (0..200).for_each(|cookie| assert_eq!(replies.simple(), (0, cookie)));
}

#[test]
fn the_starved_are_served_in_turn() {
    let mut rig = Rig::new(limits(), 1);
    let mut clients = [(); 3].map(|()| rig.open(&simple_opening()));
    for client in &mut clients {
        (0..3).for_each(|cookie| client.send(&request(READ, 0, cookie, 0, 4096)));
    }
    rig.settle();
    for _ in 0..4 {
        let (token, ..) = rig.memory.submitted.pop().expect("one has the credit");
        rig.server.complete(token, Ok(()), &mut rig.memory);
        rig.settle();
    }
    let served = clients.each_mut().map(|client| client.receive().0.len() / (16 + 4096));
    assert_eq!(served, [2, 1, 1], "who had a turn goes behind who had none");
}

#[test]
fn requests_above_the_limit_wait_in_the_socket() {
    let mut rig = Rig::new(limits(), 100);
    let mut client = rig.open(&simple_opening());
    let flushes: Vec<u8> = (0..100).flat_map(|cookie| request(FLUSH, 0, cookie, 0, 0)).collect();
    client.send(&flushes);
    rig.settle();
    assert_eq!(rig.memory.submitted.len(), 8);
    rig.carry_out();
    assert_eq!(client.receive().0.len(), 100 * 16);
}

#[test]
fn a_client_that_stops_reading_leaves_memory_to_the_others() {
    let mut rig = Rig::new(Limits { held: 4 << 16, in_flight: 100, ..limits() }, 8);
    let mut deaf = rig.open(&simple_opening());
    let mut other = rig.open(&simple_opening());
    deaf.send(&(0..100).flat_map(|cookie| request(READ, 0, cookie, 0, 1 << 16)).collect::<Vec<u8>>());
    rig.carry_out();
    assert_eq!((rig.memory.in_use(), rig.server.starved()), (4, 0), "no more than it may hold");
    other.send(&[write(0, 1, 0, &[1; 60_000]), request(READ, 0, 2, 60_000, 60_000)].concat());
    rig.carry_out();
    assert_eq!(other.receive().0.len(), 16 + 16 + 60_000);
    // When the client reads again, it gets all replies.
    while deaf.received() < 100 * (16 + (1 << 16)) {
        assert!(deaf.pull());
        rig.carry_out();
    }
    assert_eq!(rig.memory.in_use(), 0);
}

#[test]
fn a_request_above_what_a_connection_may_hold_is_carried_out_alone() {
    let mut rig = Rig::new(Limits { held: 1000, ..limits() }, 8);
    let mut client = rig.open(&simple_opening());
    client
        .send(&[write(0, 1, 0, &[1; 4096]), write(0, 2, 0, &[2; 4096]), request(FLUSH, 0, 3, 0, 0)].concat());
    rig.settle();
    assert_eq!((rig.memory.submitted.len(), rig.memory.in_use()), (1, 1));
    rig.carry_out();
    let mut replies = client.receive();
    (1..4).for_each(|cookie| assert_eq!(replies.simple(), (0, cookie)));
}

#[test]
fn many_that_keep_memory_without_moving_have_to_make_room_soon() {
    let mut rig = Rig::new(Limits { connections: 5, held: 1, ..large() }, 4);
    let read = request(READ, 0, 1, 0, MIB);
    let mut reader = rig.open(&simple_opening());
    let mut stalled: Vec<Client> = (0..3).map(|_| rig.open(&simple_opening())).collect();
    stalled[0].send(&write(0, 1, 0, &vec![1; 60_000])[..30_000]);
    stalled[1..].iter_mut().for_each(|deaf| deaf.send(&read));
    reader.send(&read);
    rig.carry_out();
    rig.pass(Duration::from_secs(2));
    assert_eq!((rig.memory.in_use(), rig.server.starved()), (4, 0), "nobody waits for their memory");
    assert!(reader.pull());
    rig.settle();
    let mut waiting = rig.open(&simple_opening());
    waiting.send(&request(READ, 0, 2, 0, 4096));
    rig.settle();
    assert_eq!((rig.memory.in_use(), rig.server.starved()), (4, 1));
    assert!(rig.server.deadline().is_some_and(|deadline| deadline <= rig.now + Duration::from_secs(3)));
    rig.pass(Duration::from_secs(3));
    rig.carry_out();
    assert_eq!(waiting.receive().0.len(), 16 + 4096);
    assert_eq!(rig.server.statistics().timed_out, 3);
    assert_eq!(rig.server.connections(), 2, "the one that reads, slowly, is kept");
    while reader.received() < 16 + MIB as usize {
        assert!(reader.pull());
        rig.settle();
    }
}
