//! The wishes for a new array, and the shape that follows from them.

use parlour_units::{Bytes, Sectors};

use super::sizes::{
    ALIGNMENT, LARGEST_COMMIT_LOG, LARGEST_SEGMENT, LEAST_WITH_LONG_LIST, LONG_BAD_BLOCK_LOG, MAPS_AT,
    MAXIMUM_MEMBERS, METADATA_BLOCK, MOST_COMMIT_LOG, MOST_LANES, MOST_REGIONS, SHORTEST_BAD_BLOCK_LOG,
    SMALLEST_COMMIT_LOG, SMALLEST_WRITE_LOG, bitmap_length, intent_log, lanes_fit, least_commit_log,
    logged_data_units, table_length,
};
use super::stored::{Cylinder, StoredGeometry};
use crate::layout::{LayoutRequest, RegionShape, ShapeRequest};
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

impl Creation {
    /// Computes all values that are left open, for members with such cylinders.
    pub(super) fn settle(&self, cylinder: Option<Cylinder>) -> Result<StoredGeometry, CreationError> {
        let creation = self;
        creation.organization.check()?;
        check_sizes(creation)?;
        let in_regions = creation.organization.layout.is_in_regions();
        let in_cylinders = creation.organization.layout.is_in_cylinders();
        let cylinder = in_cylinders.then(|| check_cylinder(creation, cylinder)).transpose()?;
        if in_regions {
            check_log(creation)?;
        }
        let group_members = check_members(creation)?;
        if !creation.organization.takes(creation.consistency) {
            return Err(CreationError::NoParityToRecord);
        }
        let journaled = creation.consistency.is_journal();
        let commit_log = if journaled { commit_log(creation, group_members) } else { Sectors::ZERO };
        if commit_log > MOST_COMMIT_LOG {
            let (unit, commit_log) = (creation.unit.bytes(), commit_log.bytes());
            return Err(CreationError::UnitTooLargeToLog { unit, commit_log });
        }
        let logged = creation.organization.is_logged();
        let intents = intent_log(commit_log, creation.block, logged);
        // The data area begins at the start of a cylinder of the member.
        let grain = cylinder.map_or(ALIGNMENT, Cylinder::length);
        let write_log = choose_write_log(creation)?;
        check_journals(creation)?;
        let bad_block_log = bad_block_log(creation);
        let logs = bad_block_log * 2 + commit_log + write_log;
        let data_start = data_start(creation, logs).round_up(grain);
        let room = room(creation.member_length, data_start).ok_or_else(|| {
            CreationError::MemberTooSmall(
                creation.member_length.bytes(),
                (data_start + ALIGNMENT * 2).bytes(),
            )
        })?;
        let sections = creation.organization.layout.sections(creation.checks);
        let section = Sectors::new(room / Sectors::new(sections.into()));
        if let Some(cylinder) = cylinder.filter(|cylinder| cylinder.length() > room) {
            let least = data_start + cylinder.length() + ALIGNMENT;
            return Err(CreationError::MemberTooSmall(creation.member_length.bytes(), least.bytes()));
        }
        if creation.unit > section {
            let (unit, room) = (creation.unit.bytes(), section.bytes());
            return Err(CreationError::UnitTooLarge { unit, room });
        }
        let layout = LayoutRequest {
            group_members,
            groups: creation.groups,
            unit: creation.unit.get(),
            length: room.get(),
        };
        let regions = in_regions.then(|| choose_regions(creation, group_members, room)).transpose()?;
        let sublogs = regions.filter(|_| logged).map(|shape| shape.sublogs);
        let least = least_commit_log(creation.unit, group_members, sublogs);
        Ok(StoredGeometry {
            organization: creation.organization,
            checks: creation.checks,
            layout,
            block: creation.block.get(),
            data_start: data_start.get(),
            regions,
            consistency: creation.consistency,
            commit_log: commit_log.get(),
            intent_log: intents.get(),
            write_log: write_log.get(),
            lanes: choose_lanes(creation, (commit_log - intents, least), write_log)?,
            journal_slots: journal_slots(&creation.log),
            journal_copies: 0,
            bad_block_log: bad_block_log.get(),
            cylinder,
        })
    }
}

