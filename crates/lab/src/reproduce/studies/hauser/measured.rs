//! The measured numbers: table I's two indicators, rates by regression, and the largest throughput.

use parlour_model::retrieval::{Line, mean};

use super::printed::{ROWS, mean_size, printed};
use crate::figures::{Figures, Interval, TaskFigures};
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// All volumes with one to twelve processes.
const FILES: &str = "hauser/files";
/// Files of one size each, and one process.
const SIZES: &str = "hauser/sizes";
/// Two stripe sets of three, and many processes.
const MOST: &str = "hauser/most";
/// Hosts that issue other requests.
pub(super) const HOSTS: &str = "hauser/hosts";
/// "Three programs, and so forth up to twelve."
const PROCESSES: u32 = 12;
/// The rows of table I, by their names in the experiment.
pub(super) const VOLUMES: [&str; ROWS] = [
    "RAID 0+1 of 6, 160 KB",
    "RAID 0 of 6, 160 KB",
    "RAID 0+1 of 6, 16 KB",
    "two RAID 0 of 3, 160 KB",
    "RAID 0 of 5, 160 KB",
    "six simple",
    "two RAID 0 of 3, 16 KB",
    "RAID 0 of 6, 16 KB",
    "RAID 0 of 4, 160 KB",
    "RAID 5 of 6, 160 KB",
    "RAID 0 of 5, 16 KB",
    "three simple",
    "RAID 0 of 4, 16 KB",
    "RAID 5 of 6, 16 KB",
];
/// The rows of RAID 0 on six disks, which the explanations refer to.
const WIDE: usize = 2;
const NARROW: usize = 8;
const SIX: f64 = 6.0;
/// Rows of figure 8: RAID 5, RAID 0, RAID 0+1, and simple volumes, of six disks each.
pub(super) const FIGURE_8: [usize; 4] = [10, 2, 1, 6];
/// The stripe units whose rates are compared, from the narrowest to the widest.
const UNITS: [&str; 4] = ["16KiB", "32KiB", "64KiB", "160KiB"];
/// The paper's own explanation ("Results").
const HOST_TIME: &str = "drives, wires and 3 ms of the host for a file are all that ours counts; the paper puts its small \
                         gain from more drives \
                         down to latencies of interfaces and operating system, which it does not give";

/// Adds all measured numbers to the study.
pub(super) fn measured(study: Study) -> Study {
    let study = [FILES, SIZES, MOST, HOSTS].into_iter().fold(study, Study::experiment);
    let study = (1..=ROWS).fold(study, |study, row| {
        study
            .number(format!("ha.art.{row:02}"), move |evidence| retrieval_time(evidence, row))
            .number(format!("ha.aat.{row:02}"), move |evidence| additional_time(evidence, row))
    });
    study
        .number("ha.4.3", |evidence| {
            let found = files_moved(evidence.run(FILES, &[VOLUMES[0], "12"])?)?;
            let by_table = printed(evidence, 1)?.throughput(PROCESSES, mean_size());
            Ok(Finding::estimated(found).with_model(by_table).because(HOST_TIME))
        })
        .number("ha.max.large", |evidence| most(evidence, "large"))
        .number("ha.max.small", |evidence| most(evidence, "small"))
        .number("ha.rate.large", |evidence| rates(evidence, "MB"))
        .number("ha.rate.small", |evidence| rates(evidence, "KB"))
        .not_derivable(
            "ha.stripe.range",
            "a sentence on which widths act alike, without the numbers that it was drawn from or how near is alike",
        )
}

/// The figures of the files of a run.
fn files(figures: &Figures) -> Result<&TaskFigures, EvidenceError> {
    let found = figures.sources.iter().find_map(|source| source.tasks.as_ref());
    found.ok_or_else(|| EvidenceError::NoNumber("the times of files".to_owned()))
}

/// The mean time of a file, in seconds.
fn time(figures: &Figures) -> Result<Interval, EvidenceError> {
    let time = files(figures)?.time_ms;
    Ok(Interval { mean: time.mean / 1e3, interval: time.interval.map(|half| half / 1e3) })
}

/// The throughput of files whose sizes are given in KB, in MB per second as table I computes it:
/// files per second times their mean size.
fn files_moved(figures: &Figures) -> Result<Interval, EvidenceError> {
    let files = files(figures)?;
    let each = files.bytes / 1_024.0 / 1e3;
    let Interval { mean, interval } = files.throughput;
    Ok(Interval { mean: mean * each, interval: interval.map(|half| half * each) })
}

/// The mean time of a file with this number of processes, in seconds.
pub(super) fn time_with(evidence: &Evidence, row: usize, processes: u32) -> Result<Interval, EvidenceError> {
    time(evidence.run(FILES, &[VOLUMES[row - 1], &processes.to_string()])?)
}

/// The Average Retrieval Time of a row of table I.
fn retrieval_time(evidence: &Evidence, row: usize) -> Result<Finding, EvidenceError> {
    let found = Finding::estimated(time_with(evidence, row, 1)?);
    Ok(found.because(because_of_stripes(evidence)?).because(HOST_TIME))
}

/// The Average Additional Time per File per Process of a row of table I.
fn additional_time(evidence: &Evidence, row: usize) -> Result<Finding, EvidenceError> {
    Ok(Finding::estimated(additional(evidence, row)?).because(because_of_others(evidence)?))
}

