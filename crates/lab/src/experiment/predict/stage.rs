//! What a phase of a request does, and where the time of its accesses goes.

use serde::Serialize;

/// What a phase of a request does on each of its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doing {
    Read,
    Write,
    /// Writes where the phase before has read.
    Rewrite,
    Modify,
    /// Some disks write, and this one part of them, in hundredths, reads before it does in the same
    /// access.
    Mixed(u32),
}

/// A phase of some requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stage {
    pub(super) doing: Doing,
    pub(super) siblings: u32,
    pub(super) blocks: u64,
}

/// Where the time of an access goes, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AccessTime {
    /// Moving the arm.
    pub seek: f64,
    /// Waiting for the platters.
    pub rotation: f64,
    /// Passing under a head.
    pub transfer: f64,
    /// The rest.
    pub overhead: f64,
}
