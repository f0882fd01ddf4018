//! The commit log when a session begins: copies of what was found on too few members, and the first
//! entries.

use parlour_units::{Sectors, Slot};

use crate::context::Context;
use crate::durable::Durable;
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::{CommitPart, EntryContent};
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::log::commit::logs::{Copy, EntryName, Stream};
use crate::log::commit::places::{further_places, is_any_left, is_exposed, places};
use crate::log::lane::Lane;
use crate::log::ring::Ring;
use crate::plan::{Source, Span, Strategy};
use crate::signal::Signal;

impl Logs {
    /// Copies newest entries that were found on too few members: a crash came before all had them.
    /// Returns whether it began one.
    pub(in crate::log) fn start_copy(&mut self, cx: &mut Context, durable: &Durable) -> bool {
        if !cx.writes || self.commits.log().copying.is_some() {
            return false;
        }
        while let Some(copy) = self.commits.log().copies.pop() {
            let log = self.commits.log();
            let full = log.full.clone();
            let Some(entry) = log.lanes(copy.part).entry(copy.number) else { continue };
            // (Perhaps the only member that had it is gone by now.)
            let slots = match entry.slots() {
                [] => places(cx, durable, &full),
                slots => further_places(cx, durable, slots),
            };
            if !slots.is_empty() {
                self.write_copy(cx, copy, slots);
                return true;
            }
        }
        false
    }

    fn write_copy(&mut self, cx: &mut Context, copy: Copy, slots: Vec<Slot>) {
        let Copy { part, lane, at, bytes, .. } = copy;
        let at = cx.geometry.entry_at(part, lane, at);
        self.commits.log().copying = Some((part, lane));
        let entry = Sectors::new(bytes.len() as u64 / 512);
        let id = cx.jobs.start(Kind::CommitCopy { part, lane, slots: slots.clone() }, Class::Log);
        let job = cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        job.metadata = bytes;
        for slot in slots {
            let from = job.plan.spans.len() as u32;
            job.plan.spans.push(Span::new(Source::Metadata, Sectors::ZERO, entry));
            job.plan.close(Action::Write { member: slot.into(), at, length: entry, durable: true }, from);
        }
        cx.run_own(id);
    }

    /// The newest entry is durable on further members, as far as these stand. (Those that were
    /// failed meanwhile are losses that need not be survived once more.)
    pub(crate) fn copy_done(
        &mut self,
        cx: &mut Context,
        id: JobId,
        (part, lane): (CommitPart, Lane),
        slots: &[Slot],
    ) {
        let turn = cx.jobs.get(id).turn;
        cx.jobs.end(id);
        let stand = |slot: &&Slot| cx.roster.member_since(**slot, turn).is_some();
        let standing: Vec<Slot> = slots.iter().filter(stand).copied().collect();
        let log = self.commits.log();
        log.copying = None;
        let Some(number) = log.lanes(part).lane_mut(lane).copied(&standing) else { return };
        let name = EntryName { part, number };
        for region in self.regions.regions().collect::<Vec<_>>() {
            if let Some(recovery) = &mut self.region(region).recovery {
                recovery.copied(name, &standing);
            }
        }
    }

    /// A copy could not be written. If its member stands, the entry stays where it is.
    pub(crate) fn copy_broken(
        &mut self,
        cx: &mut Context,
        (id, part, lane): (JobId, CommitPart, Lane),
        slots: &[Slot],
        failures: &[FailedAccess],
    ) {
        let failed =
            |slot: &Slot| failures.iter().any(|failure| cx.roster.slot_of(failure.member) == Some(*slot));
        let written: Vec<Slot> = slots.iter().filter(|slot| !failed(slot)).copied().collect();
        self.copy_done(cx, id, (part, lane), &written);
    }

    /// Whether something may be redone, or read from an entry that was found. What it is redone
    /// from must be known after the next crash, and count: an opening that was cut off may have
    /// left its first entry on members that are missing now, and that entry does not count on what
    /// was found here. Only a newer one makes it harmless.
    pub(in crate::log) fn may_redo(&mut self, cx: &Context, durable: &Durable) -> bool {
        !self.commits.exist()
            || self.newest_are_copied() && (self.commit_log_is_begun() || !is_any_left(cx, durable))
    }

    /// Whether the newest entries stand on as many members as they can.
    pub(in crate::log) fn newest_are_copied(&mut self) -> bool {
        let log = self.commits.log();
        log.copies.is_empty() && log.copying.is_none()
    }

