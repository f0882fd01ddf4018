//! Explains what the array does for one request, step by step: the map, the strategy and the plan,
//! from the array's own builders, for an array that is otherwise idle and whose logs are empty.

mod explanation;
mod names;
mod simulated;

use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use crate::cache::Cached;
use crate::code::UnitSet;
use crate::columns::{Piece, Window};
use crate::effect::Action;
use crate::format::commit_entry::write_length;
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::map::{pieces, windows};
use crate::plan::{
    Builder, Content, Fragment, LogMethod, Lost, Plan, Source, Span, Step, StripeView, StripeWrite,
};
use crate::roster::places::Places;
use crate::stage::{Range, is_short};
use crate::tuning::{Simulated, Tuning};
use crate::update;

use names::Names;

pub use explanation::{
    ExplainError, ExplainedAccess, ExplainedEntry, ExplainedOperation, ExplainedPlan, ExplainedStep,
    Explanation, MappedPiece, exact,
};
pub use simulated::{NotWhole, PlanAccesses, RequestAccesses, accesses, rebuild_accesses};

/// The longest request that can be explained: 1 GiB.
const LONGEST: Sectors = Sectors::new(1 << 21);

/// Explains a request to an idle array whose `failed` members are missing. (It may have journal
/// slots among them, vacant ones as well.)
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
    let simulated = Simulated::default();
    let case = Case { geometry, tuning, simulated, at, length, failed, rebuilding: &[] };
    let plans: Vec<ExplainedPlan> =
        case.planned(operation)?.into_iter().map(|one| case.explained(one)).collect();
    Ok(Explanation {
        operation,
        at: at.from_start().bytes(),
        length: length.bytes(),
        failed: failed.iter().map(|member| member.get()).collect(),
        map: case.map(),
        accesses: plans.iter().map(|plan| plan.accesses).sum(),
        acknowledged: case.acknowledged(operation),
        plans,
    })
}

fn check(geometry: &Geometry, at: Sector, length: Sectors, failed: &[Slot]) -> Result<(), ExplainError> {
    let capacity = geometry.capacity();
    let block = geometry.block();
    let slots = geometry.slot_count();
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
    match failed.iter().find(|member| member.get() >= slots) {
        Some(member) => Err(ExplainError::NoSuchMember(member.get(), slots - 1)),
        None => Ok(()),
    }
}

/// A stripe of an array whose `failed` members are missing.
fn view<'a>(geometry: &'a Geometry, stripe: Stripe, failed: &[Slot]) -> StripeView<'a> {
    let layout = geometry.layout();
    let gone = |unit: &Unit| failed.contains(&layout.locate(stripe, *unit).slot);
    let missing: UnitSet = layout.units().filter(gone).collect();
    let places = Places::of_layout(layout);
    StripeView { geometry, stripe, missing, cached: &[], places, rebuilds: None }
}

/// A request and its array.
struct Case<'a> {
    geometry: &'a Geometry,
    tuning: &'a Tuning,
    simulated: Simulated,
    at: Sector,
    length: Sectors,
    failed: &'a [Slot],
    /// Slots whose members are being rebuilt, and hold what the request touches.
    rebuilding: &'a [Slot],
}

/// The plan for a request, or for a part of it.
struct Planned {
    /// The stripe, if the plan is for a single one.
    stripe: Option<Stripe>,
    plan: Plan,
    /// The slot of the commit log to which the plan's records go before its data is written.
    commit: Option<u16>,
    /// The length of these records.
    recorded: Sectors,
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
        view(self.geometry, stripe, self.failed)
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

    // Reads, as in host/read.rs.

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
            plans.push(Planned {
                stripe: None,
                plan,
                commit: None,
                recorded: Sectors::ZERO,
                notes: self.read_notes(),
            });
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
                let stripe = Some(window.stripe);
                plans.push(Planned {
                    stripe,
                    plan,
                    commit: None,
                    recorded: Sectors::ZERO,
                    notes: Vec::new(),
                });
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

    // Writes, as in stripe/gates.rs and stripe/build.rs.

