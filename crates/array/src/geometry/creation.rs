//! The shape of a new array: what follows from the wishes for it.

mod regions;

use parlour_units::Sectors;

use self::regions::{bounded_regions, choose_regions, default_regions, sublogs};

use super::sizes::{
    ALIGNMENT, LARGEST_COMMIT_LOG, LARGEST_SEGMENT, LEAST_WITH_LONG_LIST, LONG_BAD_BLOCK_LOG, MAPS_AT,
    MAXIMUM_MEMBERS, METADATA_BLOCK, MOST_COMMIT_LOG, MOST_LANES, MOST_SPARES, SHORTEST_BAD_BLOCK_LOG,
    SMALLEST_COMMIT_LOG, SMALLEST_WRITE_LOG, bitmap_length, intent_log, lanes_fit, least_commit_log,
    logged_data_units, table_length,
};
use super::stored::{Cylinder, StoredGeometry};
use super::wishes::{Creation, CreationError, LogCreation};
use crate::layout::LayoutRequest;
use crate::organization::Organization;

impl Creation {
    /// Units and spare places of a stripe that is narrower than a group.
    fn places(&self) -> Option<u16> {
        self.width.map(|width| width.saturating_add(self.spares))
    }

    /// How many units of a stripe may be lost, whichever they are.
    pub fn tolerance(&self) -> u16 {
        self.organization.code.tolerance(self.checks)
    }

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
        let rows = creation.organization.layout.least_rows(creation.checks, creation.places());
        let section = Sectors::new(room / Sectors::new(rows.into()));
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
            width: creation.width,
            domains: creation.domains,
            spares: creation.spares,
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
    let least_data = *code.data(creation.checks).start();
    let log_copies = creation.organization.log_copies(creation.checks);
    let least = layout.least_members(creation.checks, least_data, log_copies).saturating_mul(groups);
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
    check_domains(creation, members / groups)?;
    check_spares(creation)?;
    check_width(creation, members / groups)?;
    Ok(members / groups)
}

/// Checks that the layout has stripes of this width over groups of so many `members`.
fn check_width(creation: &Creation, members: u16) -> Result<(), CreationError> {
    let data = creation.organization.code.data(creation.checks);
    let least = creation.checks.saturating_add(2.max(*data.start()));
    match (creation.width, creation.organization.layout.is_declustered()) {
        (None, false) => Ok(()),
        (Some(width), false) => Err(CreationError::UselessWidth(width)),
        (None, true) => Err(CreationError::NoWidth),
        (Some(_), true) if members <= least => {
            Err(CreationError::TooFewToDecluster { members, checks: creation.checks, least: least + 1 })
        }
        (Some(width), true) => {
            let places = most_in_domains(creation, members).min(members);
            let most = places.saturating_sub(creation.spares).min(members - 1);
            let possible = (least..=most).contains(&width);
            if possible { Ok(()) } else { Err(CreationError::BadWidth { width, members, least, most }) }
        }
    }
}

/// Checks that stripes have room for so many distributed spares.
fn check_spares(creation: &Creation) -> Result<(), CreationError> {
    match creation.spares {
        0 => Ok(()),
        _ if !creation.organization.layout.is_declustered() => Err(CreationError::UselessSpares),
        spares if spares > MOST_SPARES => Err(CreationError::TooManySpares(spares)),
        _ => Ok(()),
    }
}

/// How many units and spare places of a stripe failure domains have room for.
fn most_in_domains(creation: &Creation, members: u16) -> u16 {
    let of_each = |domains: u16| creation.tolerance().min(members / domains);
    creation.domains.map_or(members, |domains| domains * of_each(domains))
}

/// Checks that failure domains of a group of so many `members` are equal, and enough for entries of
/// a journal to stand in as many as may be lost and one more.
fn check_domains(creation: &Creation, members: u16) -> Result<(), CreationError> {
    let Some(domains) = creation.domains else { return Ok(()) };
    if domains == 0 || !members.is_multiple_of(domains) {
        return Err(CreationError::UnequalDomains { members, domains });
    }
    // (Of stripes as wide as a group the domains are no larger than what may be lost anyway.)
    let least = if creation.width.is_some() { creation.tolerance().saturating_add(1) } else { 2 };
    match domains < least {
        true => Err(CreationError::TooFewDomains { domains, least }),
        false => Ok(()),
    }
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
