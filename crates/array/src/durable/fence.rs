//! The fence: checks whether this server is still the only one that uses the members.
//!
//! Locks separate servers on one host, but not servers on two hosts that share a disk. Therefore
//! each opening writes a new identity, the session, into all superblocks, and the array reads
//! superblocks back: before it writes them, before it writes other metadata if the last check is
//! old, and every few seconds. A superblock of another session means that another server has opened
//! the array. Then no more effects are handed out, and all requests fail.
//!
//! Effects that were handed out before are still carried out. On a disk that accepts writes from
//! any host, both servers can write for a short time: from one check to the next, and as long as a
//! write is under way.

use parlour_units::{Duration, Instant, Member};

use crate::context::Context;
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::exec::progress::Progress;
use crate::format::superblock::{SUPERBLOCK_BYTES, Superblock};
use crate::geometry::{Geometry, SUPERBLOCK};
use crate::identity::Identity;
use crate::ids::JobId;
use crate::job::Kind;
use crate::mode::Mode;
use crate::plan::{Source, Span, Strategy};
use crate::roster::epoch::Epoch;

/// The state of the checks.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    looking: bool,
    /// When the last check began.
    looked: Option<Instant>,
    /// No superblock was written since the last check.
    fresh: bool,
    /// The copy that is read next. They are read in turn, since one may be unreadable.
    copy: usize,
}

impl Fence {
    /// How often superblocks are to be read, if the array writes at all.
    fn interval(cx: &Context) -> Option<Duration> {
        let over = cx.mode == Mode::Stopped || cx.mode.is_abandoned();
        cx.tuning.fence.filter(|_| cx.writes && !over)
    }

    /// Whether superblocks can be read now. They cannot while they are being read or (`writing`)
    /// written.
    fn may_look(&self, writing: bool) -> bool {
        !self.looking && !writing
    }

    /// When superblocks are to be read again, if they are not read earlier for another reason.
    pub(crate) fn deadline(&self, cx: &Context, writing: bool) -> Option<Instant> {
        let runs = matches!(cx.mode, Mode::Serving | Mode::ReadOnly) && self.may_look(writing);
        let interval = Self::interval(cx).filter(|_| runs)?;
        Some(self.looked.map_or(cx.now, |at| at + interval))
    }

    /// Whether superblocks must be read before other metadata is written, or (`superblocks`) before
    /// superblocks are written.
    pub(crate) fn is_due(&self, cx: &Context, writing: bool, superblocks: bool) -> bool {
        let Some(interval) = Self::interval(cx) else { return false };
        let old = self.looked.is_none_or(|at| at + interval <= cx.now);
        self.may_look(writing) && (old || superblocks && !self.fresh)
    }

    /// Whether superblocks are being read; no metadata is written meanwhile.
    pub(crate) fn is_looking(&self) -> bool {
        self.looking
    }

    /// Superblocks are being written: they must be read again before the next write of superblocks.
    pub(crate) fn superblocks_change(&mut self) {
        self.fresh = false;
    }

    /// Reads a superblock of each of `members`, which are all members that are written to.
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

    /// Superblocks were read, except those in `failures`; `known` are this session and those before
    /// it, the newest first. Returns a member to which another server has written, and the session
    /// of that server.
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
            // (Most superblocks name this session; then it makes no difference whether they are
            // sound.)
            let ours = known.first().is_some_and(|session| Superblock::names(block, cx.identity, *session));
            let epoch = cx.roster.epoch(member).filter(|_| !ours)?;
            // A torn or damaged superblock is ignored.
            let superblock = Superblock::decode(block).ok().filter(|_| read)?;
            epoch.is_foreign(&superblock, cx.identity, known).then(|| (member, superblock.session()))
        });
        let found = { foreign }.next();
        cx.jobs.end(id);
        found
    }
}

/// Superblocks were written, except those in `failures` and those that a failed plan did not reach.
/// A member names this session when both its copies do.
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
