//! The wishes for a new array, and why some of them cannot be met.

use parlour_units::{Bytes, Sectors};

use super::sizes::{MAXIMUM_MEMBERS, MOST_LANES, MOST_SPARES};
use crate::organization::{Consistency, Organization, RefusedCombination};

/// The wishes for a new array.
#[derive(Clone, Debug, PartialEq)]
pub struct Creation {
    /// The four choices.
    pub organization: Organization,
    /// Check units of a stripe: further copies of each unit, or parities.
    pub checks: u16,
    /// Members, spares apart.
    pub members: u16,
    /// Parity groups side by side.
    pub groups: u16,
    /// Units of a stripe, for layouts whose stripes are narrower than a group.
    pub width: Option<u16>,
    /// Failure domains, to which members belong in turn; each member is one by itself, if this is
    /// left open.
    pub domains: Option<u16>,
    /// Room on the members for so many members that fail, for layouts whose stripes are narrower
    /// than a group.
    pub spares: u16,
    /// The stripe unit.
    pub unit: Sectors,
    /// The block size: requests are multiples of it.
    pub block: Sectors,
    /// The shortest member's length.
    pub member_length: Sectors,
    /// The wishes for the logs, for layouts with logs.
    pub log: LogCreation,
    /// What a crash may cost.
    pub consistency: Consistency,
}

/// The wishes for the logs. Values that are left open are computed from the members' size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogCreation {
    /// A log segment (K tracks, or a size where there are no tracks).
    pub segment: Option<Sectors>,
    /// Sublogs of each region (L).
    pub sublogs: Option<u16>,
    /// Length of log over length of parity (A).
    pub ratio: Option<f64>,
    /// About how many regions (B).
    pub regions: Option<u32>,
    /// Round each share to whole tracks of this length (§2.4).
    pub track: Option<Sectors>,
    /// Acknowledge writes when they are durable in the commit log, whose stream of writes has this
    /// length on each member. Zero: acknowledge them when they are in their place.
    pub writes: Option<Sectors>,
    /// Lanes of the streams of records and of writes: so many entries of each are under way at
    /// once.
    pub lanes: Option<u16>,
    /// Journal devices, which take entries of the commit log instead of members.
    pub journals: u16,
    /// Slots for journal devices, also for those that are added later: as many as there are
    /// devices, if left open.
    pub journal_slots: Option<u16>,
    /// The number of journal devices on which an entry stands.
    pub journal_copies: Option<u16>,
}

