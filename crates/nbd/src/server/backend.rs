//! What the server asks of its owner, and the names by which they speak of buffers and requests.

use crate::event::RequestId;
use crate::request::Request;

/// Names a buffer of the backend; the server only hands it around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferHandle(pub u64);

/// Names a request of a [`Server`](crate::Server), whichever connection it came by. It stays
/// recognisable after its connection is gone, and after it was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestToken {
    pub(super) generation: u32,
    pub(super) peer: u16,
    pub(super) id: RequestId,
}

impl RequestToken {
    /// As one number, to be carried through a queue that has only that.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.peer) << 16 | u64::from(self.id.0)
    }

    /// The number of the connection by which it came; used again when the connection is gone.
    #[must_use]
    pub fn client(self) -> u32 {
        u32::from(self.peer)
    }

    /// The token of that number; one that was never given out is harmless.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        // Three fields, each cut to its width.
        Self { generation: (bits >> 32) as u32, peer: (bits >> 16) as u16, id: RequestId(bits as u16) }
    }
}

/// The owner's side: buffers, given out as credits, and the execution of requests.
///
/// Every buffer that [`reserve`](Self::reserve) gave out is released exactly once, by the server:
/// after the completion of the request, and for a read when its data was sent or the connection is
/// gone. Never before the completion.
pub trait Backend {
    /// Takes a credit and a buffer of at least `length` bytes, which is not zero and at most
    /// [`Limits::payload`](crate::Limits::payload). `None`: not now; the server asks again at
    /// [`Server::resume`](crate::Server::resume), and until then does not read that connection.
    /// With nothing else in use, every length up to the limit must be granted, or that connection
    /// waits for ever.
    fn reserve(&mut self, length: u32) -> Option<BufferHandle>;

    /// The contents of a buffer in use.
    fn bytes(&self, buffer: BufferHandle) -> &[u8];

    /// The contents of a buffer in use.
    fn bytes_mut(&mut self, buffer: BufferHandle) -> &mut [u8];

    /// Takes buffer and credit back.
    fn release(&mut self, buffer: BufferHandle);

    /// Starts a request; a read or write comes with a buffer, the others without. It must be
    /// answered through [`Server::complete`](crate::Server::complete), in any order and at any
    /// later time.
    fn submit(&mut self, token: RequestToken, request: Request, buffer: Option<BufferHandle>);
}
