//! One client: its socket, its input and its output.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, recv, recvmsg};

use super::backend::{Backend, BufferHandle, RequestToken};
use super::outbox::{Outbox, Sent};
use super::places::{Occupant, Who};
use crate::connection::Connection;
use crate::error::{Disconnect, NbdError};
use crate::event::{Event, RequestId};
use crate::export::Terms;
use crate::request::{Extent, Request};

/// The most bytes that are received at a time and buffered.
const INPUT: usize = 256 << 10;
/// The payload of a write of at least this length is received into the backend's buffer, as far as
/// possible ...
const LARGE: u32 = 64 << 10;
/// ... by reading at most this much after it: the header of the next request, and little of its
/// payload.
const READ_AHEAD: usize = 4 << 10;
/// If more copied bytes than this wait to be sent, no more messages are handled.
const OUTPUT: usize = 256 << 10;
/// The number of bytes within [`Limits::stall_timeout`](crate::Limits::stall_timeout) that count as
/// progress.
const PROGRESS: usize = 64 << 10;

/// Why a peer's input is not handled now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// There is no more input: wait for the socket.
    Input,
    /// The backend has no credit: wait for `resume`.
    Credit,
    /// Too much is in flight or queued to be sent: wait for completions and the socket.
    Busy,
    /// No more input is taken: close when the requests in flight are answered.
    Finished,
    /// The connection is broken: close.
    Gone,
}

/// The server's data about a request in flight.
#[derive(Clone, Copy, Debug)]
struct Attached {
    generation: u32,
    buffer: Option<BufferHandle>,
    /// The length of the buffer that was reserved for it.
    length: u32,
}

/// A write whose payload is being received.
#[derive(Clone, Copy, Debug)]
struct Filling {
    token: RequestToken,
    request: Request,
    buffer: BufferHandle,
    filled: usize,
}

/// The progress of a transfer that must not stall.
#[derive(Clone, Copy, Debug)]
struct Watch {
    since: Duration,
    bytes: usize,
}

impl Watch {
    fn advance(&mut self, bytes: usize, now: Duration) {
        self.bytes += bytes;
        if self.bytes >= PROGRESS {
            *self = Self { since: now, bytes: 0 };
        }
    }
}

/// The state that all peers share in a turn of the owner's loop.
pub(super) struct Turn {
    pub(super) terms: Terms,
    pub(super) now: Duration,
    /// The number of the latest request, over all connections.
    pub(super) generation: u32,
}

pub(super) struct Peer {
    /// `None` if the connection is closed and only its requests in flight remain.
    socket: Option<OwnedFd>,
    index: u16,
    who: Who,
    connection: Connection,
    attached: Vec<Option<Attached>>,
    /// The bytes of payload of requests in flight.
    attached_bytes: u64,
    input: Box<[u8]>,
    start: usize,
    end: usize,
    read_ahead: usize,
    /// A request that was accepted and waits for a credit.
    waiting: Option<(RequestId, Request)>,
    filling: Option<Filling>,
    outbox: Outbox,
    /// The socket was full; epoll reports when it has room.
    pub(super) blocked: bool,
    pub(super) pause: Pause,
    /// Its socket became readable while its input was paused.
    pub(super) deaf: bool,
    /// The events that epoll watches.
    pub(super) interest: EventFlags,
    /// The peer is on the server's list of peers with output.
    pub(super) dirty: bool,
    /// The peer is on the server's list of peers whose input must be handled again.
    pub(super) runnable: bool,
    /// The peer is on the server's list of peers that wait for a credit.
    pub(super) starved: bool,
    /// The client's violation of the protocol.
    pub(super) violation: Option<Disconnect>,
    accepted: Duration,
    payload_watch: Option<Watch>,
    output_watch: Option<Watch>,
}

