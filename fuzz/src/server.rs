//! Fuzzes the server over real sockets: whatever several clients do, payload memory stays within
//! its limit, every buffer is returned once, and every request of a client that keeps the protocol
//! is answered.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use parlour_nbd::{Backend, BufferHandle, NbdError, Request, RequestToken, Server};

use crate::input::Input;
use crate::terms::{PAYLOAD, terms};
use crate::transmission::compose;
use crate::wire::{DISC, GO, Header, READ, Reader, Reply, option, string};

/// The number of simultaneous clients.
const CLIENTS: usize = 3;
/// The payload memory of the backend, in bytes.
const BUDGET: usize = 3 * PAYLOAD as usize;
/// The largest unsent rest of requests that a client keeps while the server does not receive.
const PATIENCE: usize = 1 << 20;

/// Interprets the bytes as actions of clients and of the backend, and as the passing of time.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut scene = Scene::new(input.byte());
    while !input.is_empty() {
        scene.act(&mut input);
    }
    scene.finish();
}

/// The backend's buffers, and the requests that it has not yet carried out.
#[derive(Default)]
struct Memory {
    buffers: Vec<Option<Vec<u8>>>,
    in_use: usize,
    submitted: Vec<(RequestToken, Request)>,
}

impl Backend for Memory {
    fn reserve(&mut self, length: u32) -> Option<BufferHandle> {
        assert!(length > 0 && length <= PAYLOAD);
        let length = length as usize;
        if self.in_use + length > BUDGET {
            return None;
        }
        self.in_use += length;
        self.buffers.push(Some(vec![0; length]));
        Some(BufferHandle(self.buffers.len() as u64 - 1))
    }

    fn bytes(&self, buffer: BufferHandle) -> &[u8] {
        self.buffers[buffer.0 as usize].as_deref().expect("the buffer is in use")
    }

    fn bytes_mut(&mut self, buffer: BufferHandle) -> &mut [u8] {
        self.buffers[buffer.0 as usize].as_deref_mut().expect("the buffer is in use")
    }

    fn release(&mut self, buffer: BufferHandle) {
        self.in_use -= self.buffers[buffer.0 as usize].take().expect("a buffer is released once").len();
    }

    fn submit(&mut self, token: RequestToken, request: Request, buffer: Option<BufferHandle>) {
        let length = buffer.map_or(0, |buffer| self.bytes(buffer).len());
        assert_eq!(length, request.buffer_length() as usize);
        self.submitted.push((token, request));
    }
}

struct Client {
    stream: UnixStream,
    unsent: Vec<u8>,
    received: Vec<u8>,
    /// The outstanding requests: the length of a read, and zero for other requests.
    asked: BTreeMap<u64, u32>,
    /// Whether the client has kept the protocol, and was never late.
    sound: bool,
    gone: bool,
}

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        if self.unsent.len() > PATIENCE {
            self.sound = false;
            return;
        }
        self.unsent.extend_from_slice(bytes);
        self.push();
    }

    fn push(&mut self) {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.unsent.clear(),
            }
        }
    }

    /// Receives up to `most` bytes.
    fn pull(&mut self, mut most: usize) {
        let mut part = [0; 16 << 10];
        while most > 0 {
            let room = most.min(part.len());
            match self.stream.read(&mut part[..room]) {
                Ok(count) if count > 0 => {
                    self.received.extend_from_slice(&part[..count]);
                    most -= count;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                _ => {
                    self.gone = true;
                    return;
                }
            }
        }
    }
}

struct Scene {
    server: Server,
    memory: Memory,
    now: Duration,
    clients: Vec<Client>,
    next_cookie: u64,
}

impl Scene {
    fn new(choice: u8) -> Self {
        let server = Server::new(terms(choice)).expect("descriptors are left");
        let now = Duration::from_secs(1000);
        let mut scene = Self { server, memory: Memory::default(), now, clients: Vec::new(), next_cookie: 0 };
        (0..CLIENTS).for_each(|_| {
            let client = scene.connect();
            scene.clients.push(client);
        });
        scene.turn();
        scene
    }

    /// Connects a client that has sent its handshake.
    fn connect(&mut self) -> Client {
        let (stream, theirs) = UnixStream::pair().expect("descriptors are left");
        stream.set_nonblocking(true).expect("sockets can be");
        self.server.adopt(self.now, theirs.into()).expect("it can be watched");
        let mut client = Client {
            stream,
            unsent: Vec::new(),
            received: Vec::new(),
            asked: BTreeMap::new(),
            sound: true,
            gone: false,
        };
        client
            .send(&[3_u32.to_be_bytes().to_vec(), option(GO, &[string(b""), vec![0, 0]].concat())].concat());
        client
    }

