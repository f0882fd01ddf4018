//! A long read that failed is repeated in parts: a member says that it cannot read some of a range,
//! and not which blocks. Only these are to be computed and written again. Where the rest of a
//! stripe has silently changed, good data would otherwise be replaced for an unreadable neighbour.

use parlour_units::Sectors;

use super::job::{FailedAccess, Job, NOBODY};
use crate::context::Context;
use crate::effect::{Action, EffectId, Fault};
use crate::ids::JobId;

/// The length of a part: most drives store data in physical sectors of 4 KiB, which are read or
/// lost together.
const GRANULE: Sectors = Sectors::new(8);

impl<K> Job<K> {
    /// Step `step` failed. A long read is repeated in parts when its phase has ended.
    pub(super) fn note_failed(&mut self, step: u32, fault: Fault, action: Action) {
        let long = |length: Sectors| self.plan.narrows && length > GRANULE;
        match action {
            Action::Read { length, .. } if fault == Fault::Unreadable && long(length) => {
                self.unread.push(step);
            }
            _ => self.failures.push(FailedAccess::new(fault, action)),
        }
    }
}

impl Context {
    /// All effects of a phase are answered: its long reads that failed are repeated in parts, if
    /// nothing else failed. Returns whether there are any; then the phase is not done.
    #[cold]
    pub(super) fn narrow(&mut self, id: JobId) -> bool {
        let job = self.jobs.get_mut(id);
        if job.unread.is_empty() {
            return false;
        }
        let unread = std::mem::take(&mut job.unread);
        let failed = |step: &u32| FailedAccess::new(Fault::Unreadable, job.action(*step));
        let whole: Vec<FailedAccess> = unread.iter().map(failed).collect();
        let parts: u64 = whole.iter().map(|read| read.length / GRANULE + 2).sum();
        let fits = job.plan.steps.len() as u64 + parts < u64::from(EffectId::LIMIT);
        if !job.failures.is_empty() || !fits {
            job.failures.extend(whole);
            return false;
        }
        job.repeated.extend(whole);
        let before = job.next_step as usize;
        let count = job.plan.read_in_parts(&unread, before, GRANULE, &mut job.slices);
        job.members.splice(before..before, std::iter::repeat_n(NOBODY, count));
        true
    }

    /// The failed reads of a plan that were repeated in parts.
    pub(crate) fn take_repeated(&mut self, id: JobId) -> Vec<FailedAccess> {
        std::mem::take(&mut self.jobs.get_mut(id).repeated)
    }
}
