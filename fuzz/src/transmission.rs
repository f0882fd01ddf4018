//! Fuzzes the transmission phase of the network protocol with a model of a backend: only valid
//! requests reach the backend, every request gets exactly one well-formed reply with its cookie,
//! and the first byte that violates the protocol ends the connection.

use std::collections::BTreeMap;

use parlour_nbd::{Connection, Disconnect, Event, Extent, NbdError, Request, RequestId, Terms};

use crate::input::Input;
use crate::terms::{PAYLOAD, SIZE, terms};
use crate::wire::{
    DISC, EXPORT_NAME, GO, Header, READ, REQUEST_MAGIC, Reader, Reply, SET_META_CONTEXT, STRUCTURED_REPLY,
    WRITE, option, string,
};

/// The errors that a backend may return. The server sends `Enotsup` only for a fast zeroing
/// request, and `Einval` instead for any other.
const ERRORS: [NbdError; 8] = [
    NbdError::Eperm,
    NbdError::Eio,
    NbdError::Enomem,
    NbdError::Einval,
    NbdError::Enospc,
    NbdError::Eoverflow,
    NbdError::Enotsup,
    NbdError::Eshutdown,
];

/// Interprets the bytes as actions of a client and of a backend.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let terms = terms(input.byte());
    let mut dialog = Dialog::open(&terms, input.byte());
    while !input.is_empty() && dialog.end.is_none() {
        dialog.act(&mut input);
    }
    dialog.finish();
}

/// Composes the message of a request. A well-behaved client sends only such messages.
pub(crate) fn compose(input: &mut Input<'_>, cookie: u64) -> Vec<u8> {
    let choice = input.byte();
    let (flags, command) = (u16::from(input.byte() & 0x1f), u16::from(choice % 9));
    let (mut offset, mut length) = (u64::from(input.u16()) * 16, u32::from(input.u16()));
    match choice / 9 % 4 {
        0 => length = length % 64 * 512,
        1 => length = length.saturating_mul(3),
        2 => offset = u64::MAX - offset,
        _ => {}
    }
    // A flush has neither offset nor length.
    let (offset, length) = if command == 3 { (0, 0) } else { (offset, length) };
    let header = Header { magic: REQUEST_MAGIC, flags, command, cookie, offset, length };
    let mut message = header.encode();
    message.resize(message.len() + header.payload(), 0x5a);
    message
}

struct Dialog<'a> {
    terms: &'a Terms,
    connection: Connection,
    structured: bool,
    contexts: bool,
    /// All bytes that the client sent.
    stream: Vec<u8>,
    held: Vec<u8>,
    output: Vec<u8>,
    piece: usize,
    next_cookie: u64,
    /// The complete requests that the backend has not answered.
    pending: Vec<(RequestId, Request)>,
    filling: Option<(RequestId, Request)>,
    /// The number of replies for each cookie.
    replies: BTreeMap<u64, usize>,
    end: Option<Event>,
}

impl<'a> Dialog<'a> {
    fn open(terms: &'a Terms, choice: u8) -> Self {
        let (structured, contexts) = (choice & 3 >= 1, choice & 3 >= 2);
        let mut output = Vec::new();
        let mut connection = Connection::new(terms, &mut output);
        let mut opening = 3_u32.to_be_bytes().to_vec();
        if structured {
            opening.extend(option(STRUCTURED_REPLY, &[]));
        }
        if contexts {
            let query = [string(b""), 1_u32.to_be_bytes().to_vec(), string(b"base:allocation")].concat();
            opening.extend(option(SET_META_CONTEXT, &query));
        }
        let go = option(GO, &[string(b""), vec![0, 0]].concat());
        opening.extend(if choice & 4 == 0 { go } else { option(EXPORT_NAME, b"") });
        let mut held = &opening[..];
        while !connection.is_transmitting() {
            let advance = connection.advance(terms, held, &mut output);
            assert_eq!(advance.event, Event::Handled);
            held = &held[advance.consumed..];
        }
        Self {
            terms,
            connection,
            structured,
            contexts,
            stream: Vec::new(),
            held: Vec::new(),
            output: Vec::new(),
            piece: usize::MAX,
            next_cookie: 1 << 32,
            pending: Vec::new(),
            filling: None,
            replies: BTreeMap::new(),
            end: None,
        }
    }

