//! The stream of writes: entries with new data, which acknowledge it (write-back). Which writes go
//! into an entry, and when an entry is over, is the stage's to say.

use crate::context::Context;
use crate::durable::Durable;
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::{CommitPart, EntryContent, StagedWrite};
use crate::job::Kind;
use crate::log::Logs;
use crate::log::commit::Room;
use crate::log::commit::logs::{EntryName, LONGEST};
use crate::log::commit::places::is_any_left;
use crate::log::found::FoundEntry;
use crate::log::lane::Lane;
use crate::log::ring::Ring;
use crate::plan::Span;
use parlour_units::{Member, Sectors};

const PART: CommitPart = CommitPart::Writes;

/// The greatest length of an entry of writes, if it has several (1 MiB).
const LONGEST_ENTRY: Sectors = Sectors::new(2_048);

/// Whether an entry of writes can be begun now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryGate {
    /// It can, in this lane.
    Open(Lane),
    /// Another entry is being written, or the array is not ready for one.
    Later,
    /// There is no room before older entries are forgotten.
    Full,
    /// An empty entry was begun, which makes room.
    Marked,
    /// No member is left that can take it, and after a crash would be believed.
    Nobody,
}

fn name(number: u64) -> EntryName {
    EntryName { part: PART, number }
}

impl Logs {
    /// The entries of writes that were found when the array was opened, oldest first.
    pub(crate) fn take_found_writes(&mut self) -> Vec<FoundEntry> {
        std::mem::take(&mut self.commits.found_writes)
    }

    /// Whether entries may be read and be taken for ones that count.
    pub(crate) fn may_read_writes(&mut self, cx: &Context, durable: &Durable) -> bool {
        self.may_redo(cx, durable)
    }

    /// The greatest length of an entry of writes.
    pub(crate) fn longest_write_entry(&self, cx: &Context) -> Sectors {
        Sectors::new(cx.geometry.lane_of_writes().get() / LONGEST).min(LONGEST_ENTRY)
    }

    /// Whether an entry of `length` can be begun.
    pub(crate) fn pass_write_entry(
        &mut self,
        cx: &mut Context,
        durable: &Durable,
        length: Sectors,
    ) -> EntryGate {
        let informed = durable.session_is_known(cx) && durable.members_are_informed(cx);
        if !informed || durable.barrier() || !self.newest_are_copied() {
            return EntryGate::Later;
        }
        let log = self.commits.log();
        if !is_any_left(cx, durable) || log.is_stuck(PART) || durable.is_unrecorded() {
            return EntryGate::Nobody;
        }
        let lanes = log.part(PART);
        let free = log.free_lanes(PART);
        if free.is_empty() || lanes.is_fresh() {
            return EntryGate::Later;
        }
        let open = |lane: &Lane| {
            let ring = lanes.lane(*lane);
            ring.fits(length) && ring.used() + length.get() <= ring.length() / 4 * 3
        };
        if let Some(lane) = free.iter().copied().find(open) {
            return EntryGate::Open(lane);
        }
        let busy = free.len() < lanes.all().len();
        let mut makes_room = |lane| self.make_room(cx, durable, (PART, lane), length) == Room::Made;
        if free.into_iter().any(&mut makes_room) {
            return EntryGate::Marked;
        }
        if busy { EntryGate::Later } else { EntryGate::Full }
    }

    /// Begins an entry. Returns its number.
    pub(crate) fn begin_write_entry(
        &mut self,
        cx: &mut Context,
        durable: &Durable,
        lane: Lane,
        (writes, spans): (Vec<StagedWrite>, Vec<Span>),
    ) -> u64 {
        let content = EntryContent { writes, ..EntryContent::default() };
        let (header, slots) = self.begin_entry(cx, durable, (PART, lane), content, (1, 0));
        let number = header.number;
        self.write_entry(cx, &slots, header, spans, Kind::StageEntry { number, lane });
        number
    }

    /// The entry is durable. Returns whether it counts: whether none of its members was failed
    /// meanwhile.
    pub(crate) fn write_entry_done(&mut self, lane: Lane) -> bool {
        self.commits.written((PART, lane), true)
    }

