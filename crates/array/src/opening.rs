//! Creating an array's metadata, and opening an array from it.

use parlour_units::{Instant, Region, Sector, Sectors, Slot};

use crate::array::Array;
use crate::assembly::{Assembly, AssemblyError};
use crate::context::Start;
use crate::durable::{BadBlocks, Bitmap, Durable, SuperblocksStart, returning};
use crate::format::banks::Banks;
use crate::format::bitmap::{Bits, StoredBitmap, TableEntry, encode_table};
use crate::format::horizon::{LAST_OPENING, LAST_SUPERBLOCK, first_sequence};
use crate::format::superblock::{
    Entry, EntryState, Moved, REMEMBERED_SESSIONS, Recorded, SUPERBLOCK_BYTES, Stage, Superblock,
};
use crate::geometry::Geometry;
use crate::identity::Identity;
use crate::implausible::beyond;
use crate::log::found::{Found, FoundLog};
use crate::log::{CommitLogContent, Logs};
use crate::mode::Mode;
use crate::older::older_slots;
use crate::rooms::Rooms;
use crate::roster::epoch::Epoch;
use crate::roster::floating::Floats;
use crate::roster::moves::Moves;
use crate::roster::{MemberInfo, Role, Roster, SlotState, Standing};
use crate::status::{Event, FailureCause};
use crate::tuning::{Simulated, Tuning};

/// The session in which an array is created.
const FIRST_SESSION: u64 = 1;

/// Identities and names for a new array. The driver chooses them.
#[derive(Clone, Debug)]
pub struct NewArray {
    /// The array's identity.
    pub array: Identity,
    /// The first session's identity.
    pub session: Identity,
    /// Identity and length of each member, in the order of slots. The last slots of journal devices
    /// may be vacant.
    pub members: Vec<(Identity, Sectors)>,
    /// The array's name, at most 64 bytes.
    pub name: String,
    /// Seconds since 1970.
    pub created: u64,
    /// Whether all members are known to hold zeroes, so that their redundancy fits already.
    pub zeroed: bool,
}

/// The writes that create a member's metadata, in this order, each durable before the next.
pub type Image = Vec<(Sector, Vec<u8>)>;

/// The metadata of a new array, by member.
pub fn create(geometry: &Geometry, new: &NewArray) -> Vec<Image> {
    let regions = geometry.layout().region_count();
    let redundant = geometry.code().has_checks();
    let resync = if new.zeroed || !redundant { Bits::new(regions) } else { Bits::full(regions) };
    let map =
        StoredBitmap { sequence: 1, dirty: Bits::new(regions), resync, out_of_sync: Bits::new(regions) };
    let bitmap_bytes = map.encode(new.array, geometry.bitmap_length().bytes().as_usize());
    let table_bytes = geometry.records_updates().then(|| {
        let table = vec![TableEntry::default(); regions as usize];
        encode_table(&table, 1, new.array, geometry.table_length().bytes().as_usize())
    });
    let entry = |slot: Slot| match new.members.get(slot.as_usize()) {
        Some((member, _)) => Entry { member: *member, state: EntryState::Active },
        None => Entry::VACANT,
    };
    let table: Vec<Entry> = geometry.slots().map(entry).collect();
    let image = |(entry, (member, length)): (usize, &(Identity, Sectors))| {
        let superblock = Superblock {
            array: new.array,
            member: *member,
            entry: entry as u16,
            member_length: *length,
            sequence: 1,
            session_number: FIRST_SESSION,
            sessions: vec![new.session],
            clean: true,
            stage: Stage::Begun,
            writable: true,
            copy: 0,
            geometry: *geometry.stored(),
            name: new.name.clone(),
            created: new.created,
            table: table.clone(),
            moves: Vec::new(),
            recorded: Recorded::default(),
        };
        let mut image = vec![(geometry.bitmap_at(1), bitmap_bytes.clone())];
        image.push((geometry.bitmap_at(0), vec![0; bitmap_bytes.len()]));
        if let Some(table_bytes) = &table_bytes {
            image.push((geometry.table_at(1), table_bytes.clone()));
            image.push((geometry.table_at(0), vec![0; table_bytes.len()]));
        }
        // A bad-block log without a header counts as empty.
        let bad_block_logs = (0..2).filter_map(|bank| geometry.bad_block_log_at(bank));
        image.extend(bad_block_logs.map(|(at, _)| (at, vec![0; SUPERBLOCK_BYTES])));
        let copies = Geometry::superblocks_at(*length);
        image.extend(copies.into_iter().rev().map(|at| (at, superblock.encode())));
        image
    };
    new.members.iter().enumerate().map(image).collect()
}

