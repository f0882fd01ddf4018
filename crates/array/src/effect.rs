//! Effects: the accesses and computations that the array asks its driver for, and the driver's
//! answers.
//!
//! An [`Effect`] is one access to one member or one small computation. What it reads, writes or
//! computes with are its parts ([`Array::parts`](crate::Array::parts)): payload by name, metadata
//! by value. Effects that are handed out together may be carried out in any order and at the same
//! time. If one must be done before another, the second is not handed out before the first was
//! answered.

use parlour_units::{Member, Sector, Sectors};

/// Names an effect until it is answered. A name is used again only after millions of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(u64);

/// The number of bits for the job in an effect's name; the other bits hold the job's generation and
/// the step.
const JOB_BITS: u32 = 20;
const STEP_BITS: u32 = 20;

impl EffectId {
    /// The numbers of jobs at once, and of steps of one plan, are smaller than this.
    pub(crate) const LIMIT: u32 = 1 << JOB_BITS;

    pub(crate) fn new(job: u32, generation: u32, step: u32) -> EffectId {
        assert!(job < Self::LIMIT && step < Self::LIMIT, "jobs and steps are bounded by the buffer budget");
        EffectId(
            u64::from(generation) << (JOB_BITS + STEP_BITS) | u64::from(job) << STEP_BITS | u64::from(step),
        )
    }

    /// The number of the effect's job: a small number, which is given to another job when this one
    /// is done.
    pub const fn job(self) -> u32 {
        (self.0 >> STEP_BITS) as u32 & (Self::LIMIT - 1)
    }

    pub(crate) fn step(self) -> u32 {
        self.0 as u32 & (Self::LIMIT - 1)
    }

    /// The generation, cut to the bits that a name has for it.
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> (JOB_BITS + STEP_BITS)) as u32
    }

    /// `generation`, cut as in a name.
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

/// The kind of work that an effect is for. A driver with a queue serves hosts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A host waits for it.
    Foreground,
    /// The parity log: appending and reintegrating (Stodolsky §2; by footnote 10 it may yield to
    /// hosts).
    Log,
    /// Superblocks, write-intent bitmap.
    Metadata,
    /// Rebuild and resync.
    Rebuild,
    /// Scrub.
    Scrub,
}

/// The data that a read-modify-write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Modify {
    /// The second slice.
    Replace,
    /// The data that was read, xor the second slice.
    Xor,
}

/// The action of an effect. Effects name members by their numbers; plans may name slots instead
/// (`M`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action<M = Member> {
    /// Read `length` from `member` at `at` into the effect's slices, in their order.
    Read {
        /// The member.
        member: M,
        /// The first sector on it.
        at: Sector,
        /// The length: the sum of the slices.
        length: Sectors,
    },
    /// Write the effect's slices, in their order, to `member` at `at`.
    Write {
        /// The member.
        member: M,
        /// The first sector on it.
        at: Sector,
        /// The length: the sum of the slices.
        length: Sectors,
        /// Whether the write is answered only when it is on stable storage, as with RWF_DSYNC.
        durable: bool,
    },
    /// Read `length` at `at` of `member` into the effect's first slice, apply `modify` to it and
    /// the second slice, and write the result to the same place, in the same access. If the read
    /// fails, nothing is written.
    ///
    /// Only an array that was opened by [`Array::open_simulated`](crate::Array::open_simulated)
    /// asks for it.
    ReadModifyWrite {
        /// The member.
        member: M,
        /// The first sector on it.
        at: Sector,
        /// The length of each slice.
        length: Sectors,
        /// The data that is written.
        modify: Modify,
        /// Whether it is answered only when it is on stable storage.
        durable: bool,
    },
    /// The same, but the result is written to another position of the same cylinder (Stodolsky §4,
    /// figure 14). When the access begins, the driver takes the position of
    /// [`Array::free_positions`](crate::Array::free_positions) that it reaches first. It answers
    /// [`Outcome::Placed`].
    ///
    /// Only an array that was opened by [`Array::open_simulated`](crate::Array::open_simulated)
    /// asks for it.
    Float {
        /// The member.
        member: M,
        /// The current place of the unit.
        at: Sector,
        /// The length of the unit.
        length: Sectors,
        /// The data that is written.
        modify: Modify,
        /// Whether it is answered only when it is on stable storage.
        durable: bool,
    },
    /// Make `length` at `at` read as zeroes, and unmap it if the member can.
    Zero {
        /// The member.
        member: M,
        /// The first sector.
        at: Sector,
        /// The length.
        length: Sectors,
    },
    /// Make all writes that `member` has answered durable, as fdatasync does.
    Flush {
        /// The member.
        member: M,
    },
    /// Compute sums over GF(2⁸) ([`sums`](parlour_codec::sums)), one in each of the first `outputs`
    /// slices: of all the other slices, each times its coefficient for this output
    /// ([`Array::coefficients`](crate::Array::coefficients)). A coefficient of 1 is exclusive or.
    /// With `adds` the sums are added to what the outputs hold. No output overlaps another slice.
    /// Like all computations, sums are carried out in the order in which they are handed out.
    Sum {
        /// The number of outputs, at least 1.
        outputs: u16,
        /// Whether outputs keep what they hold.
        adds: bool,
    },
    /// Compare the first slice with each of the others.
    Compare,
    /// Compute the checksum of each sector of the slices, in their order, under the array's key
    /// ([`Array::sector_key`](crate::Array::sector_key)).
    Checksum,
}