    /// Writes an empty entry to a lane that needs one. That is so if the lane has no entry of this
    /// session: at the next opening it would count as lost. It is so if its last entry, which names
    /// all that count, stands on fewer members than it could, or may stand on a journal device that
    /// is gone. And it is so if entries were given up: see [`Logs::give_entry_up`]. Returns whether
    /// there was such a lane.
    pub(in crate::log) fn start_needed_mark(&mut self, cx: &mut Context, durable: &Durable) -> bool {
        let may = self.newest_are_copied() && is_any_left(cx, durable);
        if !cx.writes || !may || !durable.members_are_informed(cx) {
            return false;
        }
        let log = self.commits.log();
        let needs = |(part, lane): &(CommitPart, Lane)| {
            let (lanes, ring) = (log.part(*part), log.part(*part).lane(*lane));
            let owed = ring.owes() || ring.last() <= log.apart;
            // (One lane says it for all.)
            let owed = owed || *lane == Lane::FIRST && log.forgets_with_mark(*part);
            let may = !durable.barrier() && !ring.refuses_marks() && durable.has_looked(cx);
            let again = may && (owed || is_exposed(cx, durable, ring.last_slots()));
            !ring.is_writing() && lanes.has_room_for_mark(*lane) && (ring.is_fresh() || again)
        };
        let of_part = |part: CommitPart| log.part(part).names().map(move |lane| (part, Lane(lane)));
        let parts = cx.geometry.commit_parts().iter().copied();
        let Some(place) = parts.flat_map(of_part).find(needs) else { return false };
        self.write_mark(cx, durable, place);
        true
    }

    /// Whether all lanes have an entry of this session.
    pub(crate) fn commit_log_is_begun(&self) -> bool {
        let streams = self.commits.streams.as_ref();
        !streams.is_some_and(|log| log.all().iter().any(|stream| stream.lanes.is_fresh()))
    }

    /// Writes an empty entry.
    pub(in crate::log) fn write_mark(
        &mut self,
        cx: &mut Context,
        durable: &Durable,
        (part, lane): (CommitPart, Lane),
    ) {
        let (header, slots) = self.begin_entry(cx, durable, (part, lane), EntryContent::default(), (0, 0));
        self.write_entry(cx, &slots, header, Vec::new(), Kind::CommitMark { part, lane });
    }

    /// An empty entry is durable, unless one of its members was failed meanwhile.
    pub(crate) fn mark_done(&mut self, cx: &mut Context, id: JobId, place: (CommitPart, Lane)) {
        cx.jobs.end(id);
        if self.commits.written(place, true) {
            self.plan_given_up_again(cx, place);
        }
    }

    /// An empty entry could not be written. If its members stand, neither can the entries that wait
    /// behind it.
    pub(crate) fn mark_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        (id, part, lane): (JobId, CommitPart, Lane),
        failures: &[FailedAccess],
    ) {
        cx.jobs.end(id);
        self.commits.written((part, lane), false);
        if self.may_try_again(cx, durable, failures) {
            // It is written again, to others.
            return;
        }
        let log = self.commits.log();
        let ring = log.lanes(part).lane_mut(lane);
        ring.give_up_beginning();
        ring.refuse_marks(true);
        log.stream(part).stuck = true;
        self.tell_given_up(cx, (part, lane));
        let log = self.commits.log();
        match part {
            CommitPart::Records => {
                for job in std::mem::take(&mut log.waiting) {
                    cx.release_buffers(job);
                    cx.signal(Signal::Broken(job, failures.to_vec()));
                }
            }
            CommitPart::Writes => {}
            CommitPart::Intents => {
                for waiting in std::mem::take(&mut log.announced) {
                    self.pass_without_intent(cx, durable, waiting.region);
                }
            }
        }
    }

    /// A journal device is about to be failed. Returns the number of the last entry that it may
    /// have.
    pub(crate) fn leave_journal(&mut self) -> u64 {
        self.commits.number_apart()
    }

    /// Whether what is still to be read from entries that were found stands in `slot` alone.
    ///
    /// A newest entry that is to be copied to a member that was there when it was written does not
    /// count: it was never acknowledged, nothing was done since that relies on it, and what is to
    /// be copied is in memory.
    pub(crate) fn reads_alone_from(&self, cx: &Context, durable: &Durable, slot: Slot) -> bool {
        let Some(log) = &self.commits.streams else { return false };
        let alone_in = |(part, lane): (CommitPart, Lane)| {
            let ring = log.part(part).lane(lane);
            let copied = log.is_to_be_copied(part, lane) && !further_places(cx, durable, &[slot]).is_empty();
            ring.stands_only_in(&[slot], copied)
        };
        let lanes_of = |part: CommitPart| log.part(part).names().map(move |lane| (part, Lane(lane)));
        let mut lanes = cx.geometry.commit_parts().iter().copied().flat_map(lanes_of);
        (log.unread_writes || self.recoveries.left > 0) && lanes.any(alone_in)
    }

    /// Whether an entry that counts, or the newest of a stream, which tells which ones count,
    /// stands in no other slots than these.
    pub(crate) fn need_some_of(&self, these: &[Slot]) -> bool {
        let mut streams = self.commits.streams.iter().flat_map(|log| log.all());
        let in_lane = |ring: &Ring| ring.stands_only_in(these, false);
        streams.any(|Stream { lanes, .. }| lanes.all().iter().any(in_lane))
    }

    /// All entries of writes that were found are in memory.
    pub(crate) fn writes_are_read(&mut self) {
        self.commits.log().unread_writes = false;
    }

    /// The member in `slot` is gone, and its copies of entries with it.
    pub(crate) fn lose_copies(&mut self, slot: Slot) {
        if self.commits.exist() {
            let log = self.commits.log();
            log.all_mut().iter_mut().for_each(|stream| stream.lanes.lose(slot));
            log.full.retain(|other| *other != slot);
            self.look_for_exposed();
        }
    }
}
