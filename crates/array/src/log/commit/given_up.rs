//! Entries that do not stand on all of their members.

use parlour_units::{Slot, Stripe};

use crate::context::Context;
use crate::durable::Durable;
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::CommitPart;
use crate::ids::JobId;
use crate::log::Logs;
use crate::log::commit::places::have_space;
use crate::log::commit::untold::CommitEntry;
use crate::log::lane::Lane;
use crate::signal::Signal;

/// The slots whose members stand and could not carry out an access.
fn slots_that_failed(cx: &Context, failures: &[FailedAccess]) -> Vec<Slot> {
    failures.iter().filter_map(|failure| cx.roster.slot_of(failure.member)).collect()
}

impl Logs {
    /// Members could not write an entry: they get no others, if there are enough without them.
    /// Returns whether there is a reason to try again. (Another stream may have found out before
    /// that a member has no space.)
    pub(in crate::log) fn may_try_again(
        &mut self,
        cx: &Context,
        durable: &Durable,
        failures: &[FailedAccess],
    ) -> bool {
        let log = self.commits.log();
        let is_new = log.note_full(slots_that_failed(cx, failures));
        is_new || cx.only_members_lost(failures) || have_space(cx, durable, &log.full)
    }

    /// An entry of a lane does not stand on all of its members. It may stand on some, and would be
    /// found after a crash as long as no newer entry of that lane is durable. Until then its jobs
    /// are not told: they would go on as if it did not count, or be answered with an error.
    pub(super) fn give_entry_up(
        &mut self,
        cx: &mut Context,
        CommitEntry { number, lane, jobs }: CommitEntry,
        failures: &[FailedAccess],
    ) {
        let full = slots_that_failed(cx, failures);
        let log = self.commits.log();
        log.untold.give_up(number);
        log.note_full(full);
        for (job, _) in jobs {
            cx.release_buffers(job);
            log.given_up.push((lane, job, failures.to_vec()));
        }
        // (No newer entry can be written before members have come or gone, and nobody waits for
        // that.)
        if log.records().lane(lane).refuses_marks() {
            self.tell_given_up(cx, (CommitPart::Records, lane));
        }
    }

    /// A newer entry of a lane is durable than those that were given up there: their jobs are
    /// planned again for the array as it now is. (What failed was no access of theirs.)
    pub(super) fn plan_given_up_again(&mut self, cx: &mut Context, place: (CommitPart, Lane)) {
        for (job, _) in self.take_given_up(place) {
            cx.signal(Signal::Broken(job, Vec::new()));
        }
        self.commits.log().forgetting.wake(&mut cx.runnable);
    }

    /// No newer entry of a lane can be written than those that were given up there: their jobs are
    /// told what failed.
    pub(super) fn tell_given_up(&mut self, cx: &mut Context, place: (CommitPart, Lane)) {
        for (job, failures) in self.take_given_up(place) {
            let of_job = cx.jobs.stripe(job);
            let (stripe, acknowledged) = (of_job.window.stripe, of_job.acknowledged);
            // (What is destaged was acknowledged, and may come.)
            if !acknowledged {
                self.may_come_back(cx, stripe);
            }
            cx.signal(Signal::Broken(job, failures));
        }
        self.commits.log().forgetting.wake(&mut cx.runnable);
    }

    fn take_given_up(&mut self, (part, lane): (CommitPart, Lane)) -> Vec<(JobId, Vec<FailedAccess>)> {
        if part != CommitPart::Records {
            return Vec::new();
        }
        let of_lane = |(of, ..): &mut (Lane, JobId, Vec<FailedAccess>)| *of == lane;
        let taken = self.commits.log().given_up.extract_if(.., of_lane);
        taken.map(|(_, job, failures)| (job, failures)).collect()
    }

    /// A write of `stripe` was refused that may be in its place after the next opening: until then
    /// the stripe is not read. (Where members only have no space, they stand.)
    pub(crate) fn may_come_back(&mut self, cx: &Context, stripe: Stripe) {
        if cx.lacks_space {
            self.doubtful.insert(stripe);
        }
    }

    /// Whether a write of `stripe` was refused that may come back.
    pub(crate) fn is_doubtful(&self, stripe: Stripe) -> bool {
        self.doubtful.contains(&stripe)
    }
}
