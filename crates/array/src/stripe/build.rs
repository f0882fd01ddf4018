//! Building a job's plan for the array as it now is.

use parlour_units::{Stripe, Unit};

use crate::code::UnitSet;
use crate::context::Context;
use crate::durable::Durable;
use crate::ids::JobId;
use crate::job::{Blind, Kind, Locate, Purpose, StripeJob};
use crate::log::Logs;
use crate::plan::{Behind, Builder, Lost, Plan, StripeView, StripeWrite};
use crate::rebuilds::Rebuilds;
use crate::roster::Roster;
use crate::stripe::state::Stripes;
use crate::update;

impl Stripes {
    /// Builds the plan for the array as it now is.
    pub(super) fn build(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> Result<(), Lost> {
        let cached = self.take_cached(cx, id);
        if let StripeJob { purpose: Purpose::Resync { .. }, window, .. } = *cx.jobs.stripe(id) {
            // A member may have been lost since the job started.
            let targets = cx.roster.resync_targets(&cx.geometry, window.stripe).ok_or(Lost)?;
            cx.jobs.stripe(id).targets = targets;
        }
        forget_lost_slots(cx, id);
        let stripe = cx.jobs.stripe(id).window.stripe;
        let untrusted = untrusted(cx, durable, stripe);
        let outdated = is_outdated(cx, durable, stripe);
        let probes = cx.jobs.stripe(id).probe.is_under_way();
        let behind = if logs.repairs_parity(cx, id) && !probes {
            let missing = cx.roster.missing(&cx.geometry, stripe).or(untrusted);
            logs.behind(cx, id, missing)?
        } else {
            Vec::new()
        };
        let job = cx.jobs.get_mut(id);
        let Some(Kind::Stripe(stripe_job)) = &mut job.kind else { unreachable!("a stripe job") };
        let view = StripeView { cached: &cached, ..cx.roster.view(&cx.geometry, stripe) };
        let (view, nowhere) = match stripe_job.purpose {
            Purpose::Rebuild(rebuilds) => {
                let view = StripeView { rebuilds: Some(rebuilds), ..view };
                (view, !has_place(&cx.roster, view, rebuilds, stripe_job.targets))
            }
            _ => (view, false),
        };
        // (A write keeps whatever its check units say of what it does not write.)
        let view = match stripe_job.purpose {
            Purpose::Read | Purpose::Repair { .. } | Purpose::Rebuild(_) => view.without(untrusted),
            Purpose::Write | Purpose::Resync { .. } | Purpose::Scrub { .. } => view,
        };
        let plan = &mut job.plan;
        plan.clear();
        plan.narrows = matches!(stripe_job.purpose, Purpose::Read | Purpose::Write);
        if nowhere {
            return Ok(());
        }
        plan_job(&mut self.builder, plan, view, stripe_job, outdated, &behind)
    }

    pub(super) fn run(&mut self, cx: &mut Context, logs: &Logs, id: JobId) {
        let job = cx.jobs.stripe(id);
        let (payload, purpose) = (job.payload, job.purpose);
        if purpose == Purpose::Write {
            cx.counters.strategy(cx.jobs.get(id).plan.strategy);
        }
        let turn = cx.roster.turn();
        let places = logs.places(cx, id);
        cx.run(id, turn, payload, &places);
    }
}

/// A job that rebuilds several slots goes on without those whose members have failed, or were
/// replaced, since it began.
fn forget_lost_slots(cx: &mut Context, id: JobId) {
    let job = cx.jobs.stripe(id);
    let (stripe, targets) = (job.window.stripe, job.targets);
    let Purpose::Rebuild(rebuilds) = job.purpose else { return };
    let left = rebuilds.only(|slot, since| cx.roster.is_rebuilt_since(slot, since));
    if left == rebuilds || left.is_empty() {
        return;
    }
    // (Each of several has its own unit.)
    let places = cx.roster.places(&cx.geometry);
    let has = |unit: &Unit| left.iter().any(|(slot, _)| places.home(stripe, *unit).slot == slot);
    let targets = cx.geometry.layout().units().filter(|unit| targets.has(*unit)).filter(has).collect();
    let job = cx.jobs.stripe(id);
    (job.purpose, job.targets) = (Purpose::Rebuild(left), targets);
}

/// Whether there are members for the places where these units are rebuilt. If one with spare places
/// has failed, what would have been moved there is missing with it, until it is rebuilt itself.
fn has_place(roster: &Roster, view: StripeView<'_>, rebuilds: Rebuilds, targets: UnitSet) -> bool {
    let mut targets = view.geometry.layout().units().filter(|unit| targets.has(*unit));
    targets.all(|unit| {
        let place = rebuilds.place(view.places, view.stripe, unit);
        place.is_some_and(|place| roster.member_at(place.slot).is_some())
    })
}

/// Whether a stripe's check units may not fit its data. (Copies that may differ are treated apart.)
fn is_unsynced(cx: &Context, durable: &Durable, stripe: Stripe) -> bool {
    !cx.geometry.keeps_copies() && durable.bitmap().is_in_doubt(cx, stripe)
}

/// The check units from which nothing is computed. Where check units may not fit, those that stand
/// in for missing data say what that data is; the others may say something else, and would make
/// good data bad.
pub(crate) fn untrusted(cx: &Context, durable: &Durable, stripe: Stripe) -> UnitSet {
    match is_unsynced(cx, durable, stripe) {
        true => cx.geometry.code().spare_checks(cx.roster.missing(&cx.geometry, stripe)),
        false => UnitSet::NONE,
    }
}

/// Whether a stripe's check units lack records that are given up.
pub(crate) fn is_outdated(cx: &Context, durable: &Durable, stripe: Stripe) -> bool {
    let (region, _) = cx.geometry.layout().region_of(stripe);
    is_unsynced(cx, durable, stripe) && durable.bitmap().is_outdated(region)
}

/// Plans what a job is to do. `behind` are the records that its stripe's parity lacks.
fn plan_job(
    builder: &mut Builder,
    plan: &mut Plan,
    view: StripeView<'_>,
    job: &StripeJob,
    outdated: bool,
    behind: &[Behind],
) -> Result<(), Lost> {
    let (targets, computed, columns) = (job.targets, job.computed(), job.window.columns);
    match job.purpose {
        // A unit that is on no member is not computed from parity that lacks records.
        Purpose::Read if outdated && view.any_data(view.missing) => Err(Lost),
        // What is in a spare place, or stands in for one, is not computed anew.
        Purpose::Rebuild(_) if targets.and(view.missing.or(job.unreadable).or(job.kept)).is_empty() => {
            builder.copy(plan, view, targets, columns);
            Ok(())
        }
        Purpose::Rebuild(_) if outdated && view.any_data(targets) => Err(Lost),
        Purpose::Read => builder.read_degraded(plan, view.without(computed.or(job.kept)), &job.pieces),
        Purpose::Write => plan_write(builder, plan, view, job),
        Purpose::Repair { .. } if job.probe.is_under_way() => {
            builder.probe(plan, view, targets, columns);
            Ok(())
        }
        Purpose::Repair { .. } => {
            builder.reconstruct(plan, view.without(job.kept), computed, columns, behind, true)
        }
        Purpose::Rebuild(_) | Purpose::Resync { .. } => {
            let targets = targets.without(job.passed_over);
            if targets.is_empty() {
                return Ok(());
            }
            builder.reconstruct(plan, view.without(job.unreadable.or(job.kept)), targets, columns, &[], false)
        }
        Purpose::Scrub { .. } if job.repairing => {
            builder.reconstruct(plan, view, targets, columns, &[], false)
        }
        Purpose::Scrub { .. } if view.missing.is_empty() && job.locate == Locate::Now => {
            builder.locate(plan, view, columns);
            Ok(())
        }
        Purpose::Scrub { .. } if view.missing.is_empty() => {
            builder.verify(plan, view, columns);
            Ok(())
        }
        Purpose::Scrub { .. } => Err(Lost),
    }
}

fn plan_write(
    builder: &mut Builder,
    plan: &mut Plan,
    view: StripeView<'_>,
    job: &StripeJob,
) -> Result<(), Lost> {
    let StripeJob { pieces, content, durable, logging, .. } = job;
    let write = StripeWrite { pieces, content: *content, durable: *durable };
    if job.blind == Blind::Writes {
        return builder.write_data_alone(plan, view, write);
    }
    update::plan(builder, plan, view, write, logging.method(), logging.fragments())
}
