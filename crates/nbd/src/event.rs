//! The events that a connection reports for its input.

use crate::error::Disconnect;
use crate::request::Request;

/// Identifies a request in flight on one connection. The number is reused after the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub(crate) u16);

/// The result of [`Connection::advance`](crate::Connection::advance).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// The number of bytes used at the front of the input.
    pub consumed: usize,
    /// The event.
    pub event: Event,
}

impl Advance {
    pub(crate) const NEED_INPUT: Self = Self { consumed: 0, event: Event::NeedInput };

    pub(crate) fn handled(consumed: usize) -> Self {
        Self { consumed, event: Event::Handled }
    }
}

/// An event on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The message at the front is incomplete: call again with the same bytes followed by more.
    NeedInput,
    /// A message was handled, and answered if it needs an answer: call again with the rest of the
    /// input.
    Handled,
    /// A request was received. Answer it with
    /// [`Connection::complete`](crate::Connection::complete), at any time and in any order. The
    /// payload of a [`Request::Write`] follows as [`Event::Payload`].
    Request {
        /// Its number.
        id: RequestId,
        /// The request.
        request: Request,
    },
    /// The front of the input is payload of this write: take up to `remaining` bytes from the input
    /// or from the socket, and report them with
    /// [`Connection::take_payload`](crate::Connection::take_payload).
    Payload {
        /// The write.
        id: RequestId,
        /// The number of bytes still missing, not zero.
        remaining: u32,
    },
    /// [`Limits::in_flight`](crate::Limits::in_flight) requests are in flight: call again after one
    /// has completed.
    AtLimit,
    /// The client has ended the connection (`NBD_CMD_DISC`, `NBD_OPT_ABORT`): take no more input,
    /// answer the requests in flight, send the remaining output, close.
    Finished,
    /// The client violated the protocol: close.
    Disconnect(Disconnect),
}
