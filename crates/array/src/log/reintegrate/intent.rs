//! Intents: checksums of parity before and after a reintegration, durable before the parity is
//! rewritten in place. After a crash the checksum of each sector shows whether the sector contains
//! the records already, and a reintegration that was cut off is done again for the other sectors
//! only.

use super::state::{Apply, HalfDone, ToldParity};
use std::collections::BTreeSet;

use parlour_units::{Region, Sector, Sectors, Slot, Unit};

use super::state::Run;
use crate::array::Array;
use crate::columns::Window;
use crate::durable::bad_blocks;
use crate::effect::{Class, Fault};
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::{Change, Intent, Told, intents_length};
use crate::ids::JobId;
use crate::job::Kind;
use crate::layout::{Location, Occupant};
use crate::log::commit::logs::Waiting;
use crate::log::{EntryName, LoadState};
use crate::plan::{Plan, Span, Strategy};

impl Array {
    /// Whether the commit log has room for the intents of `passes`, at their greatest length.
    pub(super) fn intents_fit(&self, region: Region, passes: &[Vec<Run>], applies: &[Apply]) -> bool {
        let Some(commits) = self.logs.as_ref().and_then(|logs| logs.commits.as_ref()) else { return true };
        let told = |run: &Run| applies[run.applies.clone()].iter().map(|apply| apply.length.get());
        let entry = |runs: &Vec<Run>| {
            let parts: Vec<u64> = runs.iter().flat_map(told).collect();
            intents_length(parts.len() as u64, parts.iter().sum(), self.cx.geometry.block()).get()
        };
        passes.iter().map(entry).sum::<u64>() <= commits.intent_room(self.commit_slot(region))
    }

    /// The number of the record in the middle of those that a reintegration is about to take,
    /// unless it is the only one.
    pub(super) fn middle_record(&self, region: Region) -> Option<u64> {
        let logs = self.logs.as_ref().expect("only logs are reintegrated");
        let segments = logs.regions[&region].segments.iter().map(|index| logs.segment(*index));
        let mut taken: Vec<u64> = segments
            .flat_map(|segment| segment.records[..segment.taken].iter().map(|record| record.sequence))
            .collect();
        taken.sort_unstable();
        (taken.len() > 1).then(|| taken[(taken.len() - 1) / 2])
    }

    /// The pass has the checksums of its parity before and after: they are made durable before the
    /// parity is written, so that after a crash new sectors can be distinguished from old ones.
    /// Returns whether they are durable already. That may be so if a crash cut the reintegration
    /// off: then they are not written again, or the commit log would fill up with them from crash
    /// to crash.
    pub(crate) fn start_intent(&mut self, pass: JobId, region: Region) -> bool {
        let job = self.cx.jobs.get_mut(pass);
        let sums = std::mem::take(&mut job.checksums);
        let logs = self.logs.as_mut().expect("only logs are reintegrated");
        let reintegration = logs.region(region).reintegrating.as_mut().expect("it is under way");
        let newest = reintegration.newest;
        let runs = reintegration.passes.last().expect("a pass is under way");
        let (old, new) = sums.split_at(sums.len() / 2);
        let mut changes = old.iter().zip(new).map(|(old, new)| Change { old: *old, new: *new });
        let (data, block) = (self.cx.geometry.data_start(), self.cx.geometry.block());
        let mut intents: Vec<Intent> = Vec::new();
        for run in runs {
            let changes: Vec<Change> = changes.by_ref().take(run.length.get() as usize).collect();
            let (slot, at) = (run.member, (run.at - data).get());
            let whole = Intent { region, newest, slot, at, changes };
            intents.extend(whole.changed_parts(block));
        }
        let told = &reintegration.told;
        intents.retain(|intent| !told.has(intent, data.from_start()));
        if intents.is_empty() {
            return true;
        }
        reintegration.waiting = Some(pass);
        let slot = self.commit_slot(region);
        let told = Told { records: Vec::new(), intents };
        self.commits().await_intent(slot, Waiting { region, told });
        false
    }

