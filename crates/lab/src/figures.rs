//! What people and programs are shown of a run.

use parlour_sim::control::Step;
use parlour_sim::history::Point;
use parlour_sim::report::{Answers, Ended, Group, MemberReport, Report, SourceReport, Split, StationReport};
use parlour_sim::statistics::{Estimate, Times};
use serde::Serialize;

use crate::experiment::control::{Found, Setting};
use crate::experiment::health::Happened;
use crate::experiment::prepared::Outcome;

/// The figures of a run. Intervals are half widths, at 95%.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Simulated time that counts.
    pub seconds: f64,
    /// Requests that count.
    pub requests: u64,
    /// Why it ended.
    pub ended: &'static str,
    /// Requests a second.
    pub throughput: Interval,
    /// The same for each member.
    pub throughput_per_member: f64,
    /// Megabytes (of 1,000,000 bytes) a second.
    pub mb_per_second: Interval,
    /// Response times.
    pub response_ms: Distribution,
    /// Reads alone, where there are any.
    pub reads: Option<Part>,
    /// Writes alone.
    pub writes: Option<Part>,
    /// Requests under way in the mean.
    pub under_way: f64,
    /// The part of the time in which a member was busy, in the mean of all.
    pub utilization: f64,
    /// Where the time of an access went, in the mean, in milliseconds.
    pub access_ms: AccessTime,
    /// By source, where there are several, or where transactions or files are what is waited for.
    pub sources: Vec<SourceFigures>,
    /// By member.
    pub members: Vec<MemberFigures>,
    /// What lies between hosts and members: processors, channel, strings.
    pub paths: Vec<PathFigures>,
    /// Requests that were answered with lost data.
    pub lost: u64,
    /// What has happened to members.
    pub incidents: Vec<IncidentFigures>,
    /// Rebuilds.
    pub rebuilds: Vec<RebuildFigures>,
    /// What was found by running again and again.
    pub control: Option<ControlFigures>,
    /// How it went over time, where that was asked for.
    pub history: Option<HistoryFigures>,
}

/// A mean, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95% confidence interval; null where too few values were seen.
    pub interval: Option<f64>,
}

/// How times are distributed, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// The mean.
    pub mean: f64,
    /// Half the width of its interval.
    pub interval: Option<f64>,
    /// The standard deviation.
    pub deviation: f64,
    /// Half of all are at most this.
    pub median: f64,
    /// 90%.
    pub p90: f64,
    /// 95%.
    pub p95: f64,
    /// 99%.
    pub p99: f64,
    /// The longest.
    pub longest: f64,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Part {
    /// How many.
    pub requests: u64,
    /// A second.
    pub throughput: Interval,
    /// Megabytes a second.
    pub mb_per_second: Interval,
    /// Response times.
    pub response_ms: Distribution,
}

/// Where the time of an access went, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AccessTime {
    /// Waiting for others.
    pub queue: f64,
    /// Moving the arm.
    pub seek: f64,
    /// Waiting for the platters.
    pub rotation: f64,
    /// Passing under a head.
    pub transfer: f64,
    /// The rest.
    pub overhead: f64,
    /// Waiting, when it was done, for other accesses of the same job.
    pub synchronization: f64,
}

/// What became of a source's requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceFigures {
    /// What it is called.
    pub name: String,
    /// Its requests.
    pub requests: Part,
    /// Its transactions or files, if it has any.
    pub tasks: Option<TaskFigures>,
}

/// Transactions or files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TaskFigures {
    /// How many.
    pub count: u64,
    /// A second.
    pub throughput: Interval,
    /// From the beginning of each to its end.
    pub time_ms: Distribution,
    /// Bytes of each, in the mean.
    pub bytes: f64,
    /// Megabytes a second of each, in the mean.
    pub mb_per_second: Interval,
}

/// What a member has done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemberFigures {
    /// Accesses.
    pub accesses: u64,
    /// The part of the time in which it was busy.
    pub utilization: f64,
    /// Accesses that waited, in the mean over time.
    pub waiting: f64,
    /// Where the time of an access went.
    pub access_ms: AccessTime,
}

/// What a processor, channel or bus has done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathFigures {
    /// What it is called.
    pub name: String,
    /// How often it served.
    pub served: u64,
    /// The part of the time in which it was busy.
    pub utilization: f64,
    /// How long each thing waited for it, in the mean, in milliseconds.
    pub waited_ms: f64,
}

/// Something that has happened to an array.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IncidentFigures {
    /// When.
    pub seconds: f64,
    /// To which array.
    pub array: usize,
    /// What.
    pub what: String,
}

/// A rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RebuildFigures {
    /// In which array.
    pub array: usize,
    /// Of which slot.
    pub slot: u16,
    /// How long it took; null if it was not done.
    pub took_seconds: Option<f64>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlFigures {
    /// How the run was set that counts.
    #[serde(flatten)]
    pub setting: SettingFigure,
    /// Whether it shows what was wanted.
    pub met: bool,
    /// All runs.
    pub steps: Vec<StepFigures>,
}

/// How a run was set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingFigure {
    /// The mean think time in milliseconds.
    ThinkMs(f64),
    /// Processes.
    Processes(u32),
}

/// A run on the way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepFigures {
    /// How it was set.
    #[serde(flatten)]
    pub setting: SettingFigure,
    /// Requests a second.
    pub throughput: Interval,
    /// The quantile of response times that is looked at.
    pub quantile_ms: f64,
}

/// How a run went over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryFigures {
    /// Seconds from one point to the next.
    pub period: f64,
    /// The points.
    pub points: Vec<HistoryPoint>,
}

/// The state at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HistoryPoint {
    /// Requests that were not answered.
    pub under_way: usize,
    /// Accesses that waited for a member, of all members.
    pub waiting: usize,
    /// The most that waited for one.
    pub longest_queue: usize,
    /// Log buffers in use.
    pub log_buffers: u32,
    /// Log records that were not in the parity.
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
    /// What came of a run, with its history if that is wanted.
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
            lost: report.lost,
            incidents: incidents(&outcome.happened),
            rebuilds: rebuilds(&outcome.happened),
            control: outcome.found.as_ref().map(ControlFigures::of),
            history: history.then(|| HistoryFigures::of(report)),
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