/// The input for opening an array.
#[derive(Debug)]
pub struct Opening {
    /// The array, put together.
    pub assembly: Assembly,
    /// By slot: the member, if it is there.
    pub members: Vec<Option<MemberInfo>>,
    /// Spares.
    pub spares: Vec<MemberInfo>,
    /// By slot: both write-intent bitmaps, as read.
    pub bitmaps: Vec<Banks>,
    /// By slot: both tables of the regions' logs, as read; empty without logs.
    pub tables: Vec<Banks>,
    /// By slot: both bad-block logs, as read; empty if the array has no room for them.
    pub bad_block_logs: Vec<Banks>,
    /// By slot: the content of the commit log.
    pub commits: Vec<CommitLogContent>,
    /// A fresh identity for this session.
    pub session: Identity,
    /// Open without writing anything.
    pub read_only: bool,
    /// Open although data may be lost.
    pub force: bool,
    /// Bounds, thresholds and pace.
    pub tuning: Tuning,
}

impl Array {
    /// Opens an array. Its first effects record the new session; hosts may be served at once.
    ///
    /// # Errors
    /// Too much is missing, or data may be lost and [`Opening::force`] is not set.
    pub fn open(now: Instant, opening: Opening) -> Result<Array, AssemblyError> {
        if opening.assembly.geometry.floats() {
            return Err(AssemblyError::NobodyPlaces);
        }
        Array::open_simulated(now, opening, Simulated::default())
    }

