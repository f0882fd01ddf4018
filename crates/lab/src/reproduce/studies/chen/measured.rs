//! Numbers that were measured on the Amdahl, and the results of our experiments.

use parlour_model::raid::efficiency::{Alignment, efficiency, mean_efficiency};
use parlour_model::raid::{Direction, Level};

use super::figures;
use super::machine::{self, FULL, INDIVIDUAL, LEVELS, array};
use super::shown::{self, DISTRIBUTED, EQUAL, FIXED, LOAD, MIXED, SIZES, SIZES_EQUAL};
use crate::figures::{Figures, Interval};
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// "Four times the minimum 90th percentile response time" (section 7.3).
const TARGET: f64 = 4.0;
/// The fraction of requests to be answered in time.
const PART: f64 = 0.9;
/// The names of the levels in the experiments.
const RAID0: &str = LEVELS[0].1;
const RAID1: &str = LEVELS[1].1;
const RAID5: &str = LEVELS[2].1;

pub(super) fn of(study: Study) -> Study {
    mixed_writes(shares(response_times(idle_machine(study))))
}

/// Section 7.1: one request at a time.
fn idle_machine(study: Study) -> Study {
    study
        .number("ch.xfer", |evidence| {
            let shown = shown::idle(evidence, LOAD, FIXED[1], RAID0)?;
            Ok(Finding::simulated(shown.access_ms.transfer).with_model(machine::transfer()))
        })
        .number("ch.saving", |evidence| saved(evidence, |shown| shown.access_ms.seek))
        .number("ch.savedrop", |evidence| {
            saved(evidence, |shown| shown.access_ms.seek + shown.access_ms.rotation)
        })
        .number("ch.ovh.full", issuing)
}

/// The time that the nearer of two heads saves on an idle machine.
fn saved(evidence: &Evidence, time: fn(&Figures) -> f64) -> Result<Finding, EvidenceError> {
    let of = |level| Ok::<f64, EvidenceError>(time(shown::idle(evidence, LOAD, FIXED[1], level)?));
    let idle = machine::idle(evidence, "ch.ovh.ind")?;
    let model = idle.positioning.mean() - idle.nearer.mean();
    Ok(Finding::simulated(of(RAID0)? - of(RAID1)?).with_model(model))
}

/// The overhead of a request that starts each of its accesses on an idle disk before the next
/// (section 7.1.2): the overhead on a busy machine, plus the time that the last access waits for a
/// processor. The accesses start one after the other, so the last waits twice the mean.
fn issuing(evidence: &Evidence) -> Result<Finding, EvidenceError> {
    let shown = shown::idle(evidence, LOAD, FIXED[3], RAID0)?;
    let last = 2.0 * shown::waited_for_processors(shown);
    Ok(Finding::simulated(evidence.published("ch.ovh.busy")? + last))
}

/// Section 7.3: targets, and mean response times at the targets.
fn response_times(study: Study) -> Study {
    study
        .number("ch.tgt.individual", |evidence| {
            let transfer = [(evidence.published("ch.xfer")?, 1.0)];
            let idle = machine::idle(evidence, "ch.ovh.ind")?;
            let model = idle.percentile(array(Level::Raid0)?, INDIVIDUAL.units, &transfer, PART);
            let model = TARGET * model.map_err(EvidenceError::model)?;
            Ok(target(evidence, LOAD, FIXED[1])?.with_model(model))
        })
        .number("ch.tgt.full", |evidence| {
            let transfer = [(evidence.published("ch.xfer")?, 1.0)];
            let idle = machine::idle(evidence, "ch.ovh.full")?;
            let model = idle.percentile(array(Level::Raid0)?, FULL.units, &transfer, PART);
            let model = TARGET * model.map_err(EvidenceError::model)?;
            Ok(target(evidence, LOAD, FIXED[3])?.with_model(model))
        })
        .number("ch.tgt.small", |evidence| {
            let idle = machine::idle(evidence, "ch.ovh.ind")?;
            let transfers = machine::small_transfers(evidence)?;
            let model = idle.percentile(array(Level::Raid0)?, INDIVIDUAL.units, &transfers, PART);
            let model = TARGET * model.map_err(EvidenceError::model)?;
            Ok(target(evidence, SIZES, DISTRIBUTED[1])?.with_model(model))
        })
        .number("ch.tgt.large", |evidence| target(evidence, SIZES, DISTRIBUTED[3]))
        .number("ch.resp.full", |evidence| response(evidence, FIXED[3]))
        .number("ch.resp.ind", |evidence| response(evidence, FIXED[1]))
}

