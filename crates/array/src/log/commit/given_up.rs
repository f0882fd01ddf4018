//! Entries that do not stand on all of their members.

use parlour_units::Slot;

use crate::context::Context;
use crate::durable::Durable;
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::CommitPart;
use crate::format::segment::Record;
use crate::ids::JobId;
use crate::log::Logs;
use crate::log::commit::places::have_space;
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

    /// An entry does not stand on all of its members. It may stand on some, and would be found
    /// after a crash as long as no newer entry is durable. Until then its jobs are not told: they
    /// would go on as if it did not count, or be answered with an error.
    pub(super) fn give_entry_up(
        &mut self,
        cx: &mut Context,
        jobs: Vec<(JobId, Vec<Record>)>,
        failures: &[FailedAccess],
    ) {
        let full = slots_that_failed(cx, failures);
        let log = self.commits.log();
        log.note_full(full);
        for (job, _) in jobs {
            cx.release_buffers(job);
            log.given_up.push((job, failures.to_vec()));
        }
        // (No newer entry can be written before members have come or gone, and nobody waits for
        // that.)
        if log.is_stuck(CommitPart::Records) {
            self.tell_given_up(cx, CommitPart::Records);
        }
    }

    /// A newer entry is durable than those that were given up: their jobs are planned again for the
    /// array as it now is. (What failed was no access of theirs.)
    pub(super) fn plan_given_up_again(&mut self, cx: &mut Context, part: CommitPart) {
        if part == CommitPart::Records {
            self.commits.log().given_up.iter_mut().for_each(|(_, failures)| failures.clear());
        }
        self.tell_given_up(cx, part);
    }

    /// No newer entry can be written than those that were given up: their jobs are told what
    /// failed.
    pub(super) fn tell_given_up(&mut self, cx: &mut Context, part: CommitPart) {
        if part == CommitPart::Records {
            for (job, failures) in std::mem::take(&mut self.commits.log().given_up) {
                cx.signal(Signal::Broken(job, failures));
            }
            self.commits.log().forgetting.wake(&mut cx.runnable);
        }
    }
}
