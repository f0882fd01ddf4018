//! `[control]`: runs a simulation repeatedly to find a setting: the think time that reaches a given
//! throughput (Stodolsky §8), or the number of processes that keeps a response time (Chen §6).

use std::error::Error;

use parlour_sim::control::{ControlError, Limit, Reached, Step, keep_quantile, reach_throughput};
use parlour_sim::report::Report;
use parlour_units::Duration;

use super::setup::ControlSettings;
use super::workload::{DelaySetting, DrawnDelay, WorkloadSettings};
use crate::settings::Time;

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// Nothing: there is one run.
    Once,
    /// The think time that reaches a throughput.
    Throughput {
        /// The wanted throughput, in requests per second.
        target: f64,
        /// The accepted deviation, as a fraction of the target.
        tolerance: f64,
        /// The largest number of runs.
        runs: u32,
    },
    /// The largest number of processes that keeps a quantile of response times within a limit.
    Quantile {
        /// The fraction of requests.
        part: f64,
        /// The limit of their response time.
        limit: Limit,
        /// The largest number of processes.
        processes: u32,
    },
}

/// The setting of one run of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// The mean think time of a process.
    Think(Duration),
    /// The number of processes.
    Processes(u32),
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The setting of the chosen run.
    pub setting: Setting,
    /// Whether the chosen run reaches the target.
    pub met: bool,
    /// All runs of the search.
    pub steps: Vec<Step<Setting>>,
}

/// Why the `[control]` table is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// It gives both a throughput and a quantile.
    #[error(
        "control: a throughput is reached by thinking, a quantile kept by fewer processes: give one of them"
    )]
    Both,
    /// A quantile has no limit, or two limits.
    #[error("control: say within which limit or times-idle the quantile is to stay")]
    Limit,
    /// A limit is given without a quantile.
    #[error("control.{0} is for quantile: say which part of requests is to stay within it")]
    NoQuantile(&'static str),
    /// A number is invalid.
    #[error("control.{key}: {value} is not possible; use {possible}")]
    Number {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        possible: &'static str,
    },
    /// It is combined with `[[health]]`: members would fail at a different point of each run.
    #[error("control: runs that are compared are of whole arrays; leave [[health]] out")]
    Health,
    /// The first workload has no processes, so the search would change nothing.
    #[error("control: it changes the first workload's think time or processes; give it processes")]
    NotClosed,
}

impl ControlSettings {
    /// Returns what is searched for with these workloads.
    pub(super) fn control(&self, workloads: &[WorkloadSettings]) -> Result<Control, SettingsError> {
        self.check()?;
        let control = match (self.throughput, self.quantile) {
            (Some(_), Some(_)) => return Err(SettingsError::Both),
            (None, None) if self.limit.is_some() => return Err(SettingsError::NoQuantile("limit")),
            (None, None) if self.times_idle.is_some() => return Err(SettingsError::NoQuantile("times-idle")),
            (None, None) => return Ok(Control::Once),
            (Some(target), None) => Control::Throughput {
                target,
                tolerance: self.tolerance.unwrap_or(0.02),
                runs: self.runs.unwrap_or(20),
            },
            (None, Some(part)) => {
                let limit = match (self.limit, self.times_idle) {
                    (Some(limit), None) => Limit::Time(limit.0),
                    (None, Some(times)) => Limit::TimesIdle(times),
                    _ => return Err(SettingsError::Limit),
                };
                Control::Quantile { part, limit, processes: self.processes.unwrap_or(1_024) }
            }
        };
        let closed = workloads.first().is_some_and(|first| first.processes.is_some());
        closed.then_some(control).ok_or(SettingsError::NotClosed)
    }

    /// Checks that all numbers are valid.
    fn check(&self) -> Result<(), SettingsError> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let part = |value: f64| value > 0.0 && value < 1.0;
        type Number = (&'static str, Option<f64>, fn(f64) -> bool, &'static str);
        let numbers: [Number; 5] = [
            ("throughput", self.throughput, positive, "more than 0 requests a second"),
            ("tolerance", self.tolerance, part, "more than 0 and less than 1"),
            ("quantile", self.quantile, part, "more than 0 and less than 1"),
            ("limit", self.limit.map(|limit| limit.0.as_secs_f64()), positive, "some time"),
            ("times-idle", self.times_idle, positive, "more than 0"),
        ];
        let wrong = numbers.into_iter().find_map(|(key, value, is_possible, possible)| {
            let value = value.filter(|value| !is_possible(*value))?;
            Some(SettingsError::Number { key, value, possible })
        });
        wrong.map_or(Ok(()), Err)
    }
}

impl Control {
    /// Runs until the search ends. `run` returns the report of a run in which the first workload
    /// has the given setting, or is unchanged if there is none.
    pub(super) fn find<E: Error + 'static>(
        self,
        mut run: impl FnMut(Option<Setting>) -> Result<Report, E>,
    ) -> Result<(Report, Option<Found>), ControlError<E>> {
        match self {
            Control::Once => Ok((run(None).map_err(ControlError::Run)?, None)),
            Control::Throughput { target, tolerance, runs } => {
                let reached =
                    reach_throughput(target, tolerance, runs, |think| run(Some(Setting::Think(think))))?;
                Ok(found(reached, Setting::Think))
            }
            Control::Quantile { part, limit, processes } => {
                let reached =
                    keep_quantile(part, limit, processes, |depth| run(Some(Setting::Processes(depth))))?;
                Ok(found(reached, Setting::Processes))
            }
        }
    }
}

fn found<S: Copy>(reached: Reached<S>, setting: impl Fn(S) -> Setting) -> (Report, Option<Found>) {
    let Reached { setting: last, report, met, steps } = reached;
    let step = |Step { setting: of, throughput, quantile }: &Step<S>| Step {
        setting: setting(*of),
        throughput: *throughput,
        quantile: *quantile,
    };
    let steps = steps.iter().map(step).collect();
    (report, Some(Found { setting: setting(last), met, steps }))
}

impl WorkloadSettings {
    /// Returns these settings with the given setting. A distribution of think times keeps its
    /// shape.
    pub(super) fn set(&self, setting: Setting) -> WorkloadSettings {
        let mut set = self.clone();
        match setting {
            Setting::Processes(processes) => set.processes = Some(processes),
            Setting::Think(mean) => set.think = Some(scaled(self.think, mean)),
        }
        set
    }
}

fn scaled(think: Option<DelaySetting>, mean: Duration) -> DelaySetting {
    match think {
        Some(DelaySetting::Drawn(DrawnDelay::Exponential(_))) => {
            DelaySetting::Drawn(DrawnDelay::Exponential(Time(mean)))
        }
        Some(DelaySetting::Drawn(DrawnDelay::Normal(before, deviation))) if before.0 > Duration::ZERO => {
            let part = deviation.0.as_secs_f64() / before.0.as_secs_f64();
            let deviation = Duration::from_nanoseconds((mean.nanoseconds() as f64 * part).round() as u64);
            DelaySetting::Drawn(DrawnDelay::Normal(Time(mean), Time(deviation)))
        }
        _ => DelaySetting::Fixed(Time(mean)),
    }
}
