//! Reports about rebuild, resync and scrub, and the kinds of repair that a scrub can do.

use serde::{Deserialize, Serialize};

/// The progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Task {
    /// The amount that is done, in the unit of `total`.
    pub done: u64,
    /// The whole amount.
    pub total: u64,
    /// Seconds since it was begun.
    pub elapsed_seconds: f64,
    /// Seconds until the end, at the average pace so far.
    pub left_seconds: Option<f64>,
    /// Whether it has stopped and waits for a command.
    pub stopped: bool,
}

/// What to do with a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// Count and list it.
    Nothing,
    /// Where three or more copies are kept, rewrite copies that differ from the majority.
    Majority,
    /// Trust the data, and compute parity from it.
    ParityFromData,
}

/// A place where check units or copies do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Mismatch {
    /// The stripe.
    pub stripe: u64,
    /// The byte of the array at which its data starts.
    pub at: u64,
    /// The first byte in each of its units that was compared.
    pub column: u64,
    /// The slot of the one unit without which all others fit, if several check units show it.
    pub located: Option<u16>,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// How many mismatches the unit on one member alone explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Located {
    /// The slot.
    pub slot: u16,
    /// Mismatches, whether listed or not.
    pub mismatches: u64,
}

/// What a scrub found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct ScrubReport {
    /// Stripes that were compared.
    pub stripes: u64,
    /// Stripes that could not be compared, because a member is missing.
    pub skipped: u64,
    /// Windows (a stripe, or a part of a long one) with a mismatch.
    pub mismatches: u64,
    /// Mismatches that were repaired.
    pub repaired: u64,
    /// Blocks that could be neither read nor repaired.
    pub unreadable: u64,
    /// How many of the mismatches a unit on one member alone explains, by slot.
    pub located: Vec<Located>,
    /// The first mismatches.
    pub listed: Vec<Mismatch>,
    /// Whether the scrub came to the end.
    pub complete: bool,
    /// Whether it was cancelled by a command.
    pub cancelled: bool,
}
