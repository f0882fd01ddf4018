//! Predicts the results of a run with closed forms, where they apply: without simulating events, in
//! almost no time.
//!
//! The array itself lists the accesses of each request, phase by phase; `stages` takes the mean
//! over a sample of requests. Each phase is a fork and join in a network of queues (Varki and Wang;
//! [`parlour_model::fork_join`]), with service times from the drive ([`parlour_model::service`]).
//! The background work of parity logging takes its fraction of each disk's time (`logs`).

mod clock;
mod logs;
mod refused;
mod stage;
mod stages;

use parlour_model::fork_join::{Measures, Network, Phase};
use parlour_units::Duration;
use parlour_workload::delay::Delay;
use parlour_workload::source::Load;
use serde::Serialize;

use super::prepared::Prepared;
pub use clock::Clocks;
use logs::Background;
pub use refused::Unmodelled;
pub use stage::AccessTime;
use stages::{Stages, Timed};

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
    /// The fraction of the time in which a member is busy.
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
        let timed = stages.timed(clocks.of(self)?)?;
        let background = Background::of(self, &stages)?;
        let members = u32::from(self.geometry.members());
        let disks = members / stages.in_step();
        let found = match load {
            Load::Closed { processes, think } => closed(disks, &timed, background, processes, think)?,
            Load::Open { gap } => open(disks, &timed, background, gap)?,
            Load::Recorded { .. } => return Err(Unmodelled::Recorded),
        };
        Ok(Prediction {
            throughput: found.throughput,
            throughput_per_member: found.throughput / f64::from(members),
            mb_per_second: found.throughput * stages.bytes / 1e6,
            response_ms: found.response,
            under_way: found.queue,
            utilization: found.utilization.min(1.0),
            access_ms: timed.access_time(),
            assumed: self.assumed(&stages),
        })
    }

    fn assumed(&self, stages: &Stages) -> Vec<&'static str> {
        let several = stages.most_siblings() > stages.in_step();
        let all = [
            (self.synchronized && several, "the platters of a request's disks are not in step"),
            (self.geometry.keeps_copies() && stages.reads, "any copy is read, however busy its disk"),
            (self.tuning.bitmap && stages.writes, "the write-intent bitmap is never written"),
            (stages.joined, "accesses of a request to one disk are one"),
            (
                self.geometry.layout().logs().is_some(),
                "log and parity accesses come evenly, and not in bursts",
            ),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect()
    }
}

/// Means of an array under a closed load. The background work slows down the disks by the fraction
/// of their time that it takes; that fraction is proportional to the throughput.
fn closed(
    disks: u32,
    timed: &Timed,
    background: Background,
    processes: u32,
    think: Delay,
) -> Result<Measures, Unmodelled> {
    let think = milliseconds(think.mean());
    let solve = |phases: Vec<Phase>| -> Result<Measures, Unmodelled> {
        let network = Network::of(disks, phases, think)?.partly_served();
        Ok(network.with(processes)?)
    };
    let mut found = solve(timed.phases.clone())?;
    let of_disk = background.each_request / f64::from(disks) / 1e3;
    for _ in 0..ROUNDS {
        let part = (found.throughput * of_disk).min(MOST_BEHIND);
        let next = solve(timed.phases.iter().map(|phase| slower(phase, 1.0 - part)).collect())?;
        // Each round moves half way: a higher throughput causes more background work, which lowers
        // the throughput.
        let throughput = (found.throughput + next.throughput) / 2.0;
        found = Measures { throughput, ..next };
    }
    // The background work counts as busy time, too.
    let behind = (found.throughput * of_disk).min(MOST_BEHIND);
    let utilization = found.utilization * (1.0 - behind) + behind;
    let response = f64::from(processes) / found.throughput * 1e3 - think;
    Ok(Measures { utilization, response, queue: response * found.throughput / 1e3, ..found })
}

/// The number of rounds, after which the background work matches the throughput.
const ROUNDS: usize = 30;
/// The largest fraction of a disk's time that the background takes.
const MOST_BEHIND: f64 = 0.95;

/// Means of an array under Poisson arrivals; each disk is a queue of its own (M/G/1, Pollaczek and
/// Khinchine).
fn open(disks: u32, timed: &Timed, background: Background, gap: Delay) -> Result<Measures, Unmodelled> {
    let Delay::Exponential(gap) = gap else { return Err(Unmodelled::Arrivals) };
    let rate = 1.0 / milliseconds(gap);
    let accesses: f64 = timed.phases.iter().map(|phase| phase.visits * f64::from(phase.siblings)).sum();
    let square = |phase: &Phase| {
        let weight = phase.visits * f64::from(phase.siblings) / accesses;
        weight * (phase.service * phase.service + phase.deviation * phase.deviation)
    };
    let squares: f64 = timed.phases.iter().map(square).sum();
    let behind = rate * background.each_request / f64::from(disks);
    let own = rate * timed.disk_time() / f64::from(disks);
    let utilization = own + behind;
    if utilization >= 1.0 {
        return Err(Unmodelled::Unstable(utilization));
    }
    let left = 1.0 - behind;
    let each_disk = rate * accesses / f64::from(disks);
    let wait = each_disk * squares / (left * left) / (2.0 * (1.0 - own / left));
    let response: f64 = timed.phases.iter().map(|phase| phase.visits * (phase.last / left + wait)).sum();
    let throughput = rate * 1e3;
    Ok(Measures { processes: 0, response, throughput, queue: response * rate, utilization })
}

/// Returns the phase on disks of which only the fraction `left` of the time is available.
fn slower(phase: &Phase, left: f64) -> Phase {
    let undisturbed = phase.undisturbed.map(|mut times| {
        times.service /= left;
        times.last /= left;
        times
    });
    Phase {
        service: phase.service / left,
        deviation: phase.deviation / left,
        last: phase.last / left,
        undisturbed,
        ..*phase
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
