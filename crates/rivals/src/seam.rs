//! Requests, accesses, and what a rival is to its driver.

use std::fmt::Debug;

use parlour_units::{Member, Sector, Sectors};

/// The driver's name for a request; it comes back with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(pub u64);

/// The direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the host.
    Read,
    /// To the array.
    Write,
}

/// A request of a host. It is for whole units, and within the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its name.
    pub tag: Tag,
    /// Its direction.
    pub way: Way,
    /// Its first sector in the array.
    pub at: Sector,
    /// Its length.
    pub length: Sectors,
}

/// Names an access until it is completed. The numbers are small, and are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessId(pub u32);

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It reads.
    Read {
        /// The first sector on the member.
        at: Sector,
        /// The length.
        length: Sectors,
    },
    /// It writes.
    Write {
        /// The first sector on the member.
        at: Sector,
        /// The length.
        length: Sectors,
    },
    /// It reads, and writes the same place a revolution later (Stodolsky et al., section 3).
    Modify {
        /// The first sector on the member.
        at: Sector,
        /// The length.
        length: Sectors,
    },
    /// It writes to one of [`Rival::places`], whichever passes the heads first. The drive chooses
    /// when it begins the access.
    Place {
        /// Where it would be written by a drive that cannot choose.
        at: Sector,
        /// The length.
        length: Sectors,
    },
}

/// One access to one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its name.
    pub id: AccessId,
    /// A small number that it shares with accesses for the same purpose: what completes first
    /// waits for the last of them.
    pub job: u32,
    /// The member.
    pub member: Member,
    /// Whether a host waits for it.
    pub awaited: bool,
    /// What it does.
    pub act: Act,
}

/// A measurement of a rival, by its name.
pub type Measured = (&'static str, f64);

/// An organization that is simulated only.
///
/// After each call of [`submit`](Rival::submit) and [`complete`](Rival::complete) the driver takes
/// all accesses and all answers.
pub trait Rival: Debug + Send {
    /// The number of members.
    fn members(&self) -> u16;

    /// What requests are whole numbers of.
    fn unit(&self) -> Sectors;

    /// The room for hosts' data.
    fn capacity(&self) -> Sectors;

    /// A host's request.
    fn submit(&mut self, request: Request);

    /// An access is completed. `placed` is where [`Act::Place`] has written.
    fn complete(&mut self, id: AccessId, placed: Option<Sector>);

    /// The next access to begin.
    fn poll_access(&mut self) -> Option<Access>;

    /// The next request that is answered.
    fn poll_answer(&mut self) -> Option<Tag>;

    /// Where an access may write, if it is [`Act::Place`] and the heads are over this cylinder: the
    /// free places of the nearest cylinders, and at least one. Nowhere if the access says where.
    fn places(&self, _id: AccessId, _cylinder: u32) -> Vec<Sector> {
        Vec::new()
    }

    /// Brings it, before its first request, to the state that it has after long use. `below(n)` is
    /// a random number below `n`.
    fn age(&mut self, below: &mut dyn FnMut(u64) -> u64);

    /// What it has counted since it was made or since [`forget`](Rival::forget); nothing if nothing
    /// was written.
    fn measured(&self) -> Vec<Measured>;

    /// Counts from here on.
    fn forget(&mut self);

    /// Checks its invariants.
    ///
    /// # Panics
    /// One does not hold.
    fn check(&self);
}