    fn turn(&mut self) {
        self.server.poll(self.now, &mut self.memory).expect("epoll works");
        self.server.flush_replies(&mut self.memory);
        self.server.resume(&mut self.memory);
        assert!(self.memory.in_use <= BUDGET);
    }

    fn act(&mut self, input: &mut Input<'_>) {
        let which = input.byte();
        let client = usize::from(which / 16) % CLIENTS;
        match which % 16 {
            0..6 => self.ask(client, input),
            6 => {
                // Fewer bytes than announced: the rest comes with the next request, or never.
                let mut message = compose(input, 1);
                message.truncate(28 + input.below(65536));
                self.clients[client].sound = false;
                self.clients[client].send(&message);
            }
            7 => {
                let count = input.below(64);
                self.clients[client].sound = false;
                self.clients[client].send(input.take(count));
            }
            8 => self.clients[client] = self.connect(),
            9 | 10 => {
                let most = input.below(65536) + 1;
                self.clients[client].pull(most);
                self.clients[client].push();
            }
            11 => {
                self.now += Duration::from_secs(input.byte().into());
                self.clients.iter_mut().for_each(|client| client.sound = false);
            }
            12 => self.turn(),
            _ => {
                let (which, how) = (input.below(256), input.byte());
                self.answer(which, how);
            }
        }
        if which % 4 != 3 {
            self.turn();
        }
    }

    fn ask(&mut self, client: usize, input: &mut Input<'_>) {
        self.next_cookie += 1;
        let message = compose(input, self.next_cookie);
        let header = Header::take(&mut Reader(&message)).expect("it begins with one");
        let client = &mut self.clients[client];
        // Requests after a disconnect request are not answered.
        client.sound &= header.command != DISC;
        client.asked.insert(header.cookie, if header.command == READ { header.length } else { 0 });
        client.send(&message);
    }

    fn answer(&mut self, which: usize, how: u8) {
        if self.memory.submitted.is_empty() {
            return;
        }
        let (token, _) = self.memory.submitted.swap_remove(which % self.memory.submitted.len());
        let result = if how % 8 == 7 { Err(NbdError::Eio) } else { Ok(()) };
        self.server.complete(token, result, &mut self.memory);
    }

    /// All clients receive, all requests are answered; then all clients disconnect.
    fn finish(mut self) {
        let mut quiet = 0;
        while quiet < 2 {
            let before = self.progress();
            self.turn();
            (0..self.memory.submitted.len()).for_each(|_| self.answer(0, 0));
            self.turn();
            for client in &mut self.clients {
                client.pull(1 << 20);
                client.push();
            }
            quiet = if self.progress() == before { quiet + 1 } else { 0 };
        }
        self.clients.iter().filter(|client| client.sound).for_each(judge);
        self.clients.clear();
        for _ in 0..3 {
            self.turn();
            (0..self.memory.submitted.len()).for_each(|_| self.answer(0, 0));
        }
        self.turn();
        assert_eq!((self.server.connections(), self.server.in_flight()), (0, 0));
        assert_eq!(self.memory.in_use, 0, "every buffer came back");
    }

    fn progress(&self) -> (usize, usize, usize) {
        let sum = |count: fn(&Client) -> usize| self.clients.iter().map(count).sum::<usize>();
        let received = sum(|client| client.received.len());
        (received, sum(|client| client.unsent.len()), self.memory.buffers.len())
    }
}

/// Checks that every request of a client that kept the protocol was answered once, and that nothing
/// else was sent.
fn judge(client: &Client) {
    assert!(!client.gone, "who keeps the protocol is kept");
    let mut sent = Reader(&client.received);
    skip_opening(&mut sent);
    let mut asked = client.asked.clone();
    while !sent.is_empty() {
        let reply = Reply::take(&mut sent);
        let length = asked.remove(&reply.cookie()).expect("a request is answered once");
        if let Reply::Simple { .. } = reply {
            sent.take(length as usize);
        }
    }
    assert!(asked.is_empty(), "every request is answered: {asked:?}");
}

/// Skips the greeting, and the answers to one option.
fn skip_opening(sent: &mut Reader<'_>) {
    sent.take(18);
    loop {
        sent.take(12);
        let (kind, length) = (sent.u32(), sent.u32());
        sent.take(length as usize);
        if kind == 1 {
            return;
        }
    }
}
