//! Tests of the control socket and of hostile clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::host::host;
use crate::common::on_disk;
use crate::common::rig::{MEMBERS, create, member_paths, open, serve};
use parlour_array::organization::NAMED;
use parlour_engine::control::{ControlError, Request, call, path_for};
use parlour_engine::{ServeError, ServeOptions, Server};

fn array(directory: &Path) -> Vec<PathBuf> {
    let members = member_paths(directory, MEMBERS);
    create(&NAMED[6], &members);
    members
}

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
    stream
}

fn line(stream: &UnixStream) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    line
}

#[test]
fn the_socket_is_beside_the_members_and_for_its_owner_only() {
    let directory = on_disk();
    let members = array(directory.path());
    let served = serve(&members);
    assert_eq!(served.control.parent(), Some(directory.path()));
    let mode = std::fs::metadata(&served.control).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let path = served.control.clone();
    served.stop();
    assert!(!path.exists(), "it is removed with the server");
    assert!(matches!(call(&path, &Request::Status), Err(ControlError::NoServer { .. })));
}

#[test]
fn arrays_on_devices_are_controlled_under_run() {
    let identity = parlour_array::Identity([0xab; 16]);
    let path = path_for(Path::new("/dev/disk/by-id/x"), identity);
    assert_eq!(path, Path::new("/run/parlour/parlour-abababab.sock"));
    let path = path_for(Path::new("/srv/x"), identity);
    assert_eq!(path, Path::new("/srv/parlour-abababab.sock"));
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let directory = on_disk();
    let members = array(directory.path());
    let opened = open(&members).expect("it opens");
    let path = opened.control_path();
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("it can be bound");
    let options = || ServeOptions { control: Some(path.clone()), ..ServeOptions::default() };
    let refused = Server::new(opened, host(None).1, options());
    assert!(matches!(refused, Err(ServeError::Control(ControlError::InUse { .. }))));
    drop(refused);
    drop(listener);
    let served = serve(&members);
    served.status();
    served.stop();
}

#[test]
fn stop_is_answered_when_the_array_is_stopped() {
    let directory = on_disk();
    let members = array(directory.path());
    let served = serve(&members);
    let answer = served.command(&Request::Stop).expect("it stops");
    assert_eq!(answer["stopped"], true);
    served.join();
    let notes = open(&members).expect("it opens").notes().len();
    assert_eq!(notes, 0, "it was shut down cleanly");
}

#[test]
fn several_commands_on_one_connection_are_answered_in_order() {
    let directory = on_disk();
    let served = serve(&array(directory.path()));
    let mut stream = connect(&served.control);
    stream
        .write_all(b"{\"command\":\"scrub-status\"}\n{\"command\":\"fail\",\"member\":77}\n")
        .expect("sent");
    let mut lines = BufReader::new(&stream).lines();
    let mut next = || lines.next().expect("an answer").expect("a line");
    assert!(next().starts_with(r#"{"ok":"#));
    assert!(next().starts_with(r#"{"error":"the array has no member 77"#));
    drop(stream);
    served.stop();
}

#[test]
fn clients_that_stall_or_send_garbage_cost_themselves_only() {
    let directory = on_disk();
    let served = serve(&array(directory.path()));
    let mut garbage = connect(&served.control);
    garbage.write_all(b"\xff\x00nonsense\n").expect("sent");
    assert!(line(&garbage).starts_with(r#"{"error":"not a command"#));
    let mut unknown = connect(&served.control);
    unknown.write_all(b"{\"command\":\"fail\",\"membre\":1}\n").expect("sent");
    assert!(line(&unknown).contains("membre"), "a misspelt key is named");
    let mut endless = connect(&served.control);
    let _ = endless.write_all(&vec![b'x'; 1 << 20]);
    let mut rest = Vec::new();
    // The server closes the connection; the client sees its end or a reset.
    let _ = endless.read_to_end(&mut rest);
    assert!(rest.is_empty());
    let stalled: Vec<UnixStream> = (0..40)
        .map(|_| {
            let mut stream = connect(&served.control);
            let _ = stream.write_all(b"{\"comm");
            stream
        })
        .collect();
    served.status();
    served.host.write(0, &[1; 512]).expect("hosts are served");
    drop(stalled);
    served.stop();
}