    /// The same for simulations: on models of drives and without payload. Not for real data.
    ///
    /// # Errors
    /// As [`Array::open`].
    pub fn open_simulated(
        now: Instant,
        mut opening: Opening,
        simulated: Simulated,
    ) -> Result<Array, AssemblyError> {
        let older = leave_out_older(&mut opening)?;
        let mut commits = std::mem::take(&mut opening.commits);
        let Opening { assembly, members, spares, tuning, read_only, force, session, .. } = &opening;
        let (superblock, geometry) = (&assembly.superblock, &assembly.geometry);
        check_whole_enough(assembly, *read_only, *force)?;
        let mut map = assembly.newest_bitmap(&opening.bitmaps);
        let (table, table_sequence) = assembly.newest_table(&opening.tables);
        let table = table.unwrap_or_default();
        let recorded = geometry.records_updates();
        let redo = geometry.is_journaled() && !table.is_empty();
        if !superblock.clean && !redo || recorded && table.is_empty() {
            map.resync.merge(&map.dirty);
        }
        commits.resize_with(geometry.slots().count(), CommitLogContent::default);
        let implausible = implausible(&opening, &commits);
        let unread = unread_areas(&commits);
        let mut found = entries_of(assembly, commits);
        let damaged = redo && is_damaged(assembly, &found, &unread);
        if redo && !superblock.clean {
            unrecoverable(assembly, damaged, &mut map);
        }
        if may_lack_writes(assembly, &found, &unread) {
            if !*force {
                return Err(AssemblyError::AcknowledgedMayBeLost);
            }
            if are_outdated(assembly, &found.writes, &unread) {
                found.writes = found.writes.cleared();
            }
        }
        let mut trusted = map.resync.clone();
        let starts_over = trust(assembly, *force, &mut map)?;
        map.resync.iter().for_each(|region| trusted.clear(region));
        let live = (superblock.clean || redo) && geometry.layout().logs().is_some() && map.dirty.count() > 0;
        if *read_only && assembly.is_degraded() && live {
            return Err(refuse_reading(assembly, AssemblyError::ReadOnlyNeedsWriting));
        }
        if !*read_only {
            check_numbers(superblock)?;
        }
        let session_number = superblock.session_number + 1;
        let first_sequence = first_sequence(session_number);
        let logs = open_logs((&opening, simulated), (&map, &trusted), table, found, first_sequence);
        if *read_only && (logs.is_to_be_recovered() || logs.hold_found_writes()) {
            return Err(refuse_reading(assembly, AssemblyError::ReadOnlyNeedsRecovery));
        }
        // Where parity was accepted as data, an absent member holds something else, and may not
        // return.
        let standing = standings(assembly, members, tuning.bitmap && !starts_over);
        returning::merge_out_of_sync(&mut map, &standing);
        let in_sync = map.resync.count() == 0;
        let frontiers = recorded_frontiers(assembly, starts_over, in_sync);
        let found_moves = moves_of(superblock, geometry.layout().stripes(), starts_over);
        let moves = Moves::recorded(&found_moves, geometry.layout().stripes());
        let superblocks = superblocks_of(superblock, *session, frontiers, found_moves);
        let bitmap = Bitmap::new(map, session_number, geometry.layout().region_count(), !read_only);
        let mode = if *read_only { Mode::ReadOnly } else { Mode::Serving };
        let (bad_blocks, listed) = BadBlocks::newest(assembly, &opening.bad_block_logs, session_number);
        let durable = Durable::new(superblocks, bitmap, table_sequence, bad_blocks, !read_only);
        let mut roster = Roster::new(standing, spares.clone(), Floats::new(geometry), moves, listed);
        roster.note_superblocks(superblocks_found(assembly));
        let (geometry, tuning, identity, force) = (geometry.clone(), *tuning, superblock.array, *force);
        let start = Start { geometry, tuning, simulated, identity, mode, writes: !read_only, roster };
        let mut array = Array { rooms: Rooms::new(start, durable, logs, now) };
        let cause = FailureCause::Older;
        let failed = older.into_iter().map(|slot| Event::MemberFailed { slot, cause });
        let damaged = damaged.then_some(Event::CommitLogDamaged);
        array.rooms.begin(failed.chain(damaged).chain(implausible), force);
        Ok(array)
    }
}

/// Metadata of members with numbers that no session can have given.
fn implausible(opening: &Opening, commits: &[CommitLogContent]) -> Vec<Event> {
    let Opening { assembly, bitmaps, tables, bad_block_logs, .. } = opening;
    let mut implausible = beyond(assembly, bitmaps, tables, bad_block_logs);
    let commits = (0..).map(Slot::new).zip(commits).filter(|(_, content)| content.beyond);
    implausible.extend(commits.map(|(slot, _)| Event::Implausible { slot, what: "commit log" }));
    implausible
}

/// Checks that there are enough members, and that they can be opened in this way. With too few, an
/// array can be read only, and only if somebody says so: what is lost reads as errors.
fn check_whole_enough(assembly: &Assembly, read_only: bool, force: bool) -> Result<(), AssemblyError> {
    let (superblock, geometry) = (&assembly.superblock, &assembly.geometry);
    let may_lack = read_only && force;
    if !may_lack && !assembly.survives() {
        return Err(AssemblyError::TooManyMissing {
            missing: missing_names(assembly),
            tolerance: geometry.fault_tolerance(),
        });
    }
    if !superblock.writable && !read_only {
        return Err(AssemblyError::WritingUnsafe);
    }
    if geometry.floats() && superblock.session_number != FIRST_SESSION {
        return Err(AssemblyError::SlotsLost);
    }
    Ok(())
}

/// Why an array cannot be opened read-only. One that lacks too many members cannot be opened for
/// writing instead, as `reason` says.
fn refuse_reading(assembly: &Assembly, reason: AssemblyError) -> AssemblyError {
    match assembly.survives() {
        true => reason,
        false => AssemblyError::TooManyMissingToRecover { missing: missing_names(assembly) },
    }
}

