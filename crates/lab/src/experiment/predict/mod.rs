//! Predicts the results of a run with closed forms, where they apply: without simulating events, in
//! almost no time.
//!
//! The array itself lists the accesses of each request, phase by phase; `stages` takes the mean
//! over a sample of requests. Each phase is a fork and join in a network of queues (Varki and Wang;
//! [`parlour_model::fork_join`]), with service times from the drive ([`parlour_model::service`]).
//! The background work of parity logging comes in bursts (`logs`; [`parlour_model::bursts`]).
//! Entries of a journal are delays of writes and other accesses of the disks (`journal`;
//! [`parlour_model::journal`]).

mod clock;
mod journal;
mod logs;
mod refused;
mod stage;
mod stages;

use parlour_model::bursts::{Choosing, Later, Population};
use parlour_model::fork_join::{Measures, Network, Phase};
use parlour_units::Duration;
use parlour_workload::delay::Delay;
use parlour_workload::source::Load;
use serde::Serialize;

use super::prepared::Prepared;
pub use clock::Clocks;
use journal::Journal;
pub use refused::Unmodelled;
pub use stage::AccessTime;
use stages::{Queues, Stages, Timed};

/// The prediction of closed forms for a run. The names are those of
/// [`Figures`](crate::figures::Figures).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Requests per second.
    pub throughput: f64,
    /// Requests per second, divided by the number of members.
    pub throughput_per_member: f64,
    /// Megabytes (of 1,000,000 bytes) per second.
    pub mb_per_second: f64,
    /// The mean time from a request to its answer.
    pub response_ms: f64,
    /// The mean number of requests under way.
    pub under_way: f64,
    /// The fraction of the time in which a member is busy, in the mean of all; dead ones are not.
    pub utilization: f64,
    /// The mean components of a host access's time, without queueing.
    pub access_ms: AccessTime,
    /// The assumptions of the prediction.
    pub assumed: Vec<&'static str>,
}

impl Prepared {
    /// Predicts this run. `clocks` keeps the service times of drives for the next run.
    ///
    /// # Errors
    /// The closed forms do not apply to this run. The error says why.
    pub fn predict(&self, clocks: &mut Clocks) -> Result<Prediction, Unmodelled> {
        refused::check(self)?;
        let mut random = parlour_workload::random::Random::new(self.seed);
        let mut sources = self.sources(None, &mut random)?;
        let source = &mut sources[0];
        let load = source.load();
        let stages = Stages::sample(self, source, &mut random)?;
        let mut clock = clocks.of(self)?;
        let dead = self.dead();
        let queues = stages.queues(&dead);
        let timed = stages.timed(queues, &mut clock)?;
        let journal = Journal::of(self, &stages, &mut clock)?;
        let later = logs::later(self, &stages)?;
        let members = u32::from(refused::geometry(self).members());
        let left = members - dead.len() as u32;
        let disks = queues.count;
        let found = match (load, &journal) {
            (Load::Closed { processes, think }, Some(journal)) => {
                let who = (processes, milliseconds(think.mean()));
                journal.closed(disks, (&timed, &stages), later, who)?
            }
            (Load::Open { .. }, Some(_)) => {
                let what = "entries of a journal are modelled for processes that wait for their answers";
                return Err(Unmodelled::Key { key: "workload.rate", what });
            }
            (Load::Closed { processes, think }, None) => closed(disks, &timed, later, processes, think)?,
            (Load::Open { gap }, None) => open(disks, &timed, later, gap)?,
            (Load::Recorded { .. }, _) => return Err(Unmodelled::Recorded),
        };
        Ok(Prediction {
            throughput: found.throughput,
            throughput_per_member: found.throughput / f64::from(members),
            mb_per_second: found.throughput * stages.bytes / 1e6,
            response_ms: found.response,
            under_way: found.queue,
            utilization: found.utilization.min(1.0) * f64::from(left) / f64::from(members),
            access_ms: timed.access_time(),
            assumed: self.assumed(&stages, queues),
        })
    }

    fn assumed(&self, stages: &Stages, queues: Queues) -> Vec<&'static str> {
        let several = stages.most_siblings() > queues.in_step;
        let all = [
            (self.synchronized && several, "the platters of a request's disks are not in step"),
            (
                refused::geometry(self).keeps_copies() && stages.reads,
                "any copy is read, however busy its disk",
            ),
            (self.tuning.bitmap && stages.writes, "the write-intent bitmap is never written"),
            (stages.joined, "accesses of a request to one disk are one"),
            (!self.health.is_empty(), "the members that are left are equally loaded"),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect()
    }
}

/// Means of an array under a closed load. What requests cause later is proportional to the
/// throughput, which it lowers.
fn closed(
    disks: u32,
    timed: &Timed,
    later: Later,
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
        let felt = later.felt(Population {
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

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
