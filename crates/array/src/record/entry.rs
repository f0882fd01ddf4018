//! The lines of a recording.

use parlour_units::{Instant, Sector, Sectors};
use serde::{Deserialize, Serialize};

use crate::{Effect, Fault, Identity, MemberInfo, Operation, Outcome, Repair, Slice};

/// One event at the array's seam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// An input of the array.
    Told(Input),
    /// An output of the array, as text.
    Answered(String),
}

/// An input of the array. Times are nanoseconds since it was opened; places and lengths are in
/// sectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the fields are the parameters of the array's functions of the same names")]
pub enum Input {
    /// A buffer is requested.
    Reserve { length: u64 },
    /// A write is being received.
    ExpectWrite { now: u64, at: u64, length: u64 },
    /// A buffer is released.
    Release { buffer: u64 },
    /// A host's request.
    Submit { now: u64, tag: u64, operation: Asked, at: u64, length: u64, buffer: Option<u64> },
    /// A part of a request, whose payload begins at `start` in the buffer.
    SubmitPart { now: u64, tag: u64, operation: Asked, at: u64, length: u64, buffer: Option<u64>, start: u64 },
    /// The outcome of an effect.
    Complete { now: u64, effect: u64, outcome: Became },
    /// A timeout.
    Timeout { now: u64 },
    /// The array is to be stopped.
    Stop { now: u64 },
    /// A member is to be failed.
    Fail { now: u64, slot: u16 },
    /// A failed member is to be removed.
    Remove { now: u64, slot: u16 },
    /// A spare is added.
    AddSpare { now: u64, info: JoiningMember },
    /// A member is replaced.
    Replace { now: u64, slot: u16, info: JoiningMember },
    /// A rebuild is to continue.
    Rebuild { now: u64 },
    /// A scrub is to begin.
    Scrub { now: u64, repair: Repair },
    /// The scrub under way is to be cancelled.
    CancelScrub { now: u64 },
}

/// The operation of a host's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the array's `Operation`, word for word")]
pub enum Asked {
    Read,
    Write { durable: bool },
    WriteZeroes { may_unmap: bool, fast_only: bool, durable: bool },
    Trim,
    Flush,
}

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the array's `Outcome` and `Fault`, word for word")]
pub enum Became {
    Done,
    Metadata(Vec<u8>),
    Differs,
    Checksums(Vec<u64>),
    Placed(u64),
    Unreadable,
    Gone,
    Truncated,
    NoSpace,
    Undurable,
}

/// A new member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the array's `MemberInfo`, word for word")]
pub struct JoiningMember {
    pub identity: Identity,
    pub length: u64,
    pub unmaps: bool,
}

impl Entry {
    pub(crate) fn of_effect(effect: &Effect, slices: &[Slice], metadata: &[u8]) -> Entry {
        let written = slices.iter().any(|slice| slice.buffer == crate::BufferId::METADATA);
        let sum = if written { parlour_codec::checksum::crc32c(metadata) } else { 0 };
        Entry::Answered(format!("{effect:?} {slices:?} {sum:08x}"))
    }
}

impl From<Operation> for Asked {
    fn from(operation: Operation) -> Asked {
        match operation {
            Operation::Read => Asked::Read,
            Operation::Write { durable } => Asked::Write { durable },
            Operation::WriteZeroes { may_unmap, fast_only, durable } => {
                Asked::WriteZeroes { may_unmap, fast_only, durable }
            }
            Operation::Trim => Asked::Trim,
            Operation::Flush => Asked::Flush,
        }
    }
}

impl From<Asked> for Operation {
    fn from(asked: Asked) -> Operation {
        match asked {
            Asked::Read => Operation::Read,
            Asked::Write { durable } => Operation::Write { durable },
            Asked::WriteZeroes { may_unmap, fast_only, durable } => {
                Operation::WriteZeroes { may_unmap, fast_only, durable }
            }
            Asked::Trim => Operation::Trim,
            Asked::Flush => Operation::Flush,
        }
    }
}

impl From<Outcome<'_>> for Became {
    fn from(outcome: Outcome<'_>) -> Became {
        match outcome {
            Outcome::Done => Became::Done,
            Outcome::Metadata(bytes) => Became::Metadata(bytes.to_vec()),
            Outcome::Differs => Became::Differs,
            Outcome::Checksums(sums) => Became::Checksums(sums.to_vec()),
            Outcome::Placed(at) => Became::Placed(at.get()),
            Outcome::Failed(Fault::Unreadable) => Became::Unreadable,
            Outcome::Failed(Fault::Gone) => Became::Gone,
            Outcome::Failed(Fault::Truncated) => Became::Truncated,
            Outcome::Failed(Fault::NoSpace) => Became::NoSpace,
            Outcome::Failed(Fault::Undurable) => Became::Undurable,
        }
    }
}

impl Became {
    pub(crate) fn outcome(&self) -> Outcome<'_> {
        match self {
            Became::Done => Outcome::Done,
            Became::Metadata(bytes) => Outcome::Metadata(bytes),
            Became::Differs => Outcome::Differs,
            Became::Checksums(sums) => Outcome::Checksums(sums),
            Became::Placed(at) => Outcome::Placed(Sector::new(*at)),
            Became::Unreadable => Outcome::Failed(Fault::Unreadable),
            Became::Gone => Outcome::Failed(Fault::Gone),
            Became::Truncated => Outcome::Failed(Fault::Truncated),
            Became::NoSpace => Outcome::Failed(Fault::NoSpace),
            Became::Undurable => Outcome::Failed(Fault::Undurable),
        }
    }
}

impl From<&MemberInfo> for JoiningMember {
    fn from(info: &MemberInfo) -> JoiningMember {
        JoiningMember { identity: info.identity, length: info.length.get(), unmaps: info.unmaps }
    }
}

impl From<&JoiningMember> for MemberInfo {
    fn from(joining: &JoiningMember) -> MemberInfo {
        let length = Sectors::new(joining.length);
        MemberInfo { identity: joining.identity, length, unmaps: joining.unmaps }
    }
}

pub(crate) fn instant(now: u64) -> Instant {
    Instant::from_nanoseconds(now)
}
