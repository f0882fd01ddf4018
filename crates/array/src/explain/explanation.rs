//! An explanation: the answer to what a request does, as data and in words.

use std::fmt;

use parlour_units::Bytes;
use serde::Serialize;

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplainedOperation {
    /// A read.
    Read,
    /// A write.
    Write,
}

/// Why a request cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The request has no length.
    #[error("a request of no length does nothing; give a length")]
    Empty,
    /// The request does not lie in the array.
    #[error("the request ends at byte {end}, beyond the array's end at byte {capacity}")]
    BeyondEnd {
        /// The request's end, in bytes.
        end: u64,
        /// The array's size in bytes.
        capacity: u64,
    },
    /// The request is not aligned to blocks.
    #[error("the request is not aligned to the array's block of {0}: give multiples of it")]
    Misaligned(Bytes),
    /// The explanation would be too long to read.
    #[error("the request is too long to explain: at most {0}")]
    TooLong(Bytes),
    /// There is no such member.
    #[error("the array has no member {0}; it has members 0 to {1}")]
    NoSuchMember(u16, u16),
    /// More members have failed than the organization tolerates.
    #[error("data is lost: stripe {stripe} needs more than the failed members leave")]
    Lost {
        /// The stripe that cannot be computed.
        stripe: u64,
    },
}

/// All accesses and computations for a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The kind of request.
    pub operation: ExplainedOperation,
    /// The byte of the array at which it starts.
    pub at: Bytes,
    /// Its length.
    pub length: Bytes,
    /// Members that are assumed to have failed.
    pub failed: Vec<u16>,
    /// The pieces of data units that the request touches, in the order of the array's addresses.
    pub map: Vec<MappedPiece>,
    /// The plans, one for each window (a stripe, or a part of a long one). All direct reads are one
    /// plan.
    pub plans: Vec<ExplainedPlan>,
    /// Accesses to members: those of all plans. The host waits for them, unless the request is
    /// acknowledged before.
    pub accesses: usize,
    /// What acknowledges a short write where the array writes back.
    pub acknowledged: Option<ExplainedEntry>,
}

/// An entry of the journal that acknowledges a write, perhaps with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedEntry {
    /// On so many members, or journal devices, it is written.
    pub copies: u16,
    /// Whether it stands on journal devices.
    pub on_devices: bool,
    /// Its length on each, if it has no other writes.
    pub length: Bytes,
}

/// A part of one data unit that the request touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MappedPiece {
    /// The byte of the request at which it starts.
    pub request_offset: Bytes,
    /// Its length.
    pub length: Bytes,
    /// The stripe.
    pub stripe: u64,
    /// The data unit, counted over the whole array.
    pub unit: u64,
    /// The first byte in the unit.
    pub unit_offset: Bytes,
    /// The member that holds it.
    pub member: u16,
    /// The byte of the member at which it starts.
    pub at: Bytes,
    /// Whether that member has failed.
    pub failed: bool,
}

/// A plan, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedPlan {
    /// The stripe; `None` for direct reads, which may cover several.
    pub stripe: Option<u64>,
    /// The strategy, in words.
    pub strategy: String,
    /// Phases, one after the other; the steps of one phase may run at the same time.
    pub phases: Vec<Vec<ExplainedStep>>,
    /// Accesses to members, that to the commit log included.
    pub accesses: usize,
    /// Other remarks.
    pub notes: Vec<String>,
}

/// A step, explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum ExplainedStep {
    /// An access that reads.
    Read(ExplainedAccess),
    /// An access that writes.
    Write(ExplainedAccess),
    /// An access that writes a unit to a new place, perhaps after reading it.
    Float(ExplainedAccess),
    /// An access that zeroes.
    Zero(ExplainedAccess),
    /// An access that flushes.
    Flush {
        /// The member.
        member: u16,
    },
    /// A write of records to the commit log, before the phases that follow it. Writes that wait at
    /// the same time share it.
    Commit {
        /// The number of members that it goes to. They are chosen when it is written.
        copies: u16,
    },
    /// A computation.
    Compute {
        /// The result.
        result: String,
        /// The result is the exclusive or of these, some of which are multiples over GF(2⁸).
        sources: Vec<String>,
        /// The length of each.
        length: Bytes,
    },
}

/// An access to a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedAccess {
    /// The member.
    pub member: u16,
    /// The byte of the member at which it starts.
    pub at: Bytes,
    /// Its length.
    pub length: Bytes,
    /// The units that are read or written, in the order of places.
    pub what: Vec<String>,
}

impl fmt::Display for ExplainedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, access) = match self {
            ExplainedStep::Read(access) => ("read ", access),
            ExplainedStep::Write(access) => ("write", access),
            ExplainedStep::Float(access) => ("float", access),
            ExplainedStep::Zero(access) => ("zero ", access),
            ExplainedStep::Flush { member } => return write!(f, "flush member {member}"),
            ExplainedStep::Commit { copies } => {
                return write!(f, "write {copies} members, in the commit log: records and checksums");
            }
            ExplainedStep::Compute { result, sources, length } => {
                return write!(f, "compute {result} = {}, {}", sources.join(" xor "), exact(*length));
            }
        };
        let ExplainedAccess { member, at, length, what } = access;
        write!(f, "{word} member {member} at {}, {}: {}", exact(*at), exact(*length), what.join(", "))
    }
}

/// A place or length without rounding, in the largest unit of which it is a whole multiple.
pub fn exact(bytes: Bytes) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = |(_, shift): &&(&str, u32)| bytes.get() != 0 && bytes.get().trailing_zeros() >= *shift;
    match UNITS.iter().find(whole) {
        Some((unit, shift)) => format!("{} {unit}", bytes.get() >> shift),
        None => format!("{} B", bytes.get()),
    }
}