    fn write(&self) -> Result<Vec<Planned>, ExplainError> {
        let mut builder = update::builder(self.geometry, self.tuning, self.simulated);
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
        let log_stands = self.geometry.log_stands(region, |slot| !self.failed.contains(&slot));
        let method = update::is_recorded(self.geometry, log_stands, self.all_stand()).then(|| {
            let known = self.simulated.old_data_known;
            update::method(builder, view, (&pieces, content), self.tuning, known)
        });
        // A record without payload only cancels earlier records, and here the log has none of the
        // stripe.
        let logged = method.filter(|method| !method.is_bare());
        let fragments = logged.map_or_else(Vec::new, |method| builder.fragments(view, &pieces, method));
        let write = StripeWrite { pieces: &pieces, content, durable: false };
        let mut plan = Plan::default();
        update::plan(builder, &mut plan, view, write, method, &fragments)
            .map_err(|Lost| ExplainError::Lost { stripe: window.stripe.get() })?;
        let commit = update::commits(self.geometry, &plan).then(|| self.entry_copies());
        let notes = self.write_notes(window.stripe, (method, commit), &fragments);
        let recorded = match method {
            Some(LogMethod::Content) => plan.written(),
            _ => update::logged(&fragments),
        };
        Ok(Planned { stripe: Some(window.stripe), plan, commit, recorded, notes })
    }

    /// Whether all members are there.
    fn all_stand(&self) -> bool {
        let mut not_whole = self.failed.iter().chain(self.rebuilding);
        not_whole.all(|slot| self.geometry.is_for_journal(*slot))
    }

    /// Whether entries of the commit log stand on journal devices.
    fn is_on_devices(&self) -> bool {
        let journals = self.geometry.slots().filter(|slot| self.geometry.is_for_journal(*slot));
        let standing = journals.filter(|slot| !self.failed.contains(slot)).count();
        standing >= usize::from(self.geometry.journal_copies())
    }

    /// The number of members, or journal devices, on which an entry stands.
    fn entry_copies(&self) -> u16 {
        let Case { geometry, .. } = self;
        if self.is_on_devices() { geometry.journal_copies() } else { geometry.commit_copies() }
    }

    /// The entry that acknowledges a write, if the array stages it.
    fn acknowledged(&self, operation: ExplainedOperation) -> Option<ExplainedEntry> {
        let range = Range::new(self.at, self.length);
        let staged = operation == ExplainedOperation::Write && is_short(self.geometry, range);
        staged.then(|| ExplainedEntry {
            copies: self.entry_copies(),
            on_devices: self.is_on_devices(),
            length: write_length(self.length, self.geometry.block()).bytes(),
        })
    }

    /// Remarks on a write: what happens to its records, now and later.
    fn write_notes(
        &self,
        stripe: Stripe,
        (method, commit): (Option<LogMethod>, Option<u16>),
        fragments: &[Fragment],
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let places = |copies: u16| match (self.is_on_devices(), copies) {
            (true, 1) => "1 journal device".to_owned(),
            (true, _) => format!("{copies} journal devices"),
            (false, 1) => "1 member".to_owned(),
            (false, _) => format!("{copies} members"),
        };
        if let Some(copies) = commit {
            let records = match method {
                Some(LogMethod::Content) => {
                    "anything is written, the new content of all units that change is"
                }
                Some(LogMethod::Cancel) => "anything is written, the checksums of all units are",
                _ => "new data is written, its records and the checksums of old and new are",
            };
            notes.push(format!(
                "before {records} made durable in the commit log, on {} with little to do, in one access to each \
                 for all writes that wait",
                places(copies)
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
        let Planned { stripe, plan, commit, notes, .. } = planned;
        let mut names = Names::new(self.geometry, (self.at, self.length), stripe, &plan);
        // If no unit that would be written is there, the records are the last that is written.
        let last = plan.steps.last().map(|step| step.phase).max(plan.commit_before).unwrap_or(0);
        // Checksums belong to the committed records, and are mentioned there.
        let shown = |step: &Step| step.action != Action::Checksum;
        let mut phases: Vec<Vec<ExplainedStep>> = Vec::new();
        for phase in 0..=last {
            let commits = commit.filter(|_| plan.commit_before == Some(phase));
            phases.extend(commits.map(|copies| vec![ExplainedStep::Commit { copies }]));
            let steps = plan.steps.iter().enumerate().filter(|(_, step)| step.phase == phase && shown(step));
            phases.push(steps.flat_map(|(number, _)| names.steps(&plan, number)).collect());
        }
        phases.retain(|steps| !steps.is_empty());
        ExplainedPlan {
            stripe: stripe.map(Stripe::get),
            strategy: plan.strategy.to_string(),
            phases,
            accesses: plan.accesses() + usize::from(commit.unwrap_or(0)),
            notes,
        }
    }
}

#[cfg(test)]
mod tests;
