//! The figures of a run, for reports and for JSON output.

use parlour_array::Traffic;
use parlour_sim::control::Step;
use parlour_sim::history::Point;
use parlour_sim::log_tally::LogTally;
use parlour_sim::report::{Answers, Ended, Group, MemberReport, Report, SourceReport, Split, StationReport};
use parlour_sim::statistics::{Estimate, Times};
use parlour_units::Sectors;
use serde::Serialize;

use crate::experiment::control::{Found, Setting};
use crate::experiment::health::Happened;
use crate::experiment::prepared::Outcome;

/// The figures of a run. Intervals are half widths, at 95%.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The simulated time that counts.
    pub seconds: f64,
    /// The number of counted requests.
    pub requests: u64,
    /// Why the run ended.
    pub ended: &'static str,
    /// Requests per second.
    pub throughput: Interval,
    /// Requests per second, divided by the number of members.
    pub throughput_per_member: f64,
    /// Megabytes (of 1,000,000 bytes) per second.
    pub mb_per_second: Interval,
    /// Response times.
    pub response_ms: Distribution,
    /// Figures of reads alone, if there are reads.
    pub reads: Option<Part>,
    /// Figures of writes alone, if there are writes.
    pub writes: Option<Part>,
    /// The mean number of requests under way.
    pub under_way: f64,
    /// The mean fraction of the time in which a member was busy.
    pub utilization: f64,
    /// The mean components of an access's time, in milliseconds.
    pub access_ms: AccessTime,
    /// The figures of each source, if there are several, or if a source has transactions or files.
    pub sources: Vec<SourceFigures>,
    /// The figures of each member.
    pub members: Vec<MemberFigures>,
    /// The figures of what lies between hosts and members: processors, channel, strings.
    pub paths: Vec<PathFigures>,
    /// The work of the parity logs, if there are any.
    pub logs: Option<LogFigures>,
    /// The number of requests that were answered with an error because data is lost.
    pub lost: u64,
    /// Events that concern members.
    pub incidents: Vec<IncidentFigures>,
    /// Rebuilds.
    pub rebuilds: Vec<RebuildFigures>,
    /// What organizations that are simulated only have counted.
    pub measured: Vec<MeasuredFigure>,
    /// The result of a search over several runs.
    pub control: Option<ControlFigures>,
    /// The history over time, if requested.
    pub history: Option<HistoryFigures>,
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95% confidence interval; null if there were too few values.
    pub interval: Option<f64>,
}

/// The distribution of times, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// The mean.
    pub mean: f64,
    /// Half the width of its interval.
    pub interval: Option<f64>,
    /// The standard deviation.
    pub deviation: f64,
    /// The median.
    pub median: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub longest: f64,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The number of requests.
    pub requests: u64,
    /// Requests per second.
    pub throughput: Interval,
    /// Megabytes per second.
    pub mb_per_second: Interval,
    /// Response times.
    pub response_ms: Distribution,
}

/// The components of an access's time, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AccessTime {
    /// Waiting for other accesses of the member.
    pub queue: f64,
    /// Moving the arm.
    pub seek: f64,
    /// Waiting for the rotation of the platters.
    pub rotation: f64,
    /// Transferring data under the head.
    pub transfer: f64,
    /// Everything else.
    pub overhead: f64,
    /// Waiting, after the access was done, for other accesses of the same job.
    pub synchronization: f64,
}

/// The figures of a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceFigures {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: Part,
    /// Its transactions or files, if it has any.
    pub tasks: Option<TaskFigures>,
}

/// The figures of transactions or files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TaskFigures {
    /// The number of them.
    pub count: u64,
    /// The number per second.
    pub throughput: Interval,
    /// The time from the beginning of each to its end.
    pub time_ms: Distribution,
    /// The mean number of bytes of each.
    pub bytes: f64,
    /// The mean rate of each, in megabytes per second.
    pub mb_per_second: Interval,
}

/// The figures of a member.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemberFigures {
    /// The number of accesses.
    pub accesses: u64,
    /// The fraction of the time in which it was busy.
    pub utilization: f64,
    /// The mean number of waiting accesses over time.
    pub waiting: f64,
    /// The mean components of an access's time.
    pub access_ms: AccessTime,
}

/// The figures of a processor, channel or bus.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathFigures {
    /// Its name.
    pub name: String,
    /// The number of times it served.
    pub served: u64,
    /// The fraction of the time in which it was busy.
    pub utilization: f64,
    /// The mean time of waiting for it, in milliseconds.
    pub waited_ms: f64,
}

