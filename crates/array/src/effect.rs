//! What the array asks of its driver, and how the driver answers.
//!
//! An [`Effect`] is one access to one member or one small computation. Its payload is named by
//! slices ([`Array::slices`](crate::Array::slices)), its metadata comes by value
//! ([`Array::metadata`](crate::Array::metadata)). Effects that are handed out together may be
//! carried out in any order and at the same time: where one must be done before another, the second
//! is not handed out before the first was answered.

use parlour_units::{Member, Sector, Sectors};

/// Names an effect until it is answered; used again only after millions of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(u64);

/// Bits of an effect's name that say which job; the rest are the job's generation and the step.
const JOB_BITS: u32 = 20;
const STEP_BITS: u32 = 20;

impl EffectId {
    /// Jobs at once, and steps of one plan, are fewer than this.
    pub(crate) const LIMIT: u32 = 1 << JOB_BITS;

    pub(crate) fn new(job: u32, generation: u32, step: u32) -> EffectId {
        assert!(job < Self::LIMIT && step < Self::LIMIT, "jobs and steps are bounded by the buffer budget");
        EffectId(
            u64::from(generation) << (JOB_BITS + STEP_BITS) | u64::from(job) << STEP_BITS | u64::from(step),
        )
    }

    /// The number of the job that it is part of: a small one, which is another job's when that is
    /// done.
    pub const fn job(self) -> u32 {
        (self.0 >> STEP_BITS) as u32 & (Self::LIMIT - 1)
    }

    pub(crate) fn step(self) -> u32 {
        self.0 as u32 & (Self::LIMIT - 1)
    }

    /// The generation, cut to the bits that a name has room for.
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> (JOB_BITS + STEP_BITS)) as u32
    }

    /// `generation` as it is kept in a name.
    pub(crate) fn cut_generation(generation: u32) -> u32 {
        generation & ((1 << (64 - JOB_BITS - STEP_BITS)) - 1)
    }

    /// The name as a number, for a driver's own tables.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The name back from [`EffectId::get`].
    pub const fn from_raw(raw: u64) -> EffectId {
        EffectId(raw)
    }
}

/// Whose work an effect is; a driver with a queue puts people first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A host waits for it.
    Foreground,
    /// The parity log: appending and reintegrating (Stodolsky §2; footnote 10: may yield to
    /// people).
    Log,
    /// Superblocks, write-intent bitmap.
    Metadata,
    /// Rebuild and resync.
    Rebuild,
    /// Scrub.
    Scrub,
}

/// What a read-modify-write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Modify {
    /// The second slice.
    Replace,
    /// What was read, xor the second slice.
    Xor,
}

/// What to do. Effects name members by their numbers; plans name slots as well (`M`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action<M = Member> {
    /// Read `length` from `member` at `at` into the effect's slices, in their order.
    Read {
        /// From which member.
        member: M,
        /// From where on it.
        at: Sector,
        /// How much: the sum of the slices.
        length: Sectors,
    },
    /// Write the effect's slices, in their order, to `member` at `at`.
    Write {
        /// To which member.
        member: M,
        /// To where on it.
        at: Sector,
        /// How much: the sum of the slices.
        length: Sectors,
        /// Answered only when it is on stable storage, as with RWF_DSYNC.
        durable: bool,
    },
    /// Read `length` at `at` of `member` into the effect's first slice, and write there, in the
    /// same access, what `modify` makes of it and of the second slice. What cannot be read is not
    /// written.
    ///
    /// Only an array that was opened by [`Array::open_simulated`](crate::Array::open_simulated)
    /// asks for it.
    ReadModifyWrite {
        /// On which member.
        member: M,
        /// From where on it.
        at: Sector,
        /// How much: the length of each slice.
        length: Sectors,
        /// What is written.
        modify: Modify,
        /// Answered only when it is on stable storage.
        durable: bool,
    },
    /// The same, but written to another position of the same cylinder (Stodolsky §4, figure 14):
    /// when it begins, the driver takes the one of
    /// [`Array::free_positions`](crate::Array::free_positions) that it reaches first, and it
    /// answers [`Outcome::Placed`].
    ///
    /// Only an array that was opened by [`Array::open_simulated`](crate::Array::open_simulated)
    /// asks for it.
    Float {
        /// On which member.
        member: M,
        /// Where the unit is.
        at: Sector,
        /// How long it is.
        length: Sectors,
        /// What is written.
        modify: Modify,
        /// Answered only when it is on stable storage.
        durable: bool,
    },
    /// Make `length` at `at` read as zeroes, giving the space back where the member can.
    Zero {
        /// On which member.
        member: M,
        /// From where.
        at: Sector,
        /// How much.
        length: Sectors,
    },
    /// Make all writes that `member` has answered durable, as fdatasync does.
    Flush {
        /// Which member.
        member: M,
    },
    /// First slice = xor of all the others (none: zeroes; one: a copy). The first overlaps no
    /// other.
    Xor,
    /// First slice += `coefficient` × each of the others, over GF(2⁸)
    /// ([`galois`](parlour_codec::galois)): with 1, first slice ^= each of the others.
    Accumulate {
        /// What the others are multiplied by.
        coefficient: u8,
    },
    /// Compare the first slice with each of the others.
    Compare,
    /// The checksum of each sector of the slices, in their order, under the array's key
    /// ([`Array::sector_key`](crate::Array::sector_key)).
    Checksum,
}

