//! One connection, without I/O: bytes in, events and reply bytes out.

use crate::error::{Disconnect, NbdError, Refusal};
use crate::event::{Advance, Event, RequestId};
use crate::export::Terms;
use crate::handshake::Handshake;
use crate::negotiated::Negotiated;
use crate::reply;
use crate::request::{Extent, Header, Request};
use crate::wire::{self, REQUEST_HEADER};

#[derive(Debug)]
enum Phase {
    Handshake(Handshake),
    Header,
    Payload {
        id: RequestId,
        remaining: u32,
    },
    /// The payload of a refused write. The error is sent when all of the payload has been received.
    Skip {
        remaining: u32,
        cookie: u64,
        refusal: Refusal,
    },
    Finished,
    Broken(Disconnect),
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    cookie: u64,
    request: Request,
}

/// The server side of one connection. The [`Terms`] must be the same in every call.
#[derive(Debug)]
pub struct Connection {
    phase: Phase,
    negotiated: Negotiated,
    requests: Vec<Option<InFlight>>,
    free: Vec<RequestId>,
}

impl Connection {
    /// A new connection; the greeting is appended to `output`.
    #[must_use]
    pub fn new(terms: &Terms, output: &mut Vec<u8>) -> Self {
        let in_flight = terms.limits().in_flight;
        Self {
            phase: Phase::Handshake(Handshake::new(output)),
            negotiated: Negotiated::default(),
            requests: vec![None; usize::from(in_flight)],
            free: (0..in_flight).rev().map(RequestId).collect(),
        }
    }

    /// Handles at most one message at the front of `input`. An answer that needs no backend is
    /// appended to `output`. The caller must pass the input that was not consumed again, at the
    /// front of the next input.
    pub fn advance(&mut self, terms: &Terms, input: &[u8], output: &mut Vec<u8>) -> Advance {
        let advance = match &mut self.phase {
            Phase::Handshake(handshake) => {
                let advance = handshake.advance(terms, input, output);
                if handshake.done {
                    self.negotiated = handshake.negotiated;
                    self.phase = Phase::Header;
                }
                advance
            }
            Phase::Header => self.header(terms, input, output),
            &mut Phase::Payload { id, remaining } => {
                Advance { consumed: 0, event: Event::Payload { id, remaining } }
            }
            Phase::Skip { .. } => self.skip(input, output),
            Phase::Finished => Advance { consumed: 0, event: Event::Finished },
            Phase::Broken(reason) => Advance { consumed: 0, event: Event::Disconnect(*reason) },
        };
        match advance.event {
            Event::Finished => self.phase = Phase::Finished,
            Event::Disconnect(reason) => self.phase = Phase::Broken(reason),
            _ => {}
        }
        advance
    }

    fn header(&mut self, terms: &Terms, input: &[u8], output: &mut Vec<u8>) -> Advance {
        let Some(header) = Header::parse(input) else { return Advance::NEED_INPUT };
        if header.magic != wire::NBD_REQUEST_MAGIC {
            let event = Event::Disconnect(Disconnect::RequestMagic(header.magic));
            return Advance { consumed: 0, event };
        }
        if header.command == wire::NBD_CMD_DISC {
            return Advance { consumed: REQUEST_HEADER, event: Event::Finished };
        }
        let cookie = header.cookie;
        match header.check(terms, self.negotiated) {
            Ok(request) => self.accept(cookie, request),
            Err(refusal) => {
                match header.payload() {
                    0 => self.refuse(cookie, refusal, output),
                    remaining => self.phase = Phase::Skip { remaining, cookie, refusal },
                }
                Advance::handled(REQUEST_HEADER)
            }
        }
    }

    fn accept(&mut self, cookie: u64, request: Request) -> Advance {
        let Some(id) = self.free.pop() else { return Advance { consumed: 0, event: Event::AtLimit } };
        self.requests[usize::from(id.0)] = Some(InFlight { cookie, request });
        if let Request::Write { length, .. } = request {
            self.phase = Phase::Payload { id, remaining: length };
        }
        Advance { consumed: REQUEST_HEADER, event: Event::Request { id, request } }
    }

    fn skip(&mut self, input: &[u8], output: &mut Vec<u8>) -> Advance {
        let Phase::Skip { remaining, cookie, refusal } = &mut self.phase else { return Advance::NEED_INPUT };
        if input.is_empty() {
            return Advance::NEED_INPUT;
        }
        let part = input.len().min(*remaining as usize);
        // At most `remaining`.
        *remaining -= part as u32;
        if *remaining == 0 {
            let (cookie, refusal) = (*cookie, *refusal);
            self.phase = Phase::Header;
            self.refuse(cookie, refusal, output);
        }
        Advance::handled(part)
    }

