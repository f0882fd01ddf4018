//! Plans: typed steps in phases. A plan is built in one place and carried out in another, as in
//! RAIDframe.
//!
//! All accesses of a phase may run at the same time; computations keep their order. A phase starts
//! when the one before is done. Plans follow one rule: all reads are in earlier phases than all
//! writes. So a plan that fails while it reads has changed nothing, and one that fails while it
//! writes has read all that it needed. An access that reads and writes at once keeps this property,
//! since a plan has at most one for a data unit, and after it those for its check units: see
//! `combined`.
//!
//! A plan names no real buffers: it says "the host's payload", "scratch 2", "log record 0". So the
//! same builder serves the array and `parlour explain`.

mod bands;
mod build;
mod combined;
mod in_place;
mod logged;
mod parts;
mod pieces;
mod recompute;
mod view;

use std::fmt;
use std::ops::Range;

use parlour_codec::sector::digest;
use parlour_units::{Member, Sector, Sectors, Slot, Unit};

use crate::buffer::BufferId;
use crate::columns::Columns;
use crate::effect::{Action, Modify};
use crate::layout::Location;

pub(crate) use build::Builder;
pub(crate) use view::{Content, Fragment, LogMethod, Lost, StripeView, StripeWrite, is_whole};

/// How a request is carried out on a stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Only the host's own accesses.
    #[default]
    Direct,
    /// Reads answered from the units that are left (Chen §2).
    DegradedRead,
    /// All data units of the stripe are written: check units follow from them alone.
    FullStripe,
    /// Old data and old check units are read, and the difference is applied to both (Chen §3,
    /// method 1).
    ReadModifyWrite,
    /// Read-modify-write in two accesses: each unit is read, and written where the heads come first
    /// (Stodolsky §4).
    Floating,
    /// The rest of the stripe is read, and check units are computed anew (Chen §3, method 2).
    ReconstructWrite,
    /// Some columns use read-modify-write and others reconstruct-write, because members are
    /// missing.
    DegradedWrite,
    /// Every copy is written.
    Copies,
    /// Old data is read and the difference logged (Stodolsky §2).
    LoggedUpdate,
    /// New parity is computed and logged as an overwrite record (Stodolsky §2.5).
    LoggedOverwrite,
    /// New parity is written in place and a cancel record logged (Stodolsky §2.5, footnote 3).
    LoggedCancel,
    /// Whole stripes become zeroes and are unmapped.
    Unmap,
    /// Units are computed from the others and written (rebuild, resync, repair).
    Reconstruct,
    /// Units are read and compared (scrub).
    Verify,
    /// Log and parity are read, records applied, parity written (Stodolsky §2).
    Reintegrate,
    /// After a crash: data is compared with its records, and missing differences are applied.
    Redo,
    /// Metadata: superblocks, bitmaps, log segments.
    Metadata,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strategy::Direct => "direct",
            Strategy::DegradedRead => "degraded read",
            Strategy::FullStripe => "full-stripe write",
            Strategy::ReadModifyWrite => "read-modify-write",
            Strategy::Floating => "floating write",
            Strategy::ReconstructWrite => "reconstruct-write",
            Strategy::DegradedWrite => "degraded write",
            Strategy::Copies => "write to every copy",
            Strategy::LoggedUpdate => "logged update",
            Strategy::LoggedOverwrite => "logged overwrite",
            Strategy::LoggedCancel => "full-stripe write with cancel record",
            Strategy::Unmap => "unmap",
            Strategy::Reconstruct => "reconstruct",
            Strategy::Verify => "verify",
            Strategy::Reintegrate => "reintegrate",
            Strategy::Redo => "redo",
            Strategy::Metadata => "metadata",
        })
    }
}

/// The source or target of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The host's payload.
    Host,
    /// Zeroes.
    Zeroes,
    /// A scratch buffer of the plan, by number.
    Scratch(u32),
    /// Room in a log buffer that was reserved for the plan, by number.
    Record(u16),
    /// The job's own metadata bytes.
    Metadata,
    /// A buffer that exists apart from the plan.
    Buffer(BufferId),
}

/// A part of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The source.
    pub source: Source,
    /// Where it starts in the source.
    pub start: Sectors,
    /// Its length.
    pub length: Sectors,
}

