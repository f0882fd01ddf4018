//! Helpers for the tests: a client's messages, and a connection that answers requests by itself.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod rig;

use std::time::Duration;

use parlour_nbd::{
    Connection, Disconnect, Event, Export, Extent, Features, Limits, NbdError, Request, RequestId, Terms,
};

pub(crate) const SIZE: u64 = 1 << 20;

pub(crate) const EXPORT_NAME: u32 = 1;
pub(crate) const ABORT: u32 = 2;
pub(crate) const LIST: u32 = 3;
pub(crate) const STARTTLS: u32 = 5;
pub(crate) const INFO: u32 = 6;
pub(crate) const GO: u32 = 7;
pub(crate) const STRUCTURED_REPLY: u32 = 8;
pub(crate) const LIST_META_CONTEXT: u32 = 9;
pub(crate) const SET_META_CONTEXT: u32 = 10;
pub(crate) const EXTENDED_HEADERS: u32 = 11;

pub(crate) const ACK: u32 = 1;
pub(crate) const REP_SERVER: u32 = 2;
pub(crate) const REP_INFO: u32 = 3;
pub(crate) const REP_META_CONTEXT: u32 = 4;
pub(crate) const ERR_UNSUP: u32 = 0x8000_0001;
pub(crate) const ERR_INVALID: u32 = 0x8000_0003;
pub(crate) const ERR_UNKNOWN: u32 = 0x8000_0006;
pub(crate) const ERR_TOO_BIG: u32 = 0x8000_0009;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISC: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const CACHE: u16 = 5;
pub(crate) const WRITE_ZEROES: u16 = 6;
pub(crate) const BLOCK_STATUS: u16 = 7;

pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;
pub(crate) const DF: u16 = 4;
pub(crate) const REQ_ONE: u16 = 8;
pub(crate) const FAST_ZERO: u16 = 16;

pub(crate) fn export() -> Export {
    Export {
        name: "disk".into(),
        description: "for tests".into(),
        size: SIZE,
        read_only: false,
        minimum_block: 1,
        preferred_block: 4096,
        features: Features::ALL,
    }
}

pub(crate) fn limits() -> Limits {
    Limits {
        connections: 4,
        per_client: 4,
        reserved_for_unix: 0,
        reserved_for_owner: 0,
        handshakes: 4,
        option_length: 8192,
        options: 16,
        payload: 64 << 10,
        in_flight: 8,
        held: 64 << 20,
        handshake_timeout: Duration::from_secs(10),
        stall_timeout: Duration::from_secs(30),
        low_space_timeout: Duration::from_secs(5),
    }
}

pub(crate) fn terms() -> Terms {
    Terms::new(export(), limits()).expect("the terms are good")
}

pub(crate) fn client_flags(flags: u32) -> Vec<u8> {
    flags.to_be_bytes().to_vec()
}