impl Peer {
    pub(super) fn new(socket: OwnedFd, index: u16, who: Who, turn: &Turn) -> Self {
        let terms = &turn.terms;
        let mut outbox = Outbox::default();
        let connection = Connection::new(terms, &mut outbox.bytes);
        Self {
            socket: Some(socket),
            index,
            who,
            connection,
            attached: vec![None; usize::from(terms.limits().in_flight)],
            attached_bytes: 0,
            input: vec![0; INPUT].into_boxed_slice(),
            start: 0,
            end: 0,
            read_ahead: INPUT,
            waiting: None,
            filling: None,
            outbox,
            blocked: false,
            pause: Pause::Input,
            deaf: false,
            interest: EventFlags::empty(),
            dirty: false,
            runnable: false,
            starved: false,
            violation: None,
            accepted: turn.now,
            payload_watch: None,
            output_watch: None,
        }
    }

    pub(super) fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn occupant(&self) -> Occupant {
        let handshake = self.socket.is_some() && !self.connection.is_transmitting();
        Occupant { place: self.index, who: self.who, handshake: handshake.then_some(self.accepted) }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.connection.in_flight()
    }

    /// Stops taking input.
    pub(super) fn finish(&mut self, backend: &mut impl Backend) {
        self.forget_unsubmitted(backend);
        if !self.connection.is_transmitting() || self.pause == Pause::Gone {
            self.pause = Pause::Gone;
        } else {
            self.pause = Pause::Finished;
        }
    }

    /// Whether the connection can be closed.
    pub(super) fn is_over(&self) -> bool {
        match self.pause {
            Pause::Gone => true,
            Pause::Finished => self.in_flight() == 0 && self.outbox.is_empty(),
            _ => false,
        }
    }

    /// Whether a peer that was paused because too much was in flight may continue.
    pub(super) fn has_room(&self, terms: &Terms) -> bool {
        if let Some((_, request)) = self.waiting {
            return self.may_hold(request, terms);
        }
        let going_on = self.in_flight() + self.outbox.payloads();
        self.outbox.copied() < OUTPUT && going_on < usize::from(terms.limits().in_flight)
    }

    /// Whether the payload of `request` is within the limit of one connection.
    fn may_hold(&self, request: Request, terms: &Terms) -> bool {
        let (held, length) = (self.attached_bytes + self.outbox.held(), u64::from(request.buffer_length()));
        held == 0 || length == 0 || held + length <= u64::from(terms.limits().held)
    }

