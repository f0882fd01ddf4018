//! Non-blocking sockets around [`Connection`](crate::Connection), driven by the owner's event loop.

mod backend;
mod listener;
mod outbox;
mod peer;
mod places;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

pub use backend::{Backend, BufferHandle, RequestToken};
use listener::Listener;
pub use listener::{SocketAccess, group_number};
use peer::{Answer, Pause, Peer, Turn};
use places::{Occupant, Verdict, Who, judge};

use crate::error::{Disconnect, ListenError, NbdError};
use crate::export::Terms;
use crate::request::Extent;

/// The most events handled in one [`Server::poll`].
const EVENTS: usize = 64;
/// The most connections accepted for one event.
const ACCEPTS: usize = 16;
/// How long accepting pauses when the process has no free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(250);
/// While a client's time limit runs, the owner should call at least this often. Of a longer
/// interval between calls, at most twice this time counts: time in which the process was stopped
/// does not count against the clients.
const TICK: Duration = Duration::from_secs(1);
/// Marks the event of a listener. Other values are indices of peers.
const LISTENER: u64 = 1 << 63;

/// Counters since the server was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Connections accepted and served.
    pub accepted: u64,
    /// Connections closed at once because a limit was reached.
    pub turned_away: u64,
    /// Connections closed in their handshake to make room for others.
    pub displaced: u64,
    /// Connections closed because the client made no progress in time.
    pub timed_out: u64,
    /// Connections closed because the client violated the protocol.
    pub violations: u64,
    /// The last of these violations.
    pub last_violation: Option<Disconnect>,
}

/// Serves one export on any number of listening sockets, on its owner's thread.
///
/// The owner waits until the server's descriptor ([`AsFd`]) is readable or the
/// [`deadline`](Self::deadline) has passed. Then it calls [`poll`](Self::poll), lets the backend
/// work, reports completed requests with [`complete`](Self::complete), and calls
/// [`flush_replies`](Self::flush_replies) once per turn of the loop. When buffers were released
/// after the backend refused one, it calls [`resume`](Self::resume).
///
/// In steady state nothing is allocated per request, and a batch of requests costs one receiving
/// and one sending system call. The memory of a connection is bounded by 256 KiB of input, about as
/// much output, and [`Limits::held`](crate::Limits::held) bytes of the backend's buffers.
pub struct Server {
    turn: Turn,
    /// The time of the owner's last call, on its clock. [`Turn::now`] advances only with these
    /// calls.
    called: Option<Duration>,
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    listeners: Vec<Listener>,
    /// The time until which no connection is accepted, because there were no free descriptors.
    accept_pause: Option<Duration>,
    /// The connections by index. A peer keeps its index until its last request in flight has
    /// completed.
    peers: Vec<Option<Box<Peer>>>,
    free: Vec<u16>,
    /// The number of peers whose socket is open.
    open: usize,
    dirty: Vec<u16>,
    runnable: Vec<u16>,
    starved: VecDeque<u16>,
    /// No peer is closed for its time limit before this time.
    next_deadline: Option<Duration>,
    /// Some ready sockets were not handled yet, so no client is considered late.
    more_is_ready: bool,
    draining: bool,
    statistics: Statistics,
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Server {
    /// A server that does not listen yet.
    ///
    /// # Errors
    /// If there is no free descriptor.
    pub fn new(terms: Terms) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let nothing = epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Ok(Self {
            turn: Turn { terms, now: Duration::ZERO, generation: 0 },
            called: None,
            epoll,
            events: vec![nothing; EVENTS],
            listeners: Vec::new(),
            accept_pause: None,
            peers: Vec::new(),
            free: Vec::new(),
            open: 0,
            dirty: Vec::new(),
            runnable: Vec::new(),
            starved: VecDeque::new(),
            next_deadline: None,
            more_is_ready: false,
            draining: false,
            statistics: Statistics::default(),
        })
    }