/// Checks that numbers for another session and its superblocks are left.
fn check_numbers(superblock: &Superblock) -> Result<(), AssemblyError> {
    let (session, sequence) = (superblock.session_number, superblock.sequence);
    match session < LAST_OPENING && sequence < LAST_SUPERBLOCK {
        true => Ok(()),
        false => Err(AssemblyError::NumbersUsedUp { session, sequence }),
    }
}

/// Deals with regions whose parity stands in for missing data and may not fit. Returns whether a
/// rebuild that was under way starts over.
fn trust(assembly: &Assembly, force: bool, map: &mut StoredBitmap) -> Result<bool, AssemblyError> {
    let taken_on_trust = trusted_regions(assembly, map);
    if !force {
        return refuse_trust(assembly, taken_on_trust.len() as u32).map(|()| false);
    }
    // With `force`, check units that stand in for missing data define that data: they fit by
    // definition. A rebuild that was under way starts over, so that this holds for the whole
    // member. Other check units are still to be resynced.
    let starts_over = !taken_on_trust.is_empty();
    let gone = gone_members(assembly);
    let moves = &assembly.superblock.moves;
    let moved: Vec<Slot> = moves.iter().filter(|moved| moved.is_whole()).map(|moved| moved.slot).collect();
    let fits = |region: &Region| fits_by_definition(&assembly.geometry, (&gone, &moved), *region);
    taken_on_trust.into_iter().filter(fits).for_each(|region| map.resync.clear(region));
    Ok(starts_over)
}

/// Whether each check unit of `region` that is not `gone` is needed to compute data that is.
fn fits_by_definition(geometry: &Geometry, (gone, moved): (&[Slot], &[Slot]), region: Region) -> bool {
    let (samples, gone) = (geometry.layout().samples_in(region), |slot| gone.contains(&slot));
    geometry.all_lose(samples, (gone, |slot| moved.contains(&slot)), |units| {
        geometry.code().spare_checks(units).is_empty()
    })
}

/// The superblocks of a new session.
fn superblocks_of(
    superblock: &Superblock,
    session: Identity,
    frontiers: Vec<u64>,
    moves: Vec<Moved>,
) -> SuperblocksStart {
    let mut sessions = vec![session];
    // An opening that did not come to its end has written no data: members that were absent in it
    // have missed nothing.
    let unfinished = usize::from(superblock.stage == Stage::Opening);
    sessions.extend(superblock.sessions.iter().skip(unfinished).take(REMEMBERED_SESSIONS - 1));
    SuperblocksStart {
        name: superblock.name.clone(),
        created: superblock.created,
        sequence: superblock.sequence,
        session_number: superblock.session_number + 1,
        sessions,
        table: superblock.table.clone(),
        moves,
        recorded: superblock.recorded,
        frontiers,
    }
}

/// By member, in the order of their numbers: the copy of its superblock to write first, so that a
/// sound copy is left at any time; and the session that its copies name.
fn superblocks_found(assembly: &Assembly) -> impl Iterator<Item = Option<(usize, Epoch)>> + '_ {
    let candidates = assembly.slots.iter().copied().chain(assembly.spares.iter().copied().map(Some));
    candidates.map(|candidate| {
        let candidate = candidate?;
        let sound = assembly.copies[candidate];
        Some((1 - sound, assembly.epochs[candidate]))
    })
}

/// Leaves members out whose own metadata is older than the others'. If the array needs them, that
/// takes `force`, and they stay.
fn leave_out_older(opening: &mut Opening) -> Result<Vec<Slot>, AssemblyError> {
    let Opening { assembly, bitmaps, tables, bad_block_logs, force, .. } = opening;
    let older = older_slots(assembly, bitmaps, tables, bad_block_logs);
    if older.is_empty() {
        return Ok(Vec::new());
    }
    let mut without = assembly.clone();
    older.iter().for_each(|slot| without.leave_out_older(*slot));
    if !without.survives() {
        let names = older.iter().map(|slot| Slot::new(*slot).to_string()).collect::<Vec<_>>().join(", ");
        return if *force { Ok(Vec::new()) } else { Err(AssemblyError::OlderMembers { older: names }) };
    }
    opening.assembly = without;
    older.iter().for_each(|slot| opening.members[usize::from(*slot)] = None);
    Ok(older.into_iter().map(Slot::new).collect())
}

