//! Accesses through io_uring: one ring, one system call a batch.

use std::fmt;
use std::io;
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, squeue, types};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;

use super::Lease;
use crate::access::{Access, Done, Priority, Step};
use crate::backlog::Backlog;
use crate::io::IoBackend;
use crate::member::Round;

/// Entries of the submission queue: the largest batch of one system call.
const BATCH: u32 = 256;
/// Accesses with the kernel at once. The completion queue has room for all of them, so it cannot overflow.
const DEPTH: usize = 1024;
/// Parts per operation, the kernel's limit (IOV_MAX). Longer lists go on where the first ones end.
const PARTS: usize = 1024;

/// I/O priority of what nobody waits for: best effort, the lowest level. The others have the process's own.
const BACKGROUND: u16 = 2 << 13 | 7;

/// An io_uring and the accesses that are with it.
pub(crate) struct Ring {
    ring: IoUring,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Slots whose next operation is not in the submission queue yet.
    ready: Vec<usize>,
    backlog: Backlog,
    /// Refused before the kernel was asked.
    done: Vec<Done>,
}

/// A place for an access that is with the kernel. Its number is the operation's user data.
#[derive(Debug, Default)]
struct Slot {
    access: Option<Access>,
    vectors: Vec<Vector>,
}

/// A `struct iovec`.
#[derive(Debug)]
#[repr(C)]
struct Vector {
    address: *mut u8,
    length: usize,
}

// SAFETY: the addresses are those of the leases in the slot's own access, which is `Send`, and of static
// zeroes; they are used by nobody but the kernel.
unsafe impl Send for Slot {}

impl Ring {
    pub(crate) fn new() -> io::Result<Ring> {
        let build = |cooperative: bool| {
            let mut builder = IoUring::builder();
            builder.setup_cqsize(DEPTH as u32).setup_clamp();
            if cooperative {
                // Completions are collected when this thread next enters the kernel: no interrupts for them.
                builder.setup_coop_taskrun();
            }
            builder.build(BATCH)
        };
        // Kernels before 5.19 do not know cooperation.
        let ring: IoUring = build(true).or_else(|_| build(false))?;
        check_operations(&ring)?;
        Ok(Ring {
            ring,
            slots: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            backlog: Backlog::default(),
            done: Vec::new(),
        })
    }

    fn with_kernel(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Hands to the kernel as much as it has room for.
    fn pump(&mut self) -> io::Result<()> {
        let round = Round::begin();
        while self.with_kernel() < DEPTH
            && let Some(access) = self.backlog.pop()
        {
            match access.admit(round) {
                Ok(()) => self.place(access),
                Err(failure) => self.done.push(access.finish(Err(failure))),
            }
        }
        while let Some(slot) = self.ready.pop() {
            if self.ring.submission().is_full() {
                self.enter()?;
            }
            self.push(slot);
        }
        if self.ring.submission().is_empty() { Ok(()) } else { self.enter() }
    }

    fn place(&mut self, access: Access) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[slot].access = Some(access);
        self.ready.push(slot);
    }

    /// Puts the next operation of a slot's access into the submission queue, which has room.
    fn push(&mut self, number: usize) {
        let entry = self.slots[number].entry().user_data(number as u64);
        // SAFETY: the entry's file, vectors and bytes are held by the slot's access and vectors until the
        // kernel has answered (`settle`): the file by an `Arc`, the bytes by leases that admit no other use and
        // are not freed, even if this ring is leaked; the vectors are not touched while the access is placed.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "there is room in the submission queue");
    }

    /// One system call for all that is in the submission queue.
    fn enter(&mut self) -> io::Result<()> {
        loop {
            match self.ring.submit() {
                Ok(_) if self.ring.submission().is_empty() => return Ok(()),
                Ok(_) => {}
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    // The kernel is out of memory for the moment. What it has already goes on meanwhile.
                    Some(Errno::AGAIN | Errno::BUSY) => std::thread::sleep(Duration::from_millis(1)),
                    _ => return Err(error),
                },
            }
        }
    }

    /// Takes the kernel's answers.
    fn collect(&mut self, done: &mut Vec<Done>) {
        // The queue is left before the answers are looked at, since that needs the rest of `self`.
        while let Some(entry) = { self.ring.completion().next() } {
            self.settle(entry.user_data() as usize, entry.result(), done);
        }
    }

    fn settle(&mut self, number: usize, result: i32, done: &mut Vec<Done>) {
        let access = &mut self.slots[number].access;
        let waiting = access.as_mut().expect("the kernel answers what it was asked, once");
        let answer = usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
        match waiting.settle(answer) {
            None => self.ready.push(number),
            Some(result) => {
                done.extend(access.take().map(|access| access.finish(result)));
                self.free.push(number);
            }
        }
    }
}