    /// The entry could not be written. The next one goes to other members, if there are enough.
    pub(crate) fn write_entry_broken(
        &mut self,
        cx: &Context,
        durable: &Durable,
        lane: Lane,
        failures: &[FailedAccess],
    ) {
        self.commits.written((PART, lane), false);
        // If there is no other member to try, no entry is tried before members have come or gone.
        let stuck = !self.may_try_again(cx, durable, failures);
        self.commits.log().stream(PART).stuck = stuck;
    }

    /// All that entry `number` holds is in its place, or in later entries that count. A flush that
    /// begins later covers it.
    pub(crate) fn writes_stored(&mut self, number: u64) {
        self.commits.redone(name(number));
    }

    /// Whether entry `number` would be found after a crash.
    pub(crate) fn writes_would_be_found(&self, number: u64) -> bool {
        self.commits.streams.as_ref().is_some_and(|log| log.part(PART).would_be_found(number))
    }

    /// Entries of writes up to `number` are to be forgotten. Returns whether that is new.
    pub(crate) fn await_writes_forgotten(&mut self, number: u64) -> bool {
        let stream = self.commits.log().stream(PART);
        let is_new = stream.awaited < number;
        stream.awaited = stream.awaited.max(number);
        is_new
    }

    /// Entries of writes up to this number are to be destaged: they stand on too few members, or
    /// are waited for to be forgotten.
    pub(crate) fn unwanted_writes(&self) -> Option<u64> {
        let log = self.commits.streams.as_ref()?;
        let last = log.last_unwanted(PART);
        log.part(PART).oldest().is_some_and(|oldest| oldest <= last).then_some(last)
    }

    /// The members on which entry `number` stands.
    pub(crate) fn members_with_writes(&mut self, cx: &Context, number: u64) -> Vec<Member> {
        let entry = self.commits.log().lanes(PART).entry(number);
        let slots = entry.map_or(&[][..], |entry| entry.slots());
        slots.iter().filter_map(|slot| cx.roster.member_at(*slot)).collect()
    }

    /// Whether an entry of writes was given up that would be found after a crash, and an empty one
    /// can take its place.
    pub(crate) fn owes_writes(&mut self, cx: &Context, durable: &Durable) -> bool {
        let can_hide = self.commits.log().part(PART).can_hide();
        can_hide && is_any_left(cx, durable) && !durable.is_unrecorded()
    }

    /// Whether an entry that was given up in `lane` would be found after a crash.
    pub(crate) fn lane_of_writes_owes(&mut self, lane: Lane) -> bool {
        self.commits.log().part(PART).lane(lane).owes()
    }

    /// Whether entries of writes were found that the stage has not taken yet.
    pub(crate) fn hold_found_writes(&self) -> bool {
        !self.commits.found_writes.is_empty()
    }

    /// The number of the newest entry of writes that counts.
    pub(crate) fn newest_writes(&self) -> u64 {
        self.commits.streams.as_ref().map_or(0, |log| log.part(PART).last())
    }

    /// The length of the stream of writes.
    pub(crate) fn length_of_writes(&self) -> Sectors {
        let ring = self.commits.streams.as_ref().and_then(|log| log.get(PART));
        ring.map_or(Sectors::ZERO, |ring| Sectors::new(ring.length()))
    }

    /// Whether a lane of writes is filled beyond a quarter of its length.
    pub(crate) fn has_many_writes(&self) -> bool {
        let filled = |ring: &Ring| ring.used() > ring.length() / 4;
        self.commits.streams.as_ref().is_some_and(|log| log.part(PART).all().iter().any(filled))
    }

    /// Flushes the members, if that lets entries of writes be forgotten. Returns whether it began.
    pub(crate) fn flush_for_writes(&mut self, cx: &mut Context, durable: &Durable) -> bool {
        let wants = self.commits.log().part(PART).wants_flush();
        let holds = !durable.barrier() && durable.flushes_hold(cx);
        let wants = wants && !self.commits.flushing && holds;
        if wants {
            self.start_commit_flush(cx);
        }
        wants
    }
}