/// The moved slots. If rebuilds start over, moves that have not ended do too. A frontier behind the
/// array's end is ignored.
fn moves_of(superblock: &Superblock, stripes: u64, starts_over: bool) -> Vec<Moved> {
    let counts = |frontier: u64| !starts_over && frontier <= stripes;
    let of = |moved: &Moved| Moved {
        frontier: moved.frontier.map(|frontier| if counts(frontier) { frontier } else { 0 }),
        ..*moved
    };
    superblock.moves.iter().map(of).collect()
}

/// By slot: the recorded frontier of its rebuild; 0 if a rebuild starts over. A frontier behind the
/// array's end is ignored.
fn recorded_frontiers(assembly: &Assembly, starts_over: bool, in_sync: bool) -> Vec<u64> {
    let stripes = assembly.geometry.layout().stripes();
    let Superblock { table, moves, clean, .. } = &assembly.superblock;
    // After a crash, or where a write was not done as a whole, a member on its way home from spare
    // room may lack what is there.
    let counts = |slot: Slot| *clean && in_sync || moves.iter().all(|moved| moved.slot != slot);
    let frontier = |slot: Slot| match table[slot.as_usize()].state {
        EntryState::Rebuilding { frontier, .. } if frontier <= stripes && !starts_over && counts(slot) => {
            frontier
        }
        _ => 0,
    };
    assembly.geometry.slots().map(frontier).collect()
}

fn missing_names(assembly: &Assembly) -> String {
    let names: Vec<String> = assembly.missing().into_iter().map(|slot| Slot::new(slot).to_string()).collect();
    names.join(", ")
}

/// The slots of members that are missing or not yet rebuilt, without those whose units are in spare
/// room; and of such journal devices.
fn gone(assembly: &Assembly) -> Vec<Slot> {
    assembly.geometry.slots().filter(|slot| assembly.lacks_units(slot.get())).collect()
}

/// The same without journal devices.
fn gone_members(assembly: &Assembly) -> Vec<Slot> {
    let geometry = &assembly.geometry;
    gone(assembly).into_iter().filter(|slot| !geometry.is_for_journal(*slot)).collect()
}

/// Regions whose parity may not fit and has to stand in for data of a missing member. Empty with
/// copies: these can be read without another copy.
fn trusted_regions(assembly: &Assembly, map: &StoredBitmap) -> Vec<Region> {
    if !assembly.geometry.keeps_parity() {
        return Vec::new();
    }
    let gone = gone_members(assembly);
    let layout = assembly.geometry.layout();
    let stands_in = |region: &Region| gone.iter().any(|slot| layout.region_has_data_on(*region, *slot));
    map.resync.iter().filter(stands_in).collect()
}

fn refuse_trust(assembly: &Assembly, regions: u32) -> Result<(), AssemblyError> {
    if regions == 0 {
        return Ok(());
    }
    let missing = gone_members(assembly).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let of = assembly.geometry.layout().region_count();
    Err(if assembly.superblock.clean {
        AssemblyError::UnsyncedAndDegraded { missing, regions, of }
    } else {
        AssemblyError::UncleanAndDegraded { missing, regions, of }
    })
}

/// The state of each slot. The caller says (by `believes`) whether absent members may return.
fn standings(assembly: &Assembly, members: &[Option<MemberInfo>], believes: bool) -> Vec<Standing> {
    // (The last number that an entry of an earlier session can have.)
    let before = first_sequence(assembly.superblock.session_number + 1) - 1;
    let standing = |(slot, info): (usize, &Option<MemberInfo>)| {
        let entry = assembly.superblock.table[slot];
        let state = match entry.state {
            EntryState::Active => SlotState::Active,
            EntryState::Rebuilding { .. } => SlotState::Rebuilding,
            EntryState::Vacant
            | EntryState::Failed { .. }
            | EntryState::MayReturn { .. }
            | EntryState::Spare => SlotState::Failed,
        };
        let keeps = if believes { returning::keeps(assembly, slot as u16) } else { None };
        let role = match assembly.geometry.is_for_journal(Slot::new(slot as u16)) {
            false => Role::Member,
            true => Role::Journal { left: entries_on(entry.state).unwrap_or(before) },
        };
        Standing { info: info.clone(), state, identity: entry.member, keeps, role }
    };
    members.iter().enumerate().map(standing).collect()
}

