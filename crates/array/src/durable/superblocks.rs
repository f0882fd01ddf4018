//! The superblocks: their content, which version of it members hold, and which jobs wait for that.
//!
//! - A member's exclusion is durable in the survivors' superblocks before any write completes that
//!   the member missed: this is the *barrier*.
//! - A session begins in stages ([`Stage`]), each of them on all members before the next; data and
//!   parity are written in the last one only. A member that is at another has missed nothing.
//!
//! At most one write of superblocks is under way; changes that come meanwhile go into the next one.

use parlour_units::{Member, Slot};

use crate::context::Context;
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::exec::progress::Progress;
use crate::exec::waiting::WaitList;
use crate::format::superblock::{Entry, EntryState, Moved, Recorded, Stage, Superblock};
use crate::geometry::{Geometry, SUPERBLOCK};
use crate::identity::Identity;
use crate::ids::JobId;
use crate::job::Kind;
use crate::plan::{Source, Span, Strategy};
use crate::roster::SlotState;
use crate::roster::kept::Kept;
use crate::status::Event;

/// See the module.
#[derive(Debug)]
pub(super) struct Superblocks {
    name: String,
    created: u64,
    sequence: u64,
    session_number: u64,
    /// This session and those before it, the newest first.
    sessions: Vec<Identity>,
    clean: bool,
    /// The stage of this session that the next superblocks record.
    stage: Stage,
    /// The member table as it was read. The superblocks of an opening repeat it unchanged: if the
    /// opening does not come to its end, members that were absent have missed nothing.
    found: Vec<Entry>,
    /// The same of the moved slots.
    found_moves: Vec<Moved>,
    /// All members have a superblock that records the last stage.
    begun: bool,
    /// By slot, the frontier of its rebuild: what is rebuilt is flushed up to there.
    frontiers: Vec<u64>,
    /// By slot, the same of its move into spare room.
    moved: Vec<u64>,
    /// The sequence numbers of other metadata that all members hold.
    recorded: Recorded,
    /// Versions of the superblock's content: the newest, the one being written, and the last
    /// written one.
    wanted: u64,
    writing: Option<u64>,
    written: u64,
    /// The version that counts as written reached no member that stands, although the write was
    /// tried with either copy first.
    unrecorded: bool,
    /// The version being written is tried again with the other copy first.
    other_copy: bool,
    /// The version that holds the newest exclusion: no degraded write completes before it is
    /// written.
    exclusion: u64,
    waiters: WaitList,
    /// Slots whose rebuild has ended, with the slot's turn and the version that records it. They
    /// stay here until that version is written.
    rebuilt: Vec<(Slot, u64, u64)>,
}

/// The values that superblocks start from.
#[derive(Debug)]
pub(crate) struct SuperblocksStart {
    pub(crate) name: String,
    pub(crate) created: u64,
    pub(crate) sequence: u64,
    pub(crate) session_number: u64,
    pub(crate) sessions: Vec<Identity>,
    /// The member table.
    pub(crate) table: Vec<Entry>,
    /// The sequence numbers that all members hold.
    pub(crate) recorded: Recorded,
    /// By slot: the frontier of its rebuild.
    pub(crate) frontiers: Vec<u64>,
    /// The moved slots.
    pub(crate) moves: Vec<Moved>,
}

/// What a write of superblocks has achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It is tried again, or was overtaken by a change.
    Again,
    /// The version counts as written.
    Counts {
        /// Some member holds it.
        recorded: bool,
    },
}