    /// Writes an intent, as an entry of its own.
    pub(crate) fn write_intent(&mut self, slot: Slot, waiting: Waiting) {
        let Waiting { region, told } = waiting;
        let header = self.begin_entry(slot, CommitPart::Intents, told, 1, 0);
        let name = EntryName { slot, part: CommitPart::Intents, number: header.number };
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        log.reintegrating.as_mut().expect("it is under way").intents.push(name);
        self.write_entry(slot, header, Vec::new(), Kind::Intent { region });
    }

    pub(crate) fn intent_done(&mut self, id: JobId) {
        let region = self.end_intent(id, true);
        let pass = self.waiting_pass(region);
        self.go_on(pass);
    }

    /// Ends the write of an intent; returns its region. If the member was failed since, the intent
    /// is lost with it.
    fn end_intent(&mut self, id: JobId, whole: bool) -> Region {
        let turn = self.cx.jobs.get(id).turn;
        let Some(Kind::Intent { region }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("an intent")
        };
        self.cx.jobs.end(id);
        let slot = self.commit_slot(region);
        let stands = self.cx.roster.member_since(slot, turn).is_some();
        self.commits().written(slot, CommitPart::Intents, whole && stands);
        region
    }

    /// The pass of `region` that waits for its intent.
    fn waiting_pass(&mut self, region: Region) -> JobId {
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        let pass = log.reintegrating.as_mut().and_then(|reintegration| reintegration.waiting.take());
        pass.expect("a pass waits for its intent")
    }

    /// The commit log is lost, and the region's log with it.
    pub(crate) fn intent_broken(&mut self, id: JobId) {
        let region = self.end_intent(id, false);
        self.pass_without_intent(region);
    }

    /// The intent of a pass cannot be written: the pass is given up.
    pub(crate) fn pass_without_intent(&mut self, region: Region) {
        let pass = self.waiting_pass(region);
        self.cx.release_buffers(pass);
        self.cx.jobs.get_mut(pass).kind = None;
        self.cx.jobs.end(pass);
        self.release_pass(region);
        self.give_up_reintegration(region);
    }

    /// A crash cut a reintegration off: its parity is compared with the checksums of its intents.
    pub(crate) fn finish_intents(&mut self, region: Region, told: Vec<(Intent, EntryName)>) {
        let (intents, names): (Vec<Intent>, Vec<EntryName>) = told.into_iter().unzip();
        let newest = intents.iter().map(|intent| intent.newest).max().expect("there are intents");
        let told = ToldParity::new(&intents, self.cx.geometry.data_start().from_start());
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        log.half_done = Some(HalfDone { newest, done: BTreeSet::new(), intents: names, told });
        self.probe_parity(region, intents, false);
    }

    /// Reads the parity that `intents` name, where its members stand.
    fn probe_parity(&mut self, region: Region, intents: Vec<Intent>, again: bool) {
        let standing = intents.into_iter().filter(|intent| self.cx.roster.member_at(intent.slot).is_some());
        let intents: Vec<Intent> = standing.collect();
        let mut plan = Plan::of(Strategy::Redo);
        let spans: Vec<Span> = intents.iter().map(|intent| plan_scratch(&mut plan, intent)).collect();
        for (intent, span) in intents.iter().zip(&spans) {
            plan.read(intent.slot, self.cx.geometry.absolute(Sector::new(intent.at)), *span);
        }
        plan.next_phase();
        spans.iter().for_each(|span| plan.checksum(*span));
        let id = self.cx.jobs.start(Kind::Probe { region, intents, again }, Class::Log);
        self.cx.jobs.get_mut(id).plan = plan;
        self.start_plan(id, None, &[]);
    }

