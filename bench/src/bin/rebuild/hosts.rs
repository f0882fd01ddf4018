//! Hosts that fill an array before it is measured, and then are silent.

use std::io;
use std::sync::mpsc::Sender;
use std::time::Duration;

use parlour_array::{BufferId, Operation, RequestError};
use parlour_engine::{Frontend, Port};
use parlour_units::{Sector, Sectors};
use parlour_workload::random::Random;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

/// Writes at once.
const DEPTH: u64 = 8;
const LONG: Sectors = Sectors::new(2_048);
const SHORT: Sectors = Sectors::new(8);

/// Writes the whole array in a row, then so many short writes at random, and then flushes.
#[derive(Debug)]
pub(crate) struct Hosts {
    random: Random,
    next: Sector,
    short: u64,
    flushed: bool,
    closed: bool,
    /// The buffers of the writes under way, by tag.
    buffers: Vec<Option<BufferId>>,
    /// Told when all is done.
    done: Sender<()>,
    /// Readable once, at the start.
    start: OwnedFd,
}

impl Hosts {
    pub(crate) fn new(short: u64, done: Sender<()>) -> io::Result<Hosts> {
        let start = eventfd(1, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let buffers = vec![None; DEPTH as usize];
        let random = Random::new(1);
        Ok(Hosts { random, next: Sector::ZERO, short, flushed: false, closed: false, buffers, done, start })
    }

    /// Submits the next write, as `tag`.
    fn go_on(&mut self, tag: u64, port: &mut Port<'_>) {
        let Some((at, length)) = self.next_range(port.capacity()) else { return self.end(tag, port) };
        let buffer = port.reserve(length.bytes()).expect("so much memory is there");
        let (words, _) = port.bytes_mut(buffer)[..length.bytes().as_usize()].as_chunks_mut::<8>();
        words.iter_mut().for_each(|word| *word = self.random.bits().to_ne_bytes());
        self.buffers[tag as usize] = Some(buffer);
        port.submit(0, tag, Operation::Write { durable: false }, at, length, Some(buffer));
    }

    fn next_range(&mut self, capacity: Sectors) -> Option<(Sector, Sectors)> {
        let end = Sector::ZERO + capacity;
        if self.closed {
            None
        } else if self.next < end {
            let at = self.next;
            let length = LONG.min(Sectors::new(end.get() - at.get()));
            self.next = at + length;
            Some((at, length))
        } else if self.short > 0 {
            self.short -= 1;
            let at = Sector::ZERO + SHORT * self.random.below(capacity.get() / SHORT.get());
            Some((at, SHORT))
        } else {
            None
        }
    }

    /// The writes have ended with that of `tag`, or others are under way.
    fn end(&mut self, tag: u64, port: &mut Port<'_>) {
        if self.buffers.iter().any(Option::is_some) || self.closed {
            return;
        }
        if self.flushed {
            let _ = self.done.send(());
        } else {
            self.flushed = true;
            port.submit(0, tag, Operation::Flush, Sector::ZERO, Sectors::ZERO, None);
        }
    }
}

impl Frontend for Hosts {
    fn wait_fd(&self) -> BorrowedFd<'_> {
        self.start.as_fd()
    }

    fn poll(&mut self, _now: Duration, port: &mut Port<'_>) -> io::Result<()> {
        if rustix::io::read(&self.start, &mut [0; 8]).is_ok() {
            (0..DEPTH).for_each(|tag| self.go_on(tag, port));
        }
        Ok(())
    }

    fn complete(&mut self, tag: u64, result: Result<(), RequestError>, port: &mut Port<'_>) {
        result.expect("all members are there");
        if let Some(buffer) = self.buffers[tag as usize].take() {
            port.release(buffer);
        }
        self.go_on(tag, port);
    }

    fn flush(&mut self, _port: &mut Port<'_>) {}

    fn deadline(&self) -> Option<Duration> {
        None
    }

    fn close(&mut self, _port: &mut Port<'_>) {
        self.closed = true;
    }

    fn is_idle(&self) -> bool {
        self.buffers.iter().all(Option::is_none)
    }
}