impl Superblocks {
    pub(super) fn new(start: SuperblocksStart, writes: bool) -> Superblocks {
        let mut moved = vec![0; start.frontiers.len()];
        for Moved { slot, frontier } in &start.moves {
            moved[slot.as_usize()] = frontier.unwrap_or(0);
        }
        Superblocks {
            name: start.name,
            created: start.created,
            sequence: start.sequence,
            session_number: start.session_number,
            sessions: start.sessions,
            clean: false,
            stage: Stage::Opening,
            found: start.table,
            found_moves: start.moves,
            begun: false,
            frontiers: start.frontiers,
            moved,
            recorded: start.recorded,
            wanted: u64::from(writes),
            writing: None,
            written: 0,
            unrecorded: false,
            other_copy: false,
            exclusion: u64::from(writes),
            waiters: WaitList::default(),
            rebuilt: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The sequence number of the newest superblock.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn session_number(&self) -> u64 {
        self.session_number
    }

    /// This session and those before it, the newest first.
    pub(super) fn sessions(&self) -> &[Identity] {
        &self.sessions
    }

    /// The last session whose opening came to its end.
    pub(super) fn last_completed(&self) -> Option<Identity> {
        self.sessions.get(usize::from(self.is_opening())).copied()
    }

    pub(super) fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    pub(super) fn recorded_mut(&mut self) -> &mut Recorded {
        &mut self.recorded
    }

    /// The frontier of the rebuild of `slot`, or of its move if that is what is under way.
    pub(super) fn frontier(&self, cx: &Context, slot: Slot) -> u64 {
        let frontiers = if cx.roster.is_moving(slot) { &self.moved } else { &self.frontiers };
        frontiers[slot.as_usize()]
    }

    pub(super) fn set_frontier(&mut self, cx: &Context, slot: Slot, frontier: u64) {
        let frontiers = if cx.roster.is_moving(slot) { &mut self.moved } else { &mut self.frontiers };
        frontiers[slot.as_usize()] = frontier;
    }

    /// Whether the superblocks that name this session are not all written yet.
    pub(super) fn is_opening(&self) -> bool {
        self.stage == Stage::Opening
    }

    /// Whether superblocks record that this session has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether superblocks record a clean shutdown, or are about to.
    pub(super) fn is_clean(&self) -> bool {
        self.clean
    }

    pub(super) fn set_clean(&mut self, clean: bool) {
        self.clean = clean;
    }

    /// Whether the newest content is written.
    pub(super) fn is_current(&self) -> bool {
        self.written == self.wanted
    }

    /// Whether superblocks are being written.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether a newer content is to be written than the last one, and none is being written.
    pub(super) fn is_due(&self) -> bool {
        self.wanted > self.written && self.writing.is_none()
    }

    /// Requests a write.
    pub(super) fn record_change(&mut self, cx: &Context) {
        if cx.writes {
            self.wanted += 1;
        }
    }

    /// Requests a write before which no job passes the barrier.
    pub(super) fn record_exclusion(&mut self, cx: &Context) {
        self.record_change(cx);
        self.exclusion = if cx.writes { self.wanted } else { 0 };
    }

    /// The rebuild of `slot` has ended; the newest version records it.
    pub(super) fn await_rebuilt(&mut self, cx: &Context, slot: Slot) {
        self.rebuilt.push((slot, cx.roster.since(slot), self.wanted));
    }

    /// Whether the end of `slot`'s rebuild is not recorded yet.
    pub(super) fn awaits_rebuilt(&self, slot: Slot) -> bool {
        self.rebuilt.iter().any(|(rebuilt, ..)| *rebuilt == slot)
    }

    /// Whether the end of any rebuild is not recorded yet.
    pub(super) fn awaits_any_rebuilt(&self) -> bool {
        !self.rebuilt.is_empty()
    }

    /// Reports rebuilds whose end is recorded by now. Before it is recorded, the slot would not be
    /// whole after a crash.
    pub(super) fn report_rebuilt(&mut self, cx: &mut Context, recorded: bool) {
        for (slot, since, version) in std::mem::take(&mut self.rebuilt) {
            // (What no member has recorded does not free spare room.)
            let moved = cx.roster.moved_slots().any(|moved| moved == slot);
            if version > self.written || moved && !recorded {
                self.rebuilt.push((slot, since, version));
            } else if cx.roster.since(slot) == since {
                // What is at home is needed nowhere else.
                let home = cx.roster.state(slot) == SlotState::Active;
                if home {
                    cx.roster.end_move(&cx.geometry, slot);
                }
                let filled = Event::SpareRoomFilled { slot };
                cx.events.push_back(if home { Event::RebuildDone { slot } } else { filled });
            }
        }
    }

    /// Goes on with the numbers of one more session.
    pub(super) fn renew_session(&mut self, cx: &Context) {
        self.session_number += 1;
        self.record_exclusion(cx);
    }

    /// Whether some exclusion (or this session's opening) is not yet durable.
    pub(super) fn barrier(&self) -> bool {
        self.written < self.exclusion
    }

    /// Whether the last exclusion could be recorded on no member. After a crash the excluded member
    /// would be believed, and no new write counts as durable.
    pub(super) fn is_unrecorded(&self) -> bool {
        self.unrecorded
    }

    /// `job` goes on when no exclusion waits to become durable.
    pub(super) fn wait(&mut self, job: JobId) {
        self.waiters.park(job);
    }

    pub(super) fn wake(&mut self, cx: &mut Context) {
        self.waiters.wake(&mut cx.runnable);
    }

    /// The members that get a superblock, each with its index in the member table.
    pub(super) fn members(&self, cx: &Context) -> Vec<(Member, u16)> {
        let roster = &cx.roster;
        if self.is_opening() {
            let entry = |member: &Member| {
                let identity = roster.info(*member).identity;
                self.found.iter().position(|entry| entry.member == identity)
            };
            let standing = roster.standing().map(|(_, member)| member);
            let members = standing.chain(roster.spares().iter().copied());
            return members.filter_map(|member| Some((member, entry(&member)? as u16))).collect();
        }
        let slots = cx.geometry.slot_count();
        let spares = roster.spares().iter().enumerate();
        let standing = roster.standing().map(|(slot, member)| (member, slot.get()));
        standing.chain(spares.map(|(index, member)| (*member, slots + index as u16))).collect()
    }

    /// Writes a superblock to each member: first one copy, then the other.
    pub(super) fn write(&mut self, cx: &mut Context) -> (JobId, Progress) {
        self.writing = Some(self.wanted);
        self.sequence += 1;
        let id = cx.jobs.start(Kind::Superblock, Class::Metadata);
        let members = self.members(cx);
        let (table, moves) = match self.is_opening() {
            true => (self.found.clone(), self.found_moves.clone()),
            false => (self.member_table(cx), self.moves(cx)),
        };
        let superblock = |(member, entry): &(Member, u16)| {
            let (table, moves) = (table.clone(), moves.clone());
            Superblock { table, moves, ..self.superblock(cx, *member, *entry) }
        };
        let blocks: Vec<Superblock> = members.iter().map(superblock).collect();
        let job = cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        for block in &blocks {
            job.metadata.extend(block.encode());
        }
        for round in 0..2 {
            job.plan.next_phase();
            for (index, (member, _)) in members.iter().enumerate() {
                let worse = cx.roster.worse_copy(*member);
                let at = Geometry::superblocks_at(blocks[index].member_length)[(round + worse) % 2];
                let span = Span::new(Source::Metadata, SUPERBLOCK * index as u64, SUPERBLOCK);
                job.plan.write(*member, at, span, true);
            }
        }
        let turn = cx.roster.turn();
        (id, cx.start_plan(id, turn, None, &[]))
    }

    /// A superblock without the states of members.
    fn superblock(&self, cx: &Context, member: Member, entry: u16) -> Superblock {
        let info = cx.roster.info(member);
        Superblock {
            array: cx.identity,
            member: info.identity,
            entry,
            member_length: info.length,
            sequence: self.sequence,
            session_number: self.session_number,
            sessions: self.sessions.clone(),
            clean: self.clean,
            stage: self.stage,
            writable: true,
            copy: 0,
            geometry: *cx.geometry.stored(),
            name: self.name.clone(),
            created: self.created,
            table: Vec::new(),
            moves: Vec::new(),
            recorded: self.recorded,
        }
    }

    /// The slots whose units are in spare room. A member that holds them all itself counts alone.
    fn moves(&self, cx: &Context) -> Vec<Moved> {
        let roster = &cx.roster;
        let away = roster.moved_slots().filter(|slot| roster.state(*slot) != SlotState::Active);
        let frontier = |slot: Slot| (!roster.is_moved(slot)).then_some(self.moved[slot.as_usize()]);
        away.map(|slot| Moved { slot, frontier: frontier(slot) }).collect()
    }

    fn member_table(&self, cx: &Context) -> Vec<Entry> {
        let roster = &cx.roster;
        let slot = |slot: Slot| {
            let keeps = roster.keeps(slot);
            let state = match roster.state(slot) {
                SlotState::Active => EntryState::Active,
                SlotState::Failed => {
                    let entries = roster.entries_elsewhere(slot).unwrap_or(0);
                    keeps.map_or(EntryState::Failed { entries }, Kept::entry)
                }
                SlotState::Rebuilding => {
                    let frontier = roster.entries_elsewhere(slot).unwrap_or(self.frontiers[slot.as_usize()]);
                    EntryState::Rebuilding { frontier, returning: keeps.is_some() }
                }
            };
            Entry { member: roster.identity(slot), state }
        };
        let spare =
            |member: &Member| Entry { member: roster.info(*member).identity, state: EntryState::Spare };
        roster.slots().map(slot).chain(roster.spares().iter().map(spare)).collect()
    }

    /// A write has ended, except on the members in `failures`. A member that the array survives
    /// losing is failed by now, and the survivors' superblocks will be written again; other members
    /// stay as they are.
    pub(super) fn end(&mut self, cx: &mut Context, id: JobId, failures: &[FailedAccess]) -> Written {
        let recorded = failures.is_empty() || is_on_some_member(cx, id, failures);
        let changed = !failures.is_empty() && self.writing.is_some_and(|version| self.wanted > version);
        let other_copy = !recorded && !self.other_copy;
        if changed || other_copy {
            if !recorded {
                cx.roster.swap_copies();
            }
            self.other_copy = !recorded && !changed;
            self.writing = None;
            return Written::Again;
        }
        (self.unrecorded, self.other_copy) = (!recorded, false);
        self.written = self.writing.take().expect("superblocks were being written");
        Written::Counts { recorded }
    }

    /// All members have a superblock of the current stage. Returns whether the session begins now:
    /// what carries its numbers would be believed after a crash.
    pub(super) fn step_stage(&mut self, cx: &Context) -> bool {
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Beginning;
                self.recorded.opened = self.session_number;
            }
            Stage::Beginning => self.stage = Stage::Begun,
            Stage::Begun => return !std::mem::replace(&mut self.begun, true),
        }
        self.record_exclusion(cx);
        false
    }
}

/// Whether at least one copy of the superblock was written on some member that stands. (All journal
/// devices may be lost later.)
fn is_on_some_member(cx: &Context, id: JobId, failures: &[FailedAccess]) -> bool {
    let job = cx.jobs.get(id);
    let steps = &job.plan.steps;
    let first = steps.iter().take_while(|step| step.phase == steps[0].phase).count();
    let written = |action: Action| {
        let Action::Write { member, at, .. } = action else { return false };
        let failed = failures.iter().any(|failure| (failure.member, failure.at) == (member, at));
        let slot = cx.roster.slot_of(member);
        !failed && slot.is_some_and(|slot| !cx.geometry.is_for_journal(slot))
    };
    job.actions().take(first).any(written)
}
