//! Repeats a run with different settings until it meets a target. Each run uses a new world, which
//! the caller makes.

use std::error::Error;

use parlour_units::Duration;

use crate::report::Report;
use crate::statistics::Estimate;

/// One of the runs in the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<S> {
    /// The run's setting.
    pub setting: S,
    /// Requests per second.
    pub throughput: Estimate,
    /// The quantile of response times that is compared with the limit; if throughput is the target,
    /// the 90th percentile.
    pub quantile: Duration,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Reached<S> {
    /// The setting of the last run.
    pub setting: S,
    /// The report of the last run.
    pub report: Report,
    /// Whether it meets the target.
    pub met: bool,
    /// All runs, in order.
    pub steps: Vec<Step<S>>,
}

/// Why no setting can be found.
#[derive(Debug, thiserror::Error)]
pub enum ControlError<E: Error + 'static> {
    /// A run failed.
    #[error(transparent)]
    Run(E),
    /// The target throughput is not positive.
    #[error("{0} requests a second are no throughput to be reached: it is above 0")]
    NoThroughput(f64),
    /// The tolerance is not a fraction between 0 and 1.
    #[error("{0} is no part to be off by: it is above 0 and below 1")]
    NoTolerance(f64),
    /// The quantile is not a fraction between 0 and 1.
    #[error("{0} is no quantile: it is above 0 and below 1")]
    NoQuantile(f64),
    /// The limit of the response time is zero.
    #[error("the limit of the response time is nothing; make it longer")]
    NoLimit,
    /// The number of outstanding requests is zero.
    #[error("at least one request is outstanding")]
    NoDepth,
}

/// Finds the think time with which `target` requests per second are answered, within a relative
/// tolerance (Stodolsky et al., section 8). If the target is not reached even with a think time of
/// zero, the result is that run, and the target is not met.
///
/// A process that thinks for Z and waits for R sends a request every Z + R. Processes that think
/// longer do not wait longer. So the time between two answers grows with the think time, by at most
/// Z for each process.
///
/// # Errors
/// A run failed, or the parameters are invalid.
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
    // The longest think time known to be too short, and the shortest known to be too long.
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
            // Without think time, all processes have a request under way.
            processes = report.under_way.max(1.0);
        }
        *if rate.mean > target { &mut short } else { &mut long } = Some(tried);
        think = Duration::from_nanoseconds(
            (next_think(1.0 / target, short, long, processes) * 1e9).round() as u64
        );
    }
}

/// A think time, and the resulting time between two answers, in seconds.
#[derive(Clone, Copy)]
struct Tried {
    think: f64,
    gap: f64,
}

/// The next think time to try, in seconds, by linear interpolation between the two known ones.
fn next_think(gap: f64, short: Option<Tried>, long: Option<Tried>, processes: f64) -> f64 {
    match (short, long) {
        (Some(short), Some(long)) => {
            let part = ((gap - short.gap) / (long.gap - short.gap)).clamp(0.05, 0.95);
            short.think + part * (long.think - short.think)
        }
        // Assumes that longer thinking does not shorten the waiting. In fact it does, so if the
        // drives are always busy, this think time is much too short.
        (Some(short), None) => {
            short.think + (processes * (gap - short.gap) * 1.05).max(short.think).max(1e-6)
        }
        (None, Some(long)) => long.think / 2.0,
        (None, None) => 0.0,
    }
}

/// The limit on response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// An absolute time.
    Time(Duration),
    /// A multiple of the response time with one outstanding request (Chen et al., section 7.3: four
    /// times that of an idle array).
    TimesIdle(f64),
}

/// Finds the largest number of outstanding requests with which a fraction `part` of all requests is
/// answered within a limit (Chen et al., section 6: nine tenths). The result is at most `most`. If
/// the limit is not met even with one request, the result is that run.
///
/// # Errors
/// A run failed, or the parameters are invalid.
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
    // The largest number that meets the limit, and the smallest that does not.
    let (mut kept, mut beyond) = ((1, idle), most.saturating_add(1));
    let met = first <= limit;
    while met && beyond - kept.0 > 1 {
        // Doubles the number until it is too large, and then bisects.
        let depth = kept.0.saturating_mul(2).min(kept.0 + (beyond - kept.0) / 2);
        let (report, quantile) = tried(depth)?;
        match quantile <= limit {
            true => kept = (depth, report),
            false => beyond = depth,
        }
    }
    Ok(Reached { setting: kept.0, report: kept.1, met, steps })
}
