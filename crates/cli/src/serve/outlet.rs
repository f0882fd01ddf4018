//! Writes messages without waiting for the reader.
//!
//! A terminal stopped with Ctrl-S, or a pipe whose reader does not read, blocks the writer. A
//! server must not block, so a thread writes messages from a queue. If the queue is full, messages
//! are dropped and counted. Only the latest status is kept.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// The most lines that wait to be written.
const LINES: usize = 1_000;

/// The destination of the messages.
pub(crate) trait Screen: Send {
    /// Writes a line.
    fn line(&mut self, line: &str);

    /// Shows the status in place of the previous one.
    fn status(&mut self, status: &str);

    /// Removes the status.
    fn clear(&mut self);
}

/// The sending side of the queue to a screen.
pub(crate) struct Outlet {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<String>,
    dropped: u64,
    status: Option<String>,
    closed: bool,
    /// All is written, and the thread has ended.
    over: bool,
}

impl Outlet {
    /// Starts the thread that writes to `screen`.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn new(name: &str, screen: impl Screen + 'static) -> io::Result<Outlet> {
        let shared = Arc::new(Shared { queue: Mutex::default(), changed: Condvar::new() });
        let writer = Arc::clone(&shared);
        Builder::new().name(name.to_owned()).spawn(move || writer.write_all(screen))?;
        Ok(Outlet { shared })
    }

    /// Queues a line.
    pub(crate) fn say(&self, line: &str) {
        let mut queue = self.shared.lock();
        if queue.lines.len() < LINES {
            queue.lines.push_back(line.to_owned());
        } else {
            queue.dropped += 1;
        }
        self.shared.changed.notify_all();
    }

    /// Replaces the status.
    pub(crate) fn show(&self, status: String) {
        self.shared.lock().status = Some(status);
        self.shared.changed.notify_all();
    }

    /// Waits until all is written, for a limited time: the reader may not read.
    pub(crate) fn close(&self, patience: Duration) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        self.shared.changed.notify_all();
        // The result does not matter.
        let _ = self.shared.changed.wait_timeout_while(queue, patience, |queue| !queue.over);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Every change under the lock is complete at every point, so a poisoned lock is usable.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the thread: writes messages until the queue is closed and empty.
    fn write_all(&self, mut screen: impl Screen) {
        while let Some(Queue { lines, dropped, status, .. }) = self.next() {
            lines.iter().for_each(|line| screen.line(line));
            if dropped > 0 {
                screen
                    .line(&format!("{dropped} lines are missing here: they came faster than they were read"));
            }
            if let Some(status) = status {
                screen.status(&status);
            }
        }
        screen.clear();
        self.lock().over = true;
        self.changed.notify_all();
    }

    /// Waits for messages and returns all of them; none if the queue is closed and empty.
    fn next(&self) -> Option<Queue> {
        let empty = |queue: &Queue| queue.lines.is_empty() && queue.status.is_none() && queue.dropped == 0;
        let idle = |queue: &mut Queue| empty(queue) && !queue.closed;
        let mut queue = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        if empty(&queue) {
            return None;
        }
        let closed = queue.closed;
        Some(std::mem::replace(&mut *queue, Queue { closed, ..Queue::default() }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A screen that blocks until the gate is open.
    struct Halted {
        gate: Receiver<()>,
        shown: Sender<String>,
    }

    impl Screen for Halted {
        fn line(&mut self, line: &str) {
            self.shown.send(line.to_owned()).expect("the test listens");
            // The gate stays open once the sender is gone.
            let _ = self.gate.recv();
        }

        fn status(&mut self, status: &str) {
            self.shown.send(format!("status {status}")).expect("the test listens");
        }

        fn clear(&mut self) {
            self.shown.send("clear".into()).expect("the test listens");
        }
    }

    #[test]
    fn a_halted_screen_blocks_nobody_and_what_is_dropped_is_counted() {
        let ((open, gate), (shown, screen)) = (channel(), channel());
        let outlet = Outlet::new("test", Halted { gate, shown }).unwrap();
        outlet.say("first");
        assert_eq!(screen.recv().unwrap(), "first");
        // The screen blocks in the first line.
        for number in 0..LINES + 500 {
            outlet.say(&number.to_string());
            outlet.show(number.to_string());
        }
        outlet.close(Duration::ZERO);
        drop(open);
        for number in 0..LINES {
            assert_eq!(screen.recv().unwrap(), number.to_string());
        }
        let missing = "500 lines are missing here: they came faster than they were read";
        assert_eq!(screen.iter().collect::<Vec<_>>(), [missing, "status 1499", "clear"]);
    }

    #[test]
    fn closing_waits_for_what_is_to_be_written() {
        let ((open, gate), (shown, screen)) = (channel(), channel());
        drop(open);
        let outlet = Outlet::new("test", Halted { gate, shown }).unwrap();
        outlet.say("last words");
        outlet.close(Duration::from_secs(60));
        assert_eq!(screen.try_iter().collect::<Vec<_>>(), ["last words", "clear"]);
    }
}
