//! Waits until any descriptor of the server is ready.

use std::io;

use parlour_units::Duration;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;

const STOP: u64 = 0;
const FRONTEND: u64 = 1;
const IO: u64 = 2;
const RECEPTION: u64 = 3;
const CONTROL: u64 = 4;

/// The descriptors to wait for.
pub(super) struct Descriptors<'a> {
    pub(super) stop: BorrowedFd<'a>,
    pub(super) frontend: BorrowedFd<'a>,
    pub(super) io: BorrowedFd<'a>,
    pub(super) reception: BorrowedFd<'a>,
    pub(super) control: Option<BorrowedFd<'a>>,
}

/// Which descriptors are ready. Members are polled in every turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    pub(super) stop: bool,
    pub(super) frontend: bool,
    pub(super) reception: bool,
    pub(super) control: bool,
    /// Whether any descriptor is ready, including that of the members.
    pub(super) any: bool,
    /// Whether all descriptors were checked.
    pub(super) everything: bool,
}

impl Ready {
    /// Polls the frontend; no other descriptor was checked.
    pub(super) fn frontend_only() -> Ready {
        Ready { frontend: true, ..Ready::default() }
    }
}

/// Waits for descriptors.
#[derive(Debug)]
pub(super) struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    pub(super) fn new(fds: Descriptors<'_>) -> io::Result<Poller> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let all = [
            (Some(fds.stop), STOP),
            (Some(fds.frontend), FRONTEND),
            (Some(fds.io), IO),
            (Some(fds.reception), RECEPTION),
            (fds.control, CONTROL),
        ];
        for (fd, name) in all {
            if let Some(fd) = fd {
                epoll::add(&epoll, fd, EventData::new_u64(name), EventFlags::IN)?;
            }
        }
        Ok(Poller { epoll })
    }

    /// Waits until a descriptor is ready, at most for `timeout` if there is one.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> io::Result<Ready> {
        let timeout = timeout.map(timespec);
        let nothing = epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [nothing; 8];
        let count = match epoll::wait(&self.epoll, &mut events[..], timeout.as_ref()) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(errno.into()),
        };
        let mut ready = Ready { everything: true, any: count > 0, ..Ready::default() };
        for event in &events[..count] {
            match event.data.u64() {
                STOP => ready.stop = true,
                FRONTEND => ready.frontend = true,
                RECEPTION => ready.reception = true,
                CONTROL => ready.control = true,
                _ => {}
            }
        }
        Ok(ready)
    }
}

fn timespec(span: Duration) -> Timespec {
    let nanoseconds = span.nanoseconds();
    // Both fit: 2^64 ns are fewer than 2^35 s.
    Timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as i64 }
}
