//! Intents: checksums of parity before and after a reintegration, durable before the parity is
//! rewritten in place. After a crash the checksum of each sector shows whether the sector contains
//! the records already, and a reintegration that was cut off is done again for the other sectors
//! only.

use super::state::{HalfDone, IntendedParity, IntentProbe};
use std::collections::BTreeSet;

use parlour_units::{Region, Sector, Sectors, Slot, Unit};

use crate::columns::Window;
use crate::context::Context;
use crate::durable::Durable;
use crate::durable::bad_blocks;
use crate::effect::{Class, Fault};
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::{Change, EntryContent, Intent};
use crate::ids::JobId;
use crate::job::Kind;
use crate::layout::{Location, Occupant};
use crate::log::Logs;
use crate::log::commit::logs::Waiting;
use crate::log::lane::INTENTS;
use crate::log::{EntryName, LoadState};
use crate::plan::{Plan, Span, Strategy};
use crate::signal::Signal;

impl Logs {
    /// The pass has the checksums of its parity before and after: they are made durable before the
    /// parity is written, so that after a crash new sectors can be distinguished from old ones.
    /// Returns whether they are durable already. That may be so if a crash cut the reintegration
    /// off: then they are not written again, or the commit log would fill up with them from crash
    /// to crash.
    pub(crate) fn start_intent(&mut self, cx: &mut Context, pass: JobId, region: Region) -> bool {
        let job = cx.jobs.get_mut(pass);
        let sums = std::mem::take(&mut job.checksums);
        let reintegration = self.region(region).reintegrating.as_mut().expect("it is under way");
        let newest = reintegration.newest;
        let runs = reintegration.passes.last().expect("a pass is under way");
        let (old, new) = sums.split_at(sums.len() / 2);
        let mut changes = old.iter().zip(new).map(|(old, new)| Change { old: *old, new: *new });
        let (data, block) = (cx.geometry.data_start(), cx.geometry.block());
        let mut intents: Vec<Intent> = Vec::new();
        for run in runs {
            let changes: Vec<Change> = changes.by_ref().take(run.length.get() as usize).collect();
            let (slot, at) = (run.member, (run.at - data).get());
            let whole = Intent { region, newest, slot, at, changes };
            intents.extend(whole.changed_parts(block));
        }
        let intended = &reintegration.intended;
        intents.retain(|intent| !intended.has(intent, data.from_start()));
        if intents.is_empty() {
            return true;
        }
        reintegration.waiting = Some(pass);
        let content = EntryContent { intents, ..EntryContent::default() };
        self.commits.await_intent(Waiting { region, content });
        false
    }

    /// Writes the next intent, as an entry of its own.
    pub(crate) fn write_intent(&mut self, cx: &mut Context, durable: &Durable) {
        let Some(waiting) = self.commits.log().announced.pop_front() else { return };
        let content = waiting.content.clone();
        let (header, slots) = self.begin_entry(cx, durable, INTENTS, content, (1, 0));
        let kind = Kind::Intent { number: header.number, waiting: Box::new(waiting) };
        self.write_entry(cx, &slots, header, Vec::new(), kind);
    }

    /// The intent is durable, unless one of its members was failed meanwhile: then it is written
    /// again, to others.
    pub(crate) fn intent_done(&mut self, cx: &mut Context, id: JobId, number: u64, waiting: Waiting) {
        cx.jobs.end(id);
        if !self.commits.written(INTENTS, true) {
            self.commits.log().announced.push_front(waiting);
            return;
        }
        let name = EntryName { part: CommitPart::Intents, number };
        self.reintegration(waiting.region).intents.push(name);
        let pass = self.waiting_pass(waiting.region);
        cx.go_on(pass);
    }

    /// The pass of `region` that waits for its intent.
    fn waiting_pass(&mut self, region: Region) -> JobId {
        let log = self.region(region);
        let pass = log.reintegrating.as_mut().and_then(|reintegration| reintegration.waiting.take());
        pass.expect("a pass waits for its intent")
    }