/// The greatest part of a member that a region takes, about (1 GiB), so that a reintegration does
/// not occupy the member for long.
const LARGEST_REGION: Sectors = Sectors::new(1 << 21);

/// Members of this size (64 GiB) or more are large: appends of 1 MiB, shorter logs.
const LARGE_MEMBER: Sectors = Sectors::new(1 << 27);

/// Members of this size (64 MiB) or more have appends of 128 KiB.
const MEDIUM_MEMBER: Sectors = Sectors::new(1 << 17);

/// With a journal an append is of several segments, so many of the usual length at most: the
/// journal's length decides when a region's records are appended, and what they leave free of
/// their last segment is lost.
const SEGMENTS_OF_AN_APPEND: u64 = 8;

/// Segments are at least this long (32 KiB), unless shorter ones are asked for.
const SMALLEST_USUAL_SEGMENT: Sectors = Sectors::new(64);

/// For each two members, the commit log takes about this part of a member (1/128), …
const COMMIT_LOG_SHARE: u64 = 128;

/// … but usually at most this much (8 MiB).
const USUAL_COMMIT_LOG: Sectors = Sectors::new(16_384);

/// A journal usually has at most this many lanes: so many entries keep drives busy.
const USUAL_LANES: u16 = 4;

/// The least length of a lane of writes (1 MiB), unless more lanes are asked for.
const LEAST_LANE_OF_WRITES: Sectors = Sectors::new(2_048);

/// With a journal, the stream of writes usually takes this part of a member (1/64), …
const WRITE_LOG_SHARE: u64 = 64;

/// … at most this much (64 MiB): more of it sorts destages little better, and all of it is also in
/// memory.
const USUAL_WRITE_LOG: Sectors = Sectors::new(131_072);

/// In multiples of this (1 MiB), and so none on members below 64 MiB.
const LEAST_USUAL_WRITE_LOG: Sectors = Sectors::new(2_048);

fn check_sizes(creation: &Creation) -> Result<(), CreationError> {
    let block = creation.block;
    if block.get() != 1 && block.get() != 8 {
        return Err(CreationError::BadBlock(block.bytes()));
    }
    if creation.unit.is_zero() || !creation.unit.is_multiple_of(block) {
        return Err(CreationError::UnitNotBlocks { unit: creation.unit.bytes(), block: block.bytes() });
    }
    if creation.unit > creation.member_length {
        let (unit, room) = (creation.unit.bytes(), creation.member_length.bytes());
        return Err(CreationError::UnitTooLarge { unit, room });
    }
    Ok(())
}

/// Checks the cylinders in which units are to float.
fn check_cylinder(creation: &Creation, cylinder: Option<Cylinder>) -> Result<Cylinder, CreationError> {
    let cylinder = cylinder.ok_or(CreationError::NoCylinders)?;
    let bad = CreationError::BadCylinder {
        unit: creation.unit.bytes(),
        tracks: cylinder.tracks,
        track: cylinder.track,
    };
    cylinder.positions(creation.unit.get()).map(|_| cylinder).ok_or(bad)
}

/// Checks the wishes for the logs, before anything is computed from them.
fn check_log(creation: &Creation) -> Result<(), CreationError> {
    let LogCreation { segment, track, .. } = creation.log;
    let whole = |length: Sectors| length <= LARGEST_SEGMENT && length.is_multiple_of(creation.block);
    if let Some(segment) = segment.filter(|length| *length < creation.block * 8 || !whole(*length)) {
        return Err(CreationError::BadSegment(segment.bytes()));
    }
    match track.filter(|length| length.is_zero() || !whole(*length)) {
        Some(track) => Err(CreationError::BadTrack(track.bytes())),
        None => Ok(()),
    }
}

/// Chooses the length of the stream of writes; zero with write-through.
fn choose_write_log(creation: &Creation) -> Result<Sectors, CreationError> {
    let journaled = creation.consistency.is_journal();
    let writes = match creation.log.writes {
        Some(writes) => writes,
        None if journaled => default_write_log(creation.member_length),
        None => Sectors::ZERO,
    };
    if writes.is_zero() {
        return Ok(writes);
    }
    if !journaled {
        return Err(CreationError::NothingToWriteBackFrom);
    }
    let fits = SMALLEST_WRITE_LOG <= writes && writes <= MOST_COMMIT_LOG;
    match fits && writes.is_multiple_of(METADATA_BLOCK) {
        true => Ok(writes),
        false => Err(CreationError::BadWriteLog(writes.bytes())),
    }
}