    /// Listens on a Unix socket with mode 0600, which is removed with the server. A stale one is
    /// replaced.
    ///
    /// # Errors
    /// If another server listens there, another file is in the way, or a system call fails.
    pub fn listen_unix(&mut self, path: &Path) -> Result<(), ListenError> {
        self.listen_unix_for(path, SocketAccess::default())
    }

    /// The same, with the permissions of `access`.
    ///
    /// # Errors
    /// As [`listen_unix`](Self::listen_unix), or if the group cannot be set.
    pub fn listen_unix_for(&mut self, path: &Path, access: SocketAccess) -> Result<(), ListenError> {
        let failed = |source| ListenError::Io { address: path.display().to_string(), source };
        let listener = Listener::unix(path, access)?;
        self.add_listener(listener).map_err(failed)
    }

    /// Listens on a TCP address. Returns the address, with the actual port for port 0.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn listen_tcp(&mut self, address: SocketAddr) -> Result<SocketAddr, ListenError> {
        let failed = |source| ListenError::Io { address: address.to_string(), source };
        let (listener, address) = Listener::tcp(address)?;
        self.add_listener(listener).map_err(failed)?;
        Ok(address)
    }

    fn add_listener(&mut self, listener: Listener) -> io::Result<()> {
        let data = EventData::new_u64(LISTENER | self.listeners.len() as u64);
        epoll::add(&self.epoll, listener.socket(), data, EventFlags::IN)?;
        self.listeners.push(listener);
        Ok(())
    }

    /// Serves a connected stream socket that was made elsewhere. Above the limit of connections it
    /// is closed at once. `now` is on the clock of [`poll`](Self::poll). Options such as
    /// `TCP_NODELAY` are not changed.
    ///
    /// # Errors
    /// If a system call fails; the socket is closed.
    pub fn adopt(&mut self, now: Duration, socket: OwnedFd) -> io::Result<()> {
        self.attend(now);
        rustix::io::ioctl_fionbio(&socket, true)?;
        self.add_peer(socket)?;
        Ok(())
    }

    fn add_peer(&mut self, socket: OwnedFd) -> Result<(), Errno> {
        let who = Who::of(socket.as_fd());
        let Some(index) = self.take_place(who) else {
            self.statistics.turned_away += 1;
            return Ok(());
        };
        let peer = Peer::new(socket, index, who, &self.turn);
        let added = peer.socket().map_or(Ok(()), |socket| {
            epoll::add(&self.epoll, socket, EventData::new_u64(u64::from(index)), EventFlags::IN)
        });
        if let Err(error) = added {
            self.free.push(index);
            return Err(error);
        }
        let peer = self.peers[usize::from(index)].insert(Box::new(peer));
        peer.interest = EventFlags::IN;
        peer.dirty = true;
        self.dirty.push(index);
        self.open += 1;
        self.statistics.accepted += 1;
        self.note_deadline(index);
        Ok(())
    }

    fn take_place(&mut self, who: Who) -> Option<u16> {
        if self.draining {
            return None;
        }
        let others: Vec<Occupant> = self.peers.iter().flatten().map(|peer| peer.occupant()).collect();
        match judge(self.turn.terms.limits(), who, &others) {
            Verdict::Welcome => {}
            Verdict::Instead(index) => self.displace(index),
            Verdict::Full => return None,
        }
        if self.free.is_empty() && self.peers.len() < self.turn.terms.limits().connections {
            // The limit is at most 65535.
            self.free.push(self.peers.len() as u16);
            self.peers.push(None);
        }
        self.free.pop()
    }

    /// Closes a connection in its handshake, which has no requests or buffers.
    fn displace(&mut self, index: u16) {
        self.peers[usize::from(index)] = None;
        self.free.push(index);
        self.open -= 1;
        self.statistics.displaced += 1;
    }

    /// Advances the clock for a call of the owner.
    fn attend(&mut self, now: Duration) {
        let passed = now.saturating_sub(*self.called.get_or_insert(now));
        self.called = self.called.max(Some(now));
        self.turn.now += passed.min(TICK * 2);
    }

    /// Handles ready sockets without blocking: at most 64 events, and for each connection one
    /// receive of at most 256 KiB or the rest of a payload. `now` is the time since a fixed
    /// instant, and must not decrease.
    ///
    /// # Errors
    /// If the system cannot report ready sockets. An error of one connection closes only that
    /// connection.
    pub fn poll(&mut self, now: Duration, backend: &mut impl Backend) -> io::Result<()> {
        self.attend(now);
        self.unpause_accepting()?;
        self.run_runnable(backend);
        let mut events = std::mem::take(&mut self.events);
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = match epoll::wait(&self.epoll, &mut events[..], Some(&zero)) {
            Err(Errno::INTR) => Ok(0),
            ready => ready,
        };
        let is_listener = |event: &&epoll::Event| event.data.u64() & LISTENER != 0;
        let found = &events[..ready.unwrap_or(0)];
        // Listeners are handled last, because a new connection may get the index of a closed one
        // that another event refers to.
        for event in found.iter().filter(|event| !is_listener(event)).chain(found.iter().filter(is_listener))
        {
            self.handle(*event, backend);
        }
        self.events = events;
        // All input that has arrived was read, so a client that is late now has sent nothing. If
        // some events were not handled, this check waits for one more call.
        let more = ready? == EVENTS;
        if !more || std::mem::replace(&mut self.more_is_ready, more) {
            self.more_is_ready = false;
            self.drop_late(backend);
        }
        Ok(())
    }

    fn handle(&mut self, event: epoll::Event, backend: &mut impl Backend) {
        let (data, flags) = (event.data.u64(), event.flags);
        if data & LISTENER != 0 {
            self.accept((data & !LISTENER) as usize);
            return;
        }
        // Peers have 16-bit indices.
        let index = data as u16;
        let Some(peer) = self.peers.get_mut(usize::from(index)).and_then(Option::as_mut) else { return };
        if flags.contains(EventFlags::OUT) {
            peer.blocked = false;
        }
        let readable = flags.contains(EventFlags::IN);
        let paused = peer.pause != Pause::Input;
        if readable && !paused {
            peer.receive(&mut self.turn, backend);
        } else if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
            peer.pause = Pause::Gone;
        }
        peer.deaf = readable && paused;
        self.settle(index, backend);
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPTS {
            let Some(accepted) = self.listeners.get(listener).map(Listener::accept) else { return };
            match accepted.and_then(|socket| self.add_peer(socket)) {
                Ok(()) => {}
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    return self.pause_accepting();
                }
                Err(Errno::AGAIN) => return,
                // An error of this connection before it was accepted.
                Err(_) => {}
            }
        }
    }

    fn pause_accepting(&mut self) {
        self.accept_pause = Some(self.turn.now + ACCEPT_PAUSE);
        for listener in &self.listeners {
            // If this fails, the loop spins until descriptors are free.
            let _ = epoll::delete(&self.epoll, listener.socket());
        }
    }

    fn unpause_accepting(&mut self) -> io::Result<()> {
        if self.accept_pause.is_some_and(|until| until <= self.turn.now) {
            for (index, listener) in self.listeners.iter().enumerate() {
                let data = EventData::new_u64(LISTENER | index as u64);
                match epoll::add(&self.epoll, listener.socket(), data, EventFlags::IN) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            self.accept_pause = None;
        }
        Ok(())
    }

    /// Handles input in memory of peers that had to wait.
    fn run_runnable(&mut self, backend: &mut impl Backend) {
        for _ in 0..self.runnable.len() {
            let Some(index) = self.runnable.pop() else { return };
            let Some(peer) = &mut self.peers[usize::from(index)] else { continue };
            peer.runnable = false;
            if peer.pause == Pause::Busy {
                peer.run(&mut self.turn, backend);
                self.settle(index, backend);
            }
        }
    }

    /// Puts a peer on the lists that it belongs to after an event, or closes it if it is over.
    fn settle(&mut self, index: u16, backend: &mut impl Backend) {
        let Some(peer) = &mut self.peers[usize::from(index)] else { return };
        if peer.is_over() {
            return self.close(index, backend);
        }
        let starves = peer.pause == Pause::Credit && !peer.starved;
        if starves {
            peer.starved = true;
            self.starved.push_back(index);
        }
        if peer.pause == Pause::Busy && !peer.runnable && peer.has_room(&self.turn.terms) {
            peer.runnable = true;
            self.runnable.push(index);
        }
        if peer.can_send() && !peer.dirty {
            peer.dirty = true;
            self.dirty.push(index);
        }
        if starves && self.starved.len() == 1 {
            // From now on, clients that hold memory without progress have less time.
            (0..self.peers.len() as u16).for_each(|index| self.note_deadline(index));
        }
        self.note_deadline(index);
        self.watch(index, backend);
    }

    /// Updates the events that epoll watches for a peer.
    fn watch(&mut self, index: u16, backend: &mut impl Backend) {
        let Some(peer) = &mut self.peers[usize::from(index)] else { return };
        let wanted = peer.wanted();
        let Some(socket) = peer.socket() else { return };
        if wanted == peer.interest {
            return;
        }
        let data = EventData::new_u64(u64::from(index));
        if epoll::modify(&self.epoll, socket, data, wanted).is_ok() {
            peer.interest = wanted;
        } else {
            self.close(index, backend);
        }
    }

    fn close(&mut self, index: u16, backend: &mut impl Backend) {
        let Some(peer) = &mut self.peers[usize::from(index)] else { return };
        if peer.socket().is_some() {
            self.open -= 1;
        }
        if let Some(violation) = peer.violation.take() {
            self.statistics.violations += 1;
            self.statistics.last_violation = Some(violation);
        }
        if peer.starved {
            self.starved.retain(|starved| *starved != index);
        }
        peer.close(backend);
        self.vacate(index);
    }

    /// Frees the index of a closed peer once its last request in flight has completed.
    fn vacate(&mut self, index: u16) {
        let place = &mut self.peers[usize::from(index)];
        if place.as_ref().is_some_and(|peer| peer.socket().is_none() && peer.in_flight() == 0) {
            *place = None;
            self.free.push(index);
        }
    }

    fn note_deadline(&mut self, index: u16) {
        let Some(peer) = &self.peers[usize::from(index)] else { return };
        if let Some(deadline) = peer.deadline(&self.turn.terms, !self.starved.is_empty()) {
            self.next_deadline = Some(self.next_deadline.map_or(deadline, |next| next.min(deadline)));
        }
    }

    /// Closes the peers whose time limit has passed.
    fn drop_late(&mut self, backend: &mut impl Backend) {
        let now = self.turn.now;
        if self.next_deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.next_deadline = None;
        // At most 65535 indices.
        for index in 0..self.peers.len() as u16 {
            let Some(peer) = &self.peers[usize::from(index)] else { continue };
            let deadline = peer.deadline(&self.turn.terms, !self.starved.is_empty());
            if deadline.is_some_and(|deadline| deadline <= now) {
                self.statistics.timed_out += 1;
                self.close(index, backend);
            } else {
                self.note_deadline(index);
            }
        }
    }

    /// Answers a request. The reply is sent by the next [`flush_replies`](Self::flush_replies). For
    /// a successful read, the buffer holds the data, and is released when the data has been sent;
    /// any other buffer is released now. A token that is not in flight is ignored. A block status
    /// completed with `Ok` reports everything as allocated.
    pub fn complete(
        &mut self,
        token: RequestToken,
        result: Result<(), NbdError>,
        backend: &mut impl Backend,
    ) {
        self.answer(token, Answer::Result(result), backend);
    }

    /// Answers a [`Request::BlockStatus`](crate::Request::BlockStatus) with the extents from its
    /// offset on. They may end beyond the request's range or before its end.
    pub fn complete_block_status(
        &mut self,
        token: RequestToken,
        extents: &[Extent],
        backend: &mut impl Backend,
    ) {
        self.answer(token, Answer::Extents(extents), backend);
    }

    fn answer(&mut self, token: RequestToken, answer: Answer<'_>, backend: &mut impl Backend) {
        let index = token.peer;
        let Some(peer) = self.peers.get_mut(usize::from(index)).and_then(Option::as_mut) else { return };
        if !peer.complete(token, answer, backend) {
            return;
        }
        if peer.socket().is_none() {
            self.vacate(index);
        } else if !peer.dirty {
            peer.dirty = true;
            self.dirty.push(index);
        }
    }

    /// Sends the queued replies, greetings and error replies, with one system call per connection
    /// as long as its socket has room. Call it once per turn of the loop.
    pub fn flush_replies(&mut self, backend: &mut impl Backend) {
        let count = self.dirty.len();
        for at in 0..count {
            let index = self.dirty[at];
            let Some(peer) = &mut self.peers[usize::from(index)] else { continue };
            peer.dirty = false;
            if peer.can_send() {
                peer.send(self.turn.now, backend);
            }
            self.settle(index, backend);
        }
        self.dirty.drain(..count);
    }

    /// Asks the backend again for peers that wait for a credit, in order, until it refuses. Called
    /// after credits were returned.
    pub fn resume(&mut self, backend: &mut impl Backend) {
        for _ in 0..self.starved.len() {
            let Some(&index) = self.starved.front() else { return };
            if let Some(peer) = &mut self.peers[usize::from(index)]
                && peer.pause == Pause::Credit
            {
                let before = self.turn.generation;
                peer.run(&mut self.turn, backend);
                if peer.pause == Pause::Credit {
                    // A peer that got a credit goes behind the peers that got none.
                    let rotate = usize::from(self.turn.generation != before);
                    self.starved.rotate_left(rotate);
                    return;
                }
                peer.starved = false;
            }
            self.starved.pop_front();
            self.settle(index, backend);
        }
    }

    /// When to call [`poll`](Self::poll) even if the descriptor is not readable, on the clock of
    /// `poll`: at once if there is work in memory, and every second while a client's time limit
    /// runs. `None` if nothing is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let called = self.called.unwrap_or(Duration::ZERO);
        if !self.runnable.is_empty() {
            return Some(called);
        }
        let next = [self.next_deadline, self.accept_pause].into_iter().flatten().min()?;
        Some(called + next.saturating_sub(self.turn.now).min(TICK))
    }

    /// Stops listening and reading. Requests in flight are answered, and then their connections are
    /// closed. A request that was not completely received is dropped, and a handshake is broken
    /// off. Draining is over when [`connections`](Self::connections) and
    /// [`in_flight`](Self::in_flight) are zero.
    pub fn drain(&mut self, backend: &mut impl Backend) {
        self.draining = true;
        self.accept_pause = None;
        self.listeners.clear();
        for index in 0..self.peers.len() as u16 {
            if let Some(peer) = &mut self.peers[usize::from(index)] {
                peer.finish(backend);
                self.settle(index, backend);
            }
        }
    }

    /// Closes every connection now. Requests in flight must still be completed, to release their
    /// buffers.
    pub fn close_connections(&mut self, backend: &mut impl Backend) {
        for index in 0..self.peers.len() as u16 {
            self.close(index, backend);
        }
    }

    /// The number of open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.open
    }

    /// The number of requests not yet completed, including those of closed connections.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.peers.iter().flatten().map(|peer| peer.in_flight()).sum()
    }

    /// The number of connections that wait for a credit.
    #[must_use]
    pub fn starved(&self) -> usize {
        self.peers.iter().flatten().filter(|peer| peer.pause == Pause::Credit).count()
    }

    /// The export and the limits.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.turn.terms
    }

    /// The counters so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }
}
