//! What devices can do: all of them are read or written from one end to the other, at the same
//! time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use parlour_engine::{
    Access, Buffer, Done, IoBackend, Lease, Member, Memory, Mode, Operation, Part, Priority,
};
use parlour_units::{Bytes, Sector, Sectors};
use rustix::event::{PollFd, PollFlags, poll};

use crate::stand_in::{Devices, StandIn};

/// The length of an access, which is the longest of the array's merged accesses.
const LENGTH: u64 = 1 << 20;
/// Accesses of each member at once, so that it never waits for the next.
const DEPTH: usize = 2;

/// A member, and where its next access is.
struct Line {
    member: Arc<Member>,
    next: u64,
}

/// Bytes a second of each of `members`, when all are read or written at the same time.
pub(crate) fn rate(devices: &Arc<Devices>, members: &[PathBuf], operation: Operation) -> f64 {
    let mode = if operation == Operation::Read { Mode::Looking } else { Mode::ReadWrite };
    let open = |path: &PathBuf| Line {
        member: Arc::new(Member::open(path, mode).expect("the member can be opened")),
        next: 0,
    };
    let mut lines: Vec<Line> = members.iter().map(open).collect();
    let (mut memory, mut io) = (Memory::new(Bytes::ZERO), StandIn::new(devices).expect("a backend"));
    let buffers = lines.len() * DEPTH;
    (0..buffers).for_each(|number| memory.take(number as u32, LENGTH as usize));
    let began = Instant::now();
    let mut batch: Vec<Access> =
        (0..buffers).filter_map(|number| next(&mut lines, &mut memory, operation, number)).collect();
    let (mut left, mut done) = (batch.len(), Vec::<Done>::new());
    while left > 0 {
        io.submit(&mut batch).expect("the backend works");
        io.reap(&mut done).expect("the backend works");
        if done.is_empty() {
            let fd = io.wait_fd();
            let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], None);
        }
        for done in done.drain(..) {
            done.result.expect("the member works");
            done.parts.into_iter().for_each(|lease| memory.give_back(lease));
            left -= 1;
            batch.extend(next(&mut lines, &mut memory, operation, done.id as usize));
        }
        left += batch.len();
    }
    let moved = lines.first().map_or(0, |line| line.next);
    moved as f64 / began.elapsed().as_secs_f64()
}

/// The next access with buffer `number`, which always serves the same member.
fn next(lines: &mut [Line], memory: &mut Memory, operation: Operation, number: usize) -> Option<Access> {
    let place = number % lines.len();
    let line = &mut lines[place];
    if line.next + LENGTH > line.member.length().bytes().get() {
        return None;
    }
    let part = Part { buffer: Buffer::Payload(number as u32), start: 0, length: LENGTH as usize };
    let mut parts: Vec<Lease> = Vec::new();
    match operation {
        Operation::Read => parts.push(memory.lend_mut(part)),
        _ => memory.lend(part, &mut parts),
    }
    let at = Sector::from_bytes(line.next).expect("whole sectors");
    line.next += LENGTH;
    let range = (at, Sectors::new(LENGTH / 512));
    Some(Access::new(number as u64, Arc::clone(&line.member), Priority::Foreground, operation, range, parts))
}
