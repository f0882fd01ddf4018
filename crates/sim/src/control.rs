//! Runs with one setting after another, until one shows what is wanted. Each run is of a fresh
//! world, which the caller makes.

use std::error::Error;

use parlour_units::Duration;

use crate::report::Report;
use crate::statistics::Estimate;

/// A run on the way to what is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<S> {
    /// How it was set.
    pub setting: S,
    /// Requests a second.
    pub throughput: Estimate,
    /// The quantile of response times that is looked at; where throughput is what is wanted, the
    /// 90th percentile.
    pub quantile: Duration,
}

/// Where it led.
#[derive(Clone, Debug)]
pub struct Reached<S> {
    /// How the last run was set.
    pub setting: S,
    /// What it has shown.
    pub report: Report,
    /// Whether that is what was wanted.
    pub met: bool,
    /// All runs, in their order.
    pub steps: Vec<Step<S>>,
}

/// Why there is no setting to be found.
#[derive(Debug, thiserror::Error)]
pub enum ControlError<E: Error + 'static> {
    /// A run gave no figures.
    #[error(transparent)]
    Run(E),
    /// Nothing to reach.
    #[error("{0} requests a second are no throughput to be reached: it is above 0")]
    NoThroughput(f64),
    /// Never near enough.
    #[error("{0} is no part to be off by: it is above 0 and below 1")]
    NoTolerance(f64),
    /// Not a quantile.
    #[error("{0} is no quantile: it is above 0 and below 1")]
    NoQuantile(f64),
    /// Nothing is within nothing.
    #[error("the limit of the response time is nothing; make it longer")]
    NoLimit,
    /// Nobody asks.
    #[error("at least one request is outstanding")]
    NoDepth,
}

/// Finds the think time at which so many requests a second are answered, to within a part of it
/// (Stodolsky et al., section 8). Where they are not reached without thinking, that is what it
/// comes to, and the target is not met.
///
/// A process that thinks for Z and waits for R asks every Z + R: as processes do not wait longer
/// the more they think, the time from one answer to the next grows with the think time, and by at
/// most Z for each process.
///
/// # Errors
/// A run gave no figures, or there is nothing to be reached.
pub fn reach_throughput<E: Error>(
    target: f64,
    tolerance: f64,
    most: u32,
    mut run: impl FnMut(Duration) -> Result<Report, E>,
) -> Result<Reached<Duration>, ControlError<E>> {
    if !(target > 0.0 && target.is_finite()) {
        return Err(ControlError::NoThroughput(target));
    }
    if !(tolerance > 0.0 && tolerance < 1.0) {
        return Err(ControlError::NoTolerance(tolerance));
    }
    let mut steps = Vec::new();
    let mut think = Duration::ZERO;
    // What is known to be too short, and too long.
    let (mut short, mut long): (Option<Tried>, Option<Tried>) = (None, None);
    let mut processes = 1.0;
    loop {
        let report = run(think).map_err(ControlError::Run)?;
        let rate = report.all().all.requests;
        steps.push(Step {
            setting: think,
            throughput: rate,
            quantile: report.all().all.response.quantile(0.9),
        });
        let met = (rate.mean / target - 1.0).abs() <= tolerance;
        let unreachable = rate.mean < target && think == Duration::ZERO;
        if met || unreachable || steps.len() >= most.max(1) as usize {
            return Ok(Reached { setting: think, report, met, steps });
        }
        let tried = Tried { think: think.as_secs_f64(), gap: 1.0 / rate.mean };
        if think == Duration::ZERO {
            // Nobody thinks: all are under way.
            processes = report.under_way.max(1.0);
        }
        *if rate.mean > target { &mut short } else { &mut long } = Some(tried);
        think = Duration::from_nanoseconds(
            (next_think(1.0 / target, short, long, processes) * 1e9).round() as u64
        );
    }
}

/// A think time, and the time from one answer to the next that came of it, in seconds.
#[derive(Clone, Copy)]
struct Tried {
    think: f64,
    gap: f64,
}

/// The next think time to try, in seconds: on the line between what is known to be too short and
/// too long.
fn next_think(gap: f64, short: Option<Tried>, long: Option<Tried>, processes: f64) -> f64 {
    match (short, long) {
        (Some(short), Some(long)) => {
            let part = ((gap - short.gap) / (long.gap - short.gap)).clamp(0.05, 0.95);
            short.think + part * (long.think - short.think)
        }
        // As if they waited no less. They do, so that it is too short by much where the drives are
        // busy at all times.
        (Some(short), None) => {
            short.think + (processes * (gap - short.gap) * 1.05).max(short.think).max(1e-6)
        }
        (None, Some(long)) => long.think / 2.0,
        (None, None) => 0.0,
    }
}

/// What response times are to be within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// This.
    Time(Duration),
    /// So many times what they are with one outstanding request (Chen et al., section 7.3: four
    /// times an idle array's).
    TimesIdle(f64),
}

/// Finds the largest number of outstanding requests with which this part of all is answered within
/// a limit (Chen et al., section 6: nine tenths). Where it is not even met with one, that is what
/// it comes to; and it is not more than `most`.
///
/// # Errors
/// A run gave no figures, or there is nothing to be kept.
pub fn keep_quantile<E: Error>(
    part: f64,
    limit: Limit,
    most: u32,
    mut run: impl FnMut(u32) -> Result<Report, E>,
) -> Result<Reached<u32>, ControlError<E>> {
    if !(part > 0.0 && part < 1.0) {
        return Err(ControlError::NoQuantile(part));
    }
    if most == 0 {
        return Err(ControlError::NoDepth);
    }
    let mut steps = Vec::new();
    let mut tried = |depth| -> Result<(Report, Duration), ControlError<E>> {
        let report = run(depth).map_err(ControlError::Run)?;
        let quantile = report.all().all.response.quantile(part);
        steps.push(Step { setting: depth, throughput: report.all().all.requests, quantile });
        Ok((report, quantile))
    };
    let (idle, first) = tried(1)?;
    let limit = match limit {
        Limit::Time(limit) => limit,
        Limit::TimesIdle(times) => {
            Duration::from_nanoseconds((first.nanoseconds() as f64 * times).round() as u64)
        }
    };
    if limit == Duration::ZERO {
        return Err(ControlError::NoLimit);
    }
    // The largest that keeps it, and the smallest that does not.
    let (mut kept, mut beyond) = ((1, idle), most.saturating_add(1));
    let met = first <= limit;
    while met && beyond - kept.0 > 1 {
        // Twice as many until it is too much, and then halfway.
        let depth = kept.0.saturating_mul(2).min(kept.0 + (beyond - kept.0) / 2);
        let (report, quantile) = tried(depth)?;
        match quantile <= limit {
            true => kept = (depth, report),
            false => beyond = depth,
        }
    }
    Ok(Reached { setting: kept.0, report: kept.1, met, steps })
}
