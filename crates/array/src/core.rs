//! The components that carry requests and maintenance out: what hosts and maintenance stand on.
//!
//! What concerns several of these components are methods of [`Core`]: here, where one call passes
//! the components on, and in `metadata.rs` (which metadata is written next), `stopping.rs`,
//! `abandon.rs` and `risk.rs`.

use parlour_units::{Member, Slot};

use crate::admin_error::AdminError;
use crate::context::Context;
use crate::durable::Durable;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::request::RequestError;
use crate::stripe::Stripes;

/// The stages of a stop, in order: see `stopping.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    Draining,
    Flushing,
    Table,
    Bitmap,
    Superblock,
}

/// See the module. Each component gets those above it in this list as arguments: `cx` stands on
/// nothing, and `stripes` on all others.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) cx: Context,
    pub(crate) durable: Durable,
    pub(crate) logs: Logs,
    pub(crate) stripes: Stripes,
    /// The stage of a stop that is under way.
    pub(crate) stop: Option<Stop>,
}

impl Core {
    /// Advances a stripe job through the gates, as far as they are open.
    pub(crate) fn advance_stripe(&mut self, id: JobId) {
        self.stripes.advance_stripe(&mut self.cx, &mut self.durable, &mut self.logs, id);
    }

    /// A stripe job's plan is done.
    pub(crate) fn stripe_carried_out(&mut self, id: JobId) {
        self.stripes.stripe_carried_out(&mut self.cx, &mut self.durable, &mut self.logs, id);
    }

    /// A stripe job's plan failed.
    pub(crate) fn stripe_broken(&mut self, id: JobId, failures: &[FailedAccess]) {
        self.stripes.stripe_broken(&mut self.cx, &mut self.durable, &mut self.logs, id, failures);
    }

    /// `member`, which does not keep what a repair wrote, was excluded if possible.
    pub(crate) fn unfaithful_judged(&mut self, repair: JobId, member: Member) {
        self.stripes.unfaithful_judged(&mut self.cx, &mut self.durable, &mut self.logs, repair, member);
    }

    /// A repair that `parent` waits for has ended.
    pub(crate) fn repair_ended(&mut self, parent: JobId, result: Result<(), RequestError>) {
        self.stripes.repair_ended(&mut self.cx, &mut self.durable, &mut self.logs, parent, result);
    }

    /// Lets jobs that wait for memory go on. Returns whether there were any.
    pub(crate) fn pump_memory(&mut self) -> bool {
        self.logs.share_memory(&mut self.cx);
        self.stripes.pump_memory(&mut self.cx)
    }

    /// Lets the logs go on. Returns whether they did anything.
    pub(crate) fn pump_logs(&mut self, hosts_wait: bool) -> bool {
        self.logs.exist() && self.logs.pump(&mut self.cx, &mut self.durable, hosts_wait)
    }

    /// Commits the log records of a plan. Returns whether the plan may go on at once; if the
    /// records must be durable first, it waits.
    pub(crate) fn commit_plan(&mut self, id: JobId) -> bool {
        match self.cx.jobs.get(id).kind {
            Some(Kind::Reintegrate { region }) => self.logs.start_intent(&mut self.cx, id, region),
            _ if self.cx.geometry.is_journaled() => {
                self.logs.await_commit(id);
                false
            }
            _ => {
                self.logs.commit_in_memory(&mut self.cx, &mut self.durable, id);
                true
            }
        }
    }

    /// Goes on to the next stage, unless the stop has begun again meanwhile.
    pub(crate) fn next_stop(&mut self, from: Stop, to: Stop) {
        if self.stop == Some(from) {
            self.stop = Some(to);
        }
    }

    /// The slot, if there is such a one.
    pub(crate) fn check_slot(&self, slot: Slot) -> Result<Slot, AdminError> {
        let slots = self.cx.geometry.slot_count();
        if slot.get() < slots { Ok(slot) } else { Err(AdminError::NoSuchMember(slot, slots - 1)) }
    }
}
