//! Saying something without waiting for whoever reads it.
//!
//! A terminal that is halted with Ctrl-S, and a pipe whose reader is stuck, block whoever writes to
//! them. A server must not be blocked: so a thread writes, and takes what it is to write from a
//! queue. When the queue is full lines are dropped, and counted; of a status only the last counts.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Lines that wait to be written.
const LINES: usize = 1_000;

/// Where lines go in the end.
pub(crate) trait Screen: Send {
    /// A line, that stays.
    fn line(&mut self, line: &str);

    /// The status, in place of the last.
    fn status(&mut self, status: &str);

    /// There is no status any more.
    fn clear(&mut self);
}

/// The way to a screen.
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
    /// All is written, and the thread is over.
    over: bool,
}

impl Outlet {
    /// The way to `screen`.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn new(name: &str, screen: impl Screen + 'static) -> io::Result<Outlet> {
        let shared = Arc::new(Shared { queue: Mutex::default(), changed: Condvar::new() });
        let writer = Arc::clone(&shared);
        Builder::new().name(name.to_owned()).spawn(move || writer.write_all(screen))?;
        Ok(Outlet { shared })
    }

    /// Has a line written.
    pub(crate) fn say(&self, line: &str) {
        let mut queue = self.shared.lock();
        if queue.lines.len() < LINES {
            queue.lines.push_back(line.to_owned());
        } else {
            queue.dropped += 1;
        }
        self.shared.changed.notify_all();
    }

    /// Has the status shown.
    pub(crate) fn show(&self, status: String) {
        self.shared.lock().status = Some(status);
        self.shared.changed.notify_all();
    }

    /// Waits until all is written, but not for ever: nobody may be reading.
    pub(crate) fn close(&self, patience: Duration) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        self.shared.changed.notify_all();
        // How it ended makes no difference.
        let _ = self.shared.changed.wait_timeout_while(queue, patience, |queue| !queue.over);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Every change under the lock is complete at every point.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread's life: writes what comes until the queue is closed and empty.
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

    /// All that is to be written now; none when it is over.
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

    /// A screen that shows nothing until the gate is open.
    struct Halted {
        gate: Receiver<()>,
        shown: Sender<String>,
    }

    impl Screen for Halted {
        fn line(&mut self, line: &str) {
            self.shown.send(line.to_owned()).expect("the test listens");
            // Open for good once the other end is gone.
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
        // The screen is halted in the middle of the first line.
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
