//! Assembly: finds the array to which given members belong, in any order, or the reason why they
//! make none (G5).
//!
//! The newest superblock defines the array. A member is believed if that superblock's table calls
//! it active, rebuilding or spare, and the member's own superblock is of the newest session. A
//! member that missed a session is stale. If the newest superblock does not remember a member's
//! session, the member was used separately from the others, and a person has to choose between
//! them.

use parlour_units::{Sectors, Slot};

use crate::format::banks::{Banks, Newest};
use crate::format::bitmap::{Bits, StoredBitmap, TableEntry, decode_table};
use crate::format::horizon::Horizon;
use crate::format::superblock::{EntryState, REMEMBERED_SESSIONS, Stage, Superblock, SuperblockError};
use crate::geometry::Geometry;
use crate::identity::Identity;
use crate::roster::epoch::Epoch;

/// A device or file that may be a member.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name in messages: its path.
    pub name: String,
    /// Its length.
    pub length: Sectors,
    /// Its superblock.
    pub superblock: Result<Superblock, SuperblockError>,
}

/// The role of a candidate in the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the member in this slot.
    Member(u16),
    /// It is a spare.
    Spare,
    /// It was excluded, or missed a session: its data is old.
    Stale(u16),
    /// Its metadata is older than the others': it is a copy that was made earlier, or it has lost
    /// writes that it had reported as durable.
    Older(u16),
    /// It belongs to another array.
    Foreign,
    /// The array has no such member, or no longer has it.
    Unknown,
    /// It is shorter than it was.
    Truncated(u16),
    /// It has no superblock that can be used.
    Damaged(SuperblockError),
}

/// Why candidates make no array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssemblyError {
    /// None of them has a superblock.
    #[error("no member of an array among: {0}")]
    NoMembers(String),
    /// Two candidates are the same member.
    #[error("{0} and {1} are both the same member of the array (one is a copy); give only one of them")]
    Duplicate(String, String),
    /// The candidates belong to different arrays, as many to each.
    #[error("members of different arrays, as many of each: {0} and {1}; give the members of one")]
    SeveralArrays(String, String),
    /// Two members were each used without the other.
    #[error(
        "{0} and {1} were each used without the other, and hold different data; give only the ones whose data you want"
    )]
    Diverged(String, String),
    /// More members are missing than the organization tolerates.
    #[error(
        "too many members are missing: {missing}; this array survives {tolerance} of those that share data (--read-only --force \
         serves what is left: everything else reads as errors)"
    )]
    TooManyMissing {
        /// The missing members.
        missing: String,
        /// How many members the array may lose.
        tolerance: u16,
    },
    /// Members that the array needs are older than the others.
    #[error(
        "the metadata of {older} is older than that of the other members (an old copy, or a device that lost what it had \
         called durable), and without it too many are missing; give the current members, or use --force to believe what is \
         there, some of which is old"
    )]
    OlderMembers {
        /// The older members.
        older: String,
    },
    /// The array was not shut down cleanly and a member is missing.
    #[error(
        "the array was not shut down cleanly and {missing} is missing: what was being written when it stopped, in up to \
         {regions} of {of} regions, may read wrong where it lay on the missing member; use --force to accept that"
    )]
    UncleanAndDegraded {
        /// The missing members.
        missing: String,
        /// The number of regions that may be inconsistent.
        regions: u32,
        /// The number of all regions.
        of: u32,
    },
    /// The array was stopped before it was in sync, and a member is missing.
    #[error(
        "the array was stopped before all of it was in sync and {missing} is missing: {regions} of {of} regions may \
         read wrong where they lay on it; use --force to accept that"
    )]
    UnsyncedAndDegraded {
        /// The missing members.
        missing: String,
        /// The number of regions whose check units do not fit.
        regions: u32,
        /// The number of all regions.
        of: u32,
    },
    /// The array was opened read-only, but a missing unit can be computed only after the log is
    /// applied.
    #[error("the array is degraded and its parity log is not empty: it must be opened for writing once")]
    ReadOnlyNeedsWriting,
    /// More members are missing than the organization tolerates, and what is left cannot be read
    /// before what its logs hold is written.
    #[error(
        "too many members are missing: {missing}; what is left cannot be read, because the journal or the parity logs hold \
         what would have to be written first: bring members back"
    )]
    TooManyMissingToRecover {
        /// The missing members.
        missing: String,
    },
    /// Acknowledged writes may stand on members alone that are missing or cannot be read.
    #[error(
        "the array was not shut down cleanly, and members (or journal devices) that may hold the last writes, which were \
         acknowledged, are missing or cannot be read; add them, or use --force to go on without what they alone hold"
    )]
    AcknowledgedMayBeLost,
    /// The array was opened read-only, but its commit log holds writes that are still to be redone.
    #[error(
        "the array was not shut down cleanly, and what its commit log holds is to be written to its members before it is \
         read: it must be opened for writing once"
    )]
    ReadOnlyNeedsRecovery,
    /// This version can read the array's format, but must not write it.
    #[error("a later version has written this array; this one may only read it (use --read-only)")]
    WritingUnsafe,
    /// The numbers of sessions or superblocks are used up.
    #[error(
        "the numbers of this array's sessions or superblocks are used up (session {session}, superblock {sequence}): it can \
         only be read (use --read-only); copy its data to a new array"
    )]
    NumbersUsedUp {
        /// The newest session's number.
        session: u64,
        /// The newest superblock's sequence number.
        sequence: u64,
    },
    /// Units float, and the driver cannot place them.
    #[error(
        "in this array data and parity float: that takes drives that tell where their heads are, and only simulated ones do"
    )]
    NobodyPlaces,
    /// Units float, and their places were known only to the process that had the array open.
    #[error(
        "in this array data and parity float, and where they are is lost since it was stopped: create it anew"
    )]
    SlotsLost,
}

