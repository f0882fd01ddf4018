//! Connects the array to the network: the NBD server as the engine's frontend.
//!
//! The array's tag of a request is the NBD server's token, so nothing is stored or allocated per
//! request here.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use parlour_array::{BufferId, Operation, RequestError};
use parlour_engine::{Frontend, Port};
use parlour_nbd::{Backend, BufferHandle, NbdError, Request, RequestToken, Server};
use parlour_units::{Bytes, Sector, Sectors};

/// Serves an array to the clients of an NBD server.
pub(crate) struct NbdFrontend {
    server: Server,
    desk: Desk,
}

/// The state between the server's calls.
#[derive(Debug, Default)]
struct Desk {
    /// Buffers by number, for all numbers that were ever used. A handle carries only the number.
    buffers: Vec<Option<BufferId>>,
    /// Requests that need no access, to be answered before the turn ends.
    done: Vec<RequestToken>,
}

/// The array, as the NBD server sees it.
struct Counter<'a, 'b> {
    port: &'a mut Port<'b>,
    desk: &'a mut Desk,
}

impl NbdFrontend {
    pub(crate) fn new(server: Server) -> NbdFrontend {
        NbdFrontend { server, desk: Desk::default() }
    }

    fn parts<'a, 'b>(&'a mut self, port: &'a mut Port<'b>) -> (&'a mut Server, Counter<'a, 'b>) {
        (&mut self.server, Counter { port, desk: &mut self.desk })
    }

    /// Answers the requests that need no access. Returns whether there were any.
    fn answer_done(&mut self, port: &mut Port<'_>) -> bool {
        let mut done = std::mem::take(&mut self.desk.done);
        let any = !done.is_empty();
        for token in done.drain(..) {
            let (server, mut counter) = self.parts(port);
            server.complete(token, Ok(()), &mut counter);
        }
        // The vector is kept for its capacity.
        self.desk.done = done;
        any
    }
}

impl Frontend for NbdFrontend {
    fn wait_fd(&self) -> BorrowedFd<'_> {
        self.server.as_fd()
    }

    fn poll(&mut self, now: Duration, port: &mut Port<'_>) -> io::Result<()> {
        let (server, mut counter) = self.parts(port);
        server.poll(now, &mut counter)
    }

    fn complete(&mut self, tag: u64, result: Result<(), RequestError>, port: &mut Port<'_>) {
        let (server, mut counter) = self.parts(port);
        server.complete(RequestToken::from_bits(tag), result.map_err(on_the_wire), &mut counter);
    }

    fn flush(&mut self, port: &mut Port<'_>) {
        // Replies release buffers. A client that waits for one continues at once, and may complete
        // at once.
        loop {
            self.answer_done(port);
            let (server, mut counter) = self.parts(port);
            server.flush_replies(&mut counter);
            server.resume(&mut counter);
            if self.desk.done.is_empty() {
                return;
            }
        }
    }

    fn deadline(&self) -> Option<Duration> {
        self.server.deadline()
    }

    fn close(&mut self, port: &mut Port<'_>) {
        let (server, mut counter) = self.parts(port);
        server.drain(&mut counter);
    }

    fn is_idle(&self) -> bool {
        self.server.connections() == 0 && self.server.in_flight() == 0
    }
}

impl Counter<'_, '_> {
    fn buffer(&self, handle: BufferHandle) -> BufferId {
        self.desk.buffers[handle.0 as usize].expect("the server names only buffers that it was given")
    }
}

impl Backend for Counter<'_, '_> {
    fn reserve(&mut self, length: u32) -> Option<BufferHandle> {
        let buffer = self.port.reserve(Bytes::new(u64::from(length)))?;
        let index = buffer.as_usize();
        if index >= self.desk.buffers.len() {
            self.desk.buffers.resize(index + 1, None);
        }
        self.desk.buffers[index] = Some(buffer);
        Some(BufferHandle(index as u64))
    }

    fn bytes(&self, buffer: BufferHandle) -> &[u8] {
        self.port.bytes(self.buffer(buffer))
    }

    fn bytes_mut(&mut self, buffer: BufferHandle) -> &mut [u8] {
        self.port.bytes_mut(self.buffer(buffer))
    }

    fn release(&mut self, buffer: BufferHandle) {
        self.port.release(self.buffer(buffer));
    }

    fn expect_write(&mut self, offset: u64, length: u32) {
        // (A write that is not of whole sectors will be refused.)
        let length = Sectors::from_bytes(Bytes::new(u64::from(length)));
        if let (Some(at), Some(length)) = (Sector::from_bytes(offset), length) {
            self.port.expect_write(at, length);
        }
    }

    fn submit(&mut self, token: RequestToken, request: Request, buffer: Option<BufferHandle>) {
        let Some((operation, offset, length)) = operation(request) else {
            self.desk.done.push(token);
            return;
        };
        let at = Sector::from_bytes(offset).expect("the minimum block is a whole number of sectors");
        let length = Sectors::from_bytes(Bytes::new(u64::from(length)))
            .expect("the minimum block is a whole number of sectors");
        let buffer = buffer.map(|buffer| self.buffer(buffer));
        self.port.submit(token.client(), token.to_bits(), operation, at, length, buffer);
    }
}

/// The array's operation for a request, its offset and length. None for a request that needs no
/// access: there is no cache to read into, and every block is reported as allocated.
fn operation(request: Request) -> Option<(Operation, u64, u32)> {
    match request {
        Request::Read { offset, length } => Some((Operation::Read, offset, length)),
        Request::Write { offset, length, fua } => Some((Operation::Write { durable: fua }, offset, length)),
        Request::Flush => Some((Operation::Flush, 0, 0)),
        // After a trim the content is undefined, so there is nothing to make durable.
        Request::Trim { offset, length, fua: _ } => Some((Operation::Trim, offset, length)),
        Request::WriteZeroes { offset, length, fua, no_hole, fast_zero } => {
            let zeroes = Operation::WriteZeroes { may_unmap: !no_hole, fast_only: fast_zero, durable: fua };
            Some((zeroes, offset, length))
        }
        Request::Cache { .. } | Request::BlockStatus { .. } => None,
    }
}

/// The NBD error for a failed request.
fn on_the_wire(error: RequestError) -> NbdError {
    match error {
        RequestError::ReadOnly => NbdError::Eperm,
        RequestError::Lost | RequestError::BadBuffer => NbdError::Eio,
        RequestError::NotFast => NbdError::Enotsup,
        RequestError::Stopping | RequestError::Superseded => NbdError::Eshutdown,
        RequestError::BeyondEnd | RequestError::NoSpace => NbdError::Enospc,
        RequestError::Misaligned => NbdError::Einval,
    }
}
