//! When the bad-block log is written, and which jobs go on afterwards.

use crate::array::Array;
use crate::ids::JobId;
use crate::job::Stage;

impl Array {
    pub(super) fn bad_block_log_due(&self) -> bool {
        let both_banks = self.both_banks_may_be_written();
        // (An opening that does not come to its end writes nothing.)
        self.records.enabled
            && self.records.has_opened()
            && self.bad_blocks.is_due(&self.cx.roster.listed, self.records.barrier(), both_banks)
    }

    pub(super) fn write_bad_block_log(&mut self) {
        if let Some((id, progress)) = self.bad_blocks.write(&mut self.cx, self.records.barrier()) {
            self.follow(id, progress);
        }
    }

    pub(crate) fn bad_block_log_written(&mut self, id: JobId, whole: bool) {
        let (sequence, waiting) = self.bad_blocks.written(&mut self.cx, id, whole);
        if let Some(sequence) = sequence {
            self.records.recorded.list = sequence;
        }
        for id in waiting {
            if self.cx.jobs.stripe(id).stage != Stage::Running {
                self.cx.runnable.push_back(id);
            } else {
                self.stripe_carried_out(id);
            }
        }
    }
}