impl Slot {
    /// The next operation of the slot's access.
    fn entry(&mut self) -> squeue::Entry {
        let access = self.access.as_mut().expect("a slot in use has an access");
        let fd = types::Fd(access.member().file().as_raw_fd());
        let at = access.position();
        let priority = if access.priority() == Priority::Background { BACKGROUND } else { 0 };
        let step = access.begin_step();
        self.vectors.clear();
        match step {
            Step::Read => fill(&mut self.vectors, access),
            Step::Write { .. } => fill(&mut self.vectors, access),
            Step::Zero(way) => {
                if let Some(flags) = way.flags() {
                    let mode = flags.bits().cast_signed();
                    return opcode::Fallocate::new(fd, access.remaining()).offset(at).mode(mode).build();
                }
                let zeroes = access.next_zeroes();
                self.vectors.push(Vector { address: zeroes.as_ptr().cast_mut(), length: zeroes.len() });
            }
            Step::Sync => return opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
        }
        transfer(fd, at, step, priority, &self.vectors)
    }
}

/// A read or write of `vectors`; the plain operations are cheaper than the vectored ones.
fn transfer(fd: types::Fd, at: u64, step: Step, priority: u16, vectors: &[Vector]) -> squeue::Entry {
    let flags = step.flags().bits().cast_signed();
    let list = vectors.as_ptr().cast();
    let count = vectors.len() as u32;
    let single = match vectors {
        [only] => u32::try_from(only.length).ok().map(|length| (only.address, length)),
        _ => None,
    };
    match (step, single) {
        (Step::Read, Some((address, length))) => {
            opcode::Read::new(fd, address, length).offset(at).ioprio(priority).build()
        }
        (Step::Read, None) => opcode::Readv::new(fd, list, count).offset(at).ioprio(priority).build(),
        (_, Some((address, length))) => {
            opcode::Write::new(fd, address, length).offset(at).ioprio(priority).rw_flags(flags).build()
        }
        (_, None) => opcode::Writev::new(fd, list, count).offset(at).ioprio(priority).rw_flags(flags).build(),
    }
}

/// The parts that are still to be moved, up to the kernel's limit.
fn fill(vectors: &mut Vec<Vector>, access: &mut Access) {
    let (_, rest, mut skip) = access.rest();
    vectors.extend(rest.iter().take(PARTS).map(|part: &Lease| {
        let skipped = std::mem::take(&mut skip);
        // The sum stays within the part: `rest` skips less than the first part's length.
        Vector { address: part.address().wrapping_add(skipped), length: part.len() - skipped }
    }));
}

/// Refuses kernels that have io_uring but not all that is needed (before 5.6).
fn check_operations(ring: &IoUring) -> io::Result<()> {
    let needed = [
        opcode::Read::CODE,
        opcode::Readv::CODE,
        opcode::Write::CODE,
        opcode::Writev::CODE,
        opcode::Fsync::CODE,
        opcode::Fallocate::CODE,
    ];
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    if needed.iter().all(|code| probe.is_supported(*code)) {
        Ok(())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl IoBackend for Ring {
    fn submit(&mut self, batch: &mut Vec<Access>) -> io::Result<()> {
        batch.drain(..).for_each(|access| self.backlog.push(access));
        self.pump()
    }

    fn reap(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        self.collect(done);
        self.pump()?;
        done.append(&mut self.done);
        Ok(())
    }

    fn wait_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    fn in_flight(&self) -> usize {
        self.with_kernel() + self.backlog.len() + self.done.len()
    }

    fn name(&self) -> &'static str {
        "io_uring"
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

impl Drop for Ring {
    /// Waits for the kernel, so that what was submitted is done and members are closed when this returns. If
    /// that fails, the leases are lost, and with them their memory, which nobody may use again.
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_flight() > 0 {
            if self.reap(&mut done).is_err() {
                return;
            }
            done.clear();
            if self.with_kernel() > 0
                && let Err(error) = self.ring.submit_and_wait(1)
                && Errno::from_io_error(&error) != Some(Errno::INTR)
            {
                return;
            }
        }
    }
}
