//! What a connection says of the bytes that it was given.

use crate::error::Disconnect;
use crate::request::Request;

/// Names a request in flight on one connection; used again after its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub(crate) u16);

/// What [`Connection::advance`](crate::Connection::advance) made of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// Bytes used up at the front of the input.
    pub consumed: usize,
    /// What they said.
    pub event: Event,
}

impl Advance {
    pub(crate) const NEED_INPUT: Self = Self { consumed: 0, event: Event::NeedInput };

    pub(crate) fn handled(consumed: usize) -> Self {
        Self { consumed, event: Event::Handled }
    }
}

/// What happened on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The message at the front is not complete: call again with more behind the same bytes.
    NeedInput,
    /// A message was handled, and answered if it wants an answer; call again with what is left.
    Handled,
    /// A request came. Answer it, at any time and in any order, with
    /// [`Connection::complete`](crate::Connection::complete). The payload of a [`Request::Write`]
    /// follows as [`Event::Payload`].
    Request {
        /// Names it.
        id: RequestId,
        /// What is asked for.
        request: Request,
    },
    /// The input stands in the payload of this write: take up to `remaining` bytes from its front,
    /// or from the socket, and say so with
    /// [`Connection::take_payload`](crate::Connection::take_payload).
    Payload {
        /// The write.
        id: RequestId,
        /// Bytes still to come, not zero.
        remaining: u32,
    },
    /// [`Limits::in_flight`](crate::Limits::in_flight) requests are in flight: call again when one
    /// was completed.
    AtLimit,
    /// The client took its leave (`NBD_CMD_DISC`, `NBD_OPT_ABORT`): take no more input, answer what
    /// is in flight, send what is in the output, close.
    Finished,
    /// The client broke the protocol: close.
    Disconnect(Disconnect),
}
