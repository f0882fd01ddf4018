//! Helpers for the tests of members and accesses.
#![allow(dead_code, reason = "each test program uses its part of this")]

pub(crate) mod host;
pub(crate) mod rig;

use std::process::Command;
use std::sync::{Arc, LazyLock};

use parlour_engine::{
    Access, Buffer, Choice, Done, Fault, Io, IoBackend, Member, Memory, Operation, Part, Priority,
};
use parlour_units::{Bytes, Sector, Sectors};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tempfile::TempDir;

/// Memory with a backend, used for one batch at a time.
pub(crate) struct Driver {
    pub(crate) memory: Memory,
    pub(crate) io: Io,
    next: u64,
}

impl Driver {
    pub(crate) fn new(choice: Choice) -> Driver {
        let io = Io::new(choice).expect("accesses can be carried out here");
        Driver { memory: Memory::new(Bytes::mib(64)), io, next: 0 }
    }

    /// An access of `member` whose payload is in `parts`.
    pub(crate) fn access(
        &mut self,
        member: &Arc<Member>,
        operation: Operation,
        at: u64,
        parts: &[Part],
    ) -> Access {
        let length: usize = parts.iter().map(|part| part.length).sum();
        let mut leases = Vec::new();
        for part in parts {
            match operation {
                Operation::Read => leases.push(self.memory.lend_mut(*part)),
                _ => self.memory.lend(*part, &mut leases),
            }
        }
        self.bare(member, operation, at, length as u64, leases)
    }

    /// An access without payload: zeroing or a flush.
    pub(crate) fn plain(
        &mut self,
        member: &Arc<Member>,
        operation: Operation,
        at: u64,
        length: u64,
    ) -> Access {
        self.bare(member, operation, at, length, Vec::new())
    }

    fn bare(
        &mut self,
        member: &Arc<Member>,
        operation: Operation,
        at: u64,
        length: u64,
        leases: Vec<parlour_engine::Lease>,
    ) -> Access {
        self.next += 1;
        let range = (sector(at), Sectors::from_bytes(Bytes::new(length)).expect("whole sectors"));
        let priority = if self.next.is_multiple_of(2) { Priority::Background } else { Priority::Foreground };
        Access::new(self.next, Arc::clone(member), priority, operation, range, leases)
    }

    /// Carries out `batch`, releases all leases, and returns the results in the order of the batch.
    pub(crate) fn run(&mut self, batch: Vec<Access>) -> Vec<Result<(), Fault>> {
        let mut batch = batch;
        let count = batch.len();
        self.io.submit(&mut batch).expect("the way itself works");
        assert!(batch.is_empty());
        let mut done: Vec<Done> = Vec::new();
        self.io.reap(&mut done).expect("the way itself works");
        while done.len() < count {
            wait(&self.io);
            self.io.reap(&mut done).expect("the way itself works");
        }
        assert_eq!(self.io.in_flight(), 0);
        done.sort_by_key(|done| done.id);
        done.into_iter()
            .map(|done| {
                done.parts.into_iter().for_each(|lease| self.memory.give_back(lease));
                done.result.map_err(|failure| failure.fault())
            })
            .collect()
    }

    /// Runs one access that must succeed.
    pub(crate) fn succeed(&mut self, access: Access) {
        assert_eq!(self.run(vec![access]), [Ok(())]);
    }
}

/// Waits until a completion may be available.
pub(crate) fn wait(io: &Io) {
    let fd = io.wait_fd();
    let mut polled = [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
    let patience = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    match rustix::event::poll(&mut polled, Some(&patience)) {
        Ok(0) => panic!("nothing was done in 20 s: {io:?}"),
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(errno) => panic!("poll: {errno}"),
    }
}

/// The available backends: many containers refuse io_uring.
pub(crate) fn ways() -> Vec<Choice> {
    static URING: LazyLock<bool> = LazyLock::new(|| match Io::new(Choice::Uring) {
        Ok(_) => true,
        Err(refused) => {
            eprintln!("skipped: {refused}");
            false
        }
    });
    let mut ways = vec![Choice::Auto, Choice::Threads];
    if *URING {
        ways.push(Choice::Uring);
    }
    ways
}

pub(crate) fn sector(byte: u64) -> Sector {
    Sector::from_bytes(byte).expect("a whole sector")
}

pub(crate) fn payload(number: u32, start: usize, length: usize) -> Part {
    Part { buffer: Buffer::Payload(number), start, length }
}

/// Pseudo-random numbers from a seed.
pub(crate) struct Numbers(SplitMix64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

/// A temporary directory on a disk.
pub(crate) fn on_disk() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A directory in memory, if available.
pub(crate) fn on_memory() -> Option<TempDir> {
    tempfile::tempdir_in("/dev/shm").ok()
}

/// The available kinds of directories.
pub(crate) fn places() -> Vec<TempDir> {
    [Some(on_disk()), on_memory()].into_iter().flatten().collect()
}

/// Runs a command, and returns its output if it succeeded.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A loop device that is detached when dropped. `None` if the caller has no permission.
pub(crate) struct LoopDevice(pub(crate) String);

impl LoopDevice {
    pub(crate) fn new(file: &str, block: u32) -> Option<LoopDevice> {
        let block = block.to_string();
        command("losetup", &["--find", "--show", "--sector-size", &block, file]).map(LoopDevice)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        command("losetup", &["--detach", &self.0]);
    }
}

/// A tiny file system in memory that is unmounted when dropped. `None` if the caller may not mount.
pub(crate) struct TinyFileSystem(pub(crate) TempDir);

impl TinyFileSystem {
    pub(crate) fn new(size: &str) -> Option<TinyFileSystem> {
        let directory = on_disk();
        let options = format!("size={size}");
        let target = directory.path().to_str()?;
        command("mount", &["-t", "tmpfs", "-o", &options, "none", target])?;
        Some(TinyFileSystem(directory))
    }
}

impl Drop for TinyFileSystem {
    fn drop(&mut self) {
        command("umount", &[self.0.path().to_str().expect("made from text")]);
    }
}
