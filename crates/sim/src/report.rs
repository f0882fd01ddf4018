//! What a run has shown.

use parlour_drive::mechanics::Parts;
use parlour_units::{Duration, Instant, Sectors};
use parlour_workload::task::Kind;

use crate::history::History;
use crate::member::Tally;
use crate::paths::{Station, StationTally};
use crate::statistics::{BatchMeans, Estimate, Moments, Rates, Times};

/// What a run has shown.
#[derive(Clone, Debug)]
pub struct Report {
    /// Simulated time that counts.
    pub span: Duration,
    /// Why it ended.
    pub ended: Ended,
    /// What came before.
    pub warm_up: Passed,
    /// Of all sources together, if there are several.
    pub(crate) together: Option<Answers>,
    /// Of each source, in their order: there is at least one.
    pub sources: Vec<SourceReport>,
    /// Requests under way, in the mean over time.
    pub under_way: f64,
    /// Of each member, in the order of slots.
    pub members: Vec<MemberReport>,
    /// Of what lies between hosts and members: processors, channel, strings.
    pub stations: Vec<StationReport>,
    /// Requests that were answered with lost data. They count as answered.
    pub lost: u64,
    /// How it went over time.
    pub history: History,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The means are as sure as was wanted.
    Precise,
    /// As many requests were answered as there were to be at most.
    Most,
    /// The time was up.
    Time,
    /// No source had anything more to ask for.
    Exhausted,
    /// Somebody who watched said so.
    Watched,
    /// It was broken off: less was measured than was asked for.
    Interrupted,
}

/// What went by without being counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Requests that were answered.
    pub requests: u64,
    /// Simulated time.
    pub time: Duration,
}

/// What became of requests.
#[derive(Clone, Debug)]
pub struct Answers {
    /// All of them: flushes and trims, too.
    pub all: Group,
    /// Reads.
    pub reads: Group,
    /// Writes.
    pub writes: Group,
}

/// Requests that are looked at together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Response times.
    pub response: Times,
    /// Requests a second.
    pub requests: Estimate,
    /// Bytes a second.
    pub bytes: Estimate,
}

/// What became of a source's requests.
#[derive(Clone, Debug)]
pub struct SourceReport {
    /// What the source is called.
    pub name: String,
    /// Its requests.
    pub answers: Answers,
    /// Its transactions or files, if it has any.
    pub tasks: Option<Tasks>,
}

/// What became of transactions, or files.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// From the beginning of each to its end.
    pub times: Times,
    /// A second.
    pub throughput: Estimate,
    /// Bytes of each, in the mean.
    pub bytes: f64,
    /// Bytes a second of each, in the mean.
    pub rate: Estimate,
}

/// What a member has done, and where its time went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberReport {
    /// Accesses that were done.
    pub accesses: u64,
    /// The part of the time in which it was busy (of several units, the sum of their parts).
    pub utilization: f64,
    /// Accesses that waited, in the mean over time.
    pub waiting: f64,
    /// Where the time of an access went.
    pub split: Split,
}

/// What a processor, channel or bus has done.
#[derive(Clone, Debug, PartialEq)]
pub struct StationReport {
    /// What people call it.
    pub name: String,
    /// How often it served.
    pub served: u64,
    /// The part of the time in which it was busy, in the mean of its servers.
    pub utilization: f64,
    /// How long each thing waited for it, in the mean, in seconds.
    pub waited: f64,
}

/// Where the time of an access went, in the mean, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// Waiting for others.
    pub queue: f64,
    /// Moving the arm.
    pub seek: f64,
    /// Waiting for the platters.
    pub rotation: f64,
    /// Passing under a head.
    pub transfer: f64,
    /// The rest: commands, buses, buffers.
    pub overhead: f64,
    /// Waiting, when it was done, for other accesses of the same job that were under way with it.
    pub synchronization: f64,
}

impl Report {
    /// Of all sources together.
    pub fn all(&self) -> &Answers {
        self.together.as_ref().unwrap_or(&self.sources[0].answers)
    }

    /// Where the time of an access went, of all members together.
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

    /// The part of the time in which a member was busy, in the mean of all members.
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
    pub(crate) fn new(before: Tally, after: Tally, span: Duration) -> MemberReport {
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
            utilization: busy.as_secs_f64() / span,
            waiting: queued.as_secs_f64() / span,
            split: Split {
                queue: each(queued),
                seek: each(parts.seek),
                rotation: each(parts.rotation),
                transfer: each(parts.transfer),
                // What is under way at the end has its parts counted already, but is not yet done.
                overhead: (each(busy) - each(parts.total())).max(0.0),
                synchronization: each(after.synchronized - before.synchronized),
            },
        }
    }
}

/// What is being learned of requests.
#[derive(Clone, Debug)]
pub(crate) struct Learned {
    all: Moments,
    reads: Times,
    writes: Times,
    others: Times,
    /// Reads, writes, and others: how many, and how many bytes.
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

/// What is being learned of tasks.
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