fn target(evidence: &Evidence, experiment: &str, request: &str) -> Result<Finding, EvidenceError> {
    let shown = shown::idle(evidence, experiment, request, RAID0)?;
    Ok(Finding::simulated(TARGET * shown.response_ms.p90))
}

fn response(evidence: &Evidence, request: &str) -> Result<Finding, EvidenceError> {
    let response = evidence.run(EQUAL, &[request, RAID0])?.response_ms;
    Ok(Finding::estimated(Interval { mean: response.mean, interval: response.interval }))
}

/// Sections 7.2, 7.3 and 8.1: the maximum throughput, and the fraction of it at equal response
/// times.
fn shares(study: Study) -> Study {
    study
        .number("ch.906", |evidence| most_written(evidence, Level::Raid0, RAID0))
        .number("ch.438", |evidence| most_written(evidence, Level::Raid1, RAID1))
        .number("ch.raid1.read", |evidence| {
            let mut parts = Vec::new();
            for request in [FIXED[1], FIXED[3]] {
                let most = |level| shown::most(evidence, LOAD, &[request, level]);
                parts.push(shown::percent(most(RAID1)?, most(RAID0)?).mean);
            }
            let times = machine::disk_times(evidence)?;
            let model = times.relative_throughput(array(Level::Raid1)?, Direction::Read, INDIVIDUAL);
            Ok(Finding::simulated(range(&parts)).with_model(100.0 * model))
        })
        .number("ch.max.r0", |evidence| share(evidence, Sizes::Fixed, RAID0))
        .number("ch.max.r5", |evidence| share(evidence, Sizes::Fixed, RAID5))
        .number("ch.max.r0d", |evidence| share(evidence, Sizes::Distributed, RAID0))
        .number("ch.max.r5d", |evidence| share(evidence, Sizes::Distributed, RAID5))
        .number("ch.6", |evidence| {
            let part = |experiment, request| {
                let of = |level| shown::of(evidence, experiment, &[request, level]);
                Ok::<_, EvidenceError>(shown::percent(of(RAID5)?, of(RAID0)?))
            };
            let (before, after) = (part(EQUAL, FIXED[0])?, part(SIZES_EQUAL, DISTRIBUTED[0])?);
            let interval = before.interval.zip(after.interval).map(|(one, other)| one.hypot(other));
            let change = Interval { mean: after.mean - before.mean, interval };
            Ok(Finding::estimated(change).because(queued_twice(evidence)?))
        })
        .number("ch.60_80", |evidence| {
            let large = machine::large_throughput(evidence, Level::Raid0, Direction::Read, Alignment::Aligned)?;
            let full = machine::track_throughput(evidence, Level::Raid0, Direction::Read, FULL)?;
            let gained = gains(evidence, [(DISTRIBUTED[2], FIXED[2]), (DISTRIBUTED[3], FIXED[3])])?;
            Ok(Finding::simulated(range(&gained)).with_model(100.0 * (large / full - 1.0)).because(
                "RAID 5's writes gain least, for most of them have partial stripes; the text does not say how widely sizes are spread",
            ))
        })
        .number("ch.75_80", |evidence| {
            let small = machine::small_throughput(evidence, Level::Raid0, Direction::Read)?;
            let track = machine::track_throughput(evidence, Level::Raid0, Direction::Read, INDIVIDUAL)?;
            let gained = gains(evidence, [(DISTRIBUTED[0], FIXED[0]), (DISTRIBUTED[1], FIXED[1])])?;
            let lost: Vec<f64> = gained.iter().map(|gain| -gain).collect();
            Ok(Finding::simulated(range(&lost)).with_model(100.0 * (1.0 - small / track)))
        })
}

