//! Explains what the array does for one request, step by step: the map, the strategy and the plan,
//! from the array's own builders, for an array that is otherwise idle and whose logs are empty.

use std::fmt;

use parlour_units::{Bytes, Sector, Sectors, Slot, Stripe, Unit};
use serde::Serialize;

use crate::cache::Cached;
use crate::code::UnitSet;
use crate::columns::{Piece, Window};
use crate::draw::Content as Label;
use crate::effect::Action;
use crate::geometry::Geometry;
use crate::layout::{Layout, Location, Occupant};
use crate::map::{pieces, windows};
use crate::plan::{
    Builder, Content, Fragment, LogMethod, Lost, Plan, Source, Span, Step, Strategy, StripeView,
};
use crate::plan::{StripeWrite, Target};
use crate::tuning::{Simulated, Tuning};
use crate::update;

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplainedOperation {
    /// A read.
    Read,
    /// A write.
    Write,
}

/// Why a request cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The request has no length.
    #[error("a request of no length does nothing; give a length")]
    Empty,
    /// The request does not lie in the array.
    #[error("the request ends at byte {end}, beyond the array's end at byte {capacity}")]
    BeyondEnd {
        /// The request's end, in bytes.
        end: u64,
        /// The array's size in bytes.
        capacity: u64,
    },
    /// The request is not aligned to blocks.
    #[error("the request is not aligned to the array's block of {0}: give multiples of it")]
    Misaligned(Bytes),
    /// The explanation would be too long to read.
    #[error("the request is too long to explain: at most {0}")]
    TooLong(Bytes),
    /// There is no such member.
    #[error("the array has no member {0}; it has members 0 to {1}")]
    NoSuchMember(u16, u16),
    /// More members have failed than the organization tolerates.
    #[error("data is lost: stripe {stripe} needs more than the failed members leave")]
    Lost {
        /// The stripe that cannot be computed.
        stripe: u64,
    },
}

/// The longest request that can be explained: 1 GiB.
const LONGEST: Sectors = Sectors::new(1 << 21);

/// All accesses and computations for a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The kind of request.
    pub operation: ExplainedOperation,
    /// The byte of the array at which it starts.
    pub at: Bytes,
    /// Its length.
    pub length: Bytes,
    /// Members that are assumed to have failed.
    pub failed: Vec<u16>,
    /// The pieces of data units that the request touches, in the order of the array's addresses.
    pub map: Vec<MappedPiece>,
    /// The plans, one for each window (a stripe, or a part of a long one). All direct reads are one
    /// plan.
    pub plans: Vec<ExplainedPlan>,
    /// Accesses to members that the host waits for.
    pub accesses: usize,
}

/// A part of one data unit that the request touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MappedPiece {
    /// The byte of the request at which it starts.
    pub request_offset: Bytes,
    /// Its length.
    pub length: Bytes,
    /// The stripe.
    pub stripe: u64,
    /// The data unit, counted over the whole array.
    pub unit: u64,
    /// The first byte in the unit.
    pub unit_offset: Bytes,
    /// The member that holds it.
    pub member: u16,
    /// The byte of the member at which it starts.
    pub at: Bytes,
    /// Whether that member has failed.
    pub failed: bool,
}

/// A plan, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedPlan {
    /// The stripe; `None` for direct reads, which may cover several.
    pub stripe: Option<u64>,
    /// The strategy, in words.
    pub strategy: String,
    /// Phases, one after the other; the steps of one phase may run at the same time.
    pub phases: Vec<Vec<ExplainedStep>>,
    /// Accesses to members.
    pub accesses: usize,
    /// Other remarks.
    pub notes: Vec<String>,
}

/// A step, explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum ExplainedStep {
    /// An access that reads.
    Read(ExplainedAccess),
    /// An access that writes.
    Write(ExplainedAccess),
    /// An access that writes a unit to a new place, perhaps after reading it.
    Float(ExplainedAccess),
    /// An access that zeroes.
    Zero(ExplainedAccess),
    /// An access that flushes.
    Flush {
        /// The member.
        member: u16,
    },
    /// A computation.
    Compute {
        /// The result.
        result: String,
        /// The result is the exclusive or of these.
        sources: Vec<String>,
        /// The length of each.
        length: Bytes,
    },
}

/// An access to a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedAccess {
    /// The member.
    pub member: u16,
    /// The byte of the member at which it starts.
    pub at: Bytes,
    /// Its length.
    pub length: Bytes,
    /// The units that are read or written, in the order of places.
    pub what: Vec<String>,
}

