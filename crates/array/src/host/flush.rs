//! Flushes, and the flush that some durable writes need before they are answered.

use crate::core::Core;
use crate::effect::Class;
use crate::exec::job::FailedAccess;
use crate::host::state::Hosts;
use crate::ids::{HostId, JobId};
use crate::job::Kind;
use crate::request::RequestError;
use crate::signal::Signal;

impl Hosts {
    /// Starts the flushes that may start.
    pub(crate) fn resume_hosts(&mut self, core: &mut Core) {
        if self.flush_lacks_parity(core) {
            let refusal = core.cx.refusal();
            let waiters = std::mem::take(&mut self.flush_waiters);
            waiters.into_iter().for_each(|host| core.cx.signal(Signal::HostJobDone(host, Err(refusal))));
        }
        if self.flush_waiters.is_empty() || !self.flush_may_start(core) {
            return;
        }
        let passed = self.stage.passed;
        for host in std::mem::take(&mut self.flush_waiters) {
            if !core.durable.flushes_hold(&core.cx) {
                core.cx.signal(Signal::HostJobDone(host, Err(RequestError::Lost)));
                continue;
            }
            let id = core.cx.jobs.start(Kind::Flush { host, passed }, Class::Foreground);
            core.cx.plan_flushes(id);
            core.cx.run_own(id);
        }
    }

    /// Whether parity that stands in for a missing member's data stays behind its log until the
    /// next opening.
    pub(super) fn flush_lacks_parity(&self, core: &Core) -> bool {
        let lacks =
            core.cx.lacks_space && !core.cx.geometry.is_journaled() && !core.durable.is_whole(&core.cx);
        lacks && core.logs.any_stalled()
    }

    /// Whether a flush may start. If a member is missing, its data is in the parity alone, which
    /// must first be up to date.
    pub(super) fn flush_may_start(&mut self, core: &mut Core) -> bool {
        let behind =
            !core.cx.geometry.is_journaled() && !core.durable.is_whole(&core.cx) && core.logs.any_live();
        if behind {
            core.logs.want_all_parity(&mut core.cx);
        }
        !behind && !core.durable.barrier()
    }

    /// All members that had unflushed writes were flushed.
    pub(crate) fn flush_done(&mut self, core: &mut Core, id: JobId, host: HostId, passed: u64) {
        core.cx.jobs.end(id);
        if core.durable.barrier() || !core.durable.flushes_hold(&core.cx) {
            // A member failed meanwhile, perhaps because it could not flush, and would be believed
            // after a crash.
            self.flush_waiters.push(host);
            return self.resume_hosts(core);
        }
        self.stage.flushed = self.stage.flushed.max(passed);
        core.cx.signal(Signal::HostJobDone(host, Ok(())));
    }

    /// A member that could not be flushed is failed by now. The others are flushed again after its
    /// exclusion is durable.
    pub(crate) fn flush_broken(
        &mut self,
        core: &mut Core,
        (id, host): (JobId, HostId),
        failures: &[FailedAccess],
    ) {
        core.cx.jobs.end(id);
        let lost =
            core.cx.still_standing(failures) || failures.iter().any(|failure| !failure.fault.is_of_member());
        if lost {
            core.cx.signal(Signal::HostJobDone(host, Err(RequestError::Lost)));
        } else {
            self.flush_waiters.push(host);
            self.resume_hosts(core);
        }
    }

    /// The check units that stand in for what `host` writes are computed from other data, which is
    /// perhaps not durable.
    pub(crate) fn share_durability(&mut self, host: HostId) {
        self.get(host).shared = true;
    }

    /// A durable write is done, but its durability depends on several members: they are flushed,
    /// and the request is answered then.
    pub(super) fn flush_before_answer(&mut self, core: &mut Core, host: HostId) {
        let entry = self.get(host);
        (entry.flushed, entry.jobs) = (true, 1);
        self.flush_waiters.push(host);
        self.resume_hosts(core);
    }
}
