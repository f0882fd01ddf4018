//! Members as devices are: each serves one access after another, and members do not wait for one
//! another. An access takes its member for its length at the member's bandwidth, and for a fixed
//! time besides.
//!
//! The bytes are in files in memory. They are moved when an access is submitted, and the access is
//! answered when the device would have served it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use parlour_engine::{Access, Choice, Done, Io, IoBackend, Member, Operation, StartError};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// How fast a device is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    /// Bytes a second.
    pub(crate) bandwidth: f64,
    /// The time of each access besides.
    pub(crate) overhead: Duration,
}

/// What a member moved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    /// Bytes.
    pub(crate) read: u64,
    /// Bytes.
    pub(crate) written: u64,
    /// Reads and writes.
    pub(crate) accesses: u64,
}

/// All devices, by their paths. Several backends may access them.
#[derive(Debug)]
pub(crate) struct Devices {
    speed: Speed,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether accesses take their time. Otherwise they are as fast as memory.
    paced: bool,
    devices: BTreeMap<PathBuf, Device>,
}

#[derive(Debug)]
struct Device {
    /// When it will have served all that it was asked for.
    free_at: Instant,
    traffic: Traffic,
}

impl Devices {
    pub(crate) fn new(speed: Speed) -> Arc<Devices> {
        Arc::new(Devices { speed, state: Mutex::default() })
    }

    /// Whether accesses take their time from now on.
    pub(crate) fn pace(&self, paced: bool) {
        self.state().paced = paced;
    }

    /// What the member at `path` has moved.
    pub(crate) fn traffic(&self, path: &Path) -> Traffic {
        self.state().devices.get(path).map(|device| device.traffic).unwrap_or_default()
    }

    /// Counts `access`, and says when it is served.
    fn serve(&self, access: &Access) -> Instant {
        let now = Instant::now();
        let mut state = self.state();
        let paced = state.paced;
        let idle = || Device { free_at: now, traffic: Traffic::default() };
        let device = state.devices.entry(access.member().path().into()).or_insert_with(idle);
        let moved = device.traffic.count(access.operation(), access.length().get());
        if !paced {
            return now;
        }
        let transfer = Duration::from_secs_f64(moved as f64 / self.speed.bandwidth);
        device.free_at = device.free_at.max(now) + self.speed.overhead + transfer;
        device.free_at
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("who holds it does not panic")
    }
}

impl Traffic {
    /// Returns how many bytes the access moves.
    fn count(&mut self, operation: Operation, length: u64) -> u64 {
        match operation {
            Operation::Read => self.read += length,
            Operation::Write { .. } => self.written += length,
            Operation::Zero | Operation::Flush => return 0,
        }
        self.accesses += 1;
        length
    }

    /// What both moved.
    pub(crate) fn plus(self, other: Traffic) -> Traffic {
        Traffic {
            read: self.read + other.read,
            written: self.written + other.written,
            accesses: self.accesses + other.accesses,
        }
    }

    /// What was moved since `before`.
    pub(crate) fn since(self, before: Traffic) -> Traffic {
        Traffic {
            read: self.read - before.read,
            written: self.written - before.written,
            accesses: self.accesses - before.accesses,
        }
    }
}

/// Accesses to the devices.
#[derive(Debug)]
pub(crate) struct StandIn {
    devices: Arc<Devices>,
    memory: Io,
    /// When accesses that the memory has not answered yet are served, by their numbers.
    due: BTreeMap<u64, Instant>,
    /// Accesses that memory has answered and their devices have not, by time and number.
    order: BinaryHeap<Reverse<(Instant, u64)>>,
    held: BTreeMap<u64, Done>,
    timer: OwnedFd,
    ready: OwnedFd,
    /// Kept for its capacity.
    answered: Vec<Done>,
}

impl StandIn {
    pub(crate) fn new(devices: &Arc<Devices>) -> Result<StandIn, StartError> {
        let memory = Io::new(Choice::Auto)?;
        let failed = |errno: rustix::io::Errno| StartError::Threads(errno.into());
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK).map_err(failed)?;
        let ready = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        for fd in [timer.as_fd(), memory.wait_fd()] {
            epoll::add(&ready, fd, EventData::new_u64(0), EventFlags::IN).map_err(failed)?;
        }
        Ok(StandIn {
            devices: Arc::clone(devices),
            memory,
            due: BTreeMap::new(),
            order: BinaryHeap::new(),
            held: BTreeMap::new(),
            timer,
            ready,
            answered: Vec::new(),
        })
    }

    /// Makes `ready` readable when the next access is served.
    fn arm(&self) -> io::Result<()> {
        let Some(Reverse((next, _))) = self.order.peek() else { return Ok(()) };
        // A timer of zero would be none.
        let left = next.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let once = Itimerspec { it_interval: never, it_value: left };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

impl IoBackend for StandIn {
    fn submit(&mut self, batch: &mut Vec<Access>) -> io::Result<()> {
        for access in batch.iter() {
            self.due.insert(access.id(), self.devices.serve(access));
        }
        self.memory.submit(batch)
    }

    fn reap(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        let _ = rustix::io::read(&self.timer, &mut [0; 8]);
        self.memory.reap(&mut self.answered)?;
        for answered in self.answered.drain(..) {
            let due = self.due.remove(&answered.id).expect("it was submitted");
            self.order.push(Reverse((due, answered.id)));
            self.held.insert(answered.id, answered);
        }
        let now = Instant::now();
        while let Some(Reverse((due, id))) = self.order.peek().copied()
            && due <= now
        {
            self.order.pop();
            done.push(self.held.remove(&id).expect("it is held"));
        }
        self.arm()
    }

    fn give_up(&mut self, member: &Member, done: &mut Vec<Done>) {
        let begun = done.len();
        self.memory.give_up(member, done);
        for given_up in &done[begun..] {
            self.due.remove(&given_up.id);
        }
    }

    fn is_stalled(&self) -> bool {
        self.memory.is_stalled()
    }

    fn wait_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    fn in_flight(&self) -> usize {
        self.memory.in_flight() + self.held.len()
    }

    fn name(&self) -> &'static str {
        "stand-ins"
    }
}
