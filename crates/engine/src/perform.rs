//! Carrying an access out here and now, in the calling thread.

use std::io::{IoSlice, IoSliceMut};

use rustix::fs::{fallocate, fdatasync};
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};

use crate::access::{Access, Step};
use crate::fault::Failure;
use crate::member::Round;
use crate::uring::Lease;

/// Parts per system call.
const PARTS: usize = 64;

/// Does all of `access`, which is begun in `round`.
pub(crate) fn perform(access: &mut Access, round: Round) -> Result<(), Failure> {
    access.admit(round)?;
    loop {
        let answer = step(access);
        if let Some(result) = access.settle(answer) {
            return result;
        }
    }
}

/// One system call.
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
