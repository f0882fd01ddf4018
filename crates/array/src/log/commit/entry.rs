//! Writing an entry of a commit log, and the flushes that cover entries.

use parlour_units::{Region, Sectors, Slot};

use crate::context::Context;
use crate::effect::{Action, Class};
use crate::format::commit_entry::{CommitPart, EntryContent, EntryHeader};
use crate::job::Kind;
use crate::log::Logs;
use crate::log::ring::Placed;
use crate::plan::{Source, Span, Strategy};

impl Logs {
    /// Assigns a number and a place to a new entry.
    pub(crate) fn begin_entry(
        &mut self,
        cx: &mut Context,
        slot: Slot,
        part: CommitPart,
        content: EntryContent,
        unstored: u32,
        unlanded: u32,
    ) -> EntryHeader {
        let length = content.header_length(cx.geometry.block()) + content.payload();
        let placed = self.commits.log(slot).ring(part).append(length, unstored, unlanded);
        let Placed { number, at, tail, previous } = placed;
        EntryHeader { number, at, tail, previous, content }
    }

    /// Writes an entry whose payload is `spans`.
    pub(crate) fn write_entry(
        &mut self,
        cx: &mut Context,
        slot: Slot,
        header: EntryHeader,
        spans: Vec<Span>,
        kind: Kind,
    ) {
        let part = match &kind {
            Kind::CommitMark { part, .. } => *part,
            Kind::Intent { .. } => CommitPart::Intents,
            _ => CommitPart::Records,
        };
        let (start, length) = cx.geometry.commit_part(part);
        let block = cx.geometry.block();
        let entry = header.length(block);
        let head = header.content.header_length(block);
        let at = start + Sectors::new(header.at % length.get());
        let class = if matches!(kind, Kind::CommitMark { .. }) { Class::Metadata } else { Class::Log };
        let id = cx.jobs.start(kind, class);
        let job = cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        job.metadata = header.encode(cx.identity, block);
        job.plan.spans.push(Span::new(Source::Metadata, Sectors::ZERO, head));
        job.plan.spans.extend(spans);
        job.plan.close(Action::Write { member: slot.into(), at, length: entry, durable: true }, 0);
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

/// The slot whose commit log has `region`'s records and intents.
pub(in crate::log) fn commit_slot(cx: &Context, region: Region) -> Slot {
    cx.geometry.commit_slot(region).expect("a logged layout")
}
