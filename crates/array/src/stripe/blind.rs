//! Stripes with units that can be neither read nor computed: a rebuild passes over them, a host's
//! write writes data without parity, and unrecoverable blocks go on the bad-block log.

use parlour_units::Unit;

use crate::code::UnitSet;
use crate::columns::{Piece, Window, hull};
use crate::context::Context;
use crate::durable::{Durable, bad_blocks};
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::{Blind, Gate, Purpose, Stage};
use crate::log::Logs;
use crate::request::RequestError;
use crate::signal::Signal;
use crate::stripe::build::untrusted;
use crate::stripe::state::Stripes;
use crate::update;

impl Stripes {
    /// Passes when it is durable that blocks which the job has written are off the bad-block log.
    pub(super) fn pass_unlisted(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) -> bool {
        let is_durable = durable.bad_blocks().is_durable(cx.roster.listed());
        let job = cx.jobs.get_mut(id);
        let passes = !job.unlisted || is_durable;
        if passes {
            job.unlisted = false;
        } else {
            durable.bad_blocks_mut().wait(id);
        }
        passes
    }

    /// A host's write is done: blocks that were lost have a content again.
    pub(super) fn note_replaced(&self, cx: &mut Context, id: JobId) {
        let job = cx.jobs.stripe(id);
        if job.purpose != Purpose::Write {
            return;
        }
        let stripe = job.window.stripe;
        for piece in job.pieces.clone() {
            let (slot, at) = cx.home_of(Window { stripe, columns: piece.columns }, piece.unit);
            let any = cx.roster.note_replaced(slot, at, piece.columns.length());
            cx.jobs.get_mut(id).unlisted |= any;
        }
    }

    /// A rebuild or resync cannot read some units: it does without them where the code can.
    /// Otherwise it continues block by block, and puts the blocks that still cannot be computed on
    /// the bad-block log. Returns whether it continues.
    pub(crate) fn pass_over(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        failures: &[FailedAccess],
    ) -> bool {
        let block = cx.geometry.block();
        let job = cx.jobs.stripe(id);
        let (window, targets) = (job.window, job.targets.without(job.passed_over));
        let (purpose, before, kept) = (job.purpose, job.unreadable, job.kept);
        let unreadable = before.or(cx.units_of(window.stripe, failures));
        let untrusted = untrusted(cx, durable, window.stripe);
        let without = unreadable.or(untrusted).or(kept);
        let view = cx.roster.view(&cx.geometry, window.stripe).without(without);
        let left = view.computable(targets);
        let job = cx.jobs.stripe(id);
        if left != targets && window.columns.length() > block {
            job.block_by_block = true;
            job.window.columns.to = job.window.columns.from + block;
            job.unreadable = UnitSet::NONE;
        } else {
            let lost = targets.without(left);
            (job.unreadable, job.passed_over) = (unreadable, job.passed_over.or(lost));
            let mut lost = cx.geometry.layout().units().filter(|unit| lost.has(*unit));
            if lost.any(|unit| bad_blocks::record_passed_over(cx, purpose, window, unit).is_err()) {
                return false;
            }
            if left.is_empty() {
                self.next_window(cx, durable, logs, id);
                return true;
            }
        }
        cx.jobs.stripe(id).stage = Stage::Plan;
        cx.runnable.push(id);
        true
    }