/// The number of the last entry that a journal device of this state may have, or one that was in
/// its slot before. `None` for one that may have any.
fn entries_on(state: EntryState) -> Option<u64> {
    match state {
        EntryState::Failed { entries } | EntryState::Rebuilding { frontier: entries, .. } => Some(entries),
        _ => None,
    }
}

/// With `journal`: regions that cannot be redone because their log is on a member that is missing,
/// or was not whole; all, if the commit log is damaged. Their parity is computed from their data.
fn unrecoverable(assembly: &Assembly, damaged: bool, map: &mut StoredBitmap) {
    let stands = |region: Region| assembly.geometry.log_stands(region, |slot| assembly.is_whole(slot.get()));
    let regions: Vec<Region> = map.dirty.iter().filter(|region| damaged || !stands(*region)).collect();
    regions.into_iter().for_each(|region| map.resync.set(region));
}

/// `trusted` are regions whose check units are taken to fit by definition.
///
/// After a clean shutdown the logs of dirty regions are still to be read. Otherwise they are void,
/// unless the array has a commit log: then their records are to be redone.
fn open_logs(
    (opening, simulated): (&Opening, Simulated),
    (map, trusted): (&StoredBitmap, &Bits),
    table: Vec<TableEntry>,
    found: FoundLog,
    first_sequence: u64,
) -> Logs {
    let Opening { assembly, tuning, .. } = opening;
    let geometry = &assembly.geometry;
    let regions = geometry.layout().region_count() as usize;
    let clean = assembly.superblock.clean;
    let whole = (clean || geometry.is_journaled()) && table.len() == regions;
    let nothing = TableEntry { applied: first_sequence, ..TableEntry::default() };
    let mut table = if whole { table } else { vec![nothing; regions] };
    if !geometry.is_journaled() {
        // Their parity follows from their data: nothing that their logs held counts any more, also
        // when it has followed.
        map.resync.iter().for_each(|region| table[region.as_usize()] = nothing);
    }
    if !geometry.is_logged() {
        // What was recorded there may be older than what stands there.
        trusted.iter().for_each(|region| table[region.as_usize()] = nothing);
    }
    let mut logs = Logs::new(geometry, (tuning, simulated), first_sequence, &table);
    if !geometry.records_updates() {
        return logs;
    }
    if whole && logs.have_positions() {
        for region in map.dirty.iter().filter(|region| !map.resync.get(*region)) {
            logs.load_later(region);
        }
    }
    if geometry.is_journaled() {
        map.resync.iter().for_each(|region| logs.stay_given_up(region));
        logs.take_commit_logs(geometry, map, found, first_sequence);
    }
    logs
}