    /// It is known which sectors of the parity are new: the rest of the reintegration follows.
    pub(crate) fn probe_done(&mut self, id: JobId) {
        let job = self.cx.jobs.get_mut(id);
        let sums = std::mem::take(&mut job.checksums);
        let Some(Kind::Probe { region, intents, .. }) = job.kind.take() else { unreachable!("a probe") };
        self.cx.jobs.end(id);
        let mut sums = sums.iter();
        let (mut done, mut neither) = (BTreeSet::new(), false);
        for intent in &intents {
            for (offset, change) in intent.changes.iter().enumerate() {
                let sum = *sums.next().expect("each sector was read");
                let at = Sector::new(intent.at + offset as u64);
                if sum == change.new {
                    done.insert((intent.slot, self.cx.geometry.absolute(at)));
                } else if sum != change.old && self.counts_at(intent.slot, at) {
                    neither = true;
                }
            }
        }
        if neither || !self.remembered_log_stands(region) {
            return self.give_up_half_done(region);
        }
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        log.half_done.as_mut().expect("its intents are known").done = done;
        log.load = LoadState::Known;
        self.want_parity(region);
        let log = self.logs.as_mut().expect("it was there").region(region);
        self.cx.runnable.extend(log.waiters.drain(..));
        self.resume_hosts();
    }

    /// Whether the unit at `at` of `slot` is not waiting to be rebuilt.
    fn counts_at(&self, slot: Slot, at: Sector) -> bool {
        match self.cx.geometry.layout().occupant(Location { slot, at }) {
            Occupant::Unit { stripe, .. } => self.cx.roster.readable(slot, stripe),
            _ => true,
        }
    }

    /// Some parity could not be read. If its member was lost meanwhile, the parity is lost with it,
    /// and the parity of the other members is read again. Where sectors are unreadable, each block
    /// is read by itself, and each is tried twice. A block that fails goes on the bad-block log,
    /// since its content is not known: if it is readable later it must not be believed, and once it
    /// is repaired it does not hold the records.
    pub(crate) fn probe_broken(&mut self, id: JobId, failures: &[FailedAccess]) {
        let Some(Kind::Probe { region, mut intents, mut again }) = self.cx.jobs.get_mut(id).kind.take()
        else {
            unreachable!("a probe")
        };
        self.cx.jobs.end(id);
        let (unreadable, others): (Vec<FailedAccess>, Vec<FailedAccess>) =
            failures.iter().partition(|failure| failure.fault == Fault::Unreadable);
        if !self.remembered_log_stands(region) {
            return self.give_up_half_done(region);
        }
        if others.iter().any(|failure| failure.fault.is_of_space()) {
            return self.stall_region(region);
        }
        if !self.cx.only_members_lost(&others) {
            return self.give_up_half_done(region);
        }
        let block = self.cx.geometry.block();
        let (hit, rest): (Vec<Intent>, Vec<Intent>) = intents
            .into_iter()
            .partition(|intent| unreadable.iter().any(|failure| self.is_of(intent, failure)));
        let (single, long): (Vec<Intent>, Vec<Intent>) =
            hit.into_iter().partition(|intent| again && intent.length() <= block);
        intents = rest;
        intents.extend(long.iter().flat_map(|intent| intent.blocks(block.get() as usize)));
        again |= !unreadable.is_empty();
        let unread = |intent: &Intent| {
            self.cx.windows_at(
                intent.slot,
                self.cx.geometry.absolute(Sector::new(intent.at)),
                intent.length(),
            )
        };
        let windows: Vec<(Window, Unit)> = single.iter().flat_map(unread).collect();
        if windows
            .into_iter()
            .any(|(window, unit)| bad_blocks::record_uncompared(&mut self.cx, window, unit).is_err())
        {
            return self.give_up_half_done(region);
        }
        self.probe_parity(region, intents, again);
    }

    fn is_of(&self, intent: &Intent, failure: &FailedAccess) -> bool {
        self.cx.roster.slot_of(failure.member) == Some(intent.slot)
            && self.cx.geometry.absolute(Sector::new(intent.at)) == failure.at
    }

    /// It cannot be determined what a reintegration before a crash has done: the parity is computed
    /// from the data.
    pub(crate) fn give_up_half_done(&mut self, region: Region) {
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        let half = log.half_done.take().expect("its intents are known");
        let commits = self.commits();
        half.intents.into_iter().for_each(|name| commits.orphan(name));
        self.discard_log(region);
    }

    pub(super) fn take_half_done(&mut self, region: Region) -> HalfDone {
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        log.half_done.take().unwrap_or_default()
    }
}

fn plan_scratch(plan: &mut Plan, intent: &Intent) -> Span {
    let length = intent.length();
    Span::new(plan.scratch(length), Sectors::ZERO, length)
}
