//! Non-blocking sockets around [`Connection`](crate::Connection), driven from somebody else's event
//! loop.

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

/// Events handled in one [`Server::poll`].
const EVENTS: usize = 64;
/// Connections accepted for one event.
const ACCEPTS: usize = 16;
/// How long accepting pauses when the process is out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(250);
/// While a client's time runs, the owner is asked to call this often; of a longer absence no more
/// than twice as much counts. Time in which nobody looks at the sockets, because the process was
/// stopped, is not the clients'.
const TICK: Duration = Duration::from_secs(1);
/// Marks the event of a listener; the others are indices of peers.
const LISTENER: u64 = 1 << 63;

/// What a server has seen since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Connections accepted and served.
    pub accepted: u64,
    /// Connections closed at once because there were too many.
    pub turned_away: u64,
    /// Connections closed in their handshake because others came.
    pub displaced: u64,
    /// Connections dropped because the client did not move in time.
    pub timed_out: u64,
    /// Connections dropped because the client broke the protocol.
    pub violations: u64,
    /// How the last of those did.
    pub last_violation: Option<Disconnect>,
}

/// Serves one export on any number of listening sockets, on the thread of its owner.
///
/// The owner waits until the server's descriptor ([`AsFd`]) is readable or
/// [`deadline`](Self::deadline) has come, calls [`poll`](Self::poll), lets the backend work,
/// reports with [`complete`](Self::complete), and once a turn of the loop calls
/// [`flush_replies`](Self::flush_replies). When buffers were given back after the backend refused
/// one, it calls [`resume`](Self::resume).
///
/// In steady state nothing is allocated per request, and a batch of requests costs one receiving
/// and one sending system call. Memory per connection is bounded by 256 KiB of input, about as much
/// output, and [`Limits::held`](crate::Limits::held) of what the backend gives out.
pub struct Server {
    turn: Turn,
    /// When the owner called last, on its clock. [`Turn::now`] runs only while it calls.
    called: Option<Duration>,
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    listeners: Vec<Listener>,
    /// Until when no connection is accepted, for want of descriptors.
    accept_pause: Option<Duration>,
    /// A peer keeps its place until its last request in flight is complete.
    peers: Vec<Option<Box<Peer>>>,
    free: Vec<u16>,
    /// Peers whose socket is open.
    open: usize,
    dirty: Vec<u16>,
    runnable: Vec<u16>,
    starved: VecDeque<u16>,
    /// No peer is to be dropped before.
    next_deadline: Option<Duration>,
    /// Not all that was ready has been looked at: nobody is late.
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
    /// When the system has no descriptor left.
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

    /// Listens on a Unix socket, made with mode 0600 and removed with the server. A stale one is
    /// replaced.
    ///
    /// # Errors
    /// When somebody listens there, something else is in the way, or the system refuses.
    pub fn listen_unix(&mut self, path: &Path) -> Result<(), ListenError> {
        self.listen_unix_for(path, SocketAccess::default())
    }

    /// The same for whom `access` says.
    ///
    /// # Errors
    /// As there, or when the group may not be given.
    pub fn listen_unix_for(&mut self, path: &Path, access: SocketAccess) -> Result<(), ListenError> {
        let failed = |source| ListenError::Io { address: path.display().to_string(), source };
        let listener = Listener::unix(path, access)?;
        self.add_listener(listener).map_err(failed)
    }

    /// Listens on a TCP address and returns it, with the port that was chosen for port 0.
    ///
    /// # Errors
    /// When the system refuses.
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

    /// Serves a connected stream socket that was made elsewhere; above the limit of connections it
    /// is closed at once. `now` is on the clock of [`poll`](Self::poll). Options such as
    /// `TCP_NODELAY` are left as they are.
    ///
    /// # Errors
    /// When the system refuses; the socket is closed.
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

    /// Closes a connection that is in its handshake, and so holds nothing of the backend's.
    fn displace(&mut self, index: u16) {
        self.peers[usize::from(index)] = None;
        self.free.push(index);
        self.open -= 1;
        self.statistics.displaced += 1;
    }

    /// The owner calls.
    fn attend(&mut self, now: Duration) {
        let passed = now.saturating_sub(*self.called.get_or_insert(now));
        self.called = self.called.max(Some(now));
        self.turn.now += passed.min(TICK * 2);
    }