/// The entries that the members' areas hold together. Members whose state is old do not count.
fn entries_of(assembly: &Assembly, commits: Vec<CommitLogContent>) -> FoundLog {
    let block = assembly.geometry.block();
    let (mut records, mut intents, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for (slot, content) in (0..).map(Slot::new).zip(commits) {
        if content.read && assembly.is_whole(slot.get()) {
            records.push((slot, content.records));
            intents.push((slot, content.intents));
            writes.push((slot, content.writes));
        }
    }
    let [records, intents, writes] = [records, intents, writes].map(|areas| Found::of(areas, block));
    let found = FoundLog { records, intents, writes };
    if !assembly.superblock.clean {
        return found;
    }
    let FoundLog { records, intents, writes } = found;
    let [records, intents, writes] = [records, intents, writes].map(Found::cleared);
    FoundLog { records, intents, writes }
}

/// The slots whose areas could not be read.
fn unread_areas(commits: &[CommitLogContent]) -> Vec<Slot> {
    let unread = (0..).map(Slot::new).zip(commits).filter(|(_, content)| !content.read);
    unread.map(|(slot, _)| slot).collect()
}

/// After a crash: whether entries that count are missing, or may be. Each session begins with an
/// entry; if there is none of the last session, all of its entries are missing. The newest entries
/// may stand on members alone whose areas cannot be read: no other entry names them.
fn is_damaged(assembly: &Assembly, found: &FoundLog, unread: &[Slot]) -> bool {
    let parts = assembly.geometry.commit_parts();
    let damaged = |part: &Found| is_stream_damaged(assembly, part) || hides_entries(assembly, unread, part);
    !assembly.superblock.clean && parts.iter().any(|part| damaged(found.part(*part)))
}

/// The same for acknowledged writes.
fn may_lack_writes(assembly: &Assembly, found: &FoundLog, unread: &[Slot]) -> bool {
    let damaged =
        || is_stream_damaged(assembly, &found.writes) || hides_entries(assembly, unread, &found.writes);
    assembly.geometry.writes_back() && !assembly.superblock.clean && damaged()
}

/// If newer entries are missing: whether what was found may have been in its place, and overwritten
/// there, long ago. That is so if the journal devices are missing, and what was found are entries
/// that once went to members; or if it is of an earlier session.
fn are_outdated(assembly: &Assembly, stream: &Found, unread: &[Slot]) -> bool {
    let devices = assembly.geometry.layout().groups();
    let hide =
        assembly.geometry.journal_slots() > 0 && group_hides_entries(assembly, unread, stream, devices);
    let on_device = |slot: &Slot| assembly.geometry.is_for_journal(*slot);
    let newest_on_device = stream.lanes.iter().all(|lane| {
        let newest = lane.entries.last();
        newest.is_some_and(|newest| newest.slots.iter().any(on_device))
    });
    is_stream_damaged(assembly, stream) || hide && !newest_on_device
}

fn is_stream_damaged(assembly: &Assembly, stream: &Found) -> bool {
    !stream.whole || stream.least_newest() < first_sequence(assembly.superblock.recorded.opened)
}

/// Whether so many areas are missing or cannot be read that all copies of an entry may be there. Of
/// an area that can be read in part, only the part counts in which the next entry would stand.
///
/// (A group without so many members is not opened, and of members that were excluded no entries are
/// needed. An array does without all of its journal devices.)
fn hides_entries(assembly: &Assembly, unread: &[Slot], stream: &Found) -> bool {
    (0..assembly.geometry.commit_groups()).any(|group| group_hides_entries(assembly, unread, stream, group))
}

/// The same for a group of places.
fn group_hides_entries(assembly: &Assembly, unread: &[Slot], stream: &Found, group: u16) -> bool {
    let (gone, geometry) = (gone(assembly), &assembly.geometry);
    let is_unread = |slot: &Slot| {
        assembly.is_whole(slot.get()) && (unread.contains(slot) || stream.hidden.contains(slot))
    };
    let slots = || geometry.commit_slots_of(group);
    let state = |slot: &Slot| assembly.superblock.table[slot.as_usize()].state;
    // (No entry has number 0: that is the last one in a slot that was always vacant.)
    let may_have = |last: u64| last > 0 && stream.least_newest() <= last;
    let missing = |slot: &Slot| match geometry.is_for_journal(*slot) {
        true => gone.contains(slot) && entries_on(state(slot)).is_none_or(may_have),
        false => gone.contains(slot),
    };
    let hidden = geometry.count_domains(slots().filter(|slot| missing(slot) || is_unread(slot)));
    let counts = |slot: &Slot| geometry.is_for_journal(*slot) || is_unread(slot);
    slots().any(|slot| counts(&slot)) && hidden >= usize::from(geometry.copies_in(group))
}

/// Whether a member is long enough to have superblocks. If so, the caller can read
/// [`Geometry::superblocks_at`].
pub fn is_long_enough(length: Sectors) -> bool {
    length >= crate::geometry::ALIGNMENT * 2
}