    fn act(&mut self, input: &mut Input<'_>) {
        match input.byte() % 8 {
            0..4 => {
                self.next_cookie += 1;
                let message = compose(input, self.next_cookie);
                self.say(&message);
            }
            4 => {
                let count = input.below(256);
                self.say(input.take(count));
            }
            5 | 6 => {
                let (which, how) = (input.below(4), input.byte());
                self.answer(which, how, input);
            }
            _ => self.piece = input.below(65536) + 1,
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.stream.extend_from_slice(bytes);
        for part in bytes.chunks(self.piece) {
            self.held.extend_from_slice(part);
            self.hear();
        }
    }

    fn hear(&mut self) {
        while self.end.is_none() {
            assert!(self.output.is_empty());
            let advance = self.connection.advance(self.terms, &self.held, &mut self.output);
            self.held.drain(..advance.consumed);
            match advance.event {
                Event::NeedInput => {
                    assert!(self.held.len() < 28, "less than a header is held back");
                    return self.silent();
                }
                // The connection has reached a limit of its own. The backend answers one request.
                Event::AtLimit => self.answer(0, 0, &mut Input::new(&[])),
                Event::Handled => self.refused(),
                Event::Request { id, request } => {
                    self.silent();
                    self.check(request);
                    match request {
                        Request::Write { .. } => self.filling = Some((id, request)),
                        _ => self.pending.push((id, request)),
                    }
                }
                Event::Payload { id, remaining } => {
                    let (filling, request) = self.filling.expect("a write came before its payload");
                    assert_eq!(id, filling);
                    if self.held.is_empty() {
                        return;
                    }
                    let part = self.held.len().min(remaining as usize);
                    self.held.drain(..part);
                    if self.connection.take_payload(part as u32) == 0 {
                        self.filling = None;
                        self.pending.push((id, request));
                    }
                }
                Event::Finished | Event::Disconnect(_) => self.end = Some(advance.event),
            }
        }
    }

    fn silent(&self) {
        assert!(self.output.is_empty(), "nothing is said unasked");
    }

    /// Checks that a request keeps all guarantees of [`Request`].
    fn check(&self, request: Request) {
        let export = self.terms.export();
        let features = export.features;
        let (offset, length, offered) = match request {
            Request::Read { offset, length } => (offset, length, length <= PAYLOAD),
            Request::Write { offset, length, fua } => {
                (offset, length, length <= PAYLOAD && !export.read_only && (features.fua || !fua))
            }
            Request::Flush => return assert!(features.flush),
            Request::Trim { offset, length, .. } => (offset, length, features.trim && !export.read_only),
            Request::WriteZeroes { offset, length, fast_zero, .. } => {
                let fast = features.fast_zero || !fast_zero;
                (offset, length, features.write_zeroes && !export.read_only && fast)
            }
            Request::Cache { offset, length } => (offset, length, features.cache),
            Request::BlockStatus { offset, length, .. } => (offset, length, self.contexts),
        };
        let block = u64::from(export.minimum_block);
        assert!(offered, "{request:?} was not offered");
        assert!(length > 0 && offset <= SIZE && u64::from(length) <= SIZE - offset, "{request:?}");
        assert!(offset.is_multiple_of(block) && u64::from(length).is_multiple_of(block), "{request:?}");
        assert_eq!(request.buffer_length(), if self.carries(request) { length } else { 0 });
    }

    fn carries(&self, request: Request) -> bool {
        matches!(request, Request::Read { .. } | Request::Write { .. })
    }

    /// Checks that the output is empty or refuses one request.
    fn refused(&mut self) {
        if self.output.is_empty() {
            return;
        }
        let reply = self.reply();
        assert!(matches!(reply, Reply::Error { .. }), "{reply:?} without the backend");
    }

    /// Takes the only reply in the output.
    fn reply(&mut self) -> Reply {
        let mut sent = Reader(&self.output);
        let reply = Reply::take(&mut sent);
        assert!(sent.is_empty(), "one reply at a time");
        let error = matches!(reply, Reply::Error { .. }) && self.output.len() > 16;
        assert!(self.structured || self.output.len() == 16, "structured replies were not asked for");
        assert!(!self.structured || error || !matches!(reply, Reply::Error { .. }), "errors are chunks");
        *self.replies.entry(reply.cookie()).or_default() += 1;
        self.output.clear();
        reply
    }

    /// The backend answers a request, if there is one.
    fn answer(&mut self, which: usize, how: u8, input: &mut Input<'_>) {
        if self.pending.is_empty() {
            return;
        }
        let (id, request) = self.pending.swap_remove(which % self.pending.len());
        if how & 1 == 1 {
            return self.fail(id, request, ERRORS[usize::from(how >> 1) % ERRORS.len()]);
        }
        if how & 2 == 2 {
            let count = input.below(8);
            let extents: Vec<Extent> = (0..count).map(|_| extent(input)).collect();
            self.connection.complete_block_status(id, &extents, &mut self.output);
        } else {
            let data = self.connection.complete(id, Ok(()), &mut self.output);
            let expected = if matches!(request, Request::Read { .. }) { request.buffer_length() } else { 0 };
            assert_eq!(data.unwrap_or(0), expected);
        }
        let reply = self.reply();
        match (request, reply) {
            (Request::Read { offset, length }, Reply::Data { offset: at, length: data, .. }) => {
                assert_eq!((offset, length), (at, data));
            }
            (Request::Read { .. }, Reply::Simple { .. }) => assert!(!self.structured),
            (Request::BlockStatus { length, req_one, .. }, Reply::Extents { extents, .. }) => {
                judge_extents(length, req_one, &extents);
            }
            (Request::Read { .. } | Request::BlockStatus { .. }, reply) => panic!("{request:?}: {reply:?}"),
            (_, Reply::Simple { .. }) => {}
            (_, reply) => panic!("{request:?}: {reply:?}"),
        }
    }

    fn fail(&mut self, id: RequestId, request: Request, error: NbdError) {
        assert_eq!(self.connection.complete(id, Err(error), &mut self.output), None);
        let Reply::Error { code, .. } = self.reply() else { panic!("an error is answered as one") };
        let fast = matches!(request, Request::WriteZeroes { fast_zero: true, .. });
        let sent = if error == NbdError::Enotsup && !fast { NbdError::Einval } else { error };
        assert_eq!(code, sent.code());
    }

    /// Answers all requests, and checks the number of replies.
    fn finish(mut self) {
        while !self.pending.is_empty() {
            self.answer(0, 0, &mut Input::new(&[]));
        }
        assert_eq!(self.connection.in_flight(), usize::from(self.filling.is_some()));
        let (asked, end) = asked(&self.stream);
        assert_eq!(self.end, end);
        assert_eq!(self.replies, asked, "every request is answered once");
    }
}

fn extent(input: &mut Input<'_>) -> Extent {
    let flags = input.byte();
    let length = if flags & 4 == 0 { u64::from(input.u16()) } else { input.u64() };
    Extent { length, hole: flags & 1 == 1, zero: flags & 2 == 2 }
}

fn judge_extents(asked: u32, req_one: bool, extents: &[(u32, u32)]) {
    let total: u64 = extents.iter().map(|(length, _)| u64::from(*length)).sum();
    assert!(total > 0 && total <= u64::from(asked), "extents lie in what was asked for");
    assert!(extents.iter().all(|(length, flags)| *length > 0 && *flags < 4));
    assert!(extents.windows(2).all(|pair| pair[0].1 != pair[1].1), "what is alike is merged");
    assert!(!req_one || extents.len() == 1);
}

/// The number of complete requests in a client's stream for each cookie, and how the stream must
/// end.
fn asked(stream: &[u8]) -> (BTreeMap<u64, usize>, Option<Event>) {
    let mut cookies = BTreeMap::new();
    let mut sent = Reader(stream);
    while let Some(header) = Header::take(&mut sent) {
        if header.magic != REQUEST_MAGIC {
            return (cookies, Some(Event::Disconnect(Disconnect::RequestMagic(header.magic))));
        }
        if header.command == DISC {
            return (cookies, Some(Event::Finished));
        }
        if sent.0.len() < header.payload() {
            break;
        }
        sent.take(header.payload());
        *cookies.entry(header.cookie).or_default() += 1;
    }
    (cookies, None)
}

// `compose` chooses commands by the protocol's numbers.
const _: () = assert!(READ == 0 && WRITE == 1);
