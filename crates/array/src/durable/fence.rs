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

use crate::context::Context;
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::exec::run::Progress;
use crate::format::superblock::{SUPERBLOCK_BYTES, Superblock};
use crate::geometry::{Geometry, SUPERBLOCK};
use crate::identity::Identity;
use crate::ids::JobId;
use crate::job::Kind;
use crate::mode::Mode;
use crate::plan::{Source, Span, Strategy};
use crate::roster::epoch::Epoch;

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

impl Fence {
    /// How often superblocks are to be read, where anything is written.
    fn interval(cx: &Context) -> Option<Duration> {
        let over = cx.mode == Mode::Stopped || cx.mode.is_abandoned();
        cx.tuning.fence.filter(|_| cx.writes && !over)
    }

    /// Whether superblocks can be read now: not while they are being read or, as `writing` says,
    /// written.
    fn may_look(&self, writing: bool) -> bool {
        !self.looking && !writing
    }

    /// When superblocks are to be read again, if nothing else asks for it before.
    pub(crate) fn deadline(&self, cx: &Context, writing: bool) -> Option<Instant> {
        let runs = matches!(cx.mode, Mode::Serving | Mode::ReadOnly) && self.may_look(writing);
        let interval = Self::interval(cx).filter(|_| runs)?;
        Some(self.looked.map_or(cx.now, |at| at + interval))
    }

    /// Whether superblocks are to be read before other metadata is written, or, as `superblocks`
    /// says, superblocks are.
    pub(crate) fn is_due(&self, cx: &Context, writing: bool, superblocks: bool) -> bool {
        let Some(interval) = Self::interval(cx) else { return false };
        let old = self.looked.is_none_or(|at| at + interval <= cx.now);
        self.may_look(writing) && (old || superblocks && !self.fresh)
    }

    /// Whether superblocks are being read: no metadata is written meanwhile.
    pub(crate) fn is_looking(&self) -> bool {
        self.looking
    }

    /// Superblocks are being written: before the next time they are read again.
    pub(crate) fn superblocks_change(&mut self) {
        self.fresh = false;
    }

    /// Reads a superblock of each of `members`, which are those that are written to.
    pub(crate) fn look(&mut self, cx: &mut Context, members: &[Member]) -> (JobId, Progress) {
        let copy = self.copy;
        (self.looking, self.looked, self.copy) = (true, Some(cx.now), 1 - copy);
        let id = cx.jobs.start(Kind::Look, Class::Metadata);
        let job = cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        job.metadata.resize(members.len() * SUPERBLOCK_BYTES, 0);
        for (index, member) in members.iter().enumerate() {
            let length = cx.roster.info(*member).length;
            let span = Span::new(Source::Metadata, SUPERBLOCK * index as u64, SUPERBLOCK);
            job.plan.read(*member, Geometry::superblocks_at(length)[copy], span);
        }
        let turn = cx.roster.turn();
        (id, cx.start_plan(id, turn, None, &[]))
    }

    /// Superblocks were read, but for those in `failures`; `known` are this session and those
    /// before it, the newest first. Returns a member that another server has written to, and the
    /// session of that server.
    pub(crate) fn looked(
        &mut self,
        cx: &mut Context,
        known: &[Identity],
        id: JobId,
        failures: &[FailedAccess],
    ) -> Option<(Member, Identity)> {
        (self.looking, self.fresh) = (false, true);
        let job = cx.jobs.get(id);
        let blocks = job.actions().zip(job.metadata.chunks(SUPERBLOCK_BYTES));
        let foreign = blocks.filter_map(|(action, block)| {
            let Action::Read { member, at, .. } = action else { return None };
            let read = !failures.iter().any(|failure| (failure.member, failure.at) == (member, at));
            // (Most name this session: whether they are sound makes no difference.)
            let ours = known.first().is_some_and(|session| Superblock::names(block, cx.identity, *session));
            let epoch = cx.roster.epoch(member).filter(|_| !ours)?;
            // One that is torn or damaged says nothing.
            let superblock = Superblock::decode(block).ok().filter(|_| read)?;
            epoch.is_foreign(&superblock, cx.identity, known).then(|| (member, superblock.session()))
        });
        let found = { foreign }.next();
        cx.jobs.end(id);
        found
    }
}

/// Superblocks were written, but for those in `failures`, and those that a plan that broke did not
/// come to. A member names this session when both its copies do.
pub(crate) fn note_epochs(cx: &mut Context, id: JobId, failures: &[FailedAccess]) {
    let job = cx.jobs.get(id);
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
            cx.roster.set_epoch(*member, if failed { Epoch::Unknown } else { Epoch::Ours });
        }
    }
}