    /// The intent could not be written: if its members stand, the pass is given up.
    pub(crate) fn intent_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        (id, waiting): (JobId, Waiting),
        failures: &[FailedAccess],
    ) {
        cx.jobs.end(id);
        self.commits.written(INTENTS, false);
        if self.may_try_again(cx, durable, failures) {
            self.commits.log().announced.push_front(waiting);
        } else {
            self.pass_without_intent(cx, durable, waiting.region);
        }
    }

    /// The intent of a pass cannot be written: the pass is given up.
    pub(crate) fn pass_without_intent(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let pass = self.waiting_pass(region);
        cx.release_buffers(pass);
        cx.jobs.get_mut(pass).kind = None;
        cx.jobs.end(pass);
        self.release_pass(cx, region);
        self.give_up_reintegration(cx, durable, region);
    }

    /// A crash cut a reintegration off: its parity is compared with the checksums of its intents.
    pub(crate) fn finish_intents(
        &mut self,
        cx: &mut Context,
        region: Region,
        entries: Vec<(Intent, EntryName)>,
    ) {
        let (intents, names): (Vec<Intent>, Vec<EntryName>) = entries.into_iter().unzip();
        let newest = intents.iter().map(|intent| intent.newest).max().expect("there are intents");
        let intended = IntendedParity::new(&intents, cx.geometry.data_start().from_start());
        let log = self.region(region);
        log.half_done = Some(HalfDone { newest, done: BTreeSet::new(), intents: names, intended });
        self.probe_parity(cx, region, intents, false);
    }

    /// Reads the parity that `intents` name, where its members stand.
    fn probe_parity(&mut self, cx: &mut Context, region: Region, intents: Vec<Intent>, again: bool) {
        let standing = intents.into_iter().filter(|intent| cx.roster.member_at(intent.slot).is_some());
        let intents: Vec<Intent> = standing.collect();
        let mut plan = Plan::of(Strategy::Redo);
        let spans: Vec<Span> = intents.iter().map(|intent| plan_scratch(&mut plan, intent)).collect();
        for (intent, span) in intents.iter().zip(&spans) {
            plan.read(intent.slot, cx.geometry.absolute(Sector::new(intent.at)), *span);
        }
        plan.next_phase();
        spans.iter().for_each(|span| plan.checksum(*span));
        let id = cx.jobs.start(Kind::Probe(IntentProbe { region, intents, again }), Class::Log);
        cx.jobs.get_mut(id).plan = plan;
        cx.run_own(id);
    }

    /// It is known which sectors of the parity are new: the rest of the reintegration follows.
    pub(crate) fn probe_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        IntentProbe { region, intents, .. }: &IntentProbe,
    ) {
        let region = *region;
        let sums = std::mem::take(&mut cx.jobs.get_mut(id).checksums);
        cx.jobs.end(id);
        let mut sums = sums.iter();
        let (mut done, mut neither) = (BTreeSet::new(), false);
        for intent in intents {
            for (offset, change) in intent.changes.iter().enumerate() {
                let sum = *sums.next().expect("each sector was read");
                let at = Sector::new(intent.at + offset as u64);
                if sum == change.new {
                    done.insert((intent.slot, cx.geometry.absolute(at)));
                } else if sum != change.old && self.counts_at(cx, intent.slot, at) {
                    neither = true;
                }
            }
        }
        if neither || !self.remembered_log_stands(cx, region) {
            return self.give_up_half_done(cx, durable, region);
        }
        let log = self.region(region);
        log.half_done.as_mut().expect("its intents are known").done = done;
        log.load = LoadState::Known;
        self.want_parity(cx, region);
        let log = self.region(region);
        log.waiters.wake(&mut cx.runnable);
        cx.signal(Signal::FlushesMayStart);
    }

    /// Whether the unit at `at` of `slot` is not waiting to be rebuilt.
    fn counts_at(&self, cx: &Context, slot: Slot, at: Sector) -> bool {
        match cx.roster.places(&cx.geometry).occupant(Location { slot, at }) {
            Occupant::Unit { stripe, .. } => cx.roster.readable(slot, stripe),
            _ => true,
        }
    }

    /// Some parity could not be read. If its member was lost meanwhile, the parity is lost with it,
    /// and the parity of the other members is read again. Where sectors are unreadable, each block
    /// is read by itself, and each is tried twice. A block that fails goes on the bad-block log,
    /// since its content is not known: if it is readable later it must not be believed, and once it
    /// is repaired it does not hold the records.
    pub(crate) fn probe_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        (id, probe): (JobId, IntentProbe),
        failures: &[FailedAccess],
    ) {
        let IntentProbe { region, mut intents, mut again } = probe;
        cx.jobs.end(id);
        let (unreadable, others): (Vec<FailedAccess>, Vec<FailedAccess>) =
            failures.iter().partition(|failure| failure.fault == Fault::Unreadable);
        if !self.remembered_log_stands(cx, region) {
            return self.give_up_half_done(cx, durable, region);
        }
        if others.iter().any(|failure| failure.fault.is_of_space()) {
            return self.stall_region(cx, region);
        }
        if !cx.only_members_lost(&others) {
            return self.give_up_half_done(cx, durable, region);
        }
        let block = cx.geometry.block();
        let (hit, rest): (Vec<Intent>, Vec<Intent>) = intents
            .into_iter()
            .partition(|intent| unreadable.iter().any(|failure| self.is_of(cx, intent, failure)));
        let (single, long): (Vec<Intent>, Vec<Intent>) =
            hit.into_iter().partition(|intent| again && intent.length() <= block);
        intents = rest;
        intents.extend(long.iter().flat_map(|intent| intent.blocks(block.get() as usize)));
        again |= !unreadable.is_empty();
        let unread = |intent: &Intent| {
            cx.windows_at(intent.slot, cx.geometry.absolute(Sector::new(intent.at)), intent.length())
        };
        let windows: Vec<(Window, Unit)> = single.iter().flat_map(unread).collect();
        if windows.into_iter().any(|(window, unit)| bad_blocks::record_uncompared(cx, window, unit).is_err())
        {
            return self.give_up_half_done(cx, durable, region);
        }
        self.probe_parity(cx, region, intents, again);
    }

    fn is_of(&self, cx: &Context, intent: &Intent, failure: &FailedAccess) -> bool {
        cx.roster.slot_of(failure.member) == Some(intent.slot)
            && cx.geometry.absolute(Sector::new(intent.at)) == failure.at
    }

    /// It cannot be determined what a reintegration before a crash has done: the parity is computed
    /// from the data.
    pub(crate) fn give_up_half_done(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let log = self.region(region);
        let half = log.half_done.take().expect("its intents are known");
        let commits = &mut self.commits;
        half.intents.into_iter().for_each(|name| commits.orphan(name));
        self.discard_log(cx, durable, region);
    }
}

fn plan_scratch(plan: &mut Plan, intent: &Intent) -> Span {
    let length = intent.length();
    Span::new(plan.scratch(length), Sectors::ZERO, length)
}
