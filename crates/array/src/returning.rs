//! Members that were away: what they missed is remembered by region, and nothing else of them is
//! rebuilt when they return.
//!
//! A member that was whole when it was excluded holds all that was durable on it then. What was not
//! lies in regions that were dirty; what it has missed since lies in regions that were entered
//! since, or are resynced without it. All of them are *missed* in the map, those that are written
//! to before they are. Until the superblocks say that nobody is away any more, none is taken off.

use parlour_units::{Region, Slot, Stripe};

use crate::array::{Array, Mode};
use crate::assembly::{Assembly, Verdict};
use crate::format::banks::Banks;
use crate::format::bitmap::{Bits, StoredBitmap};
use crate::format::horizon::SESSION_WRITES_BITS;
use crate::format::superblock::{EntryState, MOST_MAPS, Superblock};
use crate::health::{SlotRecord, SlotState, Standing};
use crate::identity::Identity;
use crate::metadata::Records;
use crate::older::newest_bitmap;
use crate::planted::{Bug, is_planted};
use crate::status::FailureCause;

/// What is remembered of a member that was whole when it was seen last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The first eight bytes of the last session that it saw begin.
    session: u64,
    /// No superblock of its own has a higher sequence number: else it was used apart.
    sequence: u32,
    /// It holds at least so many of the session's bitmaps: else it is a copy that was taken
    /// earlier.
    bitmaps: u32,
}

impl Kept {
    /// `map` is the newest map that it holds, of those of the session with this number and those
    /// before.
    fn new(session: Option<Identity>, sequence: u64, session_number: u64, map: u64) -> Option<Kept> {
        let bitmaps = map.saturating_sub(session_number << SESSION_WRITES_BITS);
        Some(Kept {
            session: short(session?),
            sequence: u32::try_from(sequence).ok()?,
            bitmaps: u32::try_from(bitmaps).unwrap_or(MOST_MAPS).min(MOST_MAPS),
        })
    }

    pub(crate) fn entry(self) -> EntryState {
        EntryState::MayReturn { session: self.session, sequence: self.sequence, bitmaps: self.bitmaps }
    }

    /// Whether a member with this superblock is the one, as it was when it was seen last. When it
    /// was excluded as soon as a session had begun, its superblock perhaps does not yet say that
    /// this opening came to its end.
    fn is(self, superblock: &Superblock) -> bool {
        let seen = [Some(superblock.session()), superblock.last_completed()];
        let same = seen.map(|seen| seen.map(short)).contains(&Some(self.session));
        let same = same || is_planted(Bug::AnySessionReturns);
        same && superblock.sequence <= u64::from(self.sequence)
    }

    /// Whether a member with this superblock and these bitmaps lacks one that it had.
    fn is_newer(self, superblock: &Superblock, bitmaps: &Banks, regions: u32) -> bool {
        let least = (superblock.session_number << SESSION_WRITES_BITS) + u64::from(self.bitmaps);
        self.bitmaps > 0
            && newest_bitmap(bitmaps, superblock.array, regions).is_some_and(|newest| newest < least)
            && !is_planted(Bug::OlderMemberBelieved)
    }
}

/// How a session is called in a member table.
fn short(session: Identity) -> u64 {
    let (first, _) = session.0.split_at(8);
    u64::from_le_bytes(first.try_into().expect("an identity has sixteen bytes"))
}

/// What the slot of an entry keeps of its member: see
/// [`SlotRecord::keeps`](crate::health::SlotRecord::keeps). A member that should be there, and is
/// not, was whole until its last session ended.
pub(crate) fn keeps(assembly: &Assembly, slot: u16) -> Option<Kept> {
    let superblock = &assembly.superblock;
    // What was shorter for a while, or is older than it should be, has lost what was there.
    let distrusted = [Verdict::Truncated(slot), Verdict::Older(slot)];
    if assembly.verdicts.iter().any(|verdict| distrusted.contains(verdict)) {
        return None;
    }
    match superblock.table[usize::from(slot)].state {
        EntryState::Active | EntryState::Rebuilding { returning: true, .. } => {
            let Superblock { sequence, session_number, recorded, .. } = superblock;
            Kept::new(superblock.last_completed(), *sequence, *session_number, recorded.map)
        }
        EntryState::MayReturn { session, sequence, bitmaps } => Some(Kept { session, sequence, bitmaps }),
        EntryState::Rebuilding { returning: false, .. }
        | EntryState::Vacant
        | EntryState::Failed
        | EntryState::Spare => None,
    }
}