/// As much as serves a drive well, but not much of a member.
fn default_write_log(member_length: Sectors) -> Sectors {
    let share = Sectors::new(member_length.get() / WRITE_LOG_SHARE);
    share.min(USUAL_WRITE_LOG).round_down(LEAST_USUAL_WRITE_LOG)
}

/// Chooses the number of lanes of streams of these lengths. `least` is the length of a stream of
/// records that holds a few of the longest entries.
fn choose_lanes(
    creation: &Creation,
    (records, least): (Sectors, Sectors),
    writes: Sectors,
) -> Result<u16, CreationError> {
    if !creation.consistency.is_journal() {
        return Ok(1);
    }
    let fit = |lanes: u16| lanes == 1 || lanes_fit(lanes, (records, least), (writes, creation.block));
    let usual = |lanes: u16| writes.is_zero() || writes / LEAST_LANE_OF_WRITES >= lanes.into();
    match creation.log.lanes {
        None => Ok((1..=USUAL_LANES).rev().find(|lanes| fit(*lanes) && usual(*lanes)).unwrap_or(1)),
        Some(lanes) if !(1..=MOST_LANES).contains(&lanes) => Err(CreationError::BadLanes(lanes)),
        Some(lanes) if !fit(lanes) => {
            let most = (1..lanes).rev().find(|lanes| fit(*lanes)).unwrap_or(1);
            Err(CreationError::TooManyLanes(lanes, most))
        }
        Some(lanes) => Ok(lanes),
    }
}

/// The least length of a lane of records.
fn least_lane(creation: &Creation, members: u16) -> Sectors {
    let sublogs = sublogs(creation, members);
    let sublogs = creation.organization.is_logged().then_some(sublogs);
    least_commit_log(creation.unit, members, sublogs).max(SMALLEST_COMMIT_LOG)
}

/// The number of slots for journal devices.
fn journal_slots(log: &LogCreation) -> u16 {
    log.journals.max(log.journal_slots.unwrap_or(0))
}

/// Checks the number of slots for journal devices.
fn check_journals(creation: &Creation) -> Result<(), CreationError> {
    let (log, slots) = (&creation.log, journal_slots(&creation.log));
    if slots == 0 && log.journal_copies.is_none() {
        return Ok(());
    }
    if !creation.consistency.is_journal() {
        return Err(CreationError::NothingForJournals);
    }
    if creation.members.saturating_add(slots) > MAXIMUM_MEMBERS {
        return Err(CreationError::TooManyMembers(creation.members.saturating_add(slots)));
    }
    Ok(())
}

/// The number of journal devices on which an entry stands, as it is stored, in an array that
/// survives the loss of `tolerance` members.
///
/// With write-through, as many as may be lost are enough: if all of them are lost in a crash, no
/// member is, and what was under way is resynced.
pub(super) fn journal_copies(
    log: &LogCreation,
    stored: &StoredGeometry,
    tolerance: u16,
) -> Result<u16, CreationError> {
    let (journals, usual) = (log.journals, tolerance + 1);
    let copies = match log.journal_copies {
        Some(copies) if !(1..=usual).contains(&copies) => {
            return Err(CreationError::BadJournalCopies(copies, usual));
        }
        Some(copies) => copies,
        None if stored.write_log == 0 && journals > 0 && journals == tolerance => tolerance,
        None => usual,
    };
    if (1..copies).contains(&journals) {
        return Err(match log.journal_copies {
            None if stored.write_log > 0 => {
                CreationError::TooFewJournalsForWrites { journals, copies, tolerance }
            }
            _ => CreationError::TooFewJournals { journals, copies },
        });
    }
    Ok(if copies == usual { 0 } else { copies })
}

