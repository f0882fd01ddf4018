//! Commands to a server: JSON lines over a Unix socket beside the members. `docs/control.md`
//! describes them.

mod client;
mod connection;
mod error;
mod find;
mod message;
mod socket;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use parlour_array::Identity;
use parlour_units::{Duration, Instant};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::Access;
use rustix::io::Errno;
use serde_json::Value;

pub use client::call;
use connection::Connection;
pub use error::ControlError;
pub use find::{listening, process_behind, socket_of, sockets_in};
pub use message::{Repairing, Request, Response};
use socket::Listener;

/// The most connections at once. One more closes the connection that was silent the longest; a
/// connection that waits for an answer is closed last.
const CONNECTIONS: usize = 16;
/// A connection that is silent this long, and waits for no answer, is closed.
const SILENCE: Duration = Duration::from_secs(30);
/// Marks the listener's events. Other values are indices of connections.
const LISTENER: u64 = u64::MAX;

/// Identifies a client until its connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientId {
    place: usize,
    generation: u64,
}

/// The server's side of the control socket.
#[derive(Debug)]
pub(crate) struct Control {
    listener: Option<Listener>,
    path: PathBuf,
    epoll: OwnedFd,
    connections: Vec<Option<Connection>>,
    generation: u64,
    requests: VecDeque<(ClientId, Request)>,
    now: Instant,
}

/// The usual path of the control socket of `array`: beside its first member, or under /run if that
/// is a device.
pub fn path_for(first_member: &Path, array: Identity) -> PathBuf {
    let name = socket_name(array);
    let absolute = std::path::absolute(first_member).unwrap_or_else(|_| first_member.to_owned());
    match absolute.parent() {
        Some(directory) if !directory.starts_with("/dev") || directory.starts_with("/dev/shm") => {
            directory.join(name)
        }
        _ => Path::new("/run/parlour").join(name),
    }
}

/// The path of the control socket of `array`. It is the path of [`path_for`] if a socket can be
/// made there. It cannot on a read-only file system, in another user's directory, or if the path is
/// too long. The socket is then made in the system's directory for run-time files:
/// `$XDG_RUNTIME_DIR`, or `/run/parlour` for root.
pub fn place_for(first_member: &Path, array: Identity) -> PathBuf {
    let usual = path_for(first_member, array);
    let fits = usual.as_os_str().len() <= LONGEST_PATH && usual.parent().is_some_and(may_be_written);
    let runtime = match rustix::process::geteuid().is_root() {
        true => Some(PathBuf::from("/run/parlour")),
        false => std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
    };
    runtime.filter(|_| !fits).map_or(usual, |directory| directory.join(socket_name(array)))
}

/// The longest path of a socket, in bytes.
const LONGEST_PATH: usize = 107;

/// Whether a socket can be made in `directory`. `/run/parlour` may also be missing, if it can be
/// made.
fn may_be_written(directory: &Path) -> bool {
    match rustix::fs::access(directory, Access::WRITE_OK) {
        Err(Errno::NOENT) if directory == Path::new("/run/parlour") => may_be_written(Path::new("/run")),
        Err(Errno::ROFS | Errno::ACCESS) => false,
        // Other errors are reported when the socket is made.
        _ => true,
    }
}

/// The file name of the control socket.
fn socket_name(array: Identity) -> String {
    format!("parlour-{}.sock", &array.to_string()[..8])
}

