//! Accesses by a pool of threads, where io_uring is refused.

use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use crate::access::{Access, Done};
use crate::backlog::Backlog;
use crate::helper;
use crate::io::IoBackend;
use crate::member::Round;
use crate::perform::perform;

/// Threads in a pool: so many accesses are with the kernel at once.
const THREADS: usize = 16;

/// A pool of threads. Dropping it finishes what was submitted.
#[derive(Debug)]
pub(crate) struct Threads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Told when the queue has something, or is closed.
    work: Condvar,
    done: Mutex<Vec<Done>>,
    /// Readable while `done` has something.
    event: OwnedFd,
}

#[derive(Debug, Default)]
struct Queue {
    backlog: Backlog,
    closed: bool,
}

impl Threads {
    pub(crate) fn new() -> io::Result<Threads> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            work: Condvar::new(),
            done: Mutex::default(),
            event: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        });
        // Made before its threads, so that it closes and joins them if one cannot be started.
        let mut pool = Threads { shared, threads: Vec::with_capacity(THREADS), in_flight: 0 };
        for number in 0..THREADS {
            let shared = Arc::clone(&pool.shared);
            let thread = helper::spawn(&format!("member-io-{number}"), move || shared.work())?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }
}

impl IoBackend for Threads {
    fn submit(&mut self, batch: &mut Vec<Access>) -> io::Result<()> {
        let count = batch.len();
        self.in_flight += count;
        let mut queue = lock(&self.shared.queue);
        batch.drain(..).for_each(|access| queue.backlog.push(access));
        drop(queue);
        for _ in 0..count.min(THREADS) {
            self.shared.work.notify_one();
        }
        Ok(())
    }

    fn reap(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        // Before looking: what is done after the look makes the event readable again.
        match rustix::io::read(&self.shared.event, &mut [0; 8]) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut ready = lock(&self.shared.done);
        self.in_flight -= ready.len();
        done.append(&mut ready);
        Ok(())
    }

    fn wait_fd(&self) -> BorrowedFd<'_> {
        self.shared.event.as_fd()
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn name(&self) -> &'static str {
        "threads"
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.work.notify_all();
        for thread in mem::take(&mut self.threads) {
            // None panics and lives to tell.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// One thread's life: until the queue is closed and empty.
    fn work(&self) {
        while let Some(mut access) = self.next() {
            let result = perform(&mut access, Round::begin());
            self.hand_over(access.finish(result));
        }
    }

    fn next(&self) -> Option<Access> {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(access) = queue.backlog.pop() {
                return Some(access);
            }
            if queue.closed {
                return None;
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn hand_over(&self, done: Done) {
        let mut ready = lock(&self.done);
        ready.push(done);
        if ready.len() == 1 {
            // The counter is far from its limit, so this neither blocks nor fails.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }
}

/// Locks. Every change under these locks is complete at every point, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