pub(crate) fn option(option: u32, data: &[u8]) -> Vec<u8> {
    let mut message = b"IHAVEOPT".to_vec();
    message.extend(option.to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    message.extend(data);
    message
}

pub(crate) fn string(text: &str) -> Vec<u8> {
    let mut message = (text.len() as u32).to_be_bytes().to_vec();
    message.extend(text.as_bytes());
    message
}

pub(crate) fn info_data(name: &str, kinds: &[u16]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((kinds.len() as u16).to_be_bytes());
    kinds.iter().for_each(|kind| data.extend(kind.to_be_bytes()));
    data
}

pub(crate) fn context_data(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = string(name);
    data.extend((queries.len() as u32).to_be_bytes());
    queries.iter().for_each(|query| data.extend(string(query)));
    data
}

pub(crate) fn request(command: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut message = 0x2560_9513_u32.to_be_bytes().to_vec();
    message.extend(flags.to_be_bytes());
    message.extend(command.to_be_bytes());
    message.extend(cookie.to_be_bytes());
    message.extend(offset.to_be_bytes());
    message.extend(length.to_be_bytes());
    message
}

pub(crate) fn write(flags: u16, cookie: u64, offset: u64, data: &[u8]) -> Vec<u8> {
    let mut message = request(WRITE, flags, cookie, offset, data.len() as u32);
    message.extend(data);
    message
}

/// The handshake of a client that accepts simple replies.
pub(crate) fn simple_opening() -> Vec<u8> {
    [client_flags(3), option(GO, &info_data("", &[]))].concat()
}

/// The handshake of a client that accepts structured replies and block status.
pub(crate) fn structured_opening() -> Vec<u8> {
    [
        client_flags(3),
        option(STRUCTURED_REPLY, &[]),
        option(SET_META_CONTEXT, &context_data("disk", &["base:allocation"])),
        option(GO, &info_data("disk", &[])),
    ]
    .concat()
}

/// Decodes replies.
pub(crate) struct Replies(pub(crate) Vec<u8>);

impl Replies {
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        self.0.drain(..count).collect()
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().expect("two bytes"))
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().expect("four bytes"))
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take(8).try_into().expect("eight bytes"))
    }

    /// The reply to an option: its type and data.
    pub(crate) fn option(&mut self, option: u32) -> (u32, Vec<u8>) {
        assert_eq!(self.u64(), 0x0003_e889_0455_65a9);
        assert_eq!(self.u32(), option);
        let kind = self.u32();
        let length = self.u32();
        (kind, self.take(length as usize))
    }

    /// A simple reply: its error and cookie.
    pub(crate) fn simple(&mut self) -> (u32, u64) {
        assert_eq!(self.u32(), 0x6744_6698);
        (self.u32(), self.u64())
    }

    /// A structured reply of one chunk: its type, cookie and payload.
    pub(crate) fn chunk(&mut self) -> (u16, u64, Vec<u8>) {
        assert_eq!(self.u32(), 0x668e_33ef);
        assert_eq!(self.u16(), 1, "the only chunk is the last");
        let (kind, cookie, length) = (self.u16(), self.u64(), self.u32());
        (kind, cookie, self.take(length as usize))
    }

    /// An error chunk: its error, cookie and message.
    pub(crate) fn error(&mut self) -> (u32, u64, String) {
        let (kind, cookie, payload) = self.chunk();
        assert_eq!(kind, 0x8001);
        let mut payload = Replies(payload);
        let (error, length) = (payload.u32(), payload.u16());
        assert_eq!(payload.0.len(), usize::from(length));
        (error, cookie, String::from_utf8(payload.0).expect("text"))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The content that a read of the self-answering connection returns.
pub(crate) fn pattern(offset: u64, length: u32) -> Vec<u8> {
    (0..u64::from(length)).map(|at| ((offset + at) % 251) as u8).collect()
}

/// A connection, with the bytes in both directions.
pub(crate) struct Dialog {
    pub(crate) terms: Terms,
    pub(crate) connection: Connection,
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    /// The received requests, with their payloads.
    pub(crate) requests: Vec<(Request, Vec<u8>)>,
    /// Whether requests are answered at once.
    pub(crate) answers: bool,
    /// The requests that are not answered yet.
    pub(crate) pending: Vec<RequestId>,
    pub(crate) end: Option<Event>,
    payload: Vec<u8>,
    current: Option<(RequestId, Request)>,
}

impl Dialog {
    pub(crate) fn new(terms: Terms) -> Self {
        let mut output = Vec::new();
        let connection = Connection::new(&terms, &mut output);
        Self {
            terms,
            connection,
            input: Vec::new(),
            output,
            requests: Vec::new(),
            answers: true,
            pending: Vec::new(),
            end: None,
            payload: Vec::new(),
            current: None,
        }
    }

    /// A dialog after the handshake `opening`.
    pub(crate) fn opened(terms: Terms, opening: &[u8]) -> Self {
        let mut dialog = Self::new(terms);
        dialog.say(opening);
        assert!(dialog.connection.is_transmitting());
        dialog.output.clear();
        dialog
    }

    /// Feeds bytes, and follows the connection until it needs more.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        while self.end.is_none() {
            let advance = self.connection.advance(&self.terms, &self.input, &mut self.output);
            self.input.drain(..advance.consumed);
            match advance.event {
                Event::NeedInput | Event::AtLimit => return,
                Event::Handled => {}
                Event::Request { id, request: request @ Request::Write { .. } } => {
                    self.current = Some((id, request));
                }
                Event::Request { id, request } => self.came(id, request),
                Event::Payload { remaining, .. } if !self.input.is_empty() => self.fill(remaining),
                Event::Payload { .. } => return,
                end @ (Event::Finished | Event::Disconnect(_)) => self.end = Some(end),
            }
        }
    }

    fn fill(&mut self, remaining: u32) {
        let part = self.input.len().min(remaining as usize);
        self.payload.extend(self.input.drain(..part));
        if self.connection.take_payload(part as u32) == 0 {
            let (id, request) = self.current.take().expect("a write came before its payload");
            self.came(id, request);
        }
    }

    fn came(&mut self, id: RequestId, request: Request) {
        self.requests.push((request, std::mem::take(&mut self.payload)));
        if self.answers {
            self.complete(id, request, Ok(()));
        } else {
            self.pending.push(id);
        }
    }

    fn complete(&mut self, id: RequestId, request: Request, result: Result<(), NbdError>) {
        if let (Some(length), Request::Read { offset, .. }) =
            (self.connection.complete(id, result, &mut self.output), request)
        {
            self.output.extend(pattern(offset, length));
        }
    }

    pub(crate) fn fail(&mut self, error: NbdError) {
        let id = self.pending.remove(0);
        assert_eq!(self.connection.complete(id, Err(error), &mut self.output), None);
    }

    pub(crate) fn extents(&mut self, extents: &[Extent]) {
        let id = self.pending.remove(0);
        self.connection.complete_block_status(id, extents, &mut self.output);
    }

    pub(crate) fn replies(&mut self) -> Replies {
        Replies(std::mem::take(&mut self.output))
    }

    pub(crate) fn disconnect(&self) -> Option<Disconnect> {
        match self.end {
            Some(Event::Disconnect(reason)) => Some(reason),
            _ => None,
        }
    }
}