impl fmt::Display for ExplainedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, access) = match self {
            ExplainedStep::Read(access) => ("read ", access),
            ExplainedStep::Write(access) => ("write", access),
            ExplainedStep::Float(access) => ("float", access),
            ExplainedStep::Zero(access) => ("zero ", access),
            ExplainedStep::Flush { member } => return write!(f, "flush member {member}"),
            ExplainedStep::Compute { result, sources, length } => {
                return write!(f, "compute {result} = {}, {}", sources.join(" xor "), exact(*length));
            }
        };
        let ExplainedAccess { member, at, length, what } = access;
        write!(f, "{word} member {member} at {}, {}: {}", exact(*at), exact(*length), what.join(", "))
    }
}

/// A place or length without rounding, in the largest unit of which it is a whole multiple.
pub fn exact(bytes: Bytes) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = |(_, shift): &&(&str, u32)| bytes.get() != 0 && bytes.get().trailing_zeros() >= *shift;
    match UNITS.iter().find(whole) {
        Some((unit, shift)) => format!("{} {unit}", bytes.get() >> shift),
        None => format!("{} B", bytes.get()),
    }
}

/// Explains a request to an idle array whose `failed` members are missing.
///
/// # Errors
/// The array would refuse the request.
pub fn explain(
    geometry: &Geometry,
    tuning: &Tuning,
    operation: ExplainedOperation,
    at: Sector,
    length: Sectors,
    failed: &[Slot],
) -> Result<Explanation, ExplainError> {
    check(geometry, at, length, failed)?;
    let case = Case { geometry, tuning, simulated: Simulated::default(), at, length, failed };
    let plans: Vec<ExplainedPlan> =
        case.planned(operation)?.into_iter().map(|one| case.explained(one)).collect();
    Ok(Explanation {
        operation,
        at: at.from_start().bytes(),
        length: length.bytes(),
        failed: failed.iter().map(|member| member.get()).collect(),
        map: case.map(),
        accesses: plans.iter().map(|plan| plan.accesses).sum(),
        plans,
    })
}

/// The accesses that a host waits for if it sends a request to an idle, complete array in a
/// simulation: for each plan, a list for each phase. Plans run at the same time, and so do the
/// accesses of a phase.
///
/// # Errors
/// As [`explain`].
pub fn accesses(
    geometry: &Geometry,
    (tuning, simulated): (&Tuning, Simulated),
    operation: ExplainedOperation,
    at: Sector,
    length: Sectors,
) -> Result<Vec<Vec<Vec<Action<Slot>>>>, ExplainError> {
    check(geometry, at, length, &[])?;
    let case = Case { geometry, tuning, simulated, at, length, failed: &[] };
    let phases = |planned: &Planned| -> Vec<Vec<Action<Slot>>> {
        let steps = planned.plan.steps.iter().filter(|step| step.action.member().is_some());
        let steps: Vec<&Step> = steps.collect();
        let phases = steps.chunk_by(|one, next| one.phase == next.phase);
        phases.map(|steps| steps.iter().map(|step| on_slot(step.action)).collect()).collect()
    };
    Ok(case.planned(operation)?.iter().map(phases).collect())
}

fn check(geometry: &Geometry, at: Sector, length: Sectors, failed: &[Slot]) -> Result<(), ExplainError> {
    let capacity = geometry.capacity();
    let block = geometry.block();
    let members = geometry.members();
    if length.is_zero() {
        return Err(ExplainError::Empty);
    }
    if at.from_start() > capacity || length > capacity - at.from_start() {
        let end = at.bytes().saturating_add(length.bytes().get());
        return Err(ExplainError::BeyondEnd { end, capacity: capacity.bytes().get() });
    }
    if !at.from_start().is_multiple_of(block) || !length.is_multiple_of(block) {
        return Err(ExplainError::Misaligned(block.bytes()));
    }
    if length > LONGEST {
        return Err(ExplainError::TooLong(LONGEST.bytes()));
    }
    match failed.iter().find(|member| member.get() >= members) {
        Some(member) => Err(ExplainError::NoSuchMember(member.get(), members - 1)),
        None => Ok(()),
    }
}

/// A request and its array.
struct Case<'a> {
    geometry: &'a Geometry,
    tuning: &'a Tuning,
    simulated: Simulated,
    at: Sector,
    length: Sectors,
    failed: &'a [Slot],
}