/// The slope of retrieval time over processes, with its interval from those of the times.
pub(super) fn additional(evidence: &Evidence, row: usize) -> Result<Interval, EvidenceError> {
    let times =
        (1..=PROCESSES).map(|processes| Ok((f64::from(processes), time_with(evidence, row, processes)?)));
    slope(&times.collect::<Result<Vec<_>, EvidenceError>>()?)
}

/// The slope of the line through independent estimates. It is a weighted sum of them, so its
/// variance is that of the sum.
fn slope(points: &[(f64, Interval)]) -> Result<Interval, EvidenceError> {
    let line: Vec<(f64, f64)> = points.iter().map(|(x, time)| (*x, time.mean)).collect();
    let slope = Line::through(&line).map_err(EvidenceError::model)?.slope;
    let middle = mean(line.iter().map(|(x, _)| *x));
    let squares: f64 = line.iter().map(|(x, _)| (x - middle).powi(2)).sum();
    let part =
        |(x, time): &(f64, Interval)| time.interval.map(|half| ((x - middle) / squares * half).powi(2));
    let interval = points.iter().map(part).sum::<Option<f64>>().map(f64::sqrt);
    Ok(Interval { mean: slope, interval })
}

/// How much time narrow stripe units save per file on six disks, in our results and in the paper.
/// The difference also decides the order of rows.
fn because_of_stripes(evidence: &Evidence) -> Result<String, EvidenceError> {
    let ours = time_with(evidence, WIDE, 1)?.mean - time_with(evidence, NARROW, 1)?.mean;
    let theirs = printed(evidence, WIDE)?.retrieval - printed(evidence, NARROW)?.retrieval;
    Ok(format!(
        "six disks in units of 16 KB instead of 160 KB save ours {:.0} ms of a file and theirs {:.0} ms, which sets the \
         order of rows, too",
        ours * 1e3,
        theirs * 1e3
    ))
}

/// How long a file keeps drives busy in our simulation, and how much time it adds in the paper.
fn because_of_others(evidence: &Evidence) -> Result<String, EvidenceError> {
    let busy = |row: usize| {
        let figures = evidence.run(FILES, &[VOLUMES[row - 1], &PROCESSES.to_string()])?;
        let busy = figures.utilization * figures.members.len() as f64;
        Ok::<f64, EvidenceError>(busy / files(figures)?.throughput.mean * 1e3)
    };
    let theirs = |row: usize| Ok::<f64, EvidenceError>(printed(evidence, row)?.additional * SIX * 1e3);
    Ok(format!(
        "a file keeps six of our disks busy for {:.0} ms in all (160 KB) or {:.0} ms (16 KB), and adds to theirs what {:.0} \
         ms and {:.0} ms of \
         disks would: more or smaller accesses than we guess, or time of the host, which the text does not tell apart; that it is more of \
         wide stripes sets the order of rows, too",
        busy(WIDE)?,
        busy(NARROW)?,
        theirs(WIDE)?,
        theirs(NARROW)?
    ))
}

/// The largest throughput of two stripe sets of three.
fn most(evidence: &Evidence, files: &str) -> Result<Finding, EvidenceError> {
    Ok(Finding::estimated(files_moved(evidence.run(MOST, &[files])?)?).because(HOST_TIME))
}

/// The rates of a stripe set of six by regression of time over size, for all stripe units.
fn rates(evidence: &Evidence, of: &str) -> Result<Finding, EvidenceError> {
    let found = UNITS.into_iter().map(|unit| rate(evidence, of, unit)).collect::<Result<Vec<_>, _>>()?;
    let (least, most) = found
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
    Ok(Finding::simulated(Value::Range(least, most)).because(
        "with narrow stripes ours adds up all drives, and is bound by the channel's 25 MB/s; theirs never moved more than about 8.3 MB/s \
         whatever was asked for, which neither drives nor wires explain",
    ))
}

/// The inverse of the slope of time over size, in MB/s, for files whose sizes are given in a unit.
fn rate(evidence: &Evidence, of: &str, unit: &str) -> Result<f64, EvidenceError> {
    let sizes = &evidence.experiment(SIZES)?.runs;
    let of_unit = sizes.iter().filter(|run| run.values[0].ends_with(of) && run.values[1] == unit);
    let points = of_unit.map(|run| {
        let figures = evidence.run(SIZES, &[&run.values[0], unit])?;
        Ok((files(figures)?.bytes / 1_024.0, time(figures)?.mean))
    });
    let points = points.collect::<Result<Vec<_>, EvidenceError>>()?;
    let (_, rate) = parlour_model::retrieval::positioning_and_rate(&points).map_err(EvidenceError::model)?;
    Ok(rate)
}

/// The time of a file with a host that issues other requests, in seconds.
pub(super) fn time_of_host(
    evidence: &Evidence,
    host: &str,
    volumes: &str,
    processes: &str,
) -> Result<Interval, EvidenceError> {
    time(evidence.run(HOSTS, &[host, volumes, processes])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_as_sure_as_the_times_that_it_leans_on() {
        let at = |x: f64, half| (x, Interval { mean: 2.0 + 3.0 * x, interval: half });
        let found = slope(&[at(1.0, Some(0.3)), at(2.0, Some(9.0)), at(3.0, Some(0.4))]).expect("a line");
        assert!((found.mean - 3.0).abs() < 1e-12);
        // (y3 - y1) / 2; the interval of the middle time does not matter.
        assert!((found.interval.expect("all are known") - 0.25).abs() < 1e-12);
        assert_eq!(slope(&[at(1.0, None), at(2.0, Some(1.0))]).expect("a line").interval, None);
        assert!(slope(&[at(1.0, None)]).is_err());
    }
}
