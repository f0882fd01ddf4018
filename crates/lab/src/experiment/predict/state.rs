//! An array in which certain members are missing, or not whole: what its requests do, and its means
//! under a load.

use parlour_array::NotWhole;
use parlour_model::bursts::{Burst, Choosing, Later, Population};
use parlour_model::fork_join::{Measures, Network, Phase};
use parlour_units::Duration;
use parlour_workload::delay::Delay;
use parlour_workload::random::Random;
use parlour_workload::source::{Load, Source};

use super::clock::Clock;
use super::journal::Journal;
use super::logs;
use super::refused::{Unmodelled, geometry};
use super::stages::{Queues, Stages, Timed};
use crate::experiment::prepared::Prepared;

/// The requests of a run.
pub(super) struct Asked<'a> {
    pub(super) source: &'a mut Source,
    pub(super) random: Random,
}

/// Other accesses of the disks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other {
    /// The number of times a ms that they come, at so many disks at a time.
    pub(super) rate: f64,
    pub(super) disks: f64,
    /// The time of each, in ms.
    pub(super) each: f64,
}

impl Other {
    /// The same as a burst of requests, of which there are `throughput` a ms.
    fn burst(&self, throughput: f64, queues: u32) -> Burst {
        Burst { often: self.rate / throughput, disks: self.disks.min(queues.into()), each: self.each }
    }
}

/// An array in which certain members are missing, or not whole.
pub(super) struct State {
    pub(super) stages: Stages,
    pub(super) timed: Timed,
    queues: Queues,
    /// What requests cause in the background.
    later: Later,
    journal: Option<Journal>,
    /// The number of members that are missing.
    pub(super) dead: u32,
}

impl State {
    pub(super) fn of(
        prepared: &Prepared,
        asked: &mut Asked<'_>,
        clock: &mut Clock<'_>,
        not_whole: NotWhole<'_>,
    ) -> Result<State, Unmodelled> {
        let stages = Stages::sample(prepared, asked.source, &mut asked.random, not_whole)?;
        let NotWhole { failed, rebuilding } = not_whole;
        let queues = stages.queues(failed);
        let timed = stages.timed(queues, clock)?;
        let journal = Journal::of(prepared, &stages, clock)?;
        // While members are missing, parity is updated in place (a journal is not modelled then).
        let whole = failed.is_empty() && rebuilding.is_empty();
        let later = if whole { logs::later(prepared, &stages)? } else { Later::default() };
        Ok(State { stages, timed, queues, later, journal, dead: failed.len() as u32 })
    }

    /// The number of disks that have queues of their own.
    pub(super) fn disks(&self) -> u32 {
        self.queues.count
    }

    /// The same where what a member held is on all others, in spare room.
    pub(super) fn on_one_less(mut self) -> State {
        self.queues.count = self.queues.count.saturating_sub(1).max(1);
        self.dead += 1;
        self
    }

    /// The means under a load, beside other accesses (if it is a closed one).
    pub(super) fn under(&self, load: Load, other: &[Other]) -> Result<Measures, Unmodelled> {
        let State { stages, timed, .. } = self;
        let disks = self.queues.count;
        let later = self.later.clone();
        match (load, &self.journal) {
            (Load::Closed { processes, think }, Some(journal)) => {
                let who = (processes, milliseconds(think.mean()));
                journal.closed(disks, (timed, stages), later, who)
            }
            (Load::Open { .. }, Some(_)) => {
                let what = "entries of a journal are modelled for processes that wait for their answers";
                Err(Unmodelled::Key { key: "workload.rate", what })
            }
            (Load::Closed { processes, think }, None) => {
                closed(disks, timed, (later, other), processes, think)
            }
            (Load::Open { gap }, None) => open(disks, timed, later, gap),
            (Load::Recorded { .. }, _) => Err(Unmodelled::Recorded),
        }
    }

    /// What had to be assumed.
    pub(super) fn assumed(&self, prepared: &Prepared) -> Vec<&'static str> {
        let stages = &self.stages;
        let several = stages.most_siblings() > self.queues.in_step;
        let copies = geometry(prepared).keeps_copies();
        let all = [
            (prepared.synchronized && several, "the platters of a request's disks are not in step"),
            (copies && stages.reads, "any copy is read, however busy its disk"),
            (prepared.tuning.bitmap && stages.writes, "the write-intent bitmap is never written"),
            (stages.joined, "accesses of a request to one disk are one"),
            (self.dead > 0, "the members that are left are equally loaded"),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect()
    }
}

/// Means of an array under a closed load. What requests cause later is proportional to the
/// throughput, which it lowers.
fn closed(
    disks: u32,
    timed: &Timed,
    (later, other): (Later, &[Other]),
    processes: u32,
    think: Delay,
) -> Result<Measures, Unmodelled> {
    let think = milliseconds(think.mean());
    let (mut found, mut throughput) = (Measures::default(), None);
    for _ in 0..ROUNDS {
        let rate: f64 = throughput.unwrap_or(0.0) / 1e3;
        let cycle = f64::from(processes) / rate.max(f64::MIN_POSITIVE);
        let service = timed.disk_time() / timed.accesses();
        let needed = timed.needed();
        let mut background = later.clone();
        background.bursts.extend(other.iter().map(|other| other.burst(rate, disks)));
        let felt = background.felt(Population {
            rate,
            disks: disks.into(),
            needed,
            cycle,
            service,
            choosing: Choosing::default(),
        });
        let network = Network::of(disks, timed.phases.clone(), think)?.partly_served().beside(felt.beside);
        found = network.with(processes)?;
        found.throughput *= 1.0 - felt.still;
        found.utilization = found.utilization * (1.0 - felt.still) + felt.busy;
        throughput = Some(throughput.map_or(found.throughput, |old| f64::midpoint(old, found.throughput)));
    }
    let throughput = throughput.unwrap_or_default();
    let response = f64::from(processes) / throughput * 1e3 - think;
    Ok(Measures { throughput, response, queue: response * throughput / 1e3, ..found })
}

/// The number of rounds: each moves half way.
const ROUNDS: usize = 30;

/// Means of an array under Poisson arrivals; each disk is a queue of its own (M/G/1, Pollaczek and
/// Khinchine).
fn open(disks: u32, timed: &Timed, later: Later, gap: Delay) -> Result<Measures, Unmodelled> {
    let Delay::Exponential(gap) = gap else { return Err(Unmodelled::Arrivals) };
    let rate = 1.0 / milliseconds(gap);
    let accesses = timed.accesses();
    let square = |phase: &Phase| {
        let weight = phase.visits * f64::from(phase.siblings) / accesses;
        weight * (phase.service * phase.service + phase.deviation * phase.deviation)
    };
    let squares: f64 = timed.phases.iter().map(square).sum();
    let behind = rate * later.time() / f64::from(disks);
    let own = rate * timed.disk_time() / f64::from(disks);
    let utilization = own + behind;
    if utilization >= 1.0 {
        return Err(Unmodelled::Unstable(utilization));
    }
    let each_disk = rate * accesses / f64::from(disks);
    let squares = each_disk * squares + rate * later.squares() / f64::from(disks);
    let wait = squares / (2.0 * (1.0 - utilization));
    let response: f64 = timed.phases.iter().map(|phase| phase.visits * (phase.last + wait)).sum();
    let throughput = rate * 1e3;
    let (queue, at_disk) = (response * rate, utilization + each_disk * wait);
    Ok(Measures { processes: 0, response, throughput, queue, at_disk, utilization })
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