/// An array that was put together and can be opened.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The superblock that defines the array.
    pub superblock: Superblock,
    /// The array's shape.
    pub geometry: Geometry,
    /// By slot: the candidate in it.
    pub slots: Vec<Option<usize>>,
    /// Candidates that are spares.
    pub spares: Vec<usize>,
    /// By candidate: its role.
    pub verdicts: Vec<Verdict>,
    /// By candidate: the copy of its superblock that is used.
    pub(crate) copies: Vec<usize>,
    /// By candidate: the session that its superblocks name.
    pub(crate) epochs: Vec<Epoch>,
}

impl Assembly {
    /// Puts `candidates` together to an array.
    ///
    /// # Errors
    /// They make no array.
    pub fn new(candidates: &[Candidate]) -> Result<Assembly, AssemblyError> {
        let array = choose_array(candidates)?;
        let of_array: Vec<(usize, &Superblock)> = candidates
            .iter()
            .enumerate()
            .filter_map(|(index, candidate)| Some((index, candidate.superblock.as_ref().ok()?)))
            .filter(|(_, superblock)| superblock.array == array)
            .collect();
        refuse_duplicates(candidates, &of_array)?;
        let rank = |superblock: &Superblock| {
            let passed = |other: &Superblock| {
                superblock.wrote_nothing_since(other) && other.went_on_without(superblock)
            };
            let behind = of_array.iter().any(|(_, other)| superblock.is_behind(other) || passed(other));
            (!behind, superblock.session_number, superblock.sequence)
        };
        let (newest_index, newest) = *of_array
            .iter()
            .max_by_key(|(_, superblock)| rank(superblock))
            .expect("the array was chosen because it has a member");
        refuse_diverged(candidates, &of_array, newest_index, newest)?;
        let geometry = Geometry::from_stored(newest.geometry);
        let mut assembly = Assembly {
            superblock: newest.clone(),
            slots: vec![None; geometry.slots().count()],
            spares: Vec::new(),
            verdicts: Vec::new(),
            copies: candidates.iter().map(|one| one.superblock.as_ref().map_or(0, |own| own.copy)).collect(),
            epochs: candidates.iter().map(epoch).collect(),
            geometry,
        };
        for (index, candidate) in candidates.iter().enumerate() {
            let verdict = assembly.judge(candidate, array);
            match verdict {
                Verdict::Member(slot) => assembly.slots[usize::from(slot)] = Some(index),
                Verdict::Spare => assembly.spares.push(index),
                _ => {}
            }
            assembly.verdicts.push(verdict);
        }
        Ok(assembly)
    }