impl Span {
    pub(crate) fn new(source: Source, start: Sectors, length: Sectors) -> Span {
        Span { source, start, length }
    }
}

/// A part of a logged record that check units lack, with its columns. It is to be added to the
/// computed `target`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    pub(crate) target: Unit,
    pub(crate) held: Held,
    pub(crate) columns: Columns,
    pub(crate) coefficient: u8,
}

/// Where a part of a record is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Held {
    Memory(Span),
    Member(OnMember),
}

/// A part of what is read from a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnMember {
    pub(crate) slot: Slot,
    /// What is read: whole blocks.
    pub(crate) at: Sector,
    pub(crate) length: Sectors,
    /// The distance of the part from the start of it.
    pub(crate) skip: Sectors,
    /// The digest that it must have.
    pub(crate) digest: Option<u32>,
}

/// The target of a step's access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The member that is in the slot when the step is handed out.
    Slot(Slot),
    /// This member, in any slot or as a spare.
    Member(Member),
}

impl Target {
    /// The slot, if the step is for a slot.
    pub fn slot(self) -> Option<Slot> {
        match self {
            Target::Slot(slot) => Some(slot),
            Target::Member(_) => None,
        }
    }
}

impl From<Slot> for Target {
    fn from(slot: Slot) -> Target {
        Target::Slot(slot)
    }
}

impl From<Member> for Target {
    fn from(member: Member) -> Target {
        Target::Member(member)
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Steps of one phase may run at the same time.
    pub phase: u16,
    /// What to do.
    pub action: Action<Target>,
    /// The bytes: a range of [`Plan::spans`].
    pub spans: Range<u32>,
}

/// Steps in phases. See the module.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The strategy that was chosen.
    pub strategy: Strategy,
    /// In the order of phases.
    pub steps: Vec<Step>,
    /// The spans of all steps.
    pub spans: Vec<Span>,
    /// Lengths of the scratch buffers.
    pub scratch: Vec<Sectors>,
    /// The plan's log records must count before this phase: with `journal` be durable, with
    /// `bitmap` be in the log's buffers. It is the phase that writes data, or the one behind the
    /// last if none of that data's members is there.
    pub commit_before: Option<u16>,
    /// Blocks of the bad-block log that the plan writes stay on the list.
    pub(crate) keeps_listed: bool,
    /// Long reads that fail are repeated in parts, to learn what is really unreadable. Those who
    /// act on failures by steps, or by windows of their own, do without.
    pub(crate) narrows: bool,
    phase: u16,
    /// The coefficients of all sums: by step, then by output, then by source.
    coefficients: Vec<u8>,
    /// Steps that compute sums, each with where its coefficients start.
    sums: Vec<(u32, u32)>,
    /// Steps that compute checksums, each with the number of checksums up to and including it.
    checksums: Vec<(u32, usize)>,
    /// What is recorded before it is written in place, in the order of its checksums.
    pub(crate) recorded: Vec<Recorded>,
    /// Steps that verify data that others have read.
    verified: Vec<Verified>,
}

/// A part of a unit that changes, which is recorded before it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) unit: Unit,
    pub(crate) columns: Columns,
    /// The step that computes the checksums of its new content, which is the step's one span.
    /// `None` for a check unit on no member, whose content is not computed.
    pub(crate) step: Option<u32>,
}

/// The checksums that a verifying step must find.
#[derive(Clone, Debug)]
pub(crate) struct Verified {
    /// The step that computes the checksums.
    step: u32,
    /// The step that has read the data.
    pub(crate) read: u32,
    /// The part of the read that counts as unreadable if the checksums differ, relative to its
    /// start.
    pub(crate) part: Columns,
    expected: Expected,
}

/// Checksums that show whether data that was read is the data that was written.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// The digest of the checksums.
    Digest(u32),
    /// Each checksum.
    Sums(Vec<u64>),
}

impl Verified {
    /// Whether the checksums are as expected.
    pub(crate) fn holds(&self, sums: &[u64]) -> bool {
        match &self.expected {
            Expected::Digest(expected) => digest(sums.iter().copied()) == *expected,
            Expected::Sums(expected) => expected == sums,
        }
    }
}

/// How reads of a member are merged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merging {
    /// The greatest length of a merged access.
    pub(crate) longest: Sectors,
    /// The greatest gap between two reads that is read along.
    pub(crate) gap: Sectors,
}

