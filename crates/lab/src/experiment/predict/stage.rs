//! The kinds of phases of a request, and the components of the time of an access.

use serde::Serialize;

/// What a phase of a request does on each of its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doing {
    Read,
    Write,
    /// Writes to the sectors that the phase before has read.
    Rewrite,
    /// The same, after an entry of the journal.
    RewriteLater,
    /// Some disks do that, and others write elsewhere; this fraction of them, in hundredths.
    PartlyRewriteLater(u32),
    Modify,
    /// Some disks only write; this fraction of them, in hundredths, reads and writes in one access.
    Mixed(u32),
}

/// A phase that some requests have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stage {
    pub(super) doing: Doing,
    pub(super) siblings: u32,
    pub(super) blocks: u64,
}

/// The components of an access's time, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AccessTime {
    /// Moving the arm.
    pub seek: f64,
    /// Waiting for the rotation of the platters.
    pub rotation: f64,
    /// Transferring data under the head.
    pub transfer: f64,
    /// Everything else.
    pub overhead: f64,
}
