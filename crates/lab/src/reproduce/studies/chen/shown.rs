//! Reads the results of the experiments on the Amdahl.

use crate::figures::{Figures, Interval};
use crate::reproduce::evidence::{Evidence, EvidenceError, Experimented};
use crate::reproduce::figure::Point;

/// Fixed sizes, with a growing number of requests at once.
pub(super) const LOAD: &str = "chen/figure-4";
/// Fixed sizes, at equal response times.
pub(super) const EQUAL: &str = "chen/figure-7";
/// Distributed sizes, one request at a time and saturated.
pub(super) const SIZES: &str = "chen/sizes";
/// Distributed sizes, at equal response times.
pub(super) const SIZES_EQUAL: &str = "chen/figure-8";
/// Distributed sizes, unaligned, with reads and writes mixed.
pub(super) const MIXED: &str = "chen/figure-9";
/// Arrays of 5, 10 and 20 disks of data.
pub(super) const SCALING: &str = "chen/scaling";

/// The requests of `LOAD` and `EQUAL`, in the order of the paper's figures, and those of `SIZES`
/// and `SIZES_EQUAL`.
pub(super) const FIXED: [&str; 4] =
    ["individual writes", "individual reads", "full stripe writes", "full stripe reads"];
pub(super) const DISTRIBUTED: [&str; 4] = ["small writes", "small reads", "large writes", "large reads"];

/// Megabytes per second of each disk.
pub(super) fn per_disk(figures: &Figures) -> Interval {
    scaled(figures.mb_per_second, 1.0 / figures.members.len().max(1) as f64)
}

/// The interval multiplied by a factor.
pub(super) fn scaled(Interval { mean, interval }: Interval, by: f64) -> Interval {
    Interval { mean: mean * by, interval: interval.map(|half| half * by) }
}

/// The quotient of two independent values.
pub(super) fn ratio(over: Interval, under: Interval) -> Interval {
    let mean = over.mean / under.mean;
    let relative = |of: Interval| of.interval.map(|half| half / of.mean);
    let interval = relative(over).zip(relative(under)).map(|(one, other)| mean * one.hypot(other));
    Interval { mean, interval }
}

/// A point at `x`.
pub(super) fn point(x: f64, Interval { mean, interval }: Interval) -> Point {
    Point { x, y: mean, interval }
}

/// The runs of an experiment whose first axes have these values, each with the value of its last
/// axis.
pub(super) fn runs<'a>(
    evidence: &'a Evidence,
    experiment: &str,
    first: &[&str],
) -> Result<Vec<(&'a str, &'a Figures)>, EvidenceError> {
    let shown: &Experimented = evidence.experiment(experiment)?;
    let alike = shown.runs.iter().filter(|run| run.values[..first.len()] == *first);
    let values = alike.map(|run| {
        let values: Vec<&str> = run.values.iter().map(String::as_str).collect();
        Ok((run.values.last().map_or("", String::as_str), shown.run(&values)?))
    });
    values.collect()
}

/// The maximum throughput of each disk over all numbers of requests at once.
pub(super) fn most(evidence: &Evidence, experiment: &str, first: &[&str]) -> Result<Interval, EvidenceError> {
    let none = || EvidenceError::NoRun { experiment: experiment.to_owned(), values: first.join(", ") };
    let found = runs(evidence, experiment, first)?.into_iter().map(|(_, figures)| per_disk(figures));
    found.max_by(|one, other| one.mean.total_cmp(&other.mean)).ok_or_else(none)
}

/// The throughput of each disk in the run with these values.
pub(super) fn of(evidence: &Evidence, experiment: &str, values: &[&str]) -> Result<Interval, EvidenceError> {
    Ok(per_disk(evidence.run(experiment, values)?))
}

/// The run with one request at a time.
pub(super) fn idle<'a>(
    evidence: &'a Evidence,
    experiment: &str,
    request: &str,
    level: &str,
) -> Result<&'a Figures, EvidenceError> {
    evidence.run(experiment, &[request, level, "1"])
}

/// The time that an access waits for a processor, in milliseconds. Requests come one at a time and
/// never wait for a processor themselves.
pub(super) fn waited_for_processors(shown: &Figures) -> f64 {
    let accesses = shown.members.iter().map(|member| member.accesses).sum::<u64>() as f64;
    let served = accesses + shown.requests as f64;
    shown.paths.iter().map(|path| path.waited_ms * served / accesses.max(1.0)).sum()
}

/// The quotient in percent.
pub(super) fn percent(over: Interval, under: Interval) -> Interval {
    scaled(ratio(over, under), 100.0)
}

/// A fraction of reads, as written in the experiments, in percent.
pub(super) fn percent_of_reads(value: &str) -> f64 {
    value.parse::<f64>().map_or(f64::NAN, |part| 100.0 * part)
}