impl<M: Copy> Action<M> {
    /// Which member it goes to; computations go to none.
    pub const fn member(&self) -> Option<M> {
        match self {
            Action::Read { member, .. }
            | Action::Write { member, .. }
            | Action::ReadModifyWrite { member, .. }
            | Action::Float { member, .. }
            | Action::Zero { member, .. }
            | Action::Flush { member } => Some(*member),
            Action::Xor | Action::Accumulate { .. } | Action::Compare | Action::Checksum => None,
        }
    }

    /// Where on its member it is done, and over which length; flushes and computations have no
    /// place.
    pub(crate) const fn range(&self) -> Option<(Sector, Sectors)> {
        match *self {
            Action::Read { at, length, .. }
            | Action::Write { at, length, .. }
            | Action::ReadModifyWrite { at, length, .. }
            | Action::Float { at, length, .. }
            | Action::Zero { at, length, .. } => Some((at, length)),
            _ => None,
        }
    }

    /// The same, for what `name` makes of its member's name.
    pub(crate) fn map<N>(self, name: impl FnOnce(M) -> N) -> Action<N> {
        match self {
            Action::Read { member, at, length } => Action::Read { member: name(member), at, length },
            Action::Write { member, at, length, durable } => {
                Action::Write { member: name(member), at, length, durable }
            }
            Action::ReadModifyWrite { member, at, length, modify, durable } => {
                Action::ReadModifyWrite { member: name(member), at, length, modify, durable }
            }
            Action::Float { member, at, length, modify, durable } => {
                Action::Float { member: name(member), at, length, modify, durable }
            }
            Action::Zero { member, at, length } => Action::Zero { member: name(member), at, length },
            Action::Flush { member } => Action::Flush { member: name(member) },
            Action::Xor => Action::Xor,
            Action::Accumulate { coefficient } => Action::Accumulate { coefficient },
            Action::Compare => Action::Compare,
            Action::Checksum => Action::Checksum,
        }
    }

    /// Whether it changes what its member holds.
    pub(crate) const fn changes(&self) -> bool {
        matches!(
            self,
            Action::Write { .. }
                | Action::ReadModifyWrite { .. }
                | Action::Float { .. }
                | Action::Zero { .. }
        )
    }
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Its name, for the answer.
    pub id: EffectId,
    /// Whose work it is.
    pub class: Class,
    /// What to do.
    pub action: Action,
}

/// What became of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Done; what was to float is where it was.
    Done,
    /// A read of metadata is done, and this is what it read.
    Metadata(&'a [u8]),
    /// A comparison found a difference.
    Differs,
    /// What [`Action::Checksum`] asked for. A world without payload answers with as many zeroes.
    Checksums(&'a [u64]),
    /// What was to float is done, and the unit begins here now: at one of the free positions.
    Placed(Sector),
    /// It failed. What was to float has not been moved.
    Failed(Fault),
}

/// How an access to a member failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The place cannot be read (a latent sector error): the rest of the member may be fine.
    Unreadable,
    /// The member does not answer or refuses to write: it is to be failed.
    Gone,
    /// The member is shorter than it was: what it held there is lost, and it is to be failed.
    Truncated,
    /// The member has no space for what should be there (ENOSPC, EDQUOT), or the system went on
    /// lacking what an access takes: not the member's fault.
    NoSpace,
    /// The same, and what was written to the member before and not yet flushed is perhaps lost:
    /// behind a page cache that is told once, to whoever next makes something durable.
    Undurable,
}

impl Fault {
    /// Whether it says of the whole member that it is to be failed.
    pub(crate) fn is_of_member(self) -> bool {
        matches!(self, Fault::Gone | Fault::Truncated)
    }

    /// Whether it says that the array cannot write any more, and nothing of a member.
    pub(crate) fn is_of_space(self) -> bool {
        matches!(self, Fault::NoSpace | Fault::Undurable)
    }
}
