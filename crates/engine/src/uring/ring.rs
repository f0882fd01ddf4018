//! An I/O backend that uses io_uring: one ring, one system call per batch.

use std::fmt;
use std::io;
use std::mem;

use io_uring::{IoUring, Probe, opcode, squeue, types};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;

use super::Lease;
use crate::access::{Access, Done, Next, Priority, Step};
use crate::backend::IoBackend;
use crate::backlog::Backlog;
use crate::fault::Failure;
use crate::member::{Member, Round};

/// The entries of the submission queue: the largest batch of one system call.
const BATCH: u32 = 256;
/// The most accesses that are submitted at once, without those that were given up. The completion
/// queue has room for this many; the kernel keeps further completions until there is room.
const DEPTH: usize = 4096;
/// The most accesses of one member that are submitted at once.
const WIDTH: usize = 128;
/// The most worker threads of the kernel, which carry out accesses that would block the caller.
/// They are enough for all accesses of several members that do not answer, so that other members do
/// not wait for these.
const WORKERS: u32 = 1024;
/// The most parts of one operation, the kernel's limit (IOV_MAX). A longer list takes several
/// operations.
const PARTS: usize = 1024;

/// The I/O priority of background accesses: best effort, the lowest level. Other accesses have the
/// priority of the process.
const BACKGROUND: u16 = 2 << 13 | 7;

/// An io_uring, and the accesses submitted to it.
pub(crate) struct Ring {
    ring: IoUring,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Slots whose next operation is not in the submission queue yet.
    ready: Vec<usize>,
    backlog: Backlog,
    /// Accesses that failed before they were submitted.
    done: Vec<Done>,
    /// The kernel was out of memory at the last submission.
    stalled: bool,
}

/// The slot of an access that is submitted. The slot's number is the user data of its operations.
#[derive(Debug, Default)]
struct Slot {
    access: Option<Access>,
    vectors: Vec<Vector>,
    /// The pause before the next operation. Boxed, because the kernel uses its address.
    pause: Option<Box<types::Timespec>>,
}

/// A `struct iovec`.
#[derive(Debug)]
#[repr(C)]
struct Vector {
    address: *mut u8,
    length: usize,
}

// SAFETY: the addresses are those of the leases in the slot's own access, which is `Send`, and of
// static zeroes. Only the kernel uses them.
unsafe impl Send for Slot {}

impl Ring {
    pub(crate) fn new() -> io::Result<Ring> {
        let build = |cooperative: bool| {
            let mut builder = IoUring::builder();
            builder.setup_cqsize(DEPTH as u32).setup_clamp();
            if cooperative {
                // Completions are collected when this thread next enters the kernel, so they need
                // no interrupts.
                builder.setup_coop_taskrun();
            }
            builder.build(BATCH)
        };
        // Kernels before 5.19 do not support this flag.
        let ring: IoUring = build(true).or_else(|_| build(false))?;
        check_operations(&ring)?;
        // Kernels before 5.15 do not support this limit. With them, some members that hang would
        // block all others.
        ring.submitter().register_iowq_max_workers(&mut [WORKERS, 0])?;
        Ok(Ring {
            ring,
            slots: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            backlog: Backlog::new(WIDTH),
            done: Vec::new(),
            stalled: false,
        })
    }

