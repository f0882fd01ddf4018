//! The client's side of the network protocol: encodes requests and decodes replies. It is written
//! from the protocol document, not from the server, so that a mistake in the server shows.

pub(crate) const GREETING: [u8; 18] = *b"NBDMAGICIHAVEOPT\x00\x03";
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;

pub(crate) const EXPORT_NAME: u32 = 1;
pub(crate) const ABORT: u32 = 2;
pub(crate) const GO: u32 = 7;
pub(crate) const STRUCTURED_REPLY: u32 = 8;
pub(crate) const SET_META_CONTEXT: u32 = 10;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISC: u16 = 2;

/// Encodes an option.
pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let header = [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes()].concat();
    [&header, data].concat()
}

/// Encodes the data of an option that names an export, or of a metadata context query.
pub(crate) fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text].concat()
}

/// A request's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) magic: u32,
    pub(crate) flags: u16,
    pub(crate) command: u16,
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.magic.to_be_bytes().to_vec();
        bytes.extend(self.flags.to_be_bytes());
        bytes.extend(self.command.to_be_bytes());
        bytes.extend(self.cookie.to_be_bytes());
        bytes.extend(self.offset.to_be_bytes());
        bytes.extend(self.length.to_be_bytes());
        bytes
    }

    /// Decodes the header at the front of a client's stream, if it is complete.
    pub(crate) fn take(sent: &mut Reader<'_>) -> Option<Header> {
        (sent.0.len() >= 28).then(|| Header {
            magic: sent.u32(),
            flags: sent.u16(),
            command: sent.u16(),
            cookie: sent.u64(),
            offset: sent.u64(),
            length: sent.u32(),
        })
    }

    /// The number of bytes that follow the header.
    pub(crate) fn payload(&self) -> usize {
        if self.command == WRITE { self.length as usize } else { 0 }
    }
}

/// Decodes a message. Panics if the message is too short, because a client could not continue.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at_checked(count).expect("the message is complete");
        self.0 = rest;
        head
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().expect("as many bytes were taken")
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A reply of the transmission phase, without its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A simple reply without an error; the data of a read follows.
    Simple { cookie: u64 },
    /// The only chunk of a structured reply to a read; this many bytes of data follow.
    Data { cookie: u64, offset: u64, length: u32 },
    /// The lengths and flags of extents.
    Extents { cookie: u64, extents: Vec<(u32, u32)> },
    /// An error, in a simple or a structured reply.
    Error { cookie: u64, code: u32 },
}

impl Reply {
    /// Decodes the reply at the front of a server's stream.
    pub(crate) fn take(sent: &mut Reader<'_>) -> Reply {
        match sent.u32() {
            0x6744_6698 => match (sent.u32(), sent.u64()) {
                (0, cookie) => Reply::Simple { cookie },
                (code, cookie) => Reply::Error { cookie, code },
            },
            0x668e_33ef => Reply::chunk(sent),
            magic => panic!("no reply begins with {magic:#x}"),
        }
    }

    fn chunk(sent: &mut Reader<'_>) -> Reply {
        assert_eq!(sent.u16(), 1, "every reply is one chunk");
        let (kind, cookie, length) = (sent.u16(), sent.u64(), sent.u32());
        if kind == 1 {
            return Reply::Data { cookie, offset: sent.u64(), length: length - 8 };
        }
        let mut payload = Reader(sent.take(length as usize));
        let reply = match kind {
            5 => {
                assert_eq!(payload.u32(), 1, "the context that was negotiated");
                let count = payload.0.len() / 8;
                let extents = (0..count).map(|_| (payload.u32(), payload.u32())).collect();
                Reply::Extents { cookie, extents }
            }
            0x8001 => {
                let (code, length) = (payload.u32(), payload.u16());
                std::str::from_utf8(payload.take(length.into())).expect("messages are text");
                assert_ne!(code, 0, "an error is one");
                Reply::Error { cookie, code }
            }
            kind => panic!("no chunk is of type {kind:#x}"),
        };
        assert!(payload.is_empty(), "a chunk is as long as it says");
        reply
    }

    pub(crate) fn cookie(&self) -> u64 {
        match self {
            Reply::Simple { cookie }
            | Reply::Data { cookie, .. }
            | Reply::Extents { cookie, .. }
            | Reply::Error { cookie, .. } => *cookie,
        }
    }
}