    /// Receives once, as much as there is room for, and handles the input.
    pub(super) fn receive(&mut self, turn: &mut Turn, backend: &mut impl Backend) {
        match self.receive_once(backend) {
            Ok(0) => self.pause = Pause::Gone,
            Ok(bytes) => {
                if let Some(watch) = &mut self.payload_watch {
                    watch.advance(bytes, turn.now);
                }
                self.run(turn, backend);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.pause = Pause::Gone,
        }
    }

    fn receive_once(&mut self, backend: &mut impl Backend) -> Result<usize, Errno> {
        let Some(socket) = &self.socket else { return Ok(0) };
        // The rest is a part of one message, a header or an option, and there is room for the whole
        // message.
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let limit = self.input.len().min(self.end + self.read_ahead);
        let Some(filling) = &mut self.filling else {
            let bytes = recv(socket, &mut self.input[self.end..limit], RecvFlags::empty())?.0;
            self.end += bytes;
            return Ok(bytes);
        };
        let length = filling.request.buffer_length() as usize;
        let mut pieces = [
            IoSliceMut::new(&mut backend.bytes_mut(filling.buffer)[filling.filled..length]),
            IoSliceMut::new(&mut self.input[self.end..limit]),
        ];
        let mut control = RecvAncillaryBuffer::default();
        let bytes = recvmsg(socket, &mut pieces, &mut control, RecvFlags::empty())?.bytes;
        let part = bytes.min(length - filling.filled);
        filling.filled += part;
        self.end += bytes - part;
        // A part of a 32-bit length.
        self.connection.take_payload(part as u32);
        Ok(bytes)
    }

    /// Handles the input until it must pause.
    pub(super) fn run(&mut self, turn: &mut Turn, backend: &mut impl Backend) {
        self.pause = self.run_until_pause(turn, backend);
        // While a payload waits for a credit, the client's time limit does not run.
        let due = self.connection.awaits_payload() && self.pause == Pause::Input;
        let watch = self.payload_watch.unwrap_or(Watch { since: turn.now, bytes: 0 });
        self.payload_watch = due.then_some(watch);
    }

    fn run_until_pause(&mut self, turn: &mut Turn, backend: &mut impl Backend) -> Pause {
        loop {
            if let Some((id, request)) = self.waiting {
                if !self.may_hold(request, &turn.terms) {
                    return Pause::Busy;
                }
                if !self.begin(id, request, turn, backend) {
                    return Pause::Credit;
                }
                self.waiting = None;
            }
            if self.filling.is_some() {
                if !self.fill(backend) {
                    return Pause::Input;
                }
            } else if !self.has_room(&turn.terms) {
                return Pause::Busy;
            }
            let input = &self.input[self.start..self.end];
            let advance = self.connection.advance(&turn.terms, input, &mut self.outbox.bytes);
            self.start += advance.consumed;
            match advance.event {
                Event::Handled => {}
                Event::Request { id, request } => self.waiting = Some((id, request)),
                Event::NeedInput | Event::Payload { .. } => return Pause::Input,
                Event::AtLimit => return Pause::Busy,
                Event::Finished => return Pause::Finished,
                Event::Disconnect(reason) => {
                    self.violation = Some(reason);
                    return Pause::Gone;
                }
            }
        }
    }

    /// Reserves a buffer for the request, and submits the request unless its payload must be
    /// received first. Returns false if there is no credit.
    fn begin(
        &mut self,
        id: RequestId,
        request: Request,
        turn: &mut Turn,
        backend: &mut impl Backend,
    ) -> bool {
        let length = request.buffer_length();
        let buffer = match length {
            0 => None,
            length => match backend.reserve(length) {
                None => return false,
                buffer => buffer,
            },
        };
        turn.generation = turn.generation.wrapping_add(1);
        let token = RequestToken { generation: turn.generation, peer: self.index, id };
        self.attached[usize::from(id.0)] = Some(Attached { generation: turn.generation, buffer, length });
        self.attached_bytes += u64::from(length);
        match (request, buffer) {
            (Request::Write { offset, length, .. }, Some(buffer)) => {
                backend.expect_write(offset, length);
                self.read_ahead = if length >= LARGE { READ_AHEAD } else { INPUT };
                self.filling = Some(Filling { token, request, buffer, filled: 0 });
            }
            _ => backend.submit(token, request, buffer),
        }
        true
    }

    /// Copies the received part of the payload, and submits the write when it is complete. Returns
    /// false if it is incomplete.
    fn fill(&mut self, backend: &mut impl Backend) -> bool {
        let Some(filling) = &mut self.filling else { return true };
        let rest = filling.request.buffer_length() as usize - filling.filled;
        let part = rest.min(self.end - self.start);
        backend.bytes_mut(filling.buffer)[filling.filled..filling.filled + part]
            .copy_from_slice(&self.input[self.start..self.start + part]);
        filling.filled += part;
        self.start += part;
        // A part of a 32-bit length.
        self.connection.take_payload(part as u32);
        if part < rest {
            return false;
        }
        backend.submit(filling.token, filling.request, Some(filling.buffer));
        self.filling = None;
        true
    }

    /// Queues the answer of a request. Returns false if the request is not in flight.
    pub(super) fn complete(
        &mut self,
        token: RequestToken,
        answer: Answer<'_>,
        backend: &mut impl Backend,
    ) -> bool {
        let Some(attached) = self.detach(token) else { return false };
        if self.socket.is_none() {
            self.connection.abandon(token.id);
            release(attached.buffer, backend);
            return true;
        }
        let data = match answer {
            Answer::Result(result) => self.connection.complete(token.id, result, &mut self.outbox.bytes),
            Answer::Extents(extents) => {
                self.connection.complete_block_status(token.id, extents, &mut self.outbox.bytes);
                None
            }
        };
        match (data, attached.buffer) {
            (Some(length), Some(buffer)) => self.outbox.push_payload(buffer, length, backend),
            (_, buffer) => release(buffer, backend),
        }
        true
    }

    fn detach(&mut self, token: RequestToken) -> Option<Attached> {
        if self.filling.is_some_and(|filling| filling.token == token) {
            return None;
        }
        let slot = self.attached.get_mut(usize::from(token.id.0))?;
        let attached = slot.take_if(|attached| attached.generation == token.generation)?;
        self.attached_bytes -= u64::from(attached.length);
        Some(attached)
    }

    /// The events that epoll should watch. During a short pause, reading stays enabled until the
    /// socket becomes readable: this saves two system calls per pause.
    pub(super) fn wanted(&self) -> EventFlags {
        let lazily = !self.deaf && self.interest.contains(EventFlags::IN);
        let reads = match self.pause {
            Pause::Input => true,
            Pause::Credit | Pause::Busy => lazily,
            Pause::Finished | Pause::Gone => false,
        };
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, reads);
        wanted.set(EventFlags::OUT, self.blocked);
        wanted
    }