impl<M: Copy> Action<M> {
    /// The member that it addresses; `None` for computations.
    pub const fn member(&self) -> Option<M> {
        match self {
            Action::Read { member, .. }
            | Action::Write { member, .. }
            | Action::ReadModifyWrite { member, .. }
            | Action::Float { member, .. }
            | Action::Zero { member, .. }
            | Action::Flush { member } => Some(*member),
            Action::Sum { .. } | Action::Compare | Action::Checksum => None,
        }
    }

    /// Whether it computes; otherwise it is an access to a member.
    pub const fn is_computation(&self) -> bool {
        self.member().is_none()
    }

    /// The place and length on its member; `None` for flushes and computations.
    pub const fn range(&self) -> Option<(Sector, Sectors)> {
        match *self {
            Action::Read { at, length, .. }
            | Action::Write { at, length, .. }
            | Action::ReadModifyWrite { at, length, .. }
            | Action::Float { at, length, .. }
            | Action::Zero { at, length, .. } => Some((at, length)),
            _ => None,
        }
    }

    /// The same action with the member replaced by `name(member)`.
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
            Action::Sum { outputs, adds } => Action::Sum { outputs, adds },
            Action::Compare => Action::Compare,
            Action::Checksum => Action::Checksum,
        }
    }

    /// Whether it changes the content of its member.
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

/// One access or computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Its name, for the answer.
    pub id: EffectId,
    /// The kind of work.
    pub class: Class,
    /// The action.
    pub action: Action,
}

/// The outcome of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Done. A unit that was to float is at its old place.
    Done,
    /// A read of metadata is done, with this content.
    Metadata(&'a [u8]),
    /// A comparison found a difference.
    Differs,
    /// The result of [`Action::Checksum`]. A driver without payload answers with as many zeroes.
    Checksums(&'a [u64]),
    /// A unit that was to float was written and now begins here, at one of the free positions.
    Placed(Sector),
    /// The effect failed. A unit that was to float was not moved.
    Failed(Fault),
}

/// How an access to a member failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The sectors cannot be read (a latent sector error); the rest of the member may be fine.
    Unreadable,
    /// The member does not answer or refuses to write: it must be failed.
    Gone,
    /// The member has become shorter and has lost data: it must be failed.
    Truncated,
    /// The member has no space for the write (ENOSPC, EDQUOT), or the system repeatedly lacked
    /// resources for the access. The member is not at fault.
    NoSpace,
    /// The same, and earlier writes to the member that are not yet flushed may be lost: a page
    /// cache reports a failed write only once, to the next request that makes something durable.
    Undurable,
}

impl Fault {
    /// Whether the whole member must be failed.
    pub(crate) fn is_of_member(self) -> bool {
        matches!(self, Fault::Gone | Fault::Truncated)
    }

    /// Whether the fault means that the array cannot write any more, without any fault of the
    /// member.
    pub(crate) fn is_of_space(self) -> bool {
        matches!(self, Fault::NoSpace | Fault::Undurable)
    }
}
