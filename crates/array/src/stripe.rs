//! Jobs on one stripe: what they wait for, how their plans are chosen, how they end.
//!
//! A job passes its gates in one order: memory, log space, lock, dirty bit, settled parity,
//! exclusions. It reserves memory and log space before it takes its lock, and holds at most one
//! lock. While it holds the lock it waits only for work that needs no stripe lock: writes of the
//! bitmap, writes of superblocks, reintegrations. So no jobs wait in a circle.

mod blind;
mod build;
mod cached;
mod compare;
mod ending;
mod gates;
mod outcome;
mod repair;
mod state;

pub(crate) use self::build::{is_outdated, untrusted};
pub(crate) use self::state::{StripeWork, Stripes};
use crate::context::Context;
use crate::durable::Durable;
use crate::ids::JobId;
use crate::job::{Gate, Stage};
use crate::log::Logs;

impl Stripes {
    /// Advances a job through the gates, as far as they are open.
    pub(crate) fn advance_stripe(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        loop {
            cx.counters.steps += 1;
            let gate = match cx.jobs.stripe(id).stage {
                Stage::Memory => {
                    logs.share_memory(cx);
                    self.memory_gate(cx, id)
                }
                Stage::LogSpace => self.log_space_gate(cx, durable, logs, id),
                Stage::Lock => self.lock_gate(cx, logs, id),
                Stage::Dirty => self.dirty_gate(cx, durable, logs, id),
                Stage::Settle => self.settle_gate(cx, durable, logs, id),
                Stage::Plan => self.plan_gate(cx, durable, logs, id),
                Stage::Running => return,
            };
            match gate {
                Gate::Pass => {}
                Gate::Wait | Gate::Ended => return,
                Gate::Refused => return self.refuse(cx, durable, logs, id),
                Gate::Ends(result) => return self.end_stripe(cx, durable, logs, id, result),
            }
        }
    }
}