impl Control {
    /// Listens at `path`, with mode 0600. A socket on which no server listens is replaced.
    pub(crate) fn listen(path: &Path) -> Result<Control, ControlError> {
        let listener = Listener::new(path)?;
        let failed = |errno: Errno| ControlError::Io { path: path.into(), source: errno.into() };
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        epoll::add(&epoll, listener.socket(), EventData::new_u64(LISTENER), EventFlags::IN)
            .map_err(failed)?;
        Ok(Control {
            listener: Some(listener),
            path: path.into(),
            epoll,
            connections: Vec::new(),
            generation: 0,
            requests: VecDeque::new(),
            now: Instant::ZERO,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn wait_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// When the next silent connection is to be closed.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.connections.iter().flatten().filter_map(|connection| connection.deadline(SILENCE)).min()
    }

    /// Accepts connections, reads commands, and sends answers that could not be sent before.
    pub(crate) fn poll(&mut self, now: Instant) -> io::Result<()> {
        self.now = now;
        let nothing = epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [nothing; CONNECTIONS + 1];
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let count = match epoll::wait(&self.epoll, &mut events[..], Some(&zero)) {
            Err(Errno::INTR) => 0,
            count => count?,
        };
        for event in &events[..count] {
            match event.data.u64() {
                LISTENER => self.accept(),
                place => self.serve(place as usize),
            }
        }
        for place in 0..self.connections.len() {
            let late = |connection: &Connection| connection.deadline(SILENCE).is_some_and(|due| due <= now);
            if self.connections[place].as_ref().is_some_and(late) {
                self.connections[place] = None;
            }
        }
        Ok(())
    }

    /// The next command.
    pub(crate) fn next(&mut self) -> Option<(ClientId, Request)> {
        self.requests.pop_front()
    }

    /// Answers a client, if it is still connected.
    pub(crate) fn answer(&mut self, client: ClientId, answer: Result<Value, String>) {
        let connection = self.connections.get_mut(client.place).and_then(Option::as_mut);
        let Some(connection) = connection.filter(|connection| connection.generation == client.generation)
        else {
            return;
        };
        connection.answer(self.now, answer);
        self.serve(client.place);
    }

    /// Answers all waiting clients and closes the socket. The answer contains the reason if the
    /// array could not be stopped.
    pub(crate) fn end(&mut self, result: Result<(), String>) {
        let answer = result.map(|()| serde_json::json!({ "stopped": true }));
        for connection in self.connections.iter_mut().flatten() {
            if connection.is_waiting() {
                connection.answer(self.now, answer.clone());
                // If the socket's buffer is full the answer is dropped: the client does not read.
                let _ = connection.send();
            }
        }
        self.connections.clear();
        self.listener = None;
    }

    fn accept(&mut self) {
        while let Some(Ok(socket)) = self.listener.as_ref().map(Listener::accept) {
            let place = self.make_room();
            self.generation += 1;
            let data = EventData::new_u64(place as u64);
            if epoll::add(&self.epoll, &socket, data, EventFlags::IN).is_ok() {
                self.connections[place] = Some(Connection::new(socket, self.generation, self.now));
            }
        }
    }

    /// The index of a free connection. If none is free, the connection that was silent the longest
    /// is closed. A command that its client sent is still carried out.
    fn make_room(&mut self) -> usize {
        if let Some(place) = self.connections.iter().position(Option::is_none) {
            return place;
        }
        if self.connections.len() < CONNECTIONS {
            self.connections.push(None);
            return self.connections.len() - 1;
        }
        let silent = |place: &usize| {
            let connection = self.connections[*place].as_ref();
            connection.map(|connection| (connection.is_waiting(), connection.last_heard()))
        };
        let place = (0..CONNECTIONS).min_by_key(silent).unwrap_or(0);
        self.connections[place] = None;
        place
    }

    /// Sends and receives on one connection, and closes it when it is over.
    fn serve(&mut self, place: usize) {
        let Some(connection) = self.connections.get_mut(place).and_then(Option::as_mut) else { return };
        let client = ClientId { place, generation: connection.generation };
        let now = self.now;
        let requests = &mut self.requests;
        if connection.exchange(now, |request| requests.push_back((client, request))).is_err() {
            self.connections[place] = None;
            return;
        }
        let (wanted, socket) = (connection.wanted(), connection.socket());
        if epoll::modify(&self.epoll, socket, EventData::new_u64(place as u64), wanted).is_err() {
            self.connections[place] = None;
        }
    }
}
