//! Unix and TCP sockets: who may connect, and how many.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::{fs, io};

use parlour_nbd::{Limits, ListenError};

use crate::common::rig::{Client, Rig};
use crate::common::*;

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
