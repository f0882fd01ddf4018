//! The results of a run.

use parlour_drive::mechanics::Parts;
use parlour_units::{Duration, Instant, Sectors};
use parlour_workload::task::Kind;

use crate::history::History;
use crate::log_tally::LogTally;
use crate::member::{Member, Tally};
use crate::paths::{Station, StationTally};
use crate::statistics::{BatchMeans, Estimate, Moments, Rates, Times};

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The simulated time of the measurement.
    pub span: Duration,
    /// Why it ended.
    pub ended: Ended,
    /// The warm-up.
    pub warm_up: Passed,
    /// The results of all sources together, if there are several.
    pub(crate) together: Option<Answers>,
    /// The results of each source, in order; there is at least one.
    pub sources: Vec<SourceReport>,
    /// The time average of requests under way.
    pub under_way: f64,
    /// The results of each member, in the order of slots.
    pub members: Vec<MemberReport>,
    /// The results of processors, channel and strings.
    pub stations: Vec<StationReport>,
    /// The work of the parity logs; none without logs.
    pub logs: Option<LogTally>,
    /// Requests that were answered with lost data. They are counted as answered.
    pub lost: u64,
    /// The state over time.
    pub history: History,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The means have the required precision.
    Precise,
    /// The maximum number of requests was answered.
    Most,
    /// The time limit was reached.
    Time,
    /// No source had further requests.
    Exhausted,
    /// The watcher ended the measurement.
    Watched,
    /// The run was interrupted: less was measured than requested.
    Interrupted,
}

/// The part of a run that is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Answered requests.
    pub requests: u64,
    /// Simulated time.
    pub time: Duration,
}

/// The results of requests.
#[derive(Clone, Debug)]
pub struct Answers {
    /// All requests, including flushes and trims.
    pub all: Group,
    /// Reads.
    pub reads: Group,
    /// Writes.
    pub writes: Group,
}

/// The results of one group of requests.
#[derive(Clone, Debug)]
pub struct Group {
    /// Response times.
    pub response: Times,
    /// Requests per second.
    pub requests: Estimate,
    /// Bytes per second.
    pub bytes: Estimate,
}

/// The results of a source.
#[derive(Clone, Debug)]
pub struct SourceReport {
    /// The source's name.
    pub name: String,
    /// The results of its requests.
    pub answers: Answers,
    /// The results of its transactions or files, if it has any.
    pub tasks: Option<Tasks>,
}

/// The results of transactions or files.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// The time from the beginning of each to its end.
    pub times: Times,
    /// Transactions or files per second.
    pub throughput: Estimate,
    /// The mean bytes of each.
    pub bytes: f64,
    /// The mean bytes per second of each.
    pub rate: Estimate,
}

/// The results of a member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberReport {
    /// Completed accesses.
    pub accesses: u64,
    /// The fraction of time in which it was busy, averaged over its units that serve accesses.
    pub utilization: f64,
    /// The time average of waiting accesses.
    pub waiting: f64,
    /// The parts of the mean time of an access.
    pub split: Split,
}

/// The results of a processor, channel or bus.
#[derive(Clone, Debug, PartialEq)]
pub struct StationReport {
    /// Its name, for people.
    pub name: String,
    /// The number of things served.
    pub served: u64,
    /// The fraction of time in which it was busy, averaged over its servers.
    pub utilization: f64,
    /// The mean waiting time, in seconds.
    pub waited: f64,
}

/// The parts of the mean time of an access, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// Waiting in the queue.
    pub queue: f64,
    /// Seeking.
    pub seek: f64,
    /// Waiting for rotation.
    pub rotation: f64,
    /// Transferring under a head.
    pub transfer: f64,
    /// Everything else: commands, buses, buffers.
    pub overhead: f64,
    /// After completion, waiting for other accesses of the same job that were under way at the same
    /// time.
    pub synchronization: f64,
}

impl Report {
    /// The results of all sources together.
    pub fn all(&self) -> &Answers {
        self.together.as_ref().unwrap_or(&self.sources[0].answers)
    }

    /// The parts of the mean time of an access, over all members.
    pub fn split(&self) -> Split {
        let count = self.members.iter().map(|member| member.accesses).sum::<u64>().max(1) as f64;
        let mean = |part: fn(&Split) -> f64| {
            self.members.iter().map(|member| part(&member.split) * member.accesses as f64).sum::<f64>()
                / count
        };
        Split {
            queue: mean(|split| split.queue),
            seek: mean(|split| split.seek),
            rotation: mean(|split| split.rotation),
            transfer: mean(|split| split.transfer),
            overhead: mean(|split| split.overhead),
            synchronization: mean(|split| split.synchronization),
        }
    }

    /// The fraction of time in which a member was busy, averaged over all members.
    pub fn utilization(&self) -> f64 {
        self.members.iter().map(|member| member.utilization).sum::<f64>() / self.members.len().max(1) as f64
    }
}

