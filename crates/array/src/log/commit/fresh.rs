//! Commit logs when a session begins or a member comes or goes: the first entries, and the numbers.

use parlour_units::Slot;

use crate::context::Context;
use crate::durable::Durable;
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::{CommitPart, EntryContent};
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::log::ring::Ring;
use crate::signal::Signal;

impl Logs {
    /// Writes this session's first entry, which is empty, to a ring that has no entry of this
    /// session. (At the next opening a ring without one counts as lost.) Returns whether there was
    /// such a ring.
    pub(in crate::log) fn start_fresh_ring(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        if !cx.writes || !durable.members_are_informed(cx) {
            return false;
        }
        let Some((slot, part)) = self.fresh_ring(cx, |ring| !ring.is_writing()) else { return false };
        self.write_mark(cx, slot, part);
        true
    }

    /// A ring of a standing member that has no entry of this session.
    fn fresh_ring(&self, cx: &Context, wanted: impl Fn(&Ring) -> bool) -> Option<(Slot, CommitPart)> {
        let logs = (0..).map(Slot::new).zip(&self.commits.logs);
        let standing = logs.filter(|(slot, _)| cx.roster.member_at(*slot).is_some());
        let parts = [CommitPart::Records, CommitPart::Intents];
        let mut rings = standing.flat_map(|(slot, log)| parts.map(|part| (slot, part, log.part(part))));
        let fresh = rings.find(|(.., ring)| ring.is_fresh() && wanted(ring));
        fresh.map(|(slot, part, _)| (slot, part))
    }

    /// Whether all commit logs have an entry of this session.
    pub(crate) fn commit_logs_are_begun(&self, cx: &Context) -> bool {
        self.fresh_ring(cx, |_| true).is_none()
    }

    /// Writes an empty entry.
    pub(in crate::log) fn write_mark(&mut self, cx: &mut Context, slot: Slot, part: CommitPart) {
        let header = self.begin_entry(cx, slot, part, EntryContent::default(), 0, 0);
        let kind = Kind::CommitMark { slot, part };
        self.write_entry(cx, slot, header, Vec::new(), kind);
    }

    /// An empty entry is durable, unless its member was failed meanwhile.
    pub(crate) fn mark_done(&mut self, cx: &mut Context, id: JobId, slot: Slot, part: CommitPart) {
        let turn = cx.jobs.get(id).turn;
        cx.jobs.end(id);
        let stands = cx.roster.member_since(slot, turn).is_some();
        self.commits.written(slot, part, stands);
    }

    /// An empty entry could not be written, and neither can the entries that wait behind it.
    pub(crate) fn mark_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        (id, slot, part): (JobId, Slot, CommitPart),
        failures: &[FailedAccess],
    ) {
        let turn = cx.jobs.get(id).turn;
        cx.jobs.end(id);
        let stands = cx.roster.member_since(slot, turn).is_some();
        let log = self.commits.log(slot);
        log.ring(part).written(false);
        if stands {
            log.ring(part).give_up_beginning();
        }
        match part {
            CommitPart::Records => {
                for job in std::mem::take(&mut log.waiting) {
                    cx.release_buffers(job);
                    cx.signal(Signal::Broken(job, failures.to_vec()));
                }
            }
            CommitPart::Intents => {
                for waiting in std::mem::take(&mut log.announced) {
                    self.pass_without_intent(cx, durable, waiting.region);
                }
            }
        }
    }

    /// A member that stood in another slot may take `slot`. Old entries on that member must not
    /// have higher numbers than the entries that are still to be written.
    pub(crate) fn renumber_commit_log(&mut self, slot: Slot) {
        if !self.commits.exist() {
            return;
        }
        let rings = self.commits.logs.iter().flat_map(|log| [log.records.next(), log.intents.next()]);
        let last = rings.max().unwrap_or(0);
        let log = self.commits.log(slot);
        log.records.renumber(last);
        log.intents.renumber(last);
    }

    /// The member in `slot` is gone, and its commit log with it.
    pub(crate) fn forget_commit_log(&mut self, cx: &mut Context, slot: Slot) {
        if self.commits.exist() {
            let log = self.commits.log(slot);
            log.records.forget();
            log.intents.forget();
            self.wake_commit_waiters(cx);
        }
    }
}
