//! A request: its header, the rules for it, and its form for the backend.

use crate::error::Refusal;
use crate::export::Terms;
use crate::negotiated::Negotiated;
use crate::wire::{self, Reader};

/// A request that follows the rules: it is inside the export, aligned to the minimum block size,
/// not empty, at most [`Limits::payload`](crate::Limits::payload) long if it carries data, and
/// offered by [`Features`](crate::Features). Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `NBD_CMD_READ`: fill the buffer.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// `NBD_CMD_WRITE`: the buffer holds the data.
    Write {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// Make the write durable before the answer.
        fua: bool,
    },
    /// `NBD_CMD_FLUSH`: make durable all writes that were answered before this request was
    /// received.
    Flush,
    /// `NBD_CMD_TRIM`: the contents are no longer needed.
    Trim {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// Make the trim durable before the answer.
        fua: bool,
    },
    /// `NBD_CMD_WRITE_ZEROES`: the range reads as zeroes from now on.
    WriteZeroes {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// Make the zeroes durable before the answer.
        fua: bool,
        /// Keep the space allocated.
        no_hole: bool,
        /// Answer [`Enotsup`](crate::NbdError::Enotsup) at once unless this is faster than writing
        /// zeroes.
        fast_zero: bool,
    },
    /// `NBD_CMD_CACHE`: the range will be read soon.
    Cache {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// `NBD_CMD_BLOCK_STATUS` in the context `base:allocation`.
    BlockStatus {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u32,
        /// The client wants the first extent only.
        req_one: bool,
    },
}

impl Request {
    /// The bytes of data that come with the request or with its answer: the length of the buffer to
    /// reserve.
    #[must_use]
    pub fn buffer_length(&self) -> u32 {
        match *self {
            Self::Read { length, .. } | Self::Write { length, .. } => length,
            _ => 0,
        }
    }
}

/// A range of bytes with one allocation state, for `base:allocation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes.
    pub length: u64,
    /// Not allocated (`NBD_STATE_HOLE`).
    pub hole: bool,
    /// Reads as zeroes (`NBD_STATE_ZERO`).
    pub zero: bool,
}

impl Extent {
    pub(crate) fn status_flags(self) -> u32 {
        let hole = if self.hole { wire::NBD_STATE_HOLE } else { 0 };
        let zero = if self.zero { wire::NBD_STATE_ZERO } else { 0 };
        hole | zero
    }
}