/// The plan for a request, or for a part of it.
struct Planned {
    /// The stripe, if the plan is for a single one.
    stripe: Option<Stripe>,
    plan: Plan,
    /// Other remarks.
    notes: Vec<String>,
}

impl<'a> Case<'a> {
    fn planned(&self, operation: ExplainedOperation) -> Result<Vec<Planned>, ExplainError> {
        match operation {
            ExplainedOperation::Read => self.read(),
            ExplainedOperation::Write => self.write(),
        }
    }

    fn layout(&self) -> &'a Layout {
        self.geometry.layout()
    }

    fn is_failed(&self, member: Slot) -> bool {
        self.failed.contains(&member)
    }

    fn view(&self, stripe: Stripe) -> StripeView<'a> {
        let gone = |unit: &Unit| self.is_failed(self.layout().locate(stripe, *unit).slot);
        let missing: UnitSet = self.layout().units().filter(gone).collect();
        StripeView { geometry: self.geometry, stripe, missing, cached: &[], floats: None }
    }

    /// The old data that is known without reading.
    fn known(&self, pieces: &[Piece]) -> Vec<Cached> {
        let pieces = pieces.iter().filter(|_| self.simulated.old_data_known);
        pieces.map(Cached::known).collect()
    }

    fn pieces(&self, window: Window) -> Vec<Piece> {
        let mut found = Vec::new();
        pieces(self.layout(), self.at, self.length, window, &mut found);
        found
    }

    /// The stripes that the request touches, each as a whole window.
    fn stripes(&self) -> impl Iterator<Item = Window> {
        windows(self.layout(), self.at, self.length, self.layout().unit_length())
    }

    fn locate(&self, stripe: Stripe, unit: Unit, column: Sectors) -> (Slot, Sector) {
        let location = self.layout().locate(stripe, unit);
        (location.slot, self.geometry.data_start() + (location.at + column).from_start())
    }

    fn map(&self) -> Vec<MappedPiece> {
        let mapped = |window: Window| {
            let piece = move |piece: Piece| {
                let (member, at) = self.locate(window.stripe, piece.unit, piece.columns.from);
                MappedPiece {
                    request_offset: piece.host.bytes(),
                    length: piece.columns.length().bytes(),
                    stripe: window.stripe.get(),
                    unit: window.stripe.get() * u64::from(self.layout().data_units())
                        + u64::from(piece.unit.get()),
                    unit_offset: piece.columns.from.bytes(),
                    member: member.get(),
                    at: at.from_start().bytes(),
                    failed: self.is_failed(member),
                }
            };
            self.pieces(window).into_iter().map(piece)
        };
        self.stripes().flat_map(mapped).collect()
    }

    // Reads, as in host.rs.

    fn read(&self) -> Result<Vec<Planned>, ExplainError> {
        let mut reads: Vec<(Slot, Sector, Span)> = Vec::new();
        for window in self.stripes() {
            for piece in self.pieces(window) {
                let Some(unit) = self.readable(window.stripe, &piece) else { continue };
                let (member, at) = self.locate(window.stripe, unit, piece.columns.from);
                reads.push((member, at, Span::new(Source::Host, piece.host, piece.columns.length())));
            }
        }
        let mut plans = Vec::new();
        if !reads.is_empty() {
            let mut plan = Plan::default();
            plan.read_merged(&mut reads, self.tuning.merging());
            plans.push(Planned { stripe: None, plan, notes: self.read_notes() });
        }
        let mut builder = Builder::default();
        for window in windows(self.layout(), self.at, self.length, self.tuning.slice) {
            let mut missing = self.pieces(window);
            missing.retain(|piece| self.readable(window.stripe, piece).is_none());
            if !missing.is_empty() {
                let mut plan = Plan::default();
                builder
                    .read_degraded(&mut plan, self.view(window.stripe), &missing)
                    .map_err(|Lost| ExplainError::Lost { stripe: window.stripe.get() })?;
                plans.push(Planned { stripe: Some(window.stripe), plan, notes: Vec::new() });
            }
        }
        Ok(plans)
    }

    /// The unit from which `piece` is read: its own or, in an idle array, the first copy that is
    /// there.
    fn readable(&self, stripe: Stripe, piece: &Piece) -> Option<Unit> {
        let view = self.view(stripe);
        let copies = self.geometry.keeps_copies();
        let mut candidates = self.layout().units().filter(|unit| copies || *unit == piece.unit);
        candidates.find(|unit| !view.missing.has(*unit))
    }

    fn read_notes(&self) -> Vec<String> {
        let copies = self.layout().check_units() + 1;
        match self.geometry.keeps_copies() && copies > 1 {
            true => vec![format!("each unit has {copies} copies; a busy array may read another one")],
            false => Vec::new(),
        }
    }

    // Writes, as in stripe.rs.

    fn write(&self) -> Result<Vec<Planned>, ExplainError> {
        let mut builder = Builder::new(self.tuning, self.simulated.combined && !self.geometry.is_journaled());
        windows(self.layout(), self.at, self.length, self.tuning.slice)
            .map(|window| self.write_window(&mut builder, window))
            .collect()
    }

    fn write_window(&self, builder: &mut Builder, window: Window) -> Result<Planned, ExplainError> {
        let pieces = self.pieces(window);
        let cached = self.known(&pieces);
        let view = StripeView { cached: &cached, ..self.view(window.stripe) };
        let content = Content::Host;
        let region = self.layout().region_of(window.stripe).0;
        let log_stands = update::log_slots(self.layout(), region).all(|slot| !self.failed.contains(&slot));
        let method = update::goes_to_log(self.geometry, log_stands, self.failed.is_empty()).then(|| {
            let known = self.simulated.old_data_known;
            update::method(builder, view, (&pieces, content), self.tuning, known)
        });
        // A record without payload only cancels earlier records, and here the log has none of the
        // stripe.
        let told = method.filter(|method| !method.is_bare());
        let fragments = told.map_or_else(Vec::new, |method| builder.fragments(view, &pieces, method));
        let write = StripeWrite { pieces: &pieces, content, durable: false };
        let mut plan = Plan::default();
        update::plan(builder, &mut plan, view, write, method, &fragments)
            .map_err(|Lost| ExplainError::Lost { stripe: window.stripe.get() })?;
        let notes = self.write_notes(window.stripe, method, &fragments);
        Ok(Planned { stripe: Some(window.stripe), plan, notes })
    }

    /// Remarks on a write: what happens to its records, now and later.
    fn write_notes(&self, stripe: Stripe, method: Option<LogMethod>, fragments: &[Fragment]) -> Vec<String> {
        let mut notes = Vec::new();
        if self.geometry.is_journaled() && method.is_some() {
            let region = self.layout().region_of(stripe).0;
            let sublogs: Vec<Slot> = update::log_slots(self.layout(), region).collect();
            let slot = sublogs[region.as_usize() % sublogs.len()];
            notes.push(format!(
                "before new data is written, its records and the checksums of old and new are made durable in the commit log of \
                 {slot}, in one access for all writes that wait for it"
            ));
        } else if method.is_some_and(LogMethod::is_bare) {
            notes.push(
                "where the log holds records of this stripe, a cancel record voids them first".to_owned(),
            );
        }
        if !fragments.is_empty() {
            notes.extend(self.log_notes(stripe, fragments));
        }
        notes
    }

    /// The accesses that follow later, when a log buffer is full.
    fn log_notes(&self, stripe: Stripe, fragments: &[Fragment]) -> Vec<String> {
        let shape = self.layout().logs().expect("only a layout with logs is asked").shape();
        let logged = update::logged(fragments);
        let region = self.layout().region_of(stripe).0.get();
        let segment = Sectors::new(shape.segment);
        let writes = match (segment / logged).max(1) {
            1 => "one such write".to_owned(),
            several => format!("about {several} such writes"),
        };
        vec![format!(
            "{logged} of records go to the log buffer of region {region} in memory; a full buffer ({segment}, {writes}) is \
             appended to the log in one access"
        )]
    }

    fn explained(&self, planned: Planned) -> ExplainedPlan {
        let Planned { stripe, plan, notes } = planned;
        let scratch = vec![String::new(); plan.scratch.len()];
        let mut names = Names { case: self, stripe, strategy: plan.strategy, scratch };
        let last = plan.steps.last().map_or(0, |step| step.phase);
        // Checksums belong to the committed records, and are mentioned there.
        let told = |step: &&Step| step.action != Action::Checksum;
        let phases = (0..=last).map(|phase| -> Vec<ExplainedStep> {
            let steps = plan.steps.iter().filter(|step| step.phase == phase).filter(told);
            steps.map(|step| names.step(&plan, step)).collect()
        });
        let phases = phases.filter(|steps| !steps.is_empty());
        ExplainedPlan {
            stripe: stripe.map(Stripe::get),
            strategy: plan.strategy.to_string(),
            phases: phases.collect(),
            accesses: plan.accesses(),
            notes,
        }
    }
}

