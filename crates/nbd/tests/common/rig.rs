//! A server over socket pairs, with a backend in memory and clients, all in one thread and with a
//! simulated clock.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use parlour_nbd::{Backend, BufferHandle, Limits, Request, RequestToken, Server, Terms};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Replies, SIZE, export};

pub(crate) struct Memory {
    pub(crate) disk: Vec<u8>,
    buffers: Vec<Option<Vec<u8>>>,
    pub(crate) credits: usize,
    /// The requests that are not carried out yet.
    pub(crate) submitted: Vec<(RequestToken, Request, Option<BufferHandle>)>,
}

impl Memory {
    pub(crate) fn in_use(&self) -> usize {
        self.buffers.iter().flatten().count()
    }

    fn carry_out(&mut self, request: Request, buffer: Option<BufferHandle>) {
        match (request, buffer) {
            (Request::Read { offset, length }, Some(buffer)) => {
                let data = self.disk[offset as usize..][..length as usize].to_vec();
                self.bytes_mut(buffer).copy_from_slice(&data);
            }
            (Request::Write { offset, length, .. }, Some(buffer)) => {
                let data = self.bytes(buffer).to_vec();
                self.disk[offset as usize..][..length as usize].copy_from_slice(&data);
            }
            _ => {}
        }
    }
}

impl Backend for Memory {
    fn reserve(&mut self, length: u32) -> Option<BufferHandle> {
        self.credits = self.credits.checked_sub(1)?;
        self.buffers.push(Some(vec![0; length as usize]));
        Some(BufferHandle(self.buffers.len() as u64 - 1))
    }

    fn bytes(&self, buffer: BufferHandle) -> &[u8] {
        self.buffers[buffer.0 as usize].as_ref().expect("the buffer is in use")
    }

    fn bytes_mut(&mut self, buffer: BufferHandle) -> &mut [u8] {
        self.buffers[buffer.0 as usize].as_mut().expect("the buffer is in use")
    }

    fn release(&mut self, buffer: BufferHandle) {
        self.buffers[buffer.0 as usize].take().expect("a buffer is released once");
        self.credits += 1;
    }

    fn submit(&mut self, token: RequestToken, request: Request, buffer: Option<BufferHandle>) {
        assert_eq!(RequestToken::from_bits(token.to_bits()), token);
        self.submitted.push((token, request, buffer));
    }
}

pub(crate) struct Rig {
    pub(crate) server: Server,
    pub(crate) memory: Memory,
    pub(crate) now: Duration,
}

impl Rig {
    pub(crate) fn new(limits: Limits, credits: usize) -> Self {
        let terms = Terms::new(export(), limits).expect("the terms are good");
        let disk = (0..SIZE).map(|at| (at % 251) as u8).collect();
        Self {
            server: Server::new(terms).expect("descriptors are left"),
            memory: Memory { disk, buffers: Vec::new(), credits, submitted: Vec::new() },
            now: Duration::from_secs(1000),
        }
    }

    /// Connects a client.
    pub(crate) fn connect(&mut self) -> Client {
        let (ours, theirs) = UnixStream::pair().expect("descriptors are left");
        self.server.adopt(self.now, theirs.into()).expect("it can be watched");
        Client::new(ours)
    }

    /// Connects a client and completes its handshake.
    pub(crate) fn open(&mut self, opening: &[u8]) -> Client {
        let mut client = self.connect();
        client.send(opening);
        self.settle();
        assert!(!client.receive().0.is_empty());
        client
    }

    /// Runs one turn of the loop, without carrying out requests.
    pub(crate) fn turn(&mut self) {
        self.server.poll(self.now, &mut self.memory).expect("epoll works");
        self.server.flush_replies(&mut self.memory);
        self.server.resume(&mut self.memory);
    }

    /// Runs turns until nothing is ready.
    pub(crate) fn settle(&mut self) {
        self.turn();
        while self.is_ready() {
            self.turn();
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let readable =
            poll(&mut [PollFd::new(&self.server, PollFlags::IN)], Some(&zero)).expect("poll works");
        readable != 0 || self.server.deadline().is_some_and(|deadline| deadline <= self.now)
    }

    /// Carries out and completes all requests, including those that arrive in the meantime.
    pub(crate) fn carry_out(&mut self) {
        self.settle();
        while !self.memory.submitted.is_empty() {
            for (token, request, buffer) in std::mem::take(&mut self.memory.submitted) {
                self.memory.carry_out(request, buffer);
                self.server.complete(token, Ok(()), &mut self.memory);
            }
            self.settle();
        }
    }

    /// Lets time pass, and calls the server at each of its deadlines.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.server.deadline().map_or(end, |due| due.clamp(self.now, end));
            self.settle();
        }
    }

    pub(crate) fn assert_nothing_held(&self) {
        assert_eq!(self.server.connections(), 0);
        assert_eq!(self.server.in_flight(), 0);
        assert_eq!(self.memory.in_use(), 0);
    }
}

pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    received: Vec<u8>,
    pub(crate) unsent: Vec<u8>,
}

impl Client {
    pub(crate) fn new(stream: UnixStream) -> Self {
        stream.set_nonblocking(true).expect("sockets can be");
        Self { stream, received: Vec::new(), unsent: Vec::new() }
    }

    /// Sends as many bytes as the socket accepts; the rest is kept for the next call.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(sent) => self.unsent.drain(..sent),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => return self.unsent.clear(),
            };
        }
    }

    /// Returns all received bytes that were not taken yet.
    pub(crate) fn receive(&mut self) -> Replies {
        self.pull();
        Replies(std::mem::take(&mut self.received))
    }

    /// Receives the available bytes. Returns false if the server has closed the connection.
    pub(crate) fn pull(&mut self) -> bool {
        let mut buffer = [0; 65536];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
    }

    /// The number of received bytes that were not taken yet.
    pub(crate) fn received(&self) -> usize {
        self.received.len()
    }

    /// Whether its socket accepts more bytes.
    pub(crate) fn is_writable(&self) -> bool {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.stream.as_fd(), PollFlags::OUT)], Some(&zero)).expect("poll works") != 0
    }
}