    /// A host's write can neither read nor compute the units that its parity needs, but the new
    /// data is known. It is written block by block without parity, and the parity goes on the
    /// bad-block log. Returns whether the write continues in this way.
    pub(crate) fn write_blindly(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> bool {
        let job = cx.jobs.stripe(id);
        let (purpose, stripe, blind) = (job.purpose, job.window.stripe, job.blind);
        let has_payload = job.logging.method().is_some_and(|method| !method.is_bare());
        let anew = has_payload && update::makes_anew(&cx.geometry, &cx.tuning);
        let whole = cx.roster.missing(&cx.geometry, stripe).is_empty();
        let parity = cx.geometry.code().has_checks() && !cx.geometry.keeps_copies();
        if purpose != Purpose::Write || blind != Blind::No || !(whole || anew) || !parity {
            return false;
        }
        let columns = hull(&cx.jobs.stripe(id).pieces).expect("a write writes something");
        if columns.length() > cx.geometry.block() {
            let host = cx.jobs.stripe(id).host.expect("a host waits for it");
            cx.signal(Signal::WriteInBlocks { host, window: Window { stripe, columns } });
            self.end_stripe(cx, durable, logs, id, Ok(()));
            return true;
        }
        if !whole && !self.writes_all_missing(cx, id) {
            return false;
        }
        logs.withdraw(cx, durable, id);
        if whole {
            cx.jobs.stripe(id).blind = Blind::Writes;
            self.replan(cx, id);
        } else {
            self.let_go_of_stripe(cx, logs, id);
            let job = cx.jobs.stripe(id);
            (job.blind, job.stage) = (Blind::Anew, Stage::LogSpace);
            cx.runnable.push(id);
        }
        true
    }

    /// Whether the job writes all data units of its stripe that are missing.
    pub(super) fn writes_all_missing(&self, cx: &mut Context, id: JobId) -> bool {
        let job = cx.jobs.stripe(id);
        let written: UnitSet = job.pieces.iter().map(|piece| piece.unit).collect();
        let stripe = job.window.stripe;
        let left = cx.roster.missing(&cx.geometry, stripe).without(written);
        !cx.roster.view(&cx.geometry, stripe).any_data(left)
    }

    /// A write was done in part, and the parity does not fit: a missing unit can no longer be
    /// computed from it. The missing unit goes on the bad-block log.
    pub(crate) fn lose_missing(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) {
        let job = cx.jobs.stripe(id);
        let (region, stripe) = (job.region, job.window.stripe);
        let missing = cx.roster.missing(&cx.geometry, stripe);
        let data_missing = cx.roster.view(&cx.geometry, stripe).any_data(missing);
        if cx.geometry.keeps_copies() || !data_missing {
            return;
        }
        let pieces = cx.jobs.stripe(id).pieces.clone();
        // Check units that stand in for none of the missing data cost nothing.
        let code = cx.geometry.code();
        let stands_in = |check: &Unit| !code.depends(*check).and(missing).is_empty();
        let changed: Vec<Unit> = changed_checks(cx, &pieces).filter(stands_in).collect();
        let columns = hull(&pieces).expect("a write writes something");
        if changed.into_iter().any(|check| bad_blocks::record(cx, Window { stripe, columns }, check).is_err())
        {
            durable.bitmap_mut().give_records_up(cx, region);
        }
    }

    /// Passes when it is durable that the parity is unrecoverable where the job is about to write
    /// without it.
    pub(crate) fn blind_gate(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) -> Gate {
        let job = cx.jobs.stripe(id);
        let (stripe, blind) = (job.window.stripe, job.blind);
        if blind != Blind::Writes {
            return Gate::Pass;
        }
        let pieces = job.pieces.clone();
        let written: UnitSet = pieces.iter().map(|piece| piece.unit).collect();
        for piece in pieces {
            let window = Window { stripe, columns: piece.columns };
            // What depends on the new data alone will be computed from it.
            let code = cx.geometry.code();
            let uncertain = |check: &Unit| !code.depends(*check).without(written).is_empty();
            let changed: Vec<Unit> = changed_checks(cx, &[piece]).filter(uncertain).collect();
            if changed.into_iter().any(|check| bad_blocks::record(cx, window, check).is_err()) {
                return Gate::Ends(Err(RequestError::Lost));
            }
        }
        if durable.bad_blocks().additions_are_durable(cx.roster.listed()) {
            return Gate::Pass;
        }
        durable.bad_blocks_mut().wait(id);
        Gate::Wait
    }

    /// The data that was written without parity is on its members: parity is computed from it,
    /// where that is possible.
    pub(crate) fn recompute_parity(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        let job = cx.jobs.stripe(id);
        job.blind = Blind::Wrote;
        let (stripe, pieces) = (job.window.stripe, job.pieces.clone());
        self.let_go_of_stripe(cx, logs, id);
        for piece in pieces {
            for check in changed_checks(cx, &[piece]) {
                self.start_repair(cx, id, Window { stripe, columns: piece.columns }, UnitSet::of(check));
            }
        }
    }
}

/// The check units of a stripe that change when these pieces are written.
fn changed_checks(cx: &Context, pieces: &[Piece]) -> impl Iterator<Item = Unit> + use<> {
    let written: UnitSet = pieces.iter().map(|piece| piece.unit).collect();
    let changes = |check: &Unit| !cx.geometry.code().depends(*check).and(written).is_empty();
    let changed: Vec<Unit> = cx.geometry.layout().checks().filter(changes).collect();
    changed.into_iter()
}
