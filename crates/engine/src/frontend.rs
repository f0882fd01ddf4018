//! The interface between the array's server and a protocol that serves hosts.

use std::io;
use std::time::Duration;

use parlour_array::{BufferId, Geometry, Mode, Operation, RequestError};
use parlour_units::{Bytes, Sector, Sectors};
use rustix::fd::BorrowedFd;

use crate::machine::Machine;
use crate::requests::Asked;

/// Serves hosts by a protocol, on the server's thread.
///
/// Each buffer from [`Port::reserve`] must be given back with [`Port::release`], after the request
/// that it was submitted with has completed. `now` is the time since the array was opened.
pub trait Frontend {
    /// Readable when there is something to do.
    fn wait_fd(&self) -> BorrowedFd<'_>;

    /// Does all work that is possible without waiting.
    ///
    /// # Errors
    /// If no host can be served any more. An error of one host's connection is not an error here.
    fn poll(&mut self, now: Duration, port: &mut Port<'_>) -> io::Result<()>;

    /// The request that was submitted with `tag` is complete. The data of a read is in its buffer.
    fn complete(&mut self, tag: u64, result: Result<(), RequestError>, port: &mut Port<'_>);

    /// Sends what was queued since the last call, and asks again for buffers that were refused.
    /// Called once per turn of the server, after the completions.
    fn flush(&mut self, port: &mut Port<'_>);

    /// When [`Frontend::poll`] must be called even if nothing is ready.
    fn deadline(&self) -> Option<Duration>;

    /// Accepts no new requests, and completes those in progress.
    fn close(&mut self, port: &mut Port<'_>);

    /// Whether no request is in progress.
    fn is_idle(&self) -> bool;
}

/// A frontend's access to the array.
#[derive(Debug)]
pub struct Port<'a> {
    machine: &'a mut Machine,
    submitted: u32,
}

impl<'a> Port<'a> {
    pub(crate) fn new(machine: &'a mut Machine) -> Port<'a> {
        Port { machine, submitted: 0 }
    }

    /// The number of requests submitted through this port.
    pub(crate) fn submitted(&self) -> u32 {
        self.submitted
    }

    /// A buffer for a payload of at least `length` bytes. Returns `None` if hosts use all the
    /// memory that they may use; ask again in [`Frontend::flush`]. If no other buffer is in use,
    /// any length is granted.
    pub fn reserve(&mut self, length: Bytes) -> Option<BufferId> {
        self.machine.reserve(Sectors::new(length.get().div_ceil(512).max(1)))
    }

    /// A write is being received. The array may wait for it for a moment, to write a stripe as a
    /// whole. Nothing depends on whether it comes.
    pub fn expect_write(&mut self, at: Sector, length: Sectors) {
        self.machine.expect_write(at, length);
    }

    /// The bytes of a buffer.
    ///
    /// # Panics
    /// If the array is reading into the buffer: between submission and completion it belongs to the
    /// array.
    pub fn bytes(&self, buffer: BufferId) -> &[u8] {
        self.machine.bytes(buffer)
    }

    /// The bytes of a buffer, for writing.
    ///
    /// # Panics
    /// If the array is using the buffer.
    pub fn bytes_mut(&mut self, buffer: BufferId) -> &mut [u8] {
        self.machine.bytes_mut(buffer)
    }

    /// Gives a buffer back.
    pub fn release(&mut self, buffer: BufferId) {
        self.machine.release(buffer);
    }

    /// Submits a request of a client. The frontend numbers its clients from 0, and clients are
    /// served in turn. The answer comes with `tag` through [`Frontend::complete`], never from
    /// within this call.
    pub fn submit(
        &mut self,
        client: u32,
        tag: u64,
        operation: Operation,
        at: Sector,
        length: Sectors,
        buffer: Option<BufferId>,
    ) {
        self.submitted += 1;
        self.machine.submit(Asked { client, tag, operation, at, length, buffer });
    }

    /// The mode in which the array serves.
    pub fn mode(&self) -> Mode {
        self.machine.array.get().mode()
    }

    /// The array's capacity for hosts' data.
    pub fn capacity(&self) -> Sectors {
        self.geometry().capacity()
    }

    /// The array's geometry.
    pub fn geometry(&self) -> &Geometry {
        self.machine.array.get().geometry()
    }
}