/// A host's plan addresses slots only.
fn on_slot(action: Action<Target>) -> Action<Slot> {
    action.map(|target| target.slot().expect("a host's plan is for slots"))
}

/// Chooses words for the data that a plan's steps move and compute.
struct Names<'a> {
    case: &'a Case<'a>,
    /// The stripe of the plan, unless it reads several.
    stripe: Option<Stripe>,
    strategy: Strategy,
    /// By scratch buffer: the name of its content.
    scratch: Vec<String>,
}

impl Names<'_> {
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
            Action::Xor | Action::Compare => self.computed(spans[0], &spans[1..]),
            Action::Checksum => self.computed(spans[0], spans),
            Action::Accumulate { .. } => self.computed(spans[0], spans),
        }
    }

    /// The units and logs in a range of a member.
    fn labels(&self, slot: Slot, at: Sector, length: Sectors) -> impl Iterator<Item = Label> + use<> {
        let layout = self.case.layout();
        let mut labels: Vec<Label> = Vec::new();
        let mut from = Sector::ZERO + (at - self.case.geometry.data_start());
        let end = from + length;
        while from < end {
            let Occupant::Unit { stripe, unit, offset } = layout.occupant(Location { slot, at: from }) else {
                break;
            };
            labels.push(Label::of_unit(self.case.geometry, stripe, unit));
            from = from + (layout.unit_length() - offset);
        }
        labels.into_iter()
    }

    /// The name of data that is read: "old", if this plan overwrites it.
    fn old(&self, label: Label) -> String {
        let unit = self.case.layout().unit_length();
        let first = self.case.at.from_start() / unit;
        let last = (self.case.at + self.case.length).from_start().get().div_ceil(unit.get());
        let written = match label {
            Label::Data { number } => (first..last).contains(&number),
            _ => true,
        };
        let reads = matches!(self.strategy, Strategy::Direct | Strategy::DegradedRead);
        if written && !reads { format!("old {}", word(label)) } else { word(label) }
    }

    fn computed(&self, result: Span, sources: &[Span]) -> ExplainedStep {
        let source = |span: &Span| match span.source {
            Source::Host => format!("new {}", self.host_unit(*span)),
            Source::Scratch(index) => self.scratch[index as usize].clone(),
            Source::Zeroes | Source::Record(_) | Source::Metadata | Source::Buffer(_) => "zeroes".to_owned(),
        };
        ExplainedStep::Compute {
            result: self.result(result),
            sources: sources.iter().map(source).collect(),
            length: result.length.bytes(),
        }
    }

    /// The name of the result of a computation.
    fn result(&self, span: Span) -> String {
        match (span.source, self.strategy) {
            (Source::Host, _) => self.host_unit(span),
            (Source::Record(_), Strategy::LoggedUpdate) => format!("update record for {}", self.parity()),
            (Source::Record(_), _) => format!("overwrite record for {}", self.parity()),
            (Source::Scratch(_), Strategy::Floating) => format!("difference for {}", self.parity()),
            _ => format!("new {}", self.parity()),
        }
    }

    /// The data unit to which a part of the host's payload belongs.
    fn host_unit(&self, span: Span) -> String {
        let unit = (self.case.at + span.start).from_start() / self.case.layout().unit_length();
        format!("D{unit}")
    }

    fn parity(&self) -> String {
        let stripe = self.stripe.expect("a plan that computes works on one stripe");
        let check = Unit::new(self.case.layout().data_units());
        Label::of_unit(self.case.geometry, stripe, check).to_string()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Creation, Cylinder, LogCreation};
    use crate::organization::{Consistency, Copies, Organization};

    const UNIT: Sectors = Sectors::new(128);

    fn geometry(name: &str, members: u16) -> Geometry {
        let cylinder = Cylinder { track: 3 * UNIT.get(), tracks: 5 };
        let row = Organization::named(name).unwrap();
        let copies = match row.copies {
            Copies::One => 1,
            Copies::Two => 2,
            Copies::Members => members,
        };
        let creation = Creation {
            organization: row.organization,
            copies,
            members,
            groups: 1,
            unit: UNIT,
            block: Sectors::new(8),
            member_length: Sectors::new(1 << 17),
            log: LogCreation::default(),
            consistency: Consistency::Bitmap,
        };
        Geometry::create_on(&creation, cylinder).unwrap()
    }

    /// `unit` and `length` in stripe units, which may be fractions.
    fn explained(
        geometry: &Geometry,
        operation: ExplainedOperation,
        (unit, length): (f64, f64),
        failed: &[u16],
    ) -> Explanation {
        let sectors = |units: f64| Sectors::new((units * UNIT.get() as f64) as u64);
        let failed: Vec<Slot> = failed.iter().copied().map(Slot::new).collect();
        let at = Sector::ZERO + sectors(unit);
        explain(geometry, &Tuning::default(), operation, at, sectors(length), &failed).unwrap()
    }

    fn write(geometry: &Geometry, range: (f64, f64), failed: &[u16]) -> Explanation {
        explained(geometry, ExplainedOperation::Write, range, failed)
    }

    fn read(geometry: &Geometry, range: (f64, f64), failed: &[u16]) -> Explanation {
        explained(geometry, ExplainedOperation::Read, range, failed)
    }

    fn strategies(explanation: &Explanation) -> Vec<&str> {
        explanation.plans.iter().map(|plan| plan.strategy.as_str()).collect()
    }

    fn steps(explanation: &Explanation) -> Vec<String> {
        explanation
            .plans
            .iter()
            .flat_map(|plan| plan.phases.iter().flatten())
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_small_write_to_parity_takes_four_accesses() {
        let explanation = write(&geometry("raid5", 5), (0.0, 0.0625), &[]);
        assert_eq!(explanation.accesses, 4);
        assert_eq!(strategies(&explanation), ["read-modify-write"]);
        assert_eq!(
            steps(&explanation),
            [
                "read  member 0 at 1 MiB, 4 KiB: old D0",
                "read  member 4 at 1 MiB, 4 KiB: old P0-3",
                "compute new P0-3 = old P0-3 xor old D0 xor new D0, 4 KiB",
                "write member 0 at 1 MiB, 4 KiB: new D0",
                "write member 4 at 1 MiB, 4 KiB: new P0-3",
            ]
        );
    }

    #[test]
    fn a_small_write_that_floats_takes_two_accesses() {
        let explanation = write(&geometry("floating", 5), (0.0, 1.0), &[]);
        assert_eq!(explanation.accesses, 2);
        assert_eq!(strategies(&explanation), ["floating write"]);
        let start = exact(geometry("floating", 5).data_start().from_start().bytes());
        assert_eq!(
            steps(&explanation),
            [
                format!("float member 0 at {start}, 64 KiB: old and new D0"),
                "compute difference for P0-3 = old D0 xor new D0, 64 KiB".to_owned(),
                format!("float member 4 at {start}, 64 KiB: old and new P0-3"),
            ]
        );
    }

    #[test]
    fn a_full_stripe_is_written_in_as_many_accesses_as_members_without_reads() {
        let explanation = write(&geometry("raid5", 5), (4.0, 4.0), &[]);
        assert_eq!(explanation.accesses, 5);
        assert_eq!(strategies(&explanation), ["full-stripe write"]);
        assert!(steps(&explanation).iter().all(|step| !step.starts_with("read")));
    }

    #[test]
    fn reconstructing_is_chosen_where_it_takes_fewer_accesses() {
        let explanation = write(&geometry("raid5", 6), (0.0, 4.0), &[]);
        assert_eq!(strategies(&explanation), ["reconstruct-write"]);
        assert_eq!(explanation.accesses, 1 + 5);
        assert!(steps(&explanation)[0].ends_with(": D4"));
    }

    #[test]
    fn with_four_members_a_single_block_is_modified_where_both_methods_read_twice() {
        let explanation = write(&geometry("raid5", 4), (0.0, 1.0), &[]);
        assert_eq!(strategies(&explanation), ["read-modify-write"]);
        assert_eq!(explanation.accesses, 4);
    }

    #[test]
    fn with_three_members_reconstructing_a_single_block_reads_less() {
        let explanation = write(&geometry("raid5", 3), (0.0, 1.0), &[]);
        assert_eq!(strategies(&explanation), ["reconstruct-write"]);
        assert_eq!(explanation.accesses, 3);
    }

    #[test]
    fn a_logged_small_write_is_a_read_a_record_and_a_write() {
        let explanation = write(&geometry("parity-logging", 5), (0.0, 0.0625), &[]);
        assert_eq!(strategies(&explanation), ["logged update"]);
        assert_eq!(explanation.accesses, 2);
        let steps = steps(&explanation);
        assert_eq!(steps.len(), 3);
        assert!(steps[0].starts_with("read ") && steps[0].ends_with("old D0"), "{}", steps[0]);
        assert_eq!(steps[1], "compute update record for P0-2 = old D0 xor new D0, 4 KiB");
        assert!(steps[2].starts_with("write") && steps[2].ends_with("new D0"), "{}", steps[2]);
        assert!(
            explanation.plans[0].notes[0].starts_with("4 KiB of records go to the log buffer of region 0")
        );
    }

    #[test]
    fn a_degraded_logged_array_updates_parity_in_place() {
        let geometry = geometry("parity-logging", 5);
        let member = write(&geometry, (0.0, 1.0), &[]).map[0].member;
        let explanation = write(&geometry, (0.0, 1.0), &[member]);
        assert_eq!(strategies(&explanation), ["degraded write"]);
        assert!(explanation.map[0].failed);
        assert!(steps(&explanation).iter().all(|step| !step.contains(&format!("member {member} "))));
    }

    #[test]
    fn a_write_to_a_failed_member_reads_the_rest_and_writes_parity_alone() {
        let explanation = write(&geometry("raid5", 5), (0.0, 1.0), &[0]);
        assert_eq!(strategies(&explanation), ["degraded write"]);
        assert_eq!(explanation.accesses, 3 + 1);
    }

    #[test]
    fn a_read_of_a_failed_member_reads_all_others() {
        let explanation = read(&geometry("raid5", 5), (0.0, 0.0625), &[0]);
        assert_eq!(strategies(&explanation), ["degraded read"]);
        assert_eq!(explanation.accesses, 4);
        assert_eq!(steps(&explanation)[4], "compute D0 = D1 xor D2 xor D3 xor P0-3, 4 KiB");
    }

    #[test]
    fn a_long_read_joins_neighbouring_units_and_passes_over_parity() {
        let explanation = read(&geometry("raid5", 5), (0.0, 16.0), &[]);
        assert_eq!(strategies(&explanation), ["direct"]);
        // Four stripes: of the five members, member 0 holds no parity in them, the others one unit
        // each.
        let lengths: u64 = explanation.map.iter().map(|piece| piece.length.get()).sum();
        assert_eq!(lengths, UNIT.bytes().get() * 16);
        assert!(explanation.accesses < 16, "{}", explanation.accesses);
    }

    #[test]
    fn every_copy_is_written_and_the_first_that_is_left_is_read() {
        let geometry = geometry("raid10", 4);
        let explanation = write(&geometry, (1.0, 1.0), &[]);
        assert_eq!((explanation.accesses, strategies(&explanation)), (2, vec!["write to every copy"]));
        let explanation = read(&geometry, (1.0, 1.0), &[2]);
        assert_eq!((explanation.accesses, strategies(&explanation)), (1, vec!["direct"]));
        assert_eq!(steps(&explanation), ["read  member 3 at 1 MiB, 64 KiB: D1 (copy 1)"]);
    }

    #[test]
    fn what_the_array_would_refuse_is_refused() {
        let geometry = geometry("raid5", 5);
        let capacity = geometry.capacity();
        let refused = |at: Sectors, length: u64, failed: &[u16]| {
            let failed: Vec<Slot> = failed.iter().copied().map(Slot::new).collect();
            let at = Sector::ZERO + at;
            let operation = ExplainedOperation::Read;
            explain(&geometry, &Tuning::default(), operation, at, Sectors::new(length), &failed).unwrap_err()
        };
        assert_eq!(refused(Sectors::ZERO, 0, &[]), ExplainError::Empty);
        assert!(matches!(refused(capacity, 8, &[]), ExplainError::BeyondEnd { .. }));
        assert!(matches!(refused(Sectors::ZERO, 1, &[]), ExplainError::Misaligned(_)));
        assert_eq!(refused(Sectors::ZERO, 8, &[5]), ExplainError::NoSuchMember(5, 4));
        assert_eq!(refused(Sectors::ZERO, 8, &[0, 1]), ExplainError::Lost { stripe: 0 });
    }
}