impl Plan {
    /// An empty plan with this strategy.
    pub(crate) fn of(strategy: Strategy) -> Plan {
        Plan { strategy, ..Plan::default() }
    }

    /// Empties the plan, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.spans.clear();
        self.scratch.clear();
        self.strategy = Strategy::Direct;
        self.commit_before = None;
        self.keeps_listed = false;
        self.narrows = false;
        self.phase = 0;
        self.coefficients.clear();
        self.sums.clear();
        self.checksums.clear();
        self.recorded.clear();
        self.verified.clear();
    }

    /// Ends the current phase, if it has any steps.
    pub(crate) fn next_phase(&mut self) {
        if self.steps.last().is_some_and(|step| step.phase == self.phase) {
            self.phase += 1;
        }
    }

    pub(crate) fn phase(&self) -> u16 {
        self.phase
    }

    /// A new scratch buffer.
    pub(crate) fn scratch(&mut self, length: Sectors) -> Source {
        self.scratch.push(length);
        Source::Scratch(self.scratch.len() as u32 - 1)
    }

    /// Adds a step to the current phase.
    pub(crate) fn push(&mut self, action: Action<Target>, spans: &[Span]) {
        let from = self.spans.len() as u32;
        self.spans.extend_from_slice(spans);
        self.close(action, from);
    }

    /// Adds a step whose spans are those from index `from` on.
    pub(crate) fn close(&mut self, action: Action<Target>, from: u32) {
        let spans = from..self.spans.len() as u32;
        self.steps.push(Step { phase: self.phase, action, spans });
    }

    pub(crate) fn read(&mut self, target: impl Into<Target>, at: Sector, span: Span) {
        let member = target.into();
        self.push(Action::Read { member, at, length: span.length }, &[span]);
    }

    pub(crate) fn write(&mut self, target: impl Into<Target>, at: Sector, span: Span, durable: bool) {
        let member = target.into();
        self.push(Action::Write { member, at, length: span.length, durable }, &[span]);
    }

    /// Reads `span.length` at `at` into the first span, applies `modify` to it and the second span,
    /// and writes the result to the same place.
    pub(crate) fn read_modify_write(
        &mut self,
        location: Location,
        modify: Modify,
        spans: [Span; 2],
        durable: bool,
    ) {
        let (member, at, length) = (location.slot.into(), location.at, spans[0].length);
        self.push(Action::ReadModifyWrite { member, at, length, modify, durable }, &spans);
    }

    /// The same, but writes the result elsewhere in the cylinder.
    pub(crate) fn float(&mut self, location: Location, modify: Modify, spans: [Span; 2], durable: bool) {
        let (member, at, length) = (location.slot.into(), location.at, spans[0].length);
        self.push(Action::Float { member, at, length, modify, durable }, &spans);
    }

    /// Reads adjacent places of a member in one access, of at most `merging.longest`. Empties
    /// `reads`.
    pub(crate) fn read_merged(&mut self, reads: &mut Vec<(Slot, Sector, Span)>, merging: Merging) {
        reads.sort_unstable_by_key(|(slot, at, _)| (*slot, *at));
        let mut rest = reads.drain(..).peekable();
        while let Some((slot, at, span)) = rest.next() {
            let from = self.spans.len() as u32;
            let mut length = span.length;
            self.spans.push(span);
            while let Some((_, next_at, next)) = rest.next_if(|(other, next_at, next)| {
                let end = at + length;
                *other == slot
                    && *next_at >= end
                    && *next_at - end <= merging.gap
                    && *next_at - at + next.length <= merging.longest
            }) {
                let gap = next_at - (at + length);
                if !gap.is_zero() {
                    let span = self.discard(gap);
                    self.spans.push(span);
                }
                length += gap + next.length;
                self.spans.push(next);
            }
            self.close(Action::Read { member: slot.into(), at, length }, from);
        }
    }

    /// A target for gaps that are read along: all use the same one, the plan's only scratch buffer.
    fn discard(&mut self, length: Sectors) -> Span {
        match self.scratch.first_mut() {
            Some(longest) => *longest = length.max(*longest),
            None => self.scratch.push(length),
        }
        Span::new(Source::Scratch(0), Sectors::ZERO, length)
    }

    /// Whether a plan of merged reads reads gaps along.
    pub(crate) fn reads_through(&self) -> bool {
        !self.scratch.is_empty()
    }

    /// `destination` = exclusive or of the sources.
    pub(crate) fn xor(&mut self, destination: Span, sources: impl IntoIterator<Item = Span>) {
        self.sum(destination, sources.into_iter().map(|source| (source, 1)));
    }

    /// `destination` = the sum of the terms: what each span holds, times a coefficient.
    pub(crate) fn sum(&mut self, destination: Span, terms: impl IntoIterator<Item = (Span, u8)>) {
        self.sum_one(false, destination, terms);
    }

    /// The sum of the terms is added to `destination`.
    pub(crate) fn add(&mut self, destination: Span, terms: impl IntoIterator<Item = (Span, u8)>) {
        self.sum_one(true, destination, terms);
    }

    fn sum_one(&mut self, adds: bool, destination: Span, terms: impl IntoIterator<Item = (Span, u8)>) {
        let from = self.spans.len() as u32;
        self.sums.push((self.steps.len() as u32, self.coefficients.len() as u32));
        self.spans.push(destination);
        for (span, coefficient) in terms {
            self.spans.push(span);
            self.coefficients.push(coefficient);
        }
        self.close(Action::Sum { outputs: 1, adds }, from);
    }

    /// Each of the outputs = a sum of the sources, or with `adds` that is added to them.
    /// `coefficient` has that of an output and a source. Outputs that are sums of the same sources
    /// are computed in one pass.
    pub(crate) fn sums(
        &mut self,
        adds: bool,
        outputs: &[Span],
        sources: &[Span],
        coefficient: impl Fn(usize, usize) -> u8,
    ) {
        let of_output = |output| (0..sources.len()).map(move |source| (output, source));
        let pairs = (0..outputs.len()).flat_map(of_output);
        let factors: Vec<u8> = pairs.map(|(output, source)| coefficient(output, source)).collect();
        let of = |output: usize| &factors[output * sources.len()..][..sources.len()];
        let alike = |a: usize, b: usize| of(a).iter().zip(of(b)).all(|(a, b)| (*a == 0) == (*b == 0));
        for first in 0..outputs.len() {
            if (0..first).any(|before| alike(before, first)) {
                continue;
            }
            let from = self.spans.len() as u32;
            self.sums.push((self.steps.len() as u32, self.coefficients.len() as u32));
            let together = (first..outputs.len()).filter(|output| alike(first, *output));
            self.spans.extend(together.clone().map(|output| outputs[output]));
            let used = sources.iter().zip(of(first)).filter(|(_, factor)| **factor != 0);
            self.spans.extend(used.map(|(source, _)| *source));
            let of_these = together.clone().flat_map(of).filter(|factor| **factor != 0);
            self.coefficients.extend(of_these);
            self.close(Action::Sum { outputs: together.count() as u16, adds }, from);
        }
    }

    /// Each output = the sum of its own terms. Does nothing without outputs.
    pub(crate) fn sums_of(&mut self, results: &[(Span, Vec<(Span, u8)>)]) {
        let mut sources: Vec<Span> = Vec::new();
        for (span, _) in results.iter().flat_map(|(_, terms)| terms) {
            if !sources.contains(span) {
                sources.push(*span);
            }
        }
        let outputs: Vec<Span> = results.iter().map(|(output, _)| *output).collect();
        self.sums(false, &outputs, &sources, |output, source| {
            let terms = results[output].1.iter().filter(|(span, _)| *span == sources[source]);
            terms.fold(0, |sum, (_, coefficient)| sum ^ coefficient)
        });
    }

    /// The coefficients of a step that computes sums: by output, then by source.
    pub fn coefficients_of(&self, step: u32) -> &[u8] {
        let index = self.sums.binary_search_by_key(&step, |(step, _)| *step).expect("the step sums");
        let start = self.sums[index].1 as usize;
        let Step { action: Action::Sum { outputs, .. }, spans, .. } = &self.steps[step as usize] else {
            unreachable!("a step that sums");
        };
        let (outputs, spans) = (usize::from(*outputs), (spans.end - spans.start) as usize);
        &self.coefficients[start..start + outputs * (spans - outputs)]
    }

    pub(crate) fn compare(&mut self, a: Span, b: Span) {
        self.push(Action::Compare, &[a, b]);
    }

    /// Computes the checksums of `span`.
    pub(crate) fn checksum(&mut self, span: Span) {
        let all = self.checksums.last().map_or(0, |(_, all)| *all) + span.length.get() as usize;
        self.checksums.push((self.steps.len() as u32, all));
        self.push(Action::Checksum, &[span]);
    }

    /// Records the new content of a part of a unit, `span`, before it is written: computes its
    /// checksums.
    pub(crate) fn record(&mut self, unit: Unit, columns: Columns, span: Span) {
        self.recorded.push(Recorded { unit, columns, step: Some(self.steps.len() as u32) });
        self.checksum(span);
    }

    /// Records that a part of a check unit changes that is on no member.
    pub(crate) fn record_void(&mut self, unit: Unit, columns: Columns) {
        self.recorded.push(Recorded { unit, columns, step: None });
    }

    /// Verifies `span`, which is the `part` of the data that step number `read` reads. If it is not
    /// as `expected`, that part counts as unreadable.
    pub(crate) fn verify(&mut self, span: Span, read: u32, part: Columns, expected: Expected) {
        self.verified.push(Verified { step: self.steps.len() as u32, read, part, expected });
        self.push(Action::Checksum, &[span]);
    }

    /// What `step` verifies, if it is a verifying step.
    pub(crate) fn verified(&self, step: u32) -> Option<&Verified> {
        let index = self.verified.binary_search_by_key(&step, |verified| verified.step).ok()?;
        Some(&self.verified[index])
    }

    /// The number of checksums up to and including `step`, which must compute some itself.
    pub(crate) fn checksums_up_to(&self, step: u32) -> usize {
        let index = self.checksums.binary_search_by_key(&step, |(step, _)| *step);
        self.checksums[index.expect("a step that asks for checksums")].1
    }

    /// The spans of a step.
    pub fn spans_of(&self, step: &Step) -> &[Span] {
        &self.spans[step.spans.start as usize..step.spans.end as usize]
    }

    /// The length of everything that is written.
    pub(crate) fn written(&self) -> Sectors {
        let writes = self.steps.iter().filter(|step| matches!(step.action, Action::Write { .. }));
        let lengths = writes.filter_map(|step| step.action.range());
        lengths.fold(Sectors::ZERO, |sum, (_, length)| sum + length)
    }

    /// The number of accesses to members, without computations.
    pub fn accesses(&self) -> usize {
        self.steps.iter().filter(|step| !step.action.is_computation()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_that_are_sums_of_the_same_sources_are_computed_together() {
        let span = |at: u64| Span::new(Source::Host, Sectors::new(at), Sectors::new(1));
        let mut plan = Plan::default();
        plan.sums_of(&[
            (span(0), vec![(span(3), 1), (span(4), 1), (span(5), 1)]),
            (span(1), vec![(span(3), 1), (span(6), 1)]),
            (span(2), vec![(span(3), 1), (span(4), 2), (span(5), 4)]),
        ]);
        let starts: Vec<u64> = plan.spans.iter().map(|span| span.start.get()).collect();
        assert_eq!(plan.steps.len(), 2);
        assert_eq!(plan.steps[0].action, Action::Sum { outputs: 2, adds: false });
        assert_eq!(plan.steps[1].action, Action::Sum { outputs: 1, adds: false });
        assert_eq!(starts, [0, 2, 3, 4, 5, 1, 3, 6]);
        assert_eq!(plan.coefficients_of(0), [1, 1, 1, 1, 2, 4]);
        assert_eq!(plan.coefficients_of(1), [1, 1]);
    }

    #[test]
    fn each_step_keeps_its_own_coefficients() {
        let span = |at: u64| Span::new(Source::Host, Sectors::new(at), Sectors::new(1));
        let mut plan = Plan::default();
        plan.xor(span(0), [span(1), span(2)]);
        plan.compare(span(0), span(1));
        plan.add(span(3), [(span(4), 7)]);
        plan.sums_of(&[]);
        assert_eq!([0, 2].map(|step| plan.coefficients_of(step)), [&[1, 1][..], &[7]]);
    }
}
