//! Why a rival cannot be made.

use parlour_units::Sectors;

/// Why a rival cannot be made of these members.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// There are too few members, or an odd number.
    #[error("{members} members: {organization} takes {takes}")]
    Members {
        /// Their number.
        members: u16,
        /// The organization.
        organization: &'static str,
        /// The numbers that it takes.
        takes: &'static str,
    },
    /// The unit does not fit.
    #[error("a unit of {unit} does not fit on a member, or in its tracks, where {length} are for it")]
    Unit {
        /// The unit.
        unit: Sectors,
        /// The room.
        length: Sectors,
    },
    /// A member is shorter than one cylinder.
    #[error("members of {length} are too short: {needs} are needed")]
    Short {
        /// Their length.
        length: Sectors,
        /// What is needed.
        needs: Sectors,
    },
    /// There are too many units.
    #[error("{0} units are more than are simulated (4 billion); make units longer")]
    Units(u64),
    /// Tracks of masters leave nothing for others.
    #[error(
        "{masters} of {tracks} tracks for masters: there must be one at least, and more tracks for slaves than for masters"
    )]
    Tracks {
        /// Tracks of a cylinder for masters.
        masters: u16,
        /// Tracks of a cylinder.
        tracks: u16,
    },
    /// There is too little memory.
    #[error("a memory of {memory} is too small: {needs} are needed")]
    Memory {
        /// The memory.
        memory: Sectors,
        /// What is needed.
        needs: Sectors,
    },
    /// A segment has no room for blocks and its summary.
    #[error("segments of {0} on each member are too short for units and their summary")]
    Segment(Sectors),
    /// Too little is left free for cleaning.
    #[error(
        "a utilization of {utilization} leaves {free} free segments, and cleaning needs {needs}; take less"
    )]
    Utilization {
        /// The utilization.
        utilization: f64,
        /// Free segments.
        free: u64,
        /// What is needed.
        needs: u64,
    },
}