/// The range from the least value to the largest.
fn range(values: &[f64]) -> Value {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    Value::Range(least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

fn most_written(evidence: &Evidence, level: Level, name: &str) -> Result<Finding, EvidenceError> {
    let model = machine::track_throughput(evidence, level, Direction::Write, INDIVIDUAL)?;
    Ok(Finding::estimated(shown::most(evidence, LOAD, &[FIXED[0], name])?).with_model(model))
}

/// The change of throughput, in percent, from one kind of requests to another at equal response
/// times, for each level.
fn gains(evidence: &Evidence, from_to: [(&str, &str); 2]) -> Result<Vec<f64>, EvidenceError> {
    let mut gains = Vec::new();
    for (distributed, fixed) in from_to {
        for (_, level) in LEVELS {
            let after = shown::of(evidence, SIZES_EQUAL, &[distributed, level])?;
            let before = shown::of(evidence, EQUAL, &[fixed, level])?;
            gains.push(shown::percent(after, before).mean - 100.0);
        }
    }
    Ok(gains)
}

/// The sizes of requests.
#[derive(Clone, Copy)]
enum Sizes {
    Fixed,
    Distributed,
}

/// The throughput of small writes at the target, as a fraction of the maximum.
fn share(evidence: &Evidence, sizes: Sizes, level: &str) -> Result<Finding, EvidenceError> {
    let (equal, load, request) = match sizes {
        Sizes::Fixed => (EQUAL, LOAD, FIXED[0]),
        Sizes::Distributed => (SIZES_EQUAL, SIZES, DISTRIBUTED[0]),
    };
    let most = shown::most(evidence, load, &[request, level])?;
    let found = Finding::estimated(shown::percent(shown::of(evidence, equal, &[request, level])?, most));
    Ok(if level == RAID5 { found.because(queued_twice(evidence)?) } else { found })
}

/// Why small writes of RAID 5 wait longer in our simulation.
fn queued_twice(evidence: &Evidence) -> Result<String, EvidenceError> {
    let request = [FIXED[0], RAID5];
    let loaded = shown::runs(evidence, LOAD, &request)?;
    let seek = loaded.last().map_or(f64::NAN, |(_, figures)| figures.access_ms.seek);
    let idle = shown::idle(evidence, LOAD, FIXED[0], RAID5)?.access_ms.seek;
    Ok(format!(
        "between a small write's read and its write our drives serve who waits, in the order of coming: it queues twice, and the seek that it \
         saves when idle is lost (a mean of {seek:.1} ms under load, {idle:.1} ms when idle), where the paper's 144 disk-ms say that the \
         write followed its read at once"
    ))
}

/// Sections 8.1.4 and 8.2: large writes of RAID 5, and where RAID 1 overtakes RAID 5.
fn mixed_writes(study: Study) -> Study {
    study
        .number("ch.90", |evidence| {
            let model = efficiency(array(Level::Raid5)?, Direction::Write, FULL);
            Ok(written(evidence, EQUAL, &[FIXED[2]], &[])?.with_model(100.0 * model))
        })
        .number("ch.80", |evidence| {
            let model = partial_stripes(Alignment::Aligned)?;
            let why = less_busy(evidence, DISTRIBUTED[2], RAID5)?;
            Ok(written(evidence, SIZES_EQUAL, &[DISTRIBUTED[2]], &[])?.with_model(model).because(why))
        })
        .number("ch.70", |evidence| {
            let model = partial_stripes(Alignment::Unaligned)?;
            Ok(written(evidence, MIXED, &["large"], &["0.0"])?.with_model(model))
        })
        .number("ch.cross95", |evidence| {
            let found = Finding::simulated(crossing_shown(evidence)?).with_model(crossing_modelled(evidence)?);
            Ok(found.because(never_crossed(evidence)?))
        })
        .number("ch.r1.large", |evidence| {
            let of = |level| shown::of(evidence, SIZES_EQUAL, &[DISTRIBUTED[3], level]);
            let times = machine::disk_times(evidence)?;
            let sizes = machine::large_sizes();
            let array = array(Level::Raid1)?;
            let model = times.mean_relative_throughput(array, Direction::Read, &sizes, Alignment::Aligned);
            let found = Finding::estimated(shown::percent(of(RAID1)?, of(RAID0)?)).with_model(100.0 * model);
            Ok(found.because(less_busy(evidence, DISTRIBUTED[3], RAID1)?))
        })
        .number("ch.stages", |evidence| {
            let (apart, which) = figures::farthest_sum(evidence)?;
            let which = format!("the farthest are {which}");
            let last = "what accesses wait for a processor is counted in the mean, and the last of a request waits longer";
            Ok(Finding::simulated(apart).noted(which.clone()).because(which).because(last))
        })
}

/// How busy drives are with distributed requests at equal response times, compared with RAID 0.
/// With few large requests at once, some drives have no work.
fn less_busy(evidence: &Evidence, request: &str, level: &str) -> Result<String, EvidenceError> {
    let busy =
        |level| Ok::<_, EvidenceError>(100.0 * evidence.run(SIZES_EQUAL, &[request, level])?.utilization);
    Ok(format!(
        "with as many requests at once as {level} answers in time its drives are busy for {:.0}% of the time, and RAID 0's for {:.0}%; the \
         model is of drives that are always busy",
        busy(level)?,
        busy(RAID0)?
    ))
}

/// RAID 5 relative to RAID 0 in an experiment, in percent.
fn written(
    evidence: &Evidence,
    experiment: &str,
    before: &[&str],
    after: &[&str],
) -> Result<Finding, EvidenceError> {
    let of = |level| shown::of(evidence, experiment, &[before, &[level], after].concat());
    Ok(Finding::estimated(shown::percent(of(RAID5)?, of(RAID0)?)))
}

/// The efficiency of large writes, by counting accesses.
fn partial_stripes(alignment: Alignment) -> Result<f64, EvidenceError> {
    let sizes = machine::large_sizes();
    Ok(100.0 * mean_efficiency(array(Level::Raid5)?, Direction::Write, &sizes, alignment))
}

/// The fraction of reads, in percent, up to which RAID 5 is faster than RAID 1, by linear
/// interpolation between two runs.
fn crossing_shown(evidence: &Evidence) -> Result<Value, EvidenceError> {
    let mut before: Option<(f64, f64)> = None;
    for (reads, above) in above_raid1(evidence)? {
        if above < 0.0 {
            let at = before.map_or(reads, |(from, was)| from + (reads - from) * was / (was - above));
            return Ok(Value::Number(at));
        }
        before = Some((reads, above));
    }
    Ok(Value::Absent)
}

/// By how many MB/s per disk RAID 5 is faster than RAID 1, over the fraction of reads in percent.
fn above_raid1(evidence: &Evidence) -> Result<Vec<(f64, f64)>, EvidenceError> {
    let of = |level| shown::runs(evidence, MIXED, &["large", level]);
    let both = of(RAID5)?.into_iter().zip(of(RAID1)?);
    let above = both.map(|((reads, raid5), (_, raid1))| {
        (shown::percent_of_reads(reads), shown::per_disk(raid5).mean - shown::per_disk(raid1).mean)
    });
    Ok(above.collect())
}

/// The explanation for two curves that do not cross.
fn never_crossed(evidence: &Evidence) -> Result<String, EvidenceError> {
    let above = above_raid1(evidence)?;
    let nearest = above.iter().map(|(_, above)| *above).fold(f64::INFINITY, f64::min);
    let reads = above.iter().map(|(reads, _)| *reads).fold(0.0, f64::max);
    Ok(format!(
        "RAID 5 is above RAID 1 at every mixture that was simulated, up to {reads:.0}% of reads, by {nearest:.2} MB/s a disk at \
         least: as many requests as RAID 1 answers in time do not keep its twenty drives busy"
    ))
}

/// The crossing for saturated disks, by the model.
fn crossing_modelled(evidence: &Evidence) -> Result<Value, EvidenceError> {
    let time = |level, direction| {
        let throughput = machine::large_throughput(evidence, level, direction, Alignment::Unaligned)?;
        Ok::<f64, EvidenceError>(1.0 / throughput)
    };
    // The additional time of RAID 1 over RAID 5, for writes and for reads.
    let more =
        |direction| Ok::<f64, EvidenceError>(time(Level::Raid1, direction)? - time(Level::Raid5, direction)?);
    let (writes, reads) = (more(Direction::Write)?, more(Direction::Read)?);
    Ok(if reads < 0.0 { Value::Number(100.0 * writes / (writes - reads)) } else { Value::Absent })
}
