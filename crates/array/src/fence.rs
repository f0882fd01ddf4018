//! Whether this server is still the only one on the members.
//!
//! Locks keep servers on one host apart, not servers on two hosts that see the same disk. So each
//! opening writes an identity of its own into all superblocks, the session, and the array reads
//! superblocks back: before it writes them, before it writes other metadata where the last look is
//! old, and every few seconds. Another session's superblock means that another server has opened
//! the array. Then nothing more is handed out, and all requests fail.
//!
//! What was handed out before that is still written. A disk that takes writes from anybody leaves
//! this window: from one look to the next, and as long as a write is under way.

use parlour_units::{Duration, Instant, Member};

use crate::array::Array;
use crate::effect::{Action, Class, Fault};
use crate::exec::job::FailedAccess;
use crate::format::superblock::{SUPERBLOCK_BYTES, Superblock};
use crate::geometry::{Geometry, SUPERBLOCK};
use crate::identity::Identity;
use crate::ids::JobId;
use crate::job::Kind;
use crate::mode::Mode;
use crate::plan::{Source, Span, Strategy};
use crate::roster::epoch::Epoch;
use crate::status::{Event, FailureCause};

/// The looks at superblocks.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    looking: bool,
    /// When the last look began.
    looked: Option<Instant>,
    /// No superblock was written since.
    fresh: bool,
    /// Which copy is read next: the one cannot be read perhaps.
    copy: usize,
}

impl Array {
    /// How often superblocks are to be read, where anything is written.
    fn look_interval(&self) -> Option<Duration> {
        let over = self.cx.mode == Mode::Stopped || self.is_abandoned();
        self.cx.tuning.fence.filter(|_| self.records.enabled && !over)
    }

    /// Whether superblocks can be read now: not while they are being written or read.
    fn may_look(&self) -> bool {
        !self.fence.looking && !self.records.are_superblocks_written()
    }

    /// When superblocks are to be read again, if nothing else asks for it before.
    pub(crate) fn look_deadline(&self) -> Option<Instant> {
        let runs = matches!(self.cx.mode, Mode::Serving | Mode::ReadOnly) && self.may_look();
        let interval = self.look_interval().filter(|_| runs)?;
        Some(self.fence.looked.map_or(self.cx.now, |at| at + interval))
    }

    /// Whether the last look is so long ago that another is due.
    fn look_is_old(&self) -> bool {
        self.look_interval()
            .is_some_and(|interval| self.fence.looked.is_none_or(|at| at + interval <= self.cx.now))
    }

    /// Superblocks are about to be written (or other metadata): whether they are to be read first.
    pub(crate) fn look_is_due(&self, superblocks: bool) -> bool {
        let used = superblocks && self.look_interval().is_some() && !self.fence.fresh;
        self.may_look() && (self.look_is_old() || used)
    }

    /// Whether superblocks are being read: no metadata is written meanwhile.
    pub(crate) fn is_looking(&self) -> bool {
        self.fence.looking
    }

    /// Superblocks are being written: before the next time they are read again.
    pub(crate) fn look_is_used(&mut self) {
        self.fence.fresh = false;
    }

    /// Reads a superblock of each member that is written to.
    pub(crate) fn look(&mut self) {
        let copy = self.fence.copy;
        (self.fence.looking, self.fence.looked, self.fence.copy) = (true, Some(self.cx.now), 1 - copy);
        let members = self.superblock_members();
        let id = self.cx.jobs.start(Kind::Look, Class::Metadata);
        let job = self.cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        job.metadata.resize(members.len() * SUPERBLOCK_BYTES, 0);
        for (index, (member, _)) in members.iter().enumerate() {
            let length = self.cx.roster.info(*member).length;
            let span = Span::new(Source::Metadata, SUPERBLOCK * index as u64, SUPERBLOCK);
            job.plan.read(*member, Geometry::superblocks_at(length)[copy], span);
        }
        self.start_plan(id, None, &[]);
    }

    /// A superblock could not be read. A member that does not answer is excluded, if it can be done
    /// without; nothing more is made of a copy that cannot be read, since both are read in turn.
    pub(crate) fn note_looked(&mut self, failure: &FailedAccess) {
        let cause = match failure.fault {
            Fault::Gone => FailureCause::Gone,
            Fault::Truncated => FailureCause::Truncated,
            _ => return,
        };
        self.fail_member_if_possible(failure.member, cause);
    }

    /// Superblocks were read, but for those in `failures`.
    pub(crate) fn looked(&mut self, id: JobId, failures: &[FailedAccess]) {
        (self.fence.looking, self.fence.fresh) = (false, true);
        let (array, known) = (self.cx.identity, &self.records.sessions);
        let job = self.cx.jobs.get(id);
        let blocks = job.actions().zip(job.metadata.chunks(SUPERBLOCK_BYTES));
        let foreign = blocks.filter_map(|(action, block)| {
            let Action::Read { member, at, .. } = action else { return None };
            let read = !failures.iter().any(|failure| (failure.member, failure.at) == (member, at));
            // (Most name this session: whether they are sound makes no difference.)
            let ours = known.first().is_some_and(|session| Superblock::names(block, array, *session));
            let epoch = self.cx.roster.epoch(member).filter(|_| !ours)?;
            // One that is torn or damaged says nothing.
            let superblock = Superblock::decode(block).ok().filter(|_| read)?;
            epoch.is_foreign(&superblock, array, known).then(|| (member, superblock.session()))
        });
        let found: Option<(Member, Identity)> = { foreign }.next();
        self.end_job(id);
        if let Some((member, session)) = found {
            self.abandon(Mode::Superseded, Event::Superseded { member, session });
        }
    }

    /// Superblocks were written, but for those in `failures`, and those that a plan that broke did
    /// not come to. A member names this session when both its copies do.
    pub(crate) fn note_epochs(&mut self, id: JobId, failures: &[FailedAccess]) {
        let job = self.cx.jobs.get(id);
        let begun = job.next_step as usize;
        let writes = job.actions().enumerate().filter_map(|(index, action)| {
            let Action::Write { member, .. } = action else { return None };
            Some((member, index < begun))
        });
        let writes: Vec<(Member, bool)> = writes.collect();
        for (member, _) in &writes {
            let failed = failures.iter().any(|failure| failure.member == *member);
            let whole = writes.iter().filter(|(other, _)| other == member).all(|(_, begun)| *begun);
            if failed || whole {
                let epoch = if failed { Epoch::Unknown } else { Epoch::Ours };
                self.cx.roster.set_epoch(*member, epoch);
            }
        }
    }
}