/// Checks and returns the number of members in each group.
fn check_members(creation: &Creation) -> Result<u16, CreationError> {
    let (members, groups) = (creation.members, creation.groups);
    if members > MAXIMUM_MEMBERS {
        return Err(CreationError::TooManyMembers(members));
    }
    let Organization { layout, code, .. } = creation.organization;
    let least = layout
        .least_members(creation.checks, creation.organization.log_copies(creation.checks))
        .saturating_mul(groups);
    if members < least {
        return Err(CreationError::TooFewMembers { members, least });
    }
    check_checks(creation)?;
    if groups == 0 || !members.is_multiple_of(groups) {
        return Err(CreationError::UnequalGroups { members, groups });
    }
    if groups > 1 && !code.is_parity() {
        return Err(CreationError::UselessGroups(groups));
    }
    let set = code.members_of_a_set(creation.checks);
    if !members.is_multiple_of(set) {
        return Err(CreationError::UnequalCopies { members, copies: set });
    }
    Ok(members / groups)
}

/// Checks that the organization has so many check units.
fn check_checks(creation: &Creation) -> Result<(), CreationError> {
    let (organization, checks) = (creation.organization, creation.checks);
    let possible = organization.checks();
    if possible.contains(&checks) {
        Ok(())
    } else if organization.keeps_copies() && checks == 0 {
        Err(CreationError::TooFewCopies(1))
    } else {
        Err(CreationError::BadTolerance { checks, least: *possible.start(), most: *possible.end() })
    }
}

/// A range of numbers, in words.
fn numbers(least: u16, most: u16) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

/// Chooses the regions by the wishes of [`Creation::log`], with defaults: `docs/format.md`,
/// "Sizes".
fn choose_regions(creation: &Creation, members: u16, room: Sectors) -> Result<RegionShape, CreationError> {
    let large = room >= LARGE_MEMBER;
    let append = creation.log.segment.unwrap_or_else(|| usual_append(room));
    let segment = creation.log.segment.unwrap_or_else(|| match creation.consistency.is_journal() {
        true => Sectors::new(append.get() / SEGMENTS_OF_AN_APPEND).max(SMALLEST_USUAL_SEGMENT),
        false => append,
    });
    let checks = creation.checks;
    let sublogs = sublogs(creation, members);
    let log_copies = creation.organization.log_copies(checks);
    let most = most_sublogs(members, checks, log_copies);
    if sublogs == 0 || sublogs > most {
        return Err(CreationError::TooManySublogs { sublogs, members, most });
    }
    let log_ratio = creation.log.ratio.unwrap_or(if large { 1.0 / 16.0 } else { 0.5 });
    if !(log_ratio > 0.0 && log_ratio <= 16.0) {
        return Err(CreationError::BadRatio(log_ratio));
    }
    let request = ShapeRequest {
        members,
        checks,
        log_copies,
        unit: creation.unit,
        length: room,
        sublogs,
        segment,
        log_ratio,
        regions: creation.log.regions.map_or_else(|| default_regions(room, append), bounded_regions),
        grain: creation.log.track.unwrap_or(creation.block),
    };
    RegionShape::choose(&request)
        .ok_or(CreationError::NoRegionFits { segment: segment.bytes(), room: room.bytes() })
}

/// The number of sublogs that is wished for. L ≈ 0.16 N balances the load if only one region is
/// written and its data is cached (Stodolsky §6, as corrected); copies count as sublogs do.
fn sublogs(creation: &Creation, members: u16) -> u16 {
    let log_copies = creation.organization.log_copies(creation.checks);
    let balanced = (u32::from(members) * 16).div_ceil(100 * u32::from(log_copies)) as u16;
    let most = most_sublogs(members, creation.checks, log_copies);
    creation.log.sublogs.unwrap_or(balanced.clamp(1, most.max(1)))
}

/// The greatest number of sublogs: a stripe keeps a data unit and its check units.
fn most_sublogs(members: u16, checks: u16, log_copies: u16) -> u16 {
    members.saturating_sub(checks + 1) / log_copies
}

/// The number of regions that is wished for, within limits.
fn bounded_regions(wish: u32) -> u32 {
    wish.clamp(1, MOST_REGIONS)
}

