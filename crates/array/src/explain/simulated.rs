//! The accesses of requests and of rebuilds, for models of arrays in simulations.

use parlour_units::{Sector, Sectors, Slot, Stripe};

use super::names::on_slot;
use super::{Case, ExplainError, ExplainedOperation, Planned, check, view};
use crate::code::UnitSet;
use crate::columns::Columns;
use crate::effect::Action;
use crate::geometry::Geometry;
use crate::plan::{Builder, Lost, Plan, Step};
use crate::tuning::{Simulated, Tuning};

/// The members that are missing, or not whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotWhole<'a> {
    /// The slots of those that have failed.
    pub failed: &'a [Slot],
    /// The slots of those that are being rebuilt, where what is accessed is rebuilt already.
    pub rebuilding: &'a [Slot],
}

/// The accesses of a request to an idle array in a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestAccesses {
    /// Those of each plan. Plans run at the same time.
    pub plans: Vec<PlanAccesses>,
    /// Whether an entry of the journal acknowledges the request, and the plans are carried out
    /// later.
    pub is_staged: bool,
}

/// The accesses of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanAccesses {
    /// A list for each phase. The accesses of a phase run at the same time.
    pub phases: Vec<Vec<Action<Slot>>>,
    /// The length of its records in the entry of the journal that is written before its first
    /// write, if there is one.
    pub recorded: Option<Sectors>,
}

impl PlanAccesses {
    fn of(plan: &Plan, recorded: Option<Sectors>) -> PlanAccesses {
        let steps = plan.steps.iter().filter(|step| step.action.member().is_some());
        let steps: Vec<&Step> = steps.collect();
        let phases = steps.chunk_by(|one, next| one.phase == next.phase);
        let phases = phases.map(|steps| steps.iter().map(|step| on_slot(step.action)).collect()).collect();
        PlanAccesses { phases, recorded }
    }
}

/// The accesses of a request to an idle array in a simulation.
///
/// # Errors
/// As [`explain`](super::explain).
pub fn accesses(
    geometry: &Geometry,
    (tuning, simulated): (&Tuning, Simulated),
    operation: ExplainedOperation,
    (at, length): (Sector, Sectors),
    NotWhole { failed, rebuilding }: NotWhole<'_>,
) -> Result<RequestAccesses, ExplainError> {
    check(geometry, at, length, failed)?;
    let case = Case { geometry, tuning, simulated, at, length, failed, rebuilding };
    let of = |planned: &Planned| PlanAccesses::of(&planned.plan, planned.commit.map(|_| planned.recorded));
    let plans = case.planned(operation)?.iter().map(of).collect();
    Ok(RequestAccesses { plans, is_staged: case.acknowledged(operation).is_some() })
}

/// The accesses by which the unit of `stripe` in `slot` is rebuilt, while that slot and other
/// `failed` ones are missing: plans that run one after another. There are none if the stripe has no
/// unit there.
///
/// What is written goes to `slot`; an array with spare room writes it to one of the others.
///
/// # Errors
/// The unit cannot be computed.
pub fn rebuild_accesses(
    geometry: &Geometry,
    tuning: &Tuning,
    (slot, stripe): (Slot, Stripe),
    failed: &[Slot],
) -> Result<Vec<PlanAccesses>, ExplainError> {
    let layout = geometry.layout();
    let view = view(geometry, stripe, failed);
    let targets: UnitSet = layout.units().filter(|unit| layout.locate(stripe, *unit).slot == slot).collect();
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let (unit, slice) = (layout.unit_length(), tuning.slice);
    let (mut builder, mut plans, mut from) = (Builder::default(), Vec::new(), Sectors::ZERO);
    while from < unit {
        let columns = Columns::new(from, (from + slice).min(unit));
        let mut plan = Plan::default();
        builder
            .reconstruct(&mut plan, view, targets, columns, &[], false)
            .map_err(|Lost| ExplainError::Lost { stripe: stripe.get() })?;
        plans.push(PlanAccesses::of(&plan, None));
        from = columns.to;
    }
    Ok(plans)
}
