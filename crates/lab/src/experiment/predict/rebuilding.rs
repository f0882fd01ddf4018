//! A member is rebuilt while hosts go on.
//!
//! What hosts' requests do depends on whether their stripe is rebuilt. So there are two states, of
//! which the array goes from one to the other: no stripe is rebuilt, and all are. In each, hosts
//! and rebuild share the disks: the rebuild's steps wait for hosts' accesses, and hosts meet its
//! bursts. In between, the time of a step and that between hosts' requests are means of both,
//! weighted by what is rebuilt.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use parlour_array::{Action, NotWhole, QUIET, Tuning, rebuild_accesses};
use parlour_model::fork_join::Measures;
use parlour_model::rebuild::{Hosts, Step, Time};
use parlour_units::{Slot, Stripe};
use parlour_workload::source::Load;

use super::clock::Clock;
use super::prediction::Prediction;
use super::refused::{Unmodelled, geometry};
use super::stage::{Doing, Stage};
use super::state::{Asked, Other, State, milliseconds};
use crate::experiment::prepared::Prepared;

/// The number of stripes on a slot whose rebuild is looked at.
const SAMPLE: u64 = 200;

/// The number of parts of a rebuild over which means are taken.
const PARTS: u32 = 16;

/// The largest part of the time for which hosts may count as idle.
const MOST_IDLE: f64 = 0.05;

/// The rebuild of a member.
pub(super) struct Rebuilding {
    slot: Slot,
    /// Its units are rebuilt into spare room on all others, not onto a member.
    into_room: bool,
    /// The slots that are missing all the time.
    dead: Vec<Slot>,
    /// What the rebuild of the member consists of.
    steps: Steps,
}

/// The steps of a rebuild.
#[derive(Clone, Copy, Debug)]
struct Steps {
    count: f64,
    /// The number of members that are read in a step, and of those that are ever read.
    read: u32,
    among: u32,
    /// The length of each access, in blocks.
    blocks: u64,
}

/// A state, and what the rebuild does in it.
struct Phase {
    state: State,
    step: Step,
    /// Whether hosts write to the disk to which the rebuild writes.
    shares_written: bool,
    /// Hosts' means.
    found: Measures,
    /// From step to step, in ms.
    time: f64,
}

impl Rebuilding {
    /// Returns `None` if nothing is rebuilt.
    pub(super) fn of(prepared: &Prepared) -> Result<Option<Rebuilding>, Unmodelled> {
        let Some(slot) = prepared.rebuilt() else { return Ok(None) };
        let into_room = geometry(prepared).layout().spares() > 0;
        let dead = prepared.dead();
        let steps = Steps::of(prepared, slot, &dead)?;
        Ok(Some(Rebuilding { slot, into_room, dead, steps }))
    }

    pub(super) fn predict(
        &self,
        prepared: &Prepared,
        asked: &mut Asked<'_>,
        clock: &mut Clock<'_>,
    ) -> Result<Prediction, Unmodelled> {
        let load = asked.source.load();
        let Load::Closed { processes, think } = load else {
            let what = "a rebuild is modelled beside processes that wait for their answers";
            return Err(Unmodelled::Key { key: "workload.rate", what });
        };
        if prepared.tuning.maintenance_depth_busy > 1 {
            let what = "a rebuild of several stripes at a time is not modelled";
            return Err(Unmodelled::Key { key: "tuning.maintenance-depth-busy", what });
        }
        let first = self.phase(prepared, asked, clock, false)?.settled(load)?;
        let last = self.phase(prepared, asked, clock, true)?.settled(load)?;
        check_busy(&first.found)?;
        let Whole { time, throughput, first: part } = Whole::of(&first, &last);
        let response = f64::from(processes) / throughput * 1e3 - milliseconds(think.mean());
        let queue = throughput * response / 1e3;
        let mut prediction =
            Prediction::of(prepared, &last.state, Measures { throughput, response, queue, ..first.found });
        let busy = |phase: &Phase| self.utilization(prepared, phase);
        prediction.utilization = part * busy(&first) + (1.0 - part) * busy(&last);
        prediction.rebuild_s = Some(self.steps.count * time / 1e3);
        prediction.assumed = first.state.assumed(prepared);
        Ok(prediction)
    }

    fn phase(
        &self,
        prepared: &Prepared,
        asked: &mut Asked<'_>,
        clock: &mut Clock<'_>,
        rebuilt: bool,
    ) -> Result<Phase, Unmodelled> {
        let mut failed = self.dead.clone();
        let slots = [self.slot];
        let rebuilding: &[Slot] = if rebuilt { &slots } else { &[] };
        if !rebuilt {
            failed.push(self.slot);
        }
        let state = State::of(prepared, asked, clock, NotWhole { failed: &failed, rebuilding })?;
        let state = if rebuilt && self.into_room { state.on_one_less() } else { state };
        let Steps { read, among, blocks, .. } = self.steps;
        let mut time = |doing: Doing| -> Result<(Time, f64), Unmodelled> {
            let (phase, parts) = clock.phase(Stage { doing, siblings: 1, blocks }, 1)?;
            Ok((Time { mean: phase.service, deviation: phase.deviation }, parts.seek))
        };
        let (reading, _) = time(Doing::Read)?;
        let (mut writing, seek) = time(Doing::Write)?;
        let shares_written = rebuilt || self.into_room;
        if !shares_written {
            writing.mean -= seek;
        }
        let step = Step {
            read: NonZeroU32::new(read).unwrap_or(NonZeroU32::MIN),
            reading,
            writing,
            among: f64::from(among.max(read)),
        };
        Ok(Phase { state, step, shares_written, found: Measures::default(), time: 0.0 })
    }