/// The length of an append to a log (K tracks), about.
fn usual_append(room: Sectors) -> Sectors {
    if room >= LARGE_MEMBER {
        Sectors::new(2_048)
    } else if room >= MEDIUM_MEMBER {
        Sectors::new(256)
    } else {
        SMALLEST_USUAL_SEGMENT
    }
}

/// B ≈ √(TV/K) (Stodolsky §2.4), but no region takes more than [`LARGEST_REGION`] of a member.
fn default_regions(room: Sectors, append: Sectors) -> u32 {
    let by_memory = (room / append).isqrt();
    let by_latency = room / LARGEST_REGION;
    by_memory.max(by_latency).clamp(1, u64::from(MOST_REGIONS)) as u32
}

/// Room for data on a member of `length`.
fn room(length: Sectors, data_start: Sectors) -> Option<Sectors> {
    let room = length.round_down(ALIGNMENT).saturating_sub(data_start + ALIGNMENT);
    (!room.is_zero()).then_some(room)
}

/// Length of the commit log's area on each member.
fn commit_log(creation: &Creation, members: u16) -> Sectors {
    let logged = creation.organization.is_logged();
    let sublogs = sublogs(creation, members);
    let data_units = logged_data_units(members, sublogs);
    let least = least_commit_log(creation.unit, members, logged.then_some(sublogs));
    // The intents of a reintegration take at most 48 bytes for each record of a sector and each
    // check unit. (The length
    // of a region's log is not known yet; this is an estimate.)
    let segment = creation.log.segment.unwrap_or(Sectors::new(64));
    let wish = creation.log.regions.unwrap_or_else(|| default_regions(creation.member_length, segment));
    let share = creation.member_length.get() / u64::from(wish.max(1));
    let ratio = creation.log.ratio.filter(|ratio| (0.0..=16.0).contains(ratio)).unwrap_or(0.5);
    let parity = share * u64::from(members) / (data_units + 1);
    let log = Sectors::new((parity as f64 * ratio) as u64) + segment * 2;
    let for_each = Sectors::new(log.get() / 10 + 64) * u64::from(creation.checks);
    let intents = if logged { for_each } else { Sectors::ZERO };
    // (The intents take a quarter.)
    let lanes = least_lane(creation, members) * creation.log.lanes.map_or(0, u64::from);
    let with_intents = Sectors::new(lanes.get().div_ceil(3) * 4);
    // All members have one commit log together, and each entry stands in the areas of several.
    let share = creation.member_length.get() / COMMIT_LOG_SHARE;
    let usual = Sectors::new(share).min(USUAL_COMMIT_LOG) * u64::from(creation.members / 2).clamp(1, 16);
    usual
        .max((intents * 12).min(Sectors::new(share * 4)))
        .max(intents * 4)
        .max(with_intents)
        .min(LARGEST_COMMIT_LOG)
        .max(least)
        .max(SMALLEST_COMMIT_LOG)
        .round_up(METADATA_BLOCK)
}

/// Where the data area starts: behind the metadata for the greatest number of regions that is
/// possible, and these logs.
fn data_start(creation: &Creation, logs: Sectors) -> Sectors {
    let in_regions = creation.organization.layout.is_in_regions();
    let most_regions = if in_regions {
        let by_default = || {
            let segment = creation.log.segment.unwrap_or(Sectors::new(64));
            default_regions(creation.member_length, segment)
        };
        let wish = creation.log.regions.map_or_else(by_default, bounded_regions);
        // The search may go 10% higher and up to a multiple of the members, in each group.
        (wish + wish / 10 + u32::from(creation.members) * 2).saturating_mul(u32::from(creation.groups.max(1)))
    } else {
        16_384
    };
    let recorded = in_regions || creation.consistency.is_journal();
    let table = if recorded { table_length(most_regions) } else { Sectors::ZERO };
    (MAPS_AT + (bitmap_length(most_regions) + table) * 2 + logs).round_up(ALIGNMENT)
}

/// The length of a bad-block log. With a journal it limits how many whole stripes are written at a
/// time.
fn bad_block_log(creation: &Creation) -> Sectors {
    let long = creation.consistency.is_journal() && creation.member_length >= LEAST_WITH_LONG_LIST;
    if long { LONG_BAD_BLOCK_LOG } else { SHORTEST_BAD_BLOCK_LOG }
}