/// The work of parity logs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LogFigures {
    /// Appends of log buffers.
    pub appends: u64,
    /// Reintegrations that were completed.
    pub reintegrations: u64,
    /// Reads of logs and of parity in reintegrations.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes: appends, parity in reintegrations, entries of the commit log.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

/// An event of an array.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncidentFigures {
    /// The simulated time in seconds.
    pub seconds: f64,
    /// The array.
    pub array: usize,
    /// The description.
    pub what: String,
}

/// A rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RebuildFigures {
    /// The array.
    pub array: usize,
    /// The slot.
    pub slot: u16,
    /// The duration; null if the rebuild did not finish.
    pub took_seconds: Option<f64>,
}

/// A measurement of an organization that is simulated only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredFigure {
    /// The array.
    pub array: usize,
    /// What is measured.
    pub what: &'static str,
    /// Its value.
    pub value: f64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlFigures {
    /// The setting of the chosen run.
    #[serde(flatten)]
    pub setting: SettingFigure,
    /// Whether the chosen run reaches the target.
    pub met: bool,
    /// All runs of the search.
    pub steps: Vec<StepFigures>,
}

/// The setting of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingFigure {
    /// The mean think time in milliseconds.
    ThinkMs(f64),
    /// The number of processes.
    Processes(u32),
}

/// A run of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepFigures {
    /// Its setting.
    #[serde(flatten)]
    pub setting: SettingFigure,
    /// Requests per second.
    pub throughput: Interval,
    /// The quantile of response times that the search looks at.
    pub quantile_ms: f64,
}

/// The history of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryFigures {
    /// The time from one point to the next, in seconds.
    pub period: f64,
    /// The points.
    pub points: Vec<HistoryPoint>,
}

/// The state at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HistoryPoint {
    /// Requests under way.
    pub under_way: usize,
    /// Accesses that wait for a member, summed over all members.
    pub waiting: usize,
    /// The longest queue of a member.
    pub longest_queue: usize,
    /// Log buffers in use.
    pub log_buffers: u32,
    /// Log records that are not yet in the parity.
    pub log_records: u64,
}

const MB: f64 = 1e-6;
const MS: f64 = 1e3;

impl Interval {
    fn of(estimate: Estimate, unit: f64) -> Interval {
        let interval = Some(estimate.half_width * unit).filter(|width| width.is_finite());
        Interval { mean: estimate.mean * unit, interval }
    }
}

impl Distribution {
    fn of(times: &Times) -> Distribution {
        let quantile = |part| times.quantile(part).as_secs_f64() * MS;
        let Interval { mean, interval } = Interval::of(times.mean(), MS);
        Distribution {
            mean,
            interval,
            deviation: times.deviation() * MS,
            median: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            longest: times.longest().as_secs_f64() * MS,
        }
    }
}

impl Part {
    fn of(group: &Group) -> Part {
        Part {
            requests: group.response.count(),
            throughput: Interval::of(group.requests, 1.0),
            mb_per_second: Interval::of(group.bytes, MB),
            response_ms: Distribution::of(&group.response),
        }
    }

    fn if_any(group: &Group) -> Option<Part> {
        (group.response.count() > 0).then(|| Part::of(group))
    }
}

impl AccessTime {
    fn of(split: &Split) -> AccessTime {
        AccessTime {
            queue: split.queue * MS,
            seek: split.seek * MS,
            rotation: split.rotation * MS,
            transfer: split.transfer * MS,
            overhead: split.overhead * MS,
            synchronization: split.synchronization * MS,
        }
    }
}

impl SourceFigures {
    fn of(source: &SourceReport) -> SourceFigures {
        let tasks = source.tasks.as_ref().map(|tasks| TaskFigures {
            count: tasks.times.count(),
            throughput: Interval::of(tasks.throughput, 1.0),
            time_ms: Distribution::of(&tasks.times),
            bytes: tasks.bytes,
            mb_per_second: Interval::of(tasks.rate, MB),
        });
        SourceFigures { name: source.name.clone(), requests: Part::of(&source.answers.all), tasks }
    }
}

impl MemberFigures {
    fn of(member: &MemberReport) -> MemberFigures {
        MemberFigures {
            accesses: member.accesses,
            utilization: member.utilization,
            waiting: member.waiting,
            access_ms: AccessTime::of(&member.split),
        }
    }
}