/// What was not durable on members that are not there now, they miss. (If all are there it is
/// forgotten as soon as superblocks say so.)
pub(crate) fn merge_out_of_sync(map: &mut StoredBitmap, standing: &[Standing]) {
    let inactive = |one: &Standing| one.state != SlotState::Active || one.info.is_none();
    if !standing.iter().any(|one| inactive(one) && one.keeps.is_some()) {
        return;
    }
    map.out_of_sync.merge(&map.dirty);
    // Check units are computed without it there, and what hosts read was perhaps something else.
    if !is_planted(Bug::ResyncNotMissed) {
        map.out_of_sync.merge(&map.resync);
    }
}

impl Array {
    /// The slot to which the member with this superblock and these bitmaps may return, to be
    /// rebuilt only in what it has missed: it was whole when it was excluded from that slot, has
    /// been used nowhere since, and is no copy that was taken before. Its identity is then the one
    /// of its superblock. The caller reads [`Geometry::bitmap_at`](crate::Geometry::bitmap_at).
    pub fn may_return(&self, superblock: &Superblock, bitmaps: &Banks) -> Option<Slot> {
        let regions = self.geometry.layout().region_count();
        let slot = self.health.slots.iter().position(|slot| {
            let away = slot.state == SlotState::Failed && slot.identity == superblock.member;
            let is = |kept: Kept| kept.is(superblock) && !kept.is_newer(superblock, bitmaps, regions);
            away && slot.keeps.is_some_and(is)
        })?;
        (superblock.array == self.identity).then(|| Slot::new(slot as u16))
    }

    /// The array's identity, where a member is away that may return.
    pub fn awaits_return(&self) -> Option<Identity> {
        let away = |slot: &SlotRecord| slot.state == SlotState::Failed && slot.keeps.is_some();
        let awaits = self.mode() == Mode::Serving && self.health.slots.iter().any(away);
        awaits.then_some(self.identity)
    }

    /// The member in `slot`, or the last one that stood there.
    pub fn occupant(&self, slot: Slot) -> Option<Identity> {
        self.health.slots.get(slot.as_usize()).map(|record| record.identity)
    }

    /// The member in `slot` is about to be excluded. If nothing is wrong with what it holds it may
    /// return.
    pub(crate) fn note_may_return(&mut self, slot: Slot, cause: FailureCause) {
        let trusted = match cause {
            FailureCause::Gone | FailureCause::Asked => true,
            FailureCause::Errors
            | FailureCause::Unfaithful
            | FailureCause::Truncated
            | FailureCause::Older => false,
        };
        let record = &mut self.health.slots[slot.as_usize()];
        let whole = record.state == SlotState::Active || record.keeps.is_some();
        let Records { session_number, recorded, .. } = &self.records;
        let (session, sequence) = (self.records.last_completed(), self.records.sequence());
        let kept = Kept::new(session, sequence, *session_number, recorded.map);
        record.keeps = kept.filter(|_| whole && trusted && self.tuning.bitmap && self.records.enabled);
        if record.keeps.is_none() {
            return;
        }
        let records = &mut self.records;
        if !is_planted(Bug::UnflushedNotMissed) {
            records.out_of_sync.merge(&records.dirty);
        }
        if !is_planted(Bug::ResyncNotMissed) {
            records.out_of_sync.merge(&records.resync);
        }
        records.want_bitmap();
    }

    /// A member that had to be kept could not flush what is in dirty regions: should it be away
    /// later, it misses that.
    pub(crate) fn note_unflushed(&mut self) {
        let records = &mut self.records;
        records.out_of_sync.merge(&records.dirty);
        records.want_bitmap();
    }

    /// Who is away will miss what is done in `region`.
    pub(crate) fn note_out_of_sync(&mut self, region: Region) {
        if self.health.awaits_members() && !is_planted(Bug::ResyncNotMissed) {
            self.records.out_of_sync.set(region);
        }
    }

    /// Nobody is away any more, and superblocks say so. (When it is being stopped, the next opening
    /// does it.)
    pub(crate) fn forget_out_of_sync(&mut self) {
        let recorded = self.records.written == self.records.wanted && self.mode == Mode::Serving;
        let awaits = self.health.awaits_members() || self.health.has_lost_writes();
        if recorded && !awaits && self.records.out_of_sync.count() > 0 {
            self.records.out_of_sync = Bits::new(self.geometry.layout().region_count());
            self.records.want_bitmap();
        }
    }

    /// The rebuild of a member that has returned passes over what it holds.
    pub(crate) fn skip_what_was_kept(&mut self, slot: Slot) {
        if !self.health.is_returning(slot) {
            return;
        }
        let layout = self.geometry.layout();
        let misses = |region: u32| self.records.out_of_sync.get(Region::new(region));
        loop {
            let next = Stripe::new(self.health.rebuilt.next());
            if next.get() == layout.stripes() {
                return;
            }
            let (mut regions, end) = layout.regions_beside(next);
            let to = match regions.any(misses) {
                true if misses(layout.region_of(next).0.get()) => return,
                true => next.get() + 1,
                false => end,
            };
            self.health.rebuilt.skip_to(to);
        }
    }
}
