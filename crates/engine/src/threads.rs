//! An I/O backend with a pool of threads, for systems that refuse io_uring.
//!
//! The pool has enough threads for several accesses of each member at once, so a member that does
//! not answer does not block the other members.

use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use crate::access::{Access, Done};
use crate::backend::IoBackend;
use crate::backlog::Backlog;
use crate::fault::Failure;
use crate::helper;
use crate::member::{Member, Round};
use crate::perform::perform;

/// The most threads that the accesses of one member may occupy.
const WIDTH: usize = 8;
/// The threads that are started at first. More are started as needed.
const FIRST: usize = 4;

/// A pool of threads. Dropping it completes the accesses that were submitted and not given up.
#[derive(Debug)]
pub(crate) struct Threads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Notified when the queue has an access or is closed.
    work: Condvar,
    /// Notified when an access is complete and the pool is closing.
    over: Condvar,
    done: Mutex<Vec<Done>>,
    /// Readable while `done` is not empty.
    event: OwnedFd,
}

#[derive(Debug)]
struct Queue {
    backlog: Backlog,
    /// The number of threads that wait for an access.
    idle: usize,
    /// The number of accesses that threads are carrying out.
    busy: usize,
    closed: bool,
}

impl Threads {
    pub(crate) fn new() -> io::Result<Threads> {
        let queue = Queue { backlog: Backlog::new(WIDTH), idle: 0, busy: 0, closed: false };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            work: Condvar::new(),
            over: Condvar::new(),
            done: Mutex::default(),
            event: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        });
        // Made before its threads, so that it is dropped and joins them if one cannot be started.
        let mut pool = Threads { shared, threads: Vec::with_capacity(FIRST), in_flight: 0 };
        (0..FIRST).try_for_each(|_| pool.start())?;
        Ok(pool)
    }

    fn start(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let name = format!("member-io-{}", self.threads.len());
        lock(&self.shared.queue).idle += 1;
        match helper::spawn(&name, move || shared.work()) {
            Ok(thread) => {
                self.threads.push(thread);
                Ok(())
            }
            Err(error) => {
                lock(&self.shared.queue).idle -= 1;
                Err(error)
            }
        }
    }

    /// Starts more threads if accesses wait for one, as far as the system allows. The first threads
    /// always exist.
    fn grow(&mut self) {
        let lacking = {
            let queue = lock(&self.shared.queue);
            queue.backlog.ready().saturating_sub(queue.idle)
        };
        for _ in 0..lacking {
            if self.start().is_err() {
                return;
            }
        }
    }
}

impl IoBackend for Threads {
    fn submit(&mut self, batch: &mut Vec<Access>) -> io::Result<()> {
        let count = batch.len();
        self.in_flight += count;
        let mut queue = lock(&self.shared.queue);
        batch.drain(..).for_each(|access| queue.backlog.push(access));
        drop(queue);
        self.grow();
        (0..count).for_each(|_| self.shared.work.notify_one());
        Ok(())
    }

    fn reap(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        // Reset before the look at `done`: an access that completes after it makes the event
        // readable again.
        match rustix::io::read(&self.shared.event, &mut [0; 8]) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut ready = lock(&self.shared.done);
        self.in_flight -= ready.len();
        done.append(&mut ready);
        Ok(())
    }

    fn give_up(&mut self, member: &Member, done: &mut Vec<Done>) {
        let withdrawn = lock(&self.shared.queue).backlog.give_up(member.serial());
        self.in_flight -= withdrawn.len();
        done.extend(withdrawn.into_iter().map(|access| access.finish(Err(Failure::Unanswered))));
    }

    fn is_stalled(&self) -> bool {
        false
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
        let mut queue = lock(&self.shared.queue);
        queue.closed = true;
        self.shared.work.notify_all();
        while queue.backlog.len() > 0 || queue.busy > queue.backlog.given_up() {
            queue = self.shared.over.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let stuck = queue.busy > 0;
        drop(queue);
        if stuck {
            // The threads may never return. They keep the memory that they use.
            return;
        }
        for thread in mem::take(&mut self.threads) {
            // A panic in a helper thread aborts the process, so the result has no meaning.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Runs a thread until the queue is closed and empty.
    fn work(&self) {
        while let Some(mut access) = self.next() {
            let result = perform(&mut access, Round::begin());
            let mut queue = lock(&self.queue);
            queue.busy -= 1;
            queue.idle += 1;
            queue.backlog.done(access.member().serial());
            if queue.closed {
                self.work.notify_all();
                self.over.notify_all();
            }
            drop(queue);
            self.hand_over(access.finish(result));
        }
    }

    /// Waits for the next access. The thread counts as idle until it has one.
    fn next(&self) -> Option<Access> {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(access) = queue.backlog.pop() {
                queue.idle -= 1;
                queue.busy += 1;
                return Some(access);
            }
            if queue.closed && queue.backlog.len() == 0 {
                queue.idle -= 1;
                return None;
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn hand_over(&self, done: Done) {
        let mut ready = lock(&self.done);
        ready.push(done);
        if ready.len() == 1 {
            // The counter is far below its limit, so this neither blocks nor fails.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }
}

/// Locks a mutex, even a poisoned one: every change under these locks is complete at every point,
/// so a panic of another thread leaves valid data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
