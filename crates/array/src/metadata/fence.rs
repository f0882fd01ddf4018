//! The fence: when superblocks are read back before metadata is written, and what happens if
//! another server has opened the array.

use parlour_units::{Instant, Member};

use crate::array::Array;
use crate::effect::Fault;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::mode::Mode;
use crate::status::{Event, FailureCause};

impl Array {
    pub(crate) fn look_deadline(&self) -> Option<Instant> {
        self.fence.deadline(&self.cx, self.records.are_superblocks_written())
    }

    /// Reads superblocks back if that is due before metadata is written. Returns whether it did.
    pub(super) fn look_if_due(&mut self) -> bool {
        let writing = self.records.are_superblocks_written();
        let due = self.fence.is_due(&self.cx, writing, self.superblock_due());
        if due {
            let members: Vec<Member> =
                self.superblock_members().into_iter().map(|(member, _)| member).collect();
            let (id, progress) = self.fence.look(&mut self.cx, &members);
            self.follow(id, progress);
        }
        due
    }

    /// A superblock could not be read. A member that does not answer is excluded, if the array
    /// survives that. An unreadable copy has no other consequence, because the two copies are read
    /// in turn.
    pub(crate) fn note_looked(&mut self, failure: &FailedAccess) {
        let cause = match failure.fault {
            Fault::Gone => FailureCause::Gone,
            Fault::Truncated => FailureCause::Truncated,
            _ => return,
        };
        self.fail_member_if_possible(failure.member, cause);
    }

    /// Superblocks were read, except those in `failures`.
    pub(crate) fn looked(&mut self, id: JobId, failures: &[FailedAccess]) {
        let foreign = self.fence.looked(&mut self.cx, &self.records.sessions, id, failures);
        if let Some((member, session)) = foreign {
            self.abandon(Mode::Superseded, Event::Superseded { member, session });
        }
    }
}