/// Why such an array cannot be created.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CreationError {
    /// The four choices do not go together.
    #[error(transparent)]
    Combination(#[from] RefusedCombination),
    /// There are too few members.
    #[error("{members} members are too few: this organization needs at least {least}")]
    TooFewMembers {
        /// The number of members.
        members: u16,
        /// The least number.
        least: u16,
    },
    /// There are too many members.
    #[error("{0} members are too many: an array has at most {MAXIMUM_MEMBERS}")]
    TooManyMembers(u16),
    /// The members do not divide into the groups.
    #[error("{members} members do not divide into {groups} equal groups")]
    UnequalGroups {
        /// The number of members.
        members: u16,
        /// The number of groups that were requested.
        groups: u16,
    },
    /// The members do not divide into sets of copies.
    #[error("{members} members do not divide into sets of {copies} copies")]
    UnequalCopies {
        /// The number of members.
        members: u16,
        /// Copies of each unit.
        copies: u16,
    },
    /// There are too few copies.
    #[error("{0} copies of each unit are too few: keep at least 2")]
    TooFewCopies(u16),
    /// The code has no such number of check units.
    #[error("a tolerance of {checks} is not possible here: choose {}", numbers(*least, *most))]
    BadTolerance {
        /// The number of check units that was requested.
        checks: u16,
        /// The least number.
        least: u16,
        /// The greatest number.
        most: u16,
    },
    /// Several groups make no sense without check units, or with copies.
    #[error("parity groups side by side are for organizations with parity; {0} groups make no sense here")]
    UselessGroups(u16),
    /// Only declustered layouts have a width.
    #[error("a width of {0} units makes no sense here: it is for parity that moves over more members")]
    UselessWidth(u16),
    /// A declustered layout needs a width.
    #[error("a declustered layout needs the number of units of a stripe (width)")]
    NoWidth,
    /// No such stripe fits.
    #[error(
        "stripes of {width} units are not possible over {members} members: choose {}", numbers(*least, *most)
    )]
    BadWidth {
        /// The width that was requested.
        width: u16,
        /// Members of a group.
        members: u16,
        /// The least width: two data units and the check units.
        least: u16,
        /// The greatest width: one less than the members.
        most: u16,
    },
    /// Only declustered layouts have room for spares.
    #[error(
        "distributed spares are for stripes that are narrower than a group of members: give raid5 or raid6 a width, \
         or add whole members as spares"
    )]
    UselessSpares,
    /// No stripe has room for so many.
    #[error("distributed spares: {0} in a group are too many; at most {MOST_SPARES} is possible")]
    TooManySpares(u16),
    /// Domains would not be equally large.
    #[error(
        "{members} members in a group are not the same number of each of {domains} failure domains: choose a number of domains \
         that divides {members}"
    )]
    UnequalDomains {
        /// Members of a group.
        members: u16,
        /// The number of domains that was requested.
        domains: u16,
    },
    /// One domain would be all, or entries of the journal need more.
    #[error("failure domains: {domains} is too few here; use {least} or more")]
    TooFewDomains {
        /// The number of domains that was requested.
        domains: u16,
        /// The least number.
        least: u16,
    },
    /// A domain would have more units of a stripe than may be lost.
    #[error(
        "with {domains} failure domains some stripe has {most} units in one, and {tolerance} may be lost: use more domains, \
         or for raid5 and raid6 narrower stripes (width)"
    )]
    DomainTooLarge {
        /// The number of domains that was requested.
        domains: u16,
        /// Units of a stripe in one domain.
        most: u16,
        /// How many may be lost.
        tolerance: u16,
    },
    /// No stripe would be narrower than the group.
    #[error(
        "{members} members are too few to decluster stripes of two data units and {checks} of parity: \
         use {least} or more in a group"
    )]
    TooFewToDecluster {
        /// Members of a group.
        members: u16,
        /// Check units of a stripe.
        checks: u16,
        /// The least number of members.
        least: u16,
    },
    /// The code has no so many check units for so many data units.
    #[error(
        "{checks} check units are not possible over the {data} data units of a stripe: they take {} data units", numbers(*least, *most)
    )]
    BadGrid {
        /// Check units of a stripe.
        checks: u16,
        /// Data units of a stripe.
        data: u16,
        /// The least number of data units.
        least: u16,
        /// The greatest number.
        most: u16,
    },
    /// Members have no such block size.
    #[error("a block of {0} is not possible: use 512 B or 4 KiB")]
    BadBlock(Bytes),
    /// The stripe unit is not a multiple of the block.
    #[error("a stripe unit of {unit} is no multiple of the members' block of {block}")]
    UnitNotBlocks {
        /// The stripe unit.
        unit: Bytes,
        /// The block size.
        block: Bytes,
    },
    /// The stripe unit is larger than a member.
    #[error("a stripe unit of {unit} exceeds a member, which has {room} for data")]
    UnitTooLarge {
        /// The stripe unit.
        unit: Bytes,
        /// Room for data on a member; with far copies, for one section.
        room: Bytes,
    },
    /// Entries of the commit log would be too long.
    #[error(
        "a stripe unit of {unit} is too large for crash-safe logging: each member would need a commit log of {commit_log}, and \
         1 GiB is the most; use a smaller unit, or consistency = bitmap"
    )]
    UnitTooLargeToLog {
        /// The stripe unit.
        unit: Bytes,
        /// The commit log that it would need.
        commit_log: Bytes,
    },
    /// The member is too small for the metadata.
    #[error("members of {0} are too small: metadata alone needs {1}")]
    MemberTooSmall(Bytes, Bytes),
    /// Too many sublogs.
    #[error(
        "{sublogs} sublogs (L) are too many for {members} members in a group: at most {most}, so that a stripe keeps a data unit and its parity"
    )]
    TooManySublogs {
        /// L.
        sublogs: u16,
        /// N.
        members: u16,
        /// The greatest possible number.
        most: u16,
    },
    /// The log segment is not usable.
    #[error(
        "a log segment of {0} is not possible: use a multiple of the block, at least 8 blocks and at most 16 MiB"
    )]
    BadSegment(Bytes),
    /// The track is not usable.
    #[error("a track of {0} is not possible: use a multiple of the block, at most 16 MiB")]
    BadTrack(Bytes),
    /// The log ratio is not usable.
    #[error("a log of {0} times the parity (A) is not possible: use more than 0 and at most 16")]
    BadRatio(f64),
    /// `journal` needs parity.
    #[error(
        "consistency = journal is for organizations with parity that stays in its place, in the log or beside the data; use \
         consistency = bitmap"
    )]
    NoParityToRecord,
    /// Write-back needs a journal.
    #[error("write-back is for arrays with consistency = journal: acknowledged writes stand there")]
    NothingToWriteBackFrom,
    /// The number of lanes is not usable.
    #[error("a journal with {0} lanes is not possible: use 1 to {MOST_LANES}")]
    BadLanes(u16),
    /// The journal's lanes would be too short.
    #[error(
        "a journal with {0} lanes is not possible here: its longest entries need lanes as long as {1} would be"
    )]
    TooManyLanes(u16, u16),
    /// The length of the stream of writes is not usable.
    #[error(
        "a journal of {0} for writes is not possible: use a multiple of 4 KiB, from 256 KiB to 1 GiB, or 0"
    )]
    BadWriteLog(Bytes),
    /// Journal devices need a journal.
    #[error("journal devices are for arrays with consistency = journal: they hold its entries")]
    NothingForJournals,
    /// There are too few journal devices.
    #[error(
        "too few journal devices ({journals}): each entry stands on {copies}; give {copies} or more, or none (then entries \
         stand on members)"
    )]
    TooFewJournals {
        /// The number of journal devices.
        journals: u16,
        /// The number on which each entry stands.
        copies: u16,
    },
    /// There are too few journal devices for acknowledged writes.
    #[error(
        "too few journal devices ({journals}): each entry stands on {copies}, so that acknowledged writes survive the loss of \
         {tolerance} and a crash; give {copies} or more; or none (then entries stand on members); or --write-back 0, where \
         data is in its place before it is acknowledged, and {tolerance} are enough; or --journal-copies {journals}, if the loss \
         of {journals} together with a crash may cost what was acknowledged last"
    )]
    TooFewJournalsForWrites {
        /// The number of journal devices.
        journals: u16,
        /// The number on which each entry stands.
        copies: u16,
        /// The number of members that may be lost.
        tolerance: u16,
    },
    /// Entries cannot stand on so many journal devices.
    #[error("{0} copies of an entry on journal devices are not possible: use 1 to {1}")]
    BadJournalCopies(u16, u16),
    /// These members have no cylinders in which units could float.
    #[error(
        "data and parity can float on drives only that tell where their heads are, and how long their tracks are; simulated \
         drives do, members here do not: use parity-logging or raid5"
    )]
    NoCylinders,
    /// Units do not fit into tracks.
    #[error(
        "units of {unit} cannot float in cylinders of {tracks} tracks of {track} sectors: a track must be a multiple of the unit, and a \
         cylinder have at least 2 tracks, and less than 65535 units"
    )]
    BadCylinder {
        /// The stripe unit.
        unit: Bytes,
        /// Tracks in a cylinder.
        tracks: u16,
        /// A track's length.
        track: u64,
    },
    /// No region fits.
    #[error(
        "no region with a log segment of {segment} fits into members of {room}: use larger members or a smaller segment"
    )]
    NoRegionFits {
        /// The log segment.
        segment: Bytes,
        /// Room for data on a member.
        room: Bytes,
    },
}

/// A range of numbers, in words.
fn numbers(least: u16, most: u16) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}