    fn judge(&self, candidate: &Candidate, array: Identity) -> Verdict {
        let superblock = match &candidate.superblock {
            Ok(superblock) => superblock,
            Err(error) => return Verdict::Damaged(error.clone()),
        };
        if superblock.array != array {
            return Verdict::Foreign;
        }
        let table = &self.superblock.table;
        let Some(entry) = table.iter().position(|entry| entry.member == superblock.member) else {
            return Verdict::Unknown;
        };
        let slot = entry as u16;
        if candidate.length < self.geometry.least_length(Slot::new(slot))
            || candidate.length < superblock.member_length
        {
            return Verdict::Truncated(slot);
        }
        let newest = &self.superblock;
        // The member's session is the one before, or it took part in another opening after that
        // session, which wrote nothing either.
        let before = newest.last_completed();
        let missed_nothing = newest.stage == Stage::Opening
            && (before == Some(superblock.session()) || before == superblock.last_begun());
        let current = superblock.session() == newest.session() || missed_nothing;
        match table[entry].state {
            EntryState::Spare => Verdict::Spare,
            EntryState::Active | EntryState::Rebuilding { .. } if current => Verdict::Member(slot),
            _ => Verdict::Stale(slot),
        }
    }

    /// The member in `slot` turned out to be older than the others.
    pub(crate) fn leave_out_older(&mut self, slot: u16) {
        if let Some(candidate) = self.slots[usize::from(slot)].take() {
            self.verdicts[candidate] = Verdict::Older(slot);
        }
    }

    /// Slots without a member.
    pub fn missing(&self) -> Vec<u16> {
        (0..self.geometry.members()).filter(|slot| self.slots[usize::from(*slot)].is_none()).collect()
    }

    /// Slots of journal devices that are missing.
    pub fn missing_journals(&self) -> Vec<Slot> {
        let missing = |slot: &Slot| self.slots[slot.as_usize()].is_none() && !self.is_vacant(*slot);
        self.geometry.slots().filter(|slot| self.geometry.is_for_journal(*slot) && missing(slot)).collect()
    }

    /// Whether `slot` is for a journal device, and the array has none there.
    pub fn is_vacant(&self, slot: Slot) -> bool {
        self.superblock.vacant_slots().any(|vacant| vacant == slot)
    }

    /// Whether the member in `slot` is there and is active.
    pub(crate) fn is_whole(&self, slot: u16) -> bool {
        let active = matches!(self.superblock.table[usize::from(slot)].state, EntryState::Active);
        active && self.slots[usize::from(slot)].is_some()
    }

    /// Whether all units of `slot` are in spare room.
    pub(crate) fn is_moved(&self, slot: u16) -> bool {
        self.superblock.moves.iter().any(|moved| moved.slot.get() == slot && moved.is_whole())
    }

    /// Whether units of `slot` are neither on a member there nor in spare room.
    pub(crate) fn lacks_units(&self, slot: u16) -> bool {
        !self.is_whole(slot) && !self.is_moved(slot)
    }

    /// Whether some slot is not whole.
    pub(crate) fn is_degraded(&self) -> bool {
        !(0..self.geometry.members()).all(|slot| self.is_whole(slot))
    }

    /// Whether the data of all missing slots can be had from the other members.
    pub fn survives(&self) -> bool {
        self.geometry.survives(|slot| self.lacks_units(slot.get()), |slot| self.is_moved(slot.get()))
    }

    /// The numbers that sessions so far can have used.
    pub(crate) fn horizon(&self) -> Horizon {
        Horizon::of(self.superblock.session_number)
    }

    /// The newest write-intent bitmap. If it cannot be determined, a bitmap in which all regions
    /// are to be resynced and all are out of sync.
    pub(crate) fn newest_bitmap(&self, bitmaps: &[Banks]) -> StoredBitmap {
        let regions = self.geometry.layout().region_count();
        let horizon = self.horizon();
        let decode = |block: &[u8]| {
            let map = StoredBitmap::decode(block, self.superblock.array, regions)?;
            horizon.reaches(map.sequence).then_some((map.sequence, map))
        };
        let newest = self.newest(bitmaps, decode);
        let sequence = newest.sequence();
        let all = || Bits::full(regions);
        let unknown = || StoredBitmap { sequence, dirty: all(), resync: all(), out_of_sync: all() };
        newest.sure().unwrap_or_else(unknown)
    }