    fn with_kernel(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number of submitted accesses that were not given up.
    fn awaited(&self) -> usize {
        self.with_kernel() - self.backlog.given_up()
    }

    /// Submits as many accesses as the limits allow.
    fn pump(&mut self) -> io::Result<()> {
        let round = Round::begin();
        while self.awaited() < DEPTH
            && let Some(access) = self.backlog.pop()
        {
            match access.admit(round) {
                Ok(()) => self.place(access),
                Err(failure) => {
                    self.backlog.done(access.member().serial());
                    self.done.push(access.finish(Err(failure)));
                }
            }
        }
        while let Some(slot) = self.ready.pop() {
            if self.ring.submission().is_full() && !self.enter()? {
                self.ready.push(slot);
                return Ok(());
            }
            self.push(slot);
        }
        if !self.ring.submission().is_empty() {
            self.enter()?;
        }
        Ok(())
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
        // SAFETY: the slot's access and vectors keep the entry's file, vectors and bytes until the
        // kernel has answered (`settle`): the file by an `Arc`, the bytes by leases that admit no
        // other use and are not freed, even if this ring is leaked. The vectors are not changed
        // while the access is in the slot.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "there is room in the submission queue");
    }

    /// Submits all entries of the submission queue with one system call. Returns false if the
    /// kernel is out of memory for the moment: the caller must try again later. Operations that
    /// were submitted before continue meanwhile.
    fn enter(&mut self) -> io::Result<bool> {
        loop {
            self.stalled = false;
            match self.ring.submit() {
                Ok(_) if self.ring.submission().is_empty() => return Ok(true),
                Ok(_) => {}
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    Some(Errno::AGAIN | Errno::BUSY | Errno::NOMEM) => {
                        self.stalled = true;
                        return Ok(false);
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    /// Takes the completions from the kernel.
    fn collect(&mut self, done: &mut Vec<Done>) {
        // The borrow of the queue ends before `settle`, which needs all of `self`.
        while let Some(entry) = { self.ring.completion().next() } {
            self.settle(entry.user_data() as usize, entry.result(), done);
        }
    }

    fn settle(&mut self, number: usize, result: i32, done: &mut Vec<Done>) {
        let slot = &mut self.slots[number];
        let waiting = slot.access.as_mut().expect("the kernel answers what it was asked, once");
        let next = match slot.pause.take() {
            Some(_) if waiting.member().is_given_up() => Next::Over(Err(Failure::Unanswered)),
            Some(_) => Next::GoOn,
            None => waiting.settle(usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result))),
        };
        match next {
            Next::GoOn => self.ready.push(number),
            Next::Pause(pause) => {
                slot.pause = Some(Box::new(pause.into()));
                self.ready.push(number);
            }
            Next::Over(result) => done.extend(self.vacate(number, result)),
        }
    }

    /// Removes a completed access from its slot.
    fn vacate(&mut self, number: usize, result: Result<(), Failure>) -> Option<Done> {
        let access = self.slots[number].access.take()?;
        self.slots[number].pause = None;
        self.backlog.done(access.member().serial());
        self.free.push(number);
        Some(access.finish(result))
    }
}

impl Slot {
    /// The next operation of the slot's access.
    fn entry(&mut self) -> squeue::Entry {
        if let Some(pause) = &self.pause {
            return opcode::Timeout::new(&raw const **pause).build();
        }
        let access = self.access.as_mut().expect("a slot in use has an access");
        let fd = types::Fd(access.member().file().as_raw_fd());
        let at = access.position();
        let priority = if access.priority() == Priority::Background { BACKGROUND } else { 0 };
        // The kernel's worker threads wait for operations that would block this thread.
        let flags = if access.member().blocks() { squeue::Flags::ASYNC } else { squeue::Flags::empty() };
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
        transfer(fd, at, step, priority, &self.vectors).flags(flags)
    }
}

/// A read or write of `vectors`. The plain operations are cheaper than the vectored ones.
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
        // The address stays within the part: `rest` skips less than the first part's length.
        Vector { address: part.address().wrapping_add(skipped), length: part.len() - skipped }
    }));
}

/// Refuses kernels whose io_uring lacks an operation that is needed (before 5.6).
fn check_operations(ring: &IoUring) -> io::Result<()> {
    let needed = [
        opcode::Read::CODE,
        opcode::Readv::CODE,
        opcode::Write::CODE,
        opcode::Writev::CODE,
        opcode::Fsync::CODE,
        opcode::Fallocate::CODE,
        opcode::Timeout::CODE,
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

    fn give_up(&mut self, member: &Member, done: &mut Vec<Done>) {
        let serial = member.serial();
        // Accesses whose next operation was not submitted are withdrawn.
        let of_member = |slots: &[Slot], number: usize| {
            slots[number].access.as_ref().is_some_and(|access| access.member().serial() == serial)
        };
        let (idle, ready) = mem::take(&mut self.ready).into_iter().partition(|n| of_member(&self.slots, *n));
        self.ready = ready;
        let idle: Vec<usize> = idle;
        done.extend(idle.into_iter().filter_map(|number| self.vacate(number, Err(Failure::Unanswered))));
        let waiting = self.backlog.give_up(serial);
        done.extend(waiting.into_iter().map(|access| access.finish(Err(Failure::Unanswered))));
    }

    fn is_stalled(&self) -> bool {
        self.stalled
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
    /// Waits until the kernel has completed the submitted accesses, so that members are closed when
    /// this returns; but not for accesses that were given up. If an access is left, or waiting
    /// fails, the access's memory is leaked and never used again.
    fn drop(&mut self) {
        let mut done = Vec::new();
        loop {
            let reaped = self.reap(&mut done);
            done.clear();
            if reaped.is_err() || self.awaited() + self.backlog.len() == 0 {
                break;
            }
            if self.awaited() > 0
                && let Err(error) = self.ring.submit_and_wait(1)
                && !matches!(Errno::from_io_error(&error), Some(Errno::INTR | Errno::AGAIN | Errno::BUSY))
            {
                break;
            }
        }
        mem::forget(mem::take(&mut self.slots));
    }
}
