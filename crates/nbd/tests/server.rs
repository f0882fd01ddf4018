//! Tests of the server over real sockets: credits, clients that disconnect or stall, limits,
//! closing.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use common::rig::{Client, Rig};
use common::*;
use parlour_nbd::{Disconnect, Limits, ListenError, NbdError, Request, RequestToken};
use proptest::prelude::*;

const MIB: u32 = 1 << 20;

fn large() -> Limits {
    Limits { payload: MIB, ..limits() }
}

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

/// Regression test: 64 idle TCP connections of another user prevented the owner from connecting to
/// the Unix socket.
#[test]
fn the_owner_comes_in_through_the_unix_socket_however_many_came_by_tcp() -> io::Result<()> {
    let scratch = Scratch::new("owner")?;
    let mut rig = Rig::new(Limits { connections: 64, ..Limits::default() }, 4);
    rig.server.listen_unix(&scratch.socket()).expect("nothing is in the way");
    let address = rig.server.listen_tcp(([127, 0, 0, 1], 0).into()).expect("a port is free");
    let mut idle = Vec::new();
    for _ in 0..70 {
        let mut stream = std::net::TcpStream::connect(address)?;
        // A refused connection may have been closed already.
        let _ = io::Write::write_all(&mut stream, &simple_opening());
        idle.push(stream);
        rig.settle();
    }
    assert_eq!(rig.server.connections(), 32);
    for _ in 0..20 {
        idle.push(std::net::TcpStream::connect(address)?);
        rig.settle();
    }
    assert_eq!(rig.server.connections(), 32);
    let mut owner = Client::new(UnixStream::connect(scratch.socket())?);
    owner.send(&[simple_opening(), request(FLUSH, 0, 5, 0, 0)].concat());
    rig.carry_out();
    let replies = owner.receive().0;
    assert_eq!(Replies(replies[replies.len() - 16..].to_vec()).simple(), (0, 5));
    Ok(())
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

#[test]
fn a_group_is_let_in_by_the_sockets_mode_whatever_the_umask() -> io::Result<()> {
    use parlour_nbd::SocketAccess;
    let scratch = Scratch::new("group")?;
    let mut rig = Rig::new(limits(), 4);
    let group = rustix::process::getegid().as_raw();
    let access = SocketAccess { mode: 0o660, group: Some(group) };
    rig.server.listen_unix_for(&scratch.socket(), access).expect("nothing is in the way");
    let metadata = fs::metadata(scratch.socket())?;
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o660);
    assert_eq!(std::os::unix::fs::MetadataExt::gid(&metadata), group);
    assert_eq!(parlour_nbd::group_number("7").expect("a number"), 7);
    assert_eq!(parlour_nbd::group_number("root").expect("there is one everywhere"), 0);
    let refused = parlour_nbd::group_number("no such group").expect_err("there is none");
    assert!(refused.to_string().contains("no such group: no group of this name"), "{refused}");
    Ok(())
}

#[test]
fn connections_above_the_limit_are_closed_at_once() {
    let mut rig = Rig::new(limits(), 4);
    let clients: Vec<_> = (0..4).map(|_| rig.open(&simple_opening())).collect();
    let mut fifth = rig.connect();
    assert!(!fifth.pull());
    assert_eq!(rig.server.statistics().turned_away, 1);
    drop(clients);
    rig.settle();
    rig.open(&simple_opening());
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

/// A directory for one test, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("parlour-nbd-{name}-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_unix_socket_is_for_its_owner_only_and_goes_with_the_server() -> io::Result<()> {
    let scratch = Scratch::new("mode")?;
    let mut rig = Rig::new(limits(), 4);
    rig.server.listen_unix(&scratch.socket()).expect("nothing is in the way");
    assert_eq!(fs::metadata(scratch.socket())?.permissions().mode() & 0o7777, 0o600);
    let mut client = Client::new(UnixStream::connect(scratch.socket())?);
    client.send(&simple_opening());
    rig.settle();
    assert!(!client.receive().is_empty());
    drop(rig);
    assert!(!scratch.socket().exists());
    Ok(())
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_or_a_file_is_not() -> io::Result<()> {
    let scratch = Scratch::new("stale")?;
    drop(UnixListener::bind(scratch.socket())?);
    let mut first = Rig::new(limits(), 4);
    first.server.listen_unix(&scratch.socket()).expect("nobody listens");
    let mut second = Rig::new(limits(), 4);
    let refused = second.server.listen_unix(&scratch.socket());
    assert!(matches!(refused, Err(ListenError::InUse(_))));
    drop(first);
    fs::write(scratch.socket(), "precious")?;
    let refused = second.server.listen_unix(&scratch.socket());
    assert!(matches!(refused, Err(ListenError::NotASocket(_))));
    assert_eq!(fs::read(scratch.socket())?, b"precious");
    Ok(())
}

#[test]
fn a_tcp_client_is_served_by_a_loop_that_sleeps() -> io::Result<()> {
    use std::io::{Read, Write};
    let mut rig = Rig::new(limits(), 4);
    let address = rig.server.listen_tcp(([127, 0, 0, 1], 0).into()).expect("a port is free");
    let client = std::thread::spawn(move || -> io::Result<Vec<u8>> {
        let mut stream = std::net::TcpStream::connect(address)?;
        stream.write_all(&simple_opening())?;
        stream.write_all(&request(READ, 0, 1, 0, 60_000))?;
        stream.write_all(&request(DISC, 0, 0, 0, 0))?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all)?;
        Ok(all)
    });
    while rig.server.statistics().accepted == 0 || rig.server.connections() > 0 {
        let interest = rustix::event::PollFlags::IN;
        rustix::event::poll(&mut [rustix::event::PollFd::new(&rig.server, interest)], None)?;
        rig.carry_out();
    }
    let all = client.join().expect("the client does not panic")?;
    assert_eq!(all[all.len() - 60_000..], pattern(0, 60_000));
    rig.assert_nothing_held();
    Ok(())
}

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
