//! The interface of the server to its owner: buffers, requests, and their identifiers.

use crate::event::RequestId;
use crate::request::Request;

/// Identifies a buffer of the backend. The server only passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferHandle(pub u64);

/// Identifies a request of a [`Server`](crate::Server), on any of its connections. The server still
/// recognises an old token after its request has completed or its connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestToken {
    pub(super) generation: u32,
    pub(super) peer: u16,
    pub(super) id: RequestId,
}

impl RequestToken {
    /// The token as one number, for queues that carry only a number.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.peer) << 16 | u64::from(self.id.0)
    }

    /// The number of the request's connection. It is reused when the connection is gone.
    #[must_use]
    pub fn client(self) -> u32 {
        u32::from(self.peer)
    }

    /// The token with this number. A token that never existed is harmless.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        // Three fields, each cut to its width.
        Self { generation: (bits >> 32) as u32, peer: (bits >> 16) as u16, id: RequestId(bits as u16) }
    }
}

/// The owner's side: it grants buffers as credits, and executes requests.
///
/// The server releases every buffer that [`reserve`](Self::reserve) granted exactly once. It does
/// so after the request has completed, never before; for a read, when its data was sent or the
/// connection is closed.
pub trait Backend {
    /// Grants a credit and a buffer of at least `length` bytes. `length` is not zero and at most
    /// [`Limits::payload`](crate::Limits::payload). Returns `None` if there is no credit now: the
    /// server asks again in [`Server::resume`](crate::Server::resume), and does not read that
    /// connection until then. If no other buffer is in use, every length up to the limit must be
    /// granted; otherwise that connection waits forever.
    fn reserve(&mut self, length: u32) -> Option<BufferHandle>;

    /// The content of a buffer in use.
    fn bytes(&self, buffer: BufferHandle) -> &[u8];

    /// The content of a buffer in use, for writing.
    fn bytes_mut(&mut self, buffer: BufferHandle) -> &mut [u8];

    /// Takes back a buffer and its credit.
    fn release(&mut self, buffer: BufferHandle);

    /// The payload of a write is being received; `offset` and `length` are in bytes. It is
    /// submitted when it is complete, or never, if the connection ends before.
    fn expect_write(&mut self, _offset: u64, _length: u32) {}

    /// Starts a request. Only a read or write has a buffer. The owner must answer it through
    /// [`Server::complete`](crate::Server::complete), in any order and at any later time.
    fn submit(&mut self, token: RequestToken, request: Request, buffer: Option<BufferHandle>);
}