    /// Handles what is ready, without blocking: at most 64 events, and one receive of at most 256
    /// KiB, or of the rest of a payload, for each connection. `now` is time since any fixed
    /// instant, and must not go back.
    ///
    /// # Errors
    /// When the system refuses to tell what is ready; what goes wrong with one connection ends that
    /// connection only.
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
        // Listeners last: whoever comes may be given a place that an event is about.
        for event in found.iter().filter(|event| !is_listener(event)).chain(found.iter().filter(is_listener))
        {
            self.handle(*event, backend);
        }
        self.events = events;
        // What has come was read: whoever is late now has sent nothing. Where not all was looked
        // at, once more.
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
        // Peers are added under their 16-bit index.
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
                // Something that befell this connection before it was accepted.
                Err(_) => {}
            }
        }
    }

    fn pause_accepting(&mut self) {
        self.accept_pause = Some(self.turn.now + ACCEPT_PAUSE);
        for listener in &self.listeners {
            // Failing, it costs a spin until descriptors come back.
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

    /// Looks at input that is in memory already, of peers that had to wait.
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

    /// Puts a peer on the lists it belongs to after something happened to it, and closes it when it
    /// is over.
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
            // From now on those who keep memory without moving have less time.
            (0..self.peers.len() as u16).for_each(|index| self.note_deadline(index));
        }
        self.note_deadline(index);
        self.watch(index, backend);
    }

    /// Tells epoll what is of interest about a peer, where that has changed.
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

    /// Gives the place of a closed peer away once its last request in flight is complete.
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

    /// Closes the peers whose time is up.
    fn drop_late(&mut self, backend: &mut impl Backend) {
        let now = self.turn.now;
        if self.next_deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.next_deadline = None;
        // At most 65535 places.
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

    /// Answers a request. The reply is sent at the next [`flush_replies`](Self::flush_replies). For
    /// a read that went well the buffer holds the data; it is released when that is sent, every
    /// other buffer now. A token that is no longer in flight is ignored. A block status completed
    /// with `Ok` reports everything as allocated.
    pub fn complete(
        &mut self,
        token: RequestToken,
        result: Result<(), NbdError>,
        backend: &mut impl Backend,
    ) {
        self.answer(token, Answer::Result(result), backend);
    }

    /// Answers a [`Request::BlockStatus`](crate::Request::BlockStatus) with the extents from its
    /// offset on; they may reach beyond its end or stop short of it.
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

    /// Sends the replies queued since the last call, and greetings and error replies too: one
    /// system call a connection, as long as its socket has room. Call it once a turn of the loop.
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

    /// Credits came back: asks the backend again for those who wait, first come first served, until
    /// it refuses.
    pub fn resume(&mut self, backend: &mut impl Backend) {
        for _ in 0..self.starved.len() {
            let Some(&index) = self.starved.front() else { return };
            if let Some(peer) = &mut self.peers[usize::from(index)]
                && peer.pause == Pause::Credit
            {
                let before = self.turn.generation;
                peer.run(&mut self.turn, backend);
                if peer.pause == Pause::Credit {
                    // Who got something goes behind those who got nothing.
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
    /// `poll`: at once if work is left in memory, and every second while a client's time runs.
    /// `None` while nothing is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let called = self.called.unwrap_or(Duration::ZERO);
        if !self.runnable.is_empty() {
            return Some(called);
        }
        let next = [self.next_deadline, self.accept_pause].into_iter().flatten().min()?;
        Some(called + next.saturating_sub(self.turn.now).min(TICK))
    }

    /// Stops listening and reading: requests in flight are answered, then their connections close.
    /// A request that was not wholly received is forgotten, a handshake broken off. Over when
    /// [`connections`](Self::connections) and [`in_flight`](Self::in_flight) are zero.
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

    /// Closes every connection now. Requests in flight still have to be completed, for their
    /// buffers.
    pub fn close_connections(&mut self, backend: &mut impl Backend) {
        for index in 0..self.peers.len() as u16 {
            self.close(index, backend);
        }
    }

    /// Open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.open
    }

    /// Requests not yet completed, those of closed connections included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.peers.iter().flatten().map(|peer| peer.in_flight()).sum()
    }

    /// Connections that wait for a credit.
    #[must_use]
    pub fn starved(&self) -> usize {
        self.peers.iter().flatten().filter(|peer| peer.pause == Pause::Credit).count()
    }

    /// What is served, and within which limits.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.turn.terms
    }

    /// What happened so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }
}