    /// The newest table of the regions' logs, if it can be determined; and the sequence number of
    /// the newest one that can be read.
    pub(crate) fn newest_table(&self, tables: &[Banks]) -> (Option<Vec<TableEntry>>, u64) {
        let regions = self.geometry.layout().region_count();
        let horizon = self.horizon();
        let decode = |block: &[u8]| {
            let table = decode_table(block, self.superblock.array, regions);
            table.filter(|(sequence, table)| horizon.has_table(*sequence, table))
        };
        let newest = self.newest(tables, decode);
        // If tables are written only when a session ends, a table of an earlier session does not
        // count.
        let sequence = newest.sequence();
        let counts = self.geometry.is_journaled() || sequence >> 32 == self.superblock.session_number;
        (newest.sure().filter(|_| counts), sequence)
    }

    /// The newest metadata in banks of members. One that is being rebuilt does not have all
    /// metadata before it is whole. What it has counts as soon as its data does.
    pub(crate) fn newest<T>(
        &self,
        by_slot: &[Banks],
        decode: impl Fn(&[u8]) -> Option<(u64, T)>,
    ) -> Newest<T> {
        // (A journal device's frontier is no number of stripes, and it is whole before it counts.)
        let members = usize::from(self.geometry.members());
        let held = || by_slot.iter().zip(&self.superblock.table);
        let whole = held().filter(|(_, entry)| entry.state == EntryState::Active);
        let begun = |state| matches!(state, EntryState::Rebuilding { frontier: 1.., .. });
        let others = held().take(members).filter(|(_, entry)| begun(entry.state));
        Newest::of(whole.map(|(banks, _)| banks), others.map(|(banks, _)| banks), decode)
    }
}

fn epoch(candidate: &Candidate) -> Epoch {
    let found = |own: &Superblock| Epoch::Found { session: own.session(), sequence: own.sequence };
    candidate.superblock.as_ref().map_or(Epoch::Unknown, found)
}

/// The array to which most candidates belong.
fn choose_array(candidates: &[Candidate]) -> Result<Identity, AssemblyError> {
    let mut found: Vec<(Identity, usize, &str)> = Vec::new();
    for candidate in candidates {
        let Ok(superblock) = &candidate.superblock else { continue };
        match found.iter_mut().find(|(array, _, _)| *array == superblock.array) {
            Some((_, count, _)) => *count += 1,
            None => found.push((superblock.array, 1, &candidate.name)),
        }
    }
    found.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
    match found[..] {
        [] => Err(AssemblyError::NoMembers(
            candidates.iter().map(|candidate| candidate.name.as_str()).collect::<Vec<_>>().join(", "),
        )),
        [(_, most, first), (_, next, second), ..] if most == next => {
            Err(AssemblyError::SeveralArrays(first.into(), second.into()))
        }
        [(array, ..), ..] => Ok(array),
    }
}

fn refuse_duplicates(
    candidates: &[Candidate],
    of_array: &[(usize, &Superblock)],
) -> Result<(), AssemblyError> {
    for (position, (index, superblock)) in of_array.iter().enumerate() {
        let twin = of_array[position + 1..].iter().find(|(_, other)| other.member == superblock.member);
        if let Some((other, _)) = twin {
            return Err(AssemblyError::Duplicate(
                candidates[*index].name.clone(),
                candidates[*other].name.clone(),
            ));
        }
    }
    Ok(())
}

fn refuse_diverged(
    candidates: &[Candidate],
    of_array: &[(usize, &Superblock)],
    newest_index: usize,
    newest: &Superblock,
) -> Result<(), AssemblyError> {
    let remembered = REMEMBERED_SESSIONS as u64;
    // What one of the newest knows, those in its session with it need not.
    let side = || {
        let superblocks = of_array.iter().map(|(_, superblock)| *superblock);
        superblocks.filter(|superblock| superblock.session() == newest.session())
    };
    let diverged = of_array.iter().find(|(_, superblock)| {
        let recent = superblock.session_number + remembered > newest.session_number;
        // If nothing was written in its session, the session before counts.
        let before = superblock.last_begun();
        let known = |session: Identity| newest.sessions.contains(&session);
        let apart = !known(superblock.session()) && !before.is_some_and(known);
        recent && apart || side().all(|other| superblock.went_on_without(other))
    });
    match diverged {
        Some((index, _)) => Err(AssemblyError::Diverged(
            candidates[newest_index].name.clone(),
            candidates[*index].name.clone(),
        )),
        None => Ok(()),
    }
}