    /// Whether there is output, and the socket has room as far as is known.
    pub(super) fn can_send(&self) -> bool {
        !self.blocked && !self.outbox.is_empty()
    }

    /// Sends the queued output as far as the socket has room. An error closes the connection.
    pub(super) fn send(&mut self, now: Duration, backend: &mut impl Backend) {
        let Some(socket) = &self.socket else { return };
        match self.outbox.send(socket.as_fd(), backend) {
            Ok(Sent { drained: true, .. }) => {
                self.blocked = false;
                self.output_watch = None;
            }
            Ok(Sent { bytes, .. }) => {
                self.blocked = true;
                self.output_watch.get_or_insert(Watch { since: now, bytes: 0 }).advance(bytes, now);
            }
            Err(_) => self.pause = Pause::Gone,
        }
    }

    /// When the connection is closed unless it makes progress. `pressed`: another client waits for
    /// memory.
    pub(super) fn deadline(&self, terms: &Terms, pressed: bool) -> Option<Duration> {
        let limits = terms.limits();
        let handshake = (!self.connection.is_transmitting())
            .then_some(self.accepted.saturating_add(limits.handshake_timeout));
        let stalled = |watch: Option<Watch>, keeps_memory: bool| {
            let pressed = if pressed && keeps_memory { limits.low_space_timeout } else { Duration::MAX };
            watch.map(|watch| watch.since.saturating_add(limits.stall_timeout.min(pressed)))
        };
        let payload = stalled(self.payload_watch, self.filling.is_some());
        let output = stalled(self.output_watch, self.outbox.held() > 0);
        [handshake, payload, output].into_iter().flatten().min()
    }

    /// Closes the socket and releases every buffer that the backend is not using.
    pub(super) fn close(&mut self, backend: &mut impl Backend) {
        self.socket = None;
        self.pause = Pause::Gone;
        self.payload_watch = None;
        self.output_watch = None;
        self.input = Box::default();
        self.outbox.clear(backend);
        self.forget_unsubmitted(backend);
    }

    fn forget_unsubmitted(&mut self, backend: &mut impl Backend) {
        if let Some((id, _)) = self.waiting.take() {
            self.connection.abandon(id);
        }
        if let Some(filling) = self.filling.take() {
            self.attached[usize::from(filling.token.id.0)] = None;
            self.attached_bytes -= u64::from(filling.request.buffer_length());
            self.connection.abandon(filling.token.id);
            backend.release(filling.buffer);
        }
    }
}

/// The backend's answer to a request.
pub(super) enum Answer<'a> {
    Result(Result<(), NbdError>),
    Extents(&'a [Extent]),
}

fn release(buffer: Option<BufferHandle>, backend: &mut impl Backend) {
    if let Some(buffer) = buffer {
        backend.release(buffer);
    }
}