impl SettingFigure {
    fn of(setting: Setting) -> SettingFigure {
        match setting {
            Setting::Think(mean) => SettingFigure::ThinkMs(mean.as_secs_f64() * MS),
            Setting::Processes(count) => SettingFigure::Processes(count),
        }
    }
}

impl ControlFigures {
    fn of(found: &Found) -> ControlFigures {
        let step = |Step { setting, throughput, quantile }: &Step<Setting>| StepFigures {
            setting: SettingFigure::of(*setting),
            throughput: Interval::of(*throughput, 1.0),
            quantile_ms: quantile.as_secs_f64() * MS,
        };
        ControlFigures {
            setting: SettingFigure::of(found.setting),
            met: found.met,
            steps: found.steps.iter().map(step).collect(),
        }
    }
}

impl HistoryFigures {
    fn of(report: &Report) -> HistoryFigures {
        let point = |point: &Point| HistoryPoint {
            under_way: point.under_way,
            waiting: point.waiting,
            longest_queue: point.longest_queue,
            log_buffers: point.log_buffers,
            log_records: point.log_records,
        };
        HistoryFigures {
            period: report.history.period().as_secs_f64(),
            points: report.history.points().iter().map(point).collect(),
        }
    }
}

impl Figures {
    /// Returns the figures of an outcome, with its history if `history` is set.
    pub fn of(outcome: &Outcome, history: bool) -> Figures {
        let report = &outcome.report;
        let Answers { all, reads, writes } = report.all();
        let several = report.sources.len() > 1 || report.sources.iter().any(|source| source.tasks.is_some());
        Figures {
            seconds: report.span.as_secs_f64(),
            requests: all.response.count(),
            ended: ended(report.ended),
            throughput: Interval::of(all.requests, 1.0),
            throughput_per_member: all.requests.mean / report.members.len().max(1) as f64,
            mb_per_second: Interval::of(all.bytes, MB),
            response_ms: Distribution::of(&all.response),
            reads: Part::if_any(reads),
            writes: Part::if_any(writes),
            under_way: report.under_way,
            utilization: report.utilization(),
            access_ms: AccessTime::of(&report.split()),
            sources: report.sources.iter().filter(|_| several).map(SourceFigures::of).collect(),
            members: report.members.iter().map(MemberFigures::of).collect(),
            paths: report.stations.iter().map(PathFigures::of).collect(),
            logs: report.logs.map(LogFigures::of),
            lost: report.lost,
            incidents: incidents(&outcome.happened),
            rebuilds: rebuilds(&outcome.happened),
            measured: measured(&outcome.happened),
            control: outcome.found.as_ref().map(ControlFigures::of),
            history: history.then(|| HistoryFigures::of(report)),
        }
    }
}

impl LogFigures {
    fn of(tally: LogTally) -> LogFigures {
        let Traffic { reads, read, writes, written, .. } = tally.traffic;
        let bytes = |sectors| Sectors::new(sectors).bytes().get();
        LogFigures {
            appends: tally.appends,
            reintegrations: tally.reintegrations,
            reads,
            read_bytes: bytes(read),
            writes,
            write_bytes: bytes(written),
        }
    }
}

impl PathFigures {
    fn of(station: &StationReport) -> PathFigures {
        PathFigures {
            name: station.name.clone(),
            served: station.served,
            utilization: station.utilization,
            waited_ms: station.waited * MS,
        }
    }
}

fn incidents(happened: &Happened) -> Vec<IncidentFigures> {
    let incidents = happened.incidents.iter().cloned();
    incidents.map(|(seconds, array, what)| IncidentFigures { seconds, array, what }).collect()
}

fn measured(happened: &Happened) -> Vec<MeasuredFigure> {
    let figure = |(array, what, value): &(usize, &'static str, f64)| MeasuredFigure {
        array: *array,
        what,
        value: *value,
    };
    happened.measured.iter().map(figure).collect()
}

fn rebuilds(happened: &Happened) -> Vec<RebuildFigures> {
    let rebuilds = happened.rebuilds.iter();
    rebuilds
        .map(|(array, slot, took)| RebuildFigures { array: *array, slot: *slot, took_seconds: *took })
        .collect()
}

fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Precise => "precise",
        Ended::Most => "at-most",
        Ended::Time => "time",
        Ended::Exhausted => "exhausted",
        Ended::Watched => "watched",
        Ended::Interrupted => "interrupted",
    }
}
