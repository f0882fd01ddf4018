//! Carries out an access in the calling thread, with blocking system calls.

use std::io::{IoSlice, IoSliceMut};

use rustix::fs::{fallocate, fdatasync};
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};

use crate::access::{Access, Next, Step};
use crate::fault::Failure;
use crate::member::Round;
use crate::uring::Lease;

/// The most parts in one system call.
const PARTS: usize = 64;

/// Carries out all of `access`, which begins in `round`. Only for threads that may wait.
pub(crate) fn perform(access: &mut Access, round: Round) -> Result<(), Failure> {
    access.admit(round)?;
    loop {
        match go_on(access) {
            Next::Over(result) => return result,
            Next::Pause(pause) => std::thread::sleep(pause),
            Next::GoOn => {}
        }
    }
}

/// Carries out all of `access`. Returns `None` if it would have to pause.
pub(crate) fn perform_at_once(access: &mut Access, round: Round) -> Option<Result<(), Failure>> {
    if let Err(failure) = access.admit(round) {
        return Some(Err(failure));
    }
    loop {
        match go_on(access) {
            Next::Over(result) => return Some(result),
            Next::Pause(_) => return None,
            Next::GoOn => {}
        }
    }
}

fn go_on(access: &mut Access) -> Next {
    let answer = step(access);
    access.settle(answer)
}

/// Does one system call.
fn step(access: &mut Access) -> Result<usize, Errno> {
    let at = access.position();
    match access.begin_step() {
        Step::Read => read(access, at),
        step @ Step::Write { .. } => write(access, at, step.flags()),
        Step::Zero(way) => match way.flags() {
            Some(flags) => fallocate(access.member().file(), flags, at, access.remaining()).map(|()| 0),
            None => {
                let zeroes = IoSlice::new(access.next_zeroes());
                pwritev2(access.member().file(), &[zeroes], at, ReadWriteFlags::empty())
            }
        },
        Step::Sync => fdatasync(access.member().file()).map(|()| 0),
    }
}

fn read(access: &mut Access, at: u64) -> Result<usize, Errno> {
    let (member, rest, mut skip) = access.rest();
    let mut vectors: [IoSliceMut<'_>; PARTS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
    let mut count = 0;
    for (vector, part) in vectors.iter_mut().zip(rest) {
        *vector = IoSliceMut::new(&mut part.bytes_mut()[std::mem::take(&mut skip)..]);
        count += 1;
    }
    preadv2(member.file(), &mut vectors[..count], at, ReadWriteFlags::empty())
}

fn write(access: &mut Access, at: u64, flags: ReadWriteFlags) -> Result<usize, Errno> {
    let (member, rest, mut skip) = access.rest();
    let mut vectors: [IoSlice<'_>; PARTS] = [IoSlice::new(&[]); PARTS];
    let mut count = 0;
    for (vector, part) in vectors.iter_mut().zip(rest.iter().map(Lease::bytes)) {
        *vector = IoSlice::new(&part[std::mem::take(&mut skip)..]);
        count += 1;
    }
    pwritev2(member.file(), &vectors[..count], at, flags)
}