    fn refuse(&self, cookie: u64, refusal: Refusal, output: &mut Vec<u8>) {
        if self.negotiated.structured_replies {
            reply::error(output, cookie, refusal.error(), refusal);
        } else {
            reply::simple(output, cookie, refusal.error().code());
        }
    }

    /// Records that `taken` bytes of the payload were received. Returns the number of bytes that
    /// are still missing; at zero the write is complete, and headers follow.
    ///
    /// # Panics
    /// If `taken` is larger than the rest of the payload. This is an error of the caller, not of
    /// the client.
    pub fn take_payload(&mut self, taken: u32) -> u32 {
        let Phase::Payload { remaining, .. } = &mut self.phase else {
            assert_eq!(taken, 0, "no payload is due");
            return 0;
        };
        assert!(taken <= *remaining, "more payload taken than was due");
        *remaining -= taken;
        let left = *remaining;
        if left == 0 {
            self.phase = Phase::Header;
        }
        left
    }

    /// Answers a request: appends the reply to `output`. After a successful read the data must
    /// follow in the stream, and its length in bytes is returned. A write may be answered only when
    /// its payload is complete. An `id` that is not in flight is ignored.
    pub fn complete(
        &mut self,
        id: RequestId,
        result: Result<(), NbdError>,
        output: &mut Vec<u8>,
    ) -> Option<u32> {
        let InFlight { cookie, request } = self.remove(id)?;
        let structured = self.negotiated.structured_replies;
        match (result, request) {
            (Err(error), _) => {
                let error = sendable(error, request);
                if structured {
                    reply::error(output, cookie, error, error);
                } else {
                    reply::simple(output, cookie, error.code());
                }
                None
            }
            (Ok(()), Request::Read { offset, length }) => {
                if structured {
                    reply::offset_data(output, cookie, offset, length);
                } else {
                    reply::simple(output, cookie, 0);
                }
                Some(length)
            }
            (Ok(()), Request::BlockStatus { length, req_one, .. }) => {
                reply::block_status(output, cookie, length, req_one, &[]);
                None
            }
            // A simple reply is shorter than a chunk, and is allowed if there is no data.
            (Ok(()), _) => {
                reply::simple(output, cookie, 0);
                None
            }
        }
    }

    /// Answers a [`Request::BlockStatus`] with the extents from its offset on. They may end beyond
    /// the request's range or before its end. Without extents, the whole range is reported as
    /// allocated. Any other request is completed without error.
    pub fn complete_block_status(&mut self, id: RequestId, extents: &[Extent], output: &mut Vec<u8>) {
        let Some(InFlight { cookie, request: Request::BlockStatus { length, req_one, .. } }) = self.get(id)
        else {
            self.complete(id, Ok(()), output);
            return;
        };
        self.remove(id);
        reply::block_status(output, cookie, length, req_one, extents);
    }

    /// Removes a request without an answer, for a connection that is closed.
    pub fn abandon(&mut self, id: RequestId) {
        self.remove(id);
    }

    /// The number of requests not yet answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.requests.len() - self.free.len()
    }

    /// Whether the handshake is over.
    #[must_use]
    pub fn is_transmitting(&self) -> bool {
        !matches!(self.phase, Phase::Handshake(_))
    }

    /// Whether a payload is being received, including one of a refused write.
    #[must_use]
    pub fn awaits_payload(&self) -> bool {
        matches!(self.phase, Phase::Payload { .. } | Phase::Skip { .. })
    }

    fn get(&self, id: RequestId) -> Option<InFlight> {
        self.requests.get(usize::from(id.0)).copied().flatten()
    }

    fn remove(&mut self, id: RequestId) -> Option<InFlight> {
        let request = self.requests.get_mut(usize::from(id.0))?.take()?;
        self.free.push(id);
        Some(request)
    }
}

/// `ENOTSUP` may be sent only for a request with `NBD_CMD_FLAG_FAST_ZERO`.
fn sendable(error: NbdError, request: Request) -> NbdError {
    match (error, request) {
        (NbdError::Enotsup, Request::WriteZeroes { fast_zero: true, .. }) => error,
        (NbdError::Enotsup, _) => NbdError::Einval,
        _ => error,
    }
}