impl StationReport {
    pub(crate) fn new(before: StationTally, station: &Station, span: Duration) -> StationReport {
        let after = station.tally();
        let served = after.served - before.served;
        let part = (after.busy - before.busy).as_secs_f64() / span.as_secs_f64().max(1e-9);
        StationReport {
            name: station.name().to_owned(),
            served,
            utilization: part / station.servers() as f64,
            waited: (after.waited - before.waited).as_secs_f64() / served.max(1) as f64,
        }
    }
}

impl MemberReport {
    pub(crate) fn new(before: Tally, member: &Member, span: Duration) -> MemberReport {
        let after = member.tally();
        let (accesses, span) = (after.accesses - before.accesses, span.as_secs_f64().max(1e-9));
        let each = |time: Duration| time.as_secs_f64() / accesses.max(1) as f64;
        let (busy, queued) = (after.busy - before.busy, after.queued - before.queued);
        let Parts { seek, rotation, transfer } = after.parts;
        let parts = Parts {
            seek: seek - before.parts.seek,
            rotation: rotation - before.parts.rotation,
            transfer: transfer - before.parts.transfer,
        };
        MemberReport {
            accesses,
            utilization: busy.as_secs_f64() / span / member.units() as f64,
            waiting: queued.as_secs_f64() / span,
            split: Split {
                queue: each(queued),
                seek: each(parts.seek),
                rotation: each(parts.rotation),
                transfer: each(parts.transfer),
                // For an access that is under way at the end, its parts are counted already but its
                // busy time is not.
                overhead: (each(busy) - each(parts.total())).max(0.0),
                synchronization: each(after.synchronized - before.synchronized),
            },
        }
    }
}

/// The measurements of requests.
#[derive(Clone, Debug)]
pub(crate) struct Learned {
    all: Moments,
    reads: Times,
    writes: Times,
    others: Times,
    /// Counts and bytes of reads, writes and others.
    rates: Rates<6>,
}

impl Learned {
    pub(crate) fn new(began: Instant) -> Learned {
        Learned {
            all: Moments::default(),
            reads: Times::default(),
            writes: Times::default(),
            others: Times::default(),
            rates: Rates::new(began),
        }
    }

    pub(crate) fn add(&mut self, now: Instant, kind: Kind, length: Sectors, time: Duration) {
        self.all.add(time);
        let bytes = length.bytes().get();
        let amounts = match kind {
            Kind::Read => {
                self.reads.add(time);
                [1, bytes, 0, 0, 0, 0]
            }
            Kind::Write => {
                self.writes.add(time);
                [0, 0, 1, bytes, 0, 0]
            }
            Kind::Trim | Kind::Flush => {
                self.others.add(time);
                [0, 0, 0, 0, 1, bytes]
            }
        };
        self.rates.add(now, amounts);
    }

    pub(crate) fn mean(&self) -> Estimate {
        self.all.mean()
    }

    pub(crate) fn finish(mut self, now: Instant) -> Answers {
        let [reads, writes] = [0, 2].map(|at| {
            let of = |index: usize, rates: &mut Rates<6>| rates.estimate(now, |amounts| amounts[index]);
            (of(at, &mut self.rates), of(at + 1, &mut self.rates))
        });
        let requests = self.rates.estimate(now, |amounts| amounts[0] + amounts[2] + amounts[4]);
        let bytes = self.rates.estimate(now, |amounts| amounts[1] + amounts[3] + amounts[5]);
        let response = self.all.distributed([&self.reads, &self.writes, &self.others]);
        Answers {
            all: Group { response, requests, bytes },
            reads: Group { response: self.reads, requests: reads.0, bytes: reads.1 },
            writes: Group { response: self.writes, requests: writes.0, bytes: writes.1 },
        }
    }
}

/// The measurements of tasks.
#[derive(Clone, Debug)]
pub(crate) struct LearnedTasks {
    times: Times,
    throughput: Rates<1>,
    bytes: u64,
    rate: BatchMeans,
}

impl LearnedTasks {
    pub(crate) fn new(began: Instant) -> LearnedTasks {
        let (times, rate) = (Times::default(), BatchMeans::default());
        LearnedTasks { times, throughput: Rates::new(began), bytes: 0, rate }
    }

    pub(crate) fn add(&mut self, now: Instant, time: Duration, bytes: u64) {
        self.times.add(time);
        self.throughput.add(now, [1]);
        self.bytes += bytes;
        self.rate.add(bytes as f64 / time.as_secs_f64().max(1e-9));
    }

    pub(crate) fn mean(&self) -> Estimate {
        self.times.mean()
    }

    pub(crate) fn finish(mut self, now: Instant) -> Tasks {
        Tasks {
            throughput: self.throughput.estimate(now, |amounts| amounts[0]),
            bytes: self.bytes as f64 / self.times.count().max(1) as f64,
            rate: self.rate.estimate(),
            times: self.times,
        }
    }
}
