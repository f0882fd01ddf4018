//! The memory that the array holds.

use parlour_array::{CommitPart, LogPool};
use parlour_units::Sectors;

use super::Rig;
use crate::request::LONGEST_REQUEST;
use crate::violation::Violation;

impl Rig<'_> {
    /// Checks that the array never held more payload than its tuning allows: the limits of hosts,
    /// requests under way, logs, reintegrations, the redo and the cache. In addition, one request,
    /// one job and one log may exceed a limit, because they go on alone, however large they are.
    pub(crate) fn memory_is_bounded(&self) -> Result<(), Violation> {
        let (tuning, layout) = (&self.script.options().tuning, self.geometry.layout());
        let stripe = layout.unit_length() * layout.units().count() as u64;
        let longest = Sectors::new(LONGEST_REQUEST);
        let logs = layout.logs().map_or(Sectors::ZERO, |logs| {
            let shape = logs.shape();
            let log = Sectors::new(shape.segment) * u64::from(logs.segments());
            let least = stripe * 2 + Sectors::new(shape.segment) * 4;
            let buffers = match tuning.log_pool {
                LogPool::Global => tuning.log_memory + least,
                LogPool::Static => least * u64::from(layout.region_count()),
            };
            let passes = tuning.reintegration_memory.max(log * 2) + log;
            buffers + passes * u64::from(tuning.reintegration_buffers)
        });
        // A staged write takes at least half of its buffer.
        let staged = self.geometry.commit_part(CommitPart::Writes).1 * 2;
        let hosts = tuning.host_memory + longest + staged;
        // Four parts are redone at once, each with its records. (A part is at least a stripe.)
        let redo = match self.geometry.is_journaled() {
            true => tuning.scratch_memory.max(stripe * (4 * 2)),
            false => Sectors::ZERO,
        };
        let most = hosts + tuning.scratch_memory + stripe * 4 + redo + tuning.preread_cache + logs;
        let peak = self.status().memory.1;
        if peak > most.bytes() {
            let (peak, most) = (peak.get(), most.bytes().get());
            return Err(Violation::Leak(format!("{peak} B of payload, and may hold {most} B")));
        }
        Ok(())
    }

    /// Checks that at rest the array holds only its open log buffers and the content of its cache.
    pub(crate) fn nothing_leaks(&self) -> Result<(), Violation> {
        if !self.is_serving() {
            return Ok(());
        }
        let held = self.world.array().held();
        if held.jobs + held.locks + held.requests > 0 || held.scratch + held.host_memory > Sectors::ZERO {
            return Err(Violation::Leak(format!("{held:?}")));
        }
        let status = self.status();
        let in_use = status.memory.0;
        let logs = match (status.log, self.geometry.layout().logs(), self.geometry.log_header_length()) {
            (Some(log), Some(shape), Some(header)) => {
                let payload = Sectors::new(shape.shape().segment) - header * 2;
                payload * u64::from(log.buffers)
            }
            _ => Sectors::ZERO,
        };
        let most = logs + held.cache;
        if in_use < logs.bytes() || in_use > most.bytes() {
            return Err(Violation::Leak(format!(
                "{in_use} of payload, of which its logs have {}",
                logs.bytes()
            )));
        }
        Ok(())
    }
}
