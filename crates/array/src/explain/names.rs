//! Words for the data that a plan's steps move and compute.

use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use super::explanation::{ExplainedAccess, ExplainedStep};
use crate::draw::Content as Label;
use crate::effect::Action;
use crate::geometry::Geometry;
use crate::layout::{Location, Occupant};
use crate::plan::{Plan, Source, Span, Step, Strategy, Target};

/// A host's plan addresses slots only.
pub(super) fn on_slot(action: Action<Target>) -> Action<Slot> {
    action.map(|target| target.slot().expect("a host's plan is for slots"))
}

/// Chooses words for the data that a plan's steps move and compute.
pub(super) struct Names<'a> {
    geometry: &'a Geometry,
    /// Where the request starts, and its length.
    range: (Sector, Sectors),
    /// The stripe of the plan, unless it reads several.
    stripe: Option<Stripe>,
    strategy: Strategy,
    /// By scratch buffer: the name of its content.
    scratch: Vec<String>,
}

impl<'a> Names<'a> {
    /// For a plan of a request to this range of the array.
    pub(super) fn new(
        geometry: &'a Geometry,
        range: (Sector, Sectors),
        stripe: Option<Stripe>,
        plan: &Plan,
    ) -> Names<'a> {
        let scratch = vec![String::new(); plan.scratch.len()];
        Names { geometry, range, stripe, strategy: plan.strategy, scratch }
    }

    /// What step number `number` does. Sums of several outputs are as many computations.
    pub(super) fn steps(&mut self, plan: &Plan, number: usize) -> Vec<ExplainedStep> {
        let step = &plan.steps[number];
        match step.action {
            Action::Sum { outputs, adds } => {
                let coefficients = plan.coefficients_of(number as u32);
                let (outputs, sources) = plan.spans_of(step).split_at(outputs.into());
                let factors = |number: usize| &coefficients[number * sources.len()..][..sources.len()];
                let each = outputs.iter().enumerate();
                each.map(|(number, output)| self.sum(plan, (*output, adds), sources, factors(number)))
                    .collect()
            }
            _ => vec![self.step(plan, step)],
        }
    }

    fn step(&mut self, plan: &Plan, step: &Step) -> ExplainedStep {
        let spans = plan.spans_of(step);
        match on_slot(step.action) {
            Action::Read { member, at, length } => {
                let what: Vec<String> =
                    self.labels(member, at, length).map(|label| self.old(label)).collect();
                if let Source::Scratch(index) = spans[0].source {
                    self.scratch[index as usize] = what.join(", ");
                }
                ExplainedStep::Read(access(member, at, length, what))
            }
            Action::Write { member, at, length, .. } => {
                let what = self.labels(member, at, length).map(|label| format!("new {}", word(label)));
                ExplainedStep::Write(access(member, at, length, what.collect()))
            }
            Action::Float { member, at, length, .. } => {
                if let Source::Scratch(index) = spans[0].source {
                    let old: Vec<String> =
                        self.labels(member, at, length).map(|label| self.old(label)).collect();
                    self.scratch[index as usize] = old.join(", ");
                }
                let what =
                    self.labels(member, at, length).map(|label| format!("old and new {}", word(label)));
                ExplainedStep::Float(access(member, at, length, what.collect()))
            }
            Action::Zero { member, at, length } => {
                let what = self.labels(member, at, length).map(word);
                ExplainedStep::Zero(access(member, at, length, what.collect()))
            }
            Action::ReadModifyWrite { .. } => {
                unreachable!(
                    "what is explained is done on real members, which read and write one after the other"
                )
            }
            Action::Flush { member } => ExplainedStep::Flush { member: member.get() },
            Action::Compare | Action::Checksum | Action::Sum { .. } => {
                unreachable!("sums are explained apart, and what is compared or recorded is not")
            }
        }
    }

    /// The units and logs in a range of a member.
    fn labels(&self, slot: Slot, at: Sector, length: Sectors) -> impl Iterator<Item = Label> + use<> {
        let layout = self.geometry.layout();
        let mut labels: Vec<Label> = Vec::new();
        let mut from = Sector::ZERO + (at - self.geometry.data_start());
        let end = from + length;
        while from < end {
            let offset = match layout.occupant(Location { slot, at: from }) {
                Occupant::Unit { stripe, unit, offset } => {
                    labels.push(Label::of_unit(self.geometry, stripe, unit));
                    offset
                }
                Occupant::Spare { offset, .. } => offset,
                Occupant::Log { .. } | Occupant::Unused => break,
            };
            from = from + (layout.unit_length() - offset);
        }
        labels.into_iter()
    }

    /// The name of data that is read: "old", if this plan overwrites it.
    fn old(&self, label: Label) -> String {
        let unit = self.geometry.layout().unit_length();
        let (at, length) = self.range;
        let first = at.from_start() / unit;
        let last = (at + length).from_start().get().div_ceil(unit.get());
        let written = match label {
            Label::Data { number } => (first..last).contains(&number),
            _ => true,
        };
        let reads = matches!(self.strategy, Strategy::Direct | Strategy::DegradedRead);
        if written && !reads { format!("old {}", word(label)) } else { word(label) }
    }

    /// The sum in one output.
    fn sum(
        &self,
        plan: &Plan,
        (output, adds): (Span, bool),
        sources: &[Span],
        factors: &[u8],
    ) -> ExplainedStep {
        let held = adds.then(|| self.source(output));
        let terms = sources.iter().zip(factors).filter(|(_, factor)| **factor != 0);
        let term = |(span, factor): (&Span, &u8)| match factor {
            1 => self.source(*span),
            factor => format!("{factor} × {}", self.source(*span)),
        };
        ExplainedStep::Compute {
            result: self.result(plan, output),
            sources: held.into_iter().chain(terms.map(term)).collect(),
            length: output.length.bytes(),
        }
    }

    fn source(&self, span: Span) -> String {
        match span.source {
            Source::Host => format!("new {}", self.host_unit(span)),
            Source::Scratch(index) => self.scratch[index as usize].clone(),
            Source::Zeroes | Source::Record(_) | Source::Metadata | Source::Buffer(_) => "zeroes".to_owned(),
        }
    }

    /// The name of the result of a computation.
    fn result(&self, plan: &Plan, span: Span) -> String {
        match (span.source, self.strategy) {
            (Source::Host, _) => self.host_unit(span),
            (Source::Record(_), Strategy::LoggedUpdate) => format!("update record for {}", self.parity()),
            (Source::Record(_), _) => format!("overwrite record for {}", self.parity()),
            (Source::Scratch(_), Strategy::Floating) => format!("difference for {}", self.parity()),
            _ => self.written(plan, span.source).unwrap_or_else(|| format!("new {}", self.parity())),
        }
    }

    /// The name of what the plan writes from a source.
    fn written(&self, plan: &Plan, source: Source) -> Option<String> {
        let from = |step: &&Step| {
            let spans = plan.spans_of(step);
            matches!(step.action, Action::Write { .. }) && spans.iter().any(|span| span.source == source)
        };
        let Action::Write { member, at, length, .. } = on_slot(plan.steps.iter().find(from)?.action) else {
            return None;
        };
        self.labels(member, at, length).next().map(|label| format!("new {}", word(label)))
    }

    /// The data unit to which a part of the host's payload belongs.
    fn host_unit(&self, span: Span) -> String {
        let unit = (self.range.0 + span.start).from_start() / self.geometry.layout().unit_length();
        format!("D{unit}")
    }

    fn parity(&self) -> String {
        let stripe = self.stripe.expect("a plan that computes works on one stripe");
        let check = Unit::new(self.geometry.layout().data_units());
        Label::of_unit(self.geometry, stripe, check).to_string()
    }
}

/// The name of a unit in a sentence.
fn word(label: Label) -> String {
    match label {
        Label::Copy { number, copy } => format!("D{number} (copy {copy})"),
        other => other.to_string(),
    }
}

fn access(member: Slot, at: Sector, length: Sectors, what: Vec<String>) -> ExplainedAccess {
    ExplainedAccess { member: member.get(), at: at.from_start().bytes(), length: length.bytes(), what }
}
