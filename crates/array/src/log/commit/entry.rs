//! Writing an entry of the commit log, and the flushes that cover entries.

use parlour_units::{Sectors, Slot};

use crate::context::Context;
use crate::durable::Durable;
use crate::effect::{Action, Class};
use crate::format::commit_entry::{CommitPart, EntryContent, EntryHeader};
use crate::job::Kind;
use crate::log::Logs;
use crate::log::commit::places::places;
use crate::log::commit::untold::CommitEntry;
use crate::log::lane::Lane;
use crate::log::ring::{Placed, Wanted};
use crate::plan::{Source, Span, Strategy};

impl Logs {
    /// Assigns a number, a place and members to a new entry of a lane. `unstored` and `unlanded`
    /// are the numbers of records or intents, and of writes, that the entry is kept for.
    pub(crate) fn begin_entry(
        &mut self,
        cx: &mut Context,
        durable: &Durable,
        (part, lane): (CommitPart, Lane),
        content: EntryContent,
        (unstored, unlanded): (u32, u32),
    ) -> (EntryHeader, Vec<Slot>) {
        let length = content.header_length(cx.geometry.block()) + content.payload();
        let log = self.commits.log();
        let slots = places(cx, durable, &log.full);
        log.stream(part).count(&content);
        let wanted = Wanted { length, unstored, unlanded };
        let Placed { number, at, tail, previous } = log.lanes(part).append(lane, wanted, &slots);
        if let Some(entry) = log.lanes(part).entry(number) {
            entry.begin(cx.now);
        }
        (EntryHeader { number, at, tail, previous, content }, slots)
    }

    /// Writes an entry whose payload is `spans` to the members in `slots`.
    pub(crate) fn write_entry(
        &mut self,
        cx: &mut Context,
        slots: &[Slot],
        header: EntryHeader,
        spans: Vec<Span>,
        kind: Kind,
    ) {
        let (part, lane) = match &kind {
            Kind::CommitMark { part, lane } => (*part, *lane),
            Kind::Intent { .. } => (CommitPart::Intents, Lane::FIRST),
            Kind::StageEntry { lane, .. } => (CommitPart::Writes, *lane),
            Kind::Commit(CommitEntry { lane, .. }) => (CommitPart::Records, *lane),
            other => unreachable!("{other:?} writes no entry"),
        };
        let block = cx.geometry.block();
        let entry = header.length(block);
        let head = header.content.header_length(block);
        let at = cx.geometry.entry_at(part, lane, header.at);
        let fresh = self.commits.log().part(part).is_fresh();
        let class = if fresh { Class::Metadata } else { Class::Log };
        let id = cx.jobs.start(kind, class);
        let job = cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        job.metadata = header.encode(cx.identity, block);
        for slot in slots {
            let from = job.plan.spans.len() as u32;
            job.plan.spans.push(Span::new(Source::Metadata, Sectors::ZERO, head));
            job.plan.spans.extend(&spans);
            let member = (*slot).into();
            job.plan.close(Action::Write { member, at, length: entry, durable: true }, from);
        }
        cx.run_own(id);
    }

    /// A flush of all members begins. Returns its number, for [`Logs::flush_covered`].
    pub(crate) fn begin_covering_flush(&mut self) -> u64 {
        let commits = &mut self.commits;
        commits.begun += 1;
        commits.begun
    }

    /// That flush is complete.
    pub(crate) fn flush_covered(&mut self, turn: u64) {
        self.commits.complete = self.commits.complete.max(turn);
    }
}
