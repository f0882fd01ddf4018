//! What serves hosts, and what it may ask of the array.

use std::io;
use std::time::Duration;

use parlour_array::{BufferId, Geometry, Mode, Operation, RequestError};
use parlour_units::{Bytes, Sector, Sectors};
use rustix::fd::BorrowedFd;

use crate::machine::Machine;
use crate::requests::Asked;

/// Serves hosts by some protocol, on the server's thread.
///
/// Every buffer that [`Port::reserve`] gave is to be given back by [`Port::release`], not before
/// the completion of the request that it was submitted with. `now` is time since the array was
/// opened.
pub trait Frontend {
    /// Readable when there is something to do.
    fn wait_fd(&self) -> BorrowedFd<'_>;

    /// Does what is ready, without waiting.
    ///
    /// # Errors
    /// If no host can be served any more; what goes wrong with one host is that host's affair.
    fn poll(&mut self, now: Duration, port: &mut Port<'_>) -> io::Result<()>;

    /// The request that was submitted with `tag` is done. A read's payload is in its buffer.
    fn complete(&mut self, tag: u64, result: Result<(), RequestError>, port: &mut Port<'_>);

    /// Sends what was queued since the last call, and asks again for buffers that were refused.
    /// Called once a turn, after the completions.
    fn flush(&mut self, port: &mut Port<'_>);

    /// When [`Frontend::poll`] is to be called even if nothing is ready.
    fn deadline(&self) -> Option<Duration>;

    /// Takes nothing new, and finishes what is under way.
    fn close(&mut self, port: &mut Port<'_>);

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool;
}

/// A frontend's way to the array.
#[derive(Debug)]
pub struct Port<'a> {
    machine: &'a mut Machine,
    submitted: u32,
}

impl<'a> Port<'a> {
    pub(crate) fn new(machine: &'a mut Machine) -> Port<'a> {
        Port { machine, submitted: 0 }
    }

    /// How many requests came through this port.
    pub(crate) fn submitted(&self) -> u32 {
        self.submitted
    }

    /// A buffer of at least `length` bytes for a payload; `None` when hosts have all the memory
    /// that they may have: ask again at [`Frontend::flush`]. With nothing else in use every length
    /// is granted.
    pub fn reserve(&mut self, length: Bytes) -> Option<BufferId> {
        self.machine.reserve(Sectors::new(length.get().div_ceil(512).max(1)))
    }

    /// A buffer's bytes.
    ///
    /// # Panics
    /// If the array is reading into it: between submission and completion it is the array's.
    pub fn bytes(&self, buffer: BufferId) -> &[u8] {
        self.machine.bytes(buffer)
    }

    /// A buffer's bytes, to be filled.
    ///
    /// # Panics
    /// If the array is working on it.
    pub fn bytes_mut(&mut self, buffer: BufferId) -> &mut [u8] {
        self.machine.bytes_mut(buffer)
    }

    /// Gives a buffer back.
    pub fn release(&mut self, buffer: BufferId) {
        self.machine.release(buffer);
    }

    /// Submits a request of a client, as the frontend numbers them from 0: clients take turns. Its
    /// answer comes by [`Frontend::complete`] with `tag`, never from within this call.
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

    /// Whether and how the array serves.
    pub fn mode(&self) -> Mode {
        self.machine.array.get().mode()
    }

    /// What hosts can store.
    pub fn capacity(&self) -> Sectors {
        self.geometry().capacity()
    }

    /// The array's shape.
    pub fn geometry(&self) -> &Geometry {
        self.machine.array.get().geometry()
    }
}