    /// The part of the time in which a member is busy, in the mean of those that there were in the
    /// beginning. (What replaces one is not counted.)
    fn utilization(&self, prepared: &Prepared, phase: &Phase) -> f64 {
        let members = f64::from(geometry(prepared).members());
        let left = members - self.dead.len() as f64 - 1.0;
        phase.found.utilization.min(1.0) * left / members
    }
}

impl Steps {
    fn of(prepared: &Prepared, slot: Slot, dead: &[Slot]) -> Result<Steps, Unmodelled> {
        let (geometry, tuning): (_, &Tuning) = (geometry(prepared), &prepared.tuning);
        let failed: Vec<Slot> = dead.iter().copied().chain([slot]).collect();
        let layout = geometry.layout();
        let looked_at = (0..layout.stripes()).map(Stripe::new);
        let (mut stripes, mut count, mut read, mut blocks) = (0, 0, 0, 0);
        let mut among = BTreeSet::new();
        for stripe in looked_at {
            let plans = rebuild_accesses(geometry, tuning, (slot, stripe), &failed)?;
            stripes += u64::from(!plans.is_empty());
            for plan in plans {
                let reads = || plan.phases.iter().flatten().filter(|action| is_read(action));
                count += 1;
                read += reads().count() as u64;
                blocks += reads().filter_map(length).max().unwrap_or(0);
                among.extend(reads().filter_map(Action::member));
            }
            if stripes == SAMPLE {
                break;
            }
        }
        let (steps, count) = (count as f64 / stripes.max(1) as f64, count.max(1));
        let on_slot = layout.stripes() as f64 * f64::from(layout.width()) / f64::from(layout.members());
        Ok(Steps {
            count: steps * on_slot,
            read: ((read + count / 2) / count) as u32,
            among: among.len() as u32,
            blocks: (blocks / count).max(1),
        })
    }
}

fn is_read(action: &Action<Slot>) -> bool {
    matches!(action, Action::Read { .. })
}

fn length(action: &Action<Slot>) -> Option<u64> {
    action.range().map(|(_, length)| length.get())
}

impl Phase {
    /// Finds the means of hosts and of the rebuild beside each other. (What a step meets when it
    /// begins are the hosts without it.)
    fn settled(mut self, load: Load) -> Result<Phase, Unmodelled> {
        let alone = self.state.under(load, &[])?;
        let hosts = self.hosts(&alone);
        let written = if self.shares_written { hosts } else { Hosts::NONE };
        self.time = self.step.time(&hosts, &written).map_err(Unmodelled::Times)?;
        let Step { read, reading, writing, .. } = self.step;
        let other = |disks: f64, time: Time| Other { rate: 1.0 / self.time, disks, each: time.mean };
        let mut others = vec![other(read.get().into(), reading)];
        others.extend(self.shares_written.then(|| other(1.0, writing)));
        self.found = self.state.under(load, &others)?;
        Ok(self)
    }

    /// The accesses of hosts that have these means.
    fn hosts(&self, found: &Measures) -> Hosts {
        let (timed, disks) = (&self.state.timed, f64::from(self.state.disks()));
        Hosts {
            at_disk: found.at_disk,
            busy: found.throughput / 1e3 * timed.disk_time() / disks,
            disks,
            access: timed.access(),
        }
    }
}

/// The means over a rebuild.
struct Whole {
    /// From step to step, in ms.
    time: f64,
    /// Hosts' requests per second.
    throughput: f64,
    /// The part of the time for which the first state stands.
    first: f64,
}

impl Whole {
    fn of(first: &Phase, last: &Phase) -> Whole {
        let (mut sum, mut requests, mut of_first) = (0.0, 0.0, 0.0);
        for part in 0..PARTS {
            let rebuilt = (f64::from(part) + 0.5) / f64::from(PARTS);
            let mean = |one: f64, other: f64| (1.0 - rebuilt) * one + rebuilt * other;
            let time = mean(first.time, last.time);
            sum += time;
            requests += time / mean(1.0 / first.found.throughput, 1.0 / last.found.throughput);
            of_first += time * (1.0 - rebuilt);
        }
        Whole { time: sum / f64::from(PARTS), throughput: requests / sum, first: of_first / sum }
    }
}

/// Hosts that are often idle would leave the rebuild all the disks.
fn check_busy(found: &Measures) -> Result<(), Unmodelled> {
    let idle = if found.queue < 1.0 { (-QUIET.as_secs_f64() * found.throughput).exp() } else { 0.0 };
    if idle > MOST_IDLE {
        let what = "a rebuild is modelled only beside hosts that are hardly ever idle";
        return Err(Unmodelled::Key { key: "workload.think", what });
    }
    Ok(())
}
