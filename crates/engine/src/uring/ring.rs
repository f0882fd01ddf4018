//! Accesses through io_uring: one ring, one system call a batch.

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

/// Entries of the submission queue: the largest batch of one system call.
const BATCH: u32 = 256;
/// Accesses with the kernel at once, but for those that were given up. The completion queue has
/// room for so many; what comes on top the kernel keeps until there is room.
const DEPTH: usize = 4096;
/// Of one member.
const WIDTH: usize = 128;
/// The kernel's own threads for what would keep the caller waiting: enough for all accesses of some
/// members that do not answer, so that others do not wait behind them.
const WORKERS: u32 = 1024;
/// Parts per operation, the kernel's limit (IOV_MAX). Longer lists go on where the first ones end.
const PARTS: usize = 1024;

/// I/O priority of what nobody waits for: best effort, the lowest level. The others have the
/// process's own.
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
    /// The kernel was out of memory when it was last asked.
    stalled: bool,
}

/// A place for an access that is with the kernel. Its number is the operation's user data.
#[derive(Debug, Default)]
struct Slot {
    access: Option<Access>,
    vectors: Vec<Vector>,
    /// The pause that comes before the next operation. Boxed, since the kernel is given its
    /// address.
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
// static zeroes; they are used by nobody but the kernel.
unsafe impl Send for Slot {}

impl Ring {
    pub(crate) fn new() -> io::Result<Ring> {
        let build = |cooperative: bool| {
            let mut builder = IoUring::builder();
            builder.setup_cqsize(DEPTH as u32).setup_clamp();
            if cooperative {
                // Completions are collected when this thread next enters the kernel: no interrupts
                // for them.
                builder.setup_coop_taskrun();
            }
            builder.build(BATCH)
        };
        // Kernels before 5.19 do not know cooperation.
        let ring: IoUring = build(true).or_else(|_| build(false))?;
        check_operations(&ring)?;
        // Kernels before 5.15 do not, and there some members that hang would keep all others
        // waiting.
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

    /// Those with the kernel that somebody waits for.
    fn awaited(&self) -> usize {
        self.with_kernel() - self.backlog.given_up()
    }

    /// Hands to the kernel as much as it has room for.
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
        // SAFETY: the entry's file, vectors and bytes are held by the slot's access and vectors
        // until the kernel has answered (`settle`): the file by an `Arc`, the bytes by leases that
        // admit no other use and are not freed, even if this ring is leaked; the vectors are not
        // touched while the access is placed.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "there is room in the submission queue");
    }

    /// One system call for all that is in the submission queue. Says no where the kernel is out of
    /// memory for the moment: then it is to be asked again later, and what it has already goes on
    /// meanwhile.
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

    /// Takes the kernel's answers.
    fn collect(&mut self, done: &mut Vec<Done>) {
        // The queue is left before the answers are looked at, since that needs the rest of `self`.
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

    /// A slot's access is over.
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
        // The kernel's threads wait where this one must not.
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
        // What the kernel has not been asked for yet it is never asked for.
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
    /// Waits for the kernel, so that what was submitted is done and members are closed when this
    /// returns; but not for what was given up. What the kernel still has then, or if waiting fails,
    /// is lost, and with it its memory, which nobody may use again.
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