/// A request's header as it was received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) magic: u32,
    pub(crate) flags: u16,
    pub(crate) command: u16,
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Header {
    /// Parses the header at the front of `input`; `None` if it is incomplete.
    pub(crate) fn parse(input: &[u8]) -> Option<Self> {
        let mut reader = Reader(input.first_chunk::<{ wire::REQUEST_HEADER }>()?);
        Some(Self {
            magic: reader.u32()?,
            flags: reader.u16()?,
            command: reader.u16()?,
            cookie: reader.u64()?,
            offset: reader.u64()?,
            length: reader.u32()?,
        })
    }

    /// The number of payload bytes after the header.
    pub(crate) fn payload(&self) -> u32 {
        if self.command == wire::NBD_CMD_WRITE { self.length } else { 0 }
    }

    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Checks the header against the rules.
    pub(crate) fn check(&self, terms: &Terms, negotiated: Negotiated) -> Result<Request, Refusal> {
        self.check_command(terms, negotiated)?;
        self.check_flags(terms, negotiated)?;
        if terms.export().read_only && self.modifies() {
            return Err(Refusal::ReadOnly);
        }
        if self.command == wire::NBD_CMD_FLUSH {
            let whole = self.offset == 0 && self.length == 0;
            return if whole { Ok(Request::Flush) } else { Err(Refusal::FlushRange) };
        }
        self.check_range(terms)?;
        self.request()
    }

    fn modifies(&self) -> bool {
        matches!(self.command, wire::NBD_CMD_WRITE | wire::NBD_CMD_TRIM | wire::NBD_CMD_WRITE_ZEROES)
    }

    fn check_command(&self, terms: &Terms, negotiated: Negotiated) -> Result<(), Refusal> {
        let features = &terms.export().features;
        let offered = match self.command {
            wire::NBD_CMD_READ | wire::NBD_CMD_WRITE => true,
            wire::NBD_CMD_FLUSH => features.flush,
            wire::NBD_CMD_TRIM => features.trim,
            wire::NBD_CMD_CACHE => features.cache,
            wire::NBD_CMD_WRITE_ZEROES => features.write_zeroes,
            wire::NBD_CMD_BLOCK_STATUS if !negotiated.base_allocation => return Err(Refusal::NoMetaContext),
            wire::NBD_CMD_BLOCK_STATUS => true,
            _ => false,
        };
        if offered { Ok(()) } else { Err(Refusal::UnknownCommand) }
    }

    /// `NBD_CMD_FLAG_FUA` is valid on every command, even where it has no effect.
    fn check_flags(&self, terms: &Terms, negotiated: Negotiated) -> Result<(), Refusal> {
        let features = &terms.export().features;
        let fua = if features.fua { wire::NBD_CMD_FLAG_FUA } else { 0 };
        let own = match self.command {
            wire::NBD_CMD_READ if negotiated.structured_replies => wire::NBD_CMD_FLAG_DF,
            wire::NBD_CMD_WRITE_ZEROES if features.fast_zero => {
                wire::NBD_CMD_FLAG_NO_HOLE | wire::NBD_CMD_FLAG_FAST_ZERO
            }
            wire::NBD_CMD_WRITE_ZEROES => wire::NBD_CMD_FLAG_NO_HOLE,
            wire::NBD_CMD_BLOCK_STATUS => wire::NBD_CMD_FLAG_REQ_ONE,
            _ => 0,
        };
        if self.flags & !(fua | own) == 0 { Ok(()) } else { Err(Refusal::InvalidFlag) }
    }

    /// The protocol leaves requests of length zero undefined. Here they are errors, because a
    /// structured reply cannot carry a read of no bytes in a content chunk.
    fn check_range(&self, terms: &Terms) -> Result<(), Refusal> {
        let (export, length) = (terms.export(), u64::from(self.length));
        if length == 0 {
            return Err(Refusal::ZeroLength);
        }
        let carries_data = matches!(self.command, wire::NBD_CMD_READ | wire::NBD_CMD_WRITE);
        if carries_data && self.length > terms.limits().payload {
            let unfragmented = self.has(wire::NBD_CMD_FLAG_DF);
            return Err(if unfragmented { Refusal::TooLargeUnfragmented } else { Refusal::TooLarge });
        }
        if self.offset.checked_add(length).is_none_or(|end| end > export.size) {
            let grows = matches!(self.command, wire::NBD_CMD_WRITE | wire::NBD_CMD_WRITE_ZEROES);
            return Err(if grows { Refusal::WriteBeyondEnd } else { Refusal::BeyondEnd });
        }
        let mask = u64::from(export.minimum_block) - 1;
        if (self.offset | length) & mask == 0 { Ok(()) } else { Err(Refusal::Misaligned) }
    }

    fn request(&self) -> Result<Request, Refusal> {
        let Self { offset, length, .. } = *self;
        let fua = self.has(wire::NBD_CMD_FLAG_FUA);
        Ok(match self.command {
            wire::NBD_CMD_READ => Request::Read { offset, length },
            wire::NBD_CMD_WRITE => Request::Write { offset, length, fua },
            wire::NBD_CMD_TRIM => Request::Trim { offset, length, fua },
            wire::NBD_CMD_CACHE => Request::Cache { offset, length },
            wire::NBD_CMD_WRITE_ZEROES => Request::WriteZeroes {
                offset,
                length,
                fua,
                no_hole: self.has(wire::NBD_CMD_FLAG_NO_HOLE),
                fast_zero: self.has(wire::NBD_CMD_FLAG_FAST_ZERO),
            },
            wire::NBD_CMD_BLOCK_STATUS => {
                Request::BlockStatus { offset, length, req_one: self.has(wire::NBD_CMD_FLAG_REQ_ONE) }
            }
            _ => return Err(Refusal::UnknownCommand),
        })
    }
}
