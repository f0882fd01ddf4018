//! Molnar: mirrors whose copies share the reads.

use std::path::Path;

use parlour_drive::angle::Angle;
use parlour_drive::mechanics::Way;
use parlour_model::mirror::{
    Distance, SteadyHeads, bus_rate, cheaper_than_memory, per_second, random_read, seek_by_copies,
    seek_by_root,
};

use crate::drives;
use crate::figures::Interval;
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Point, Source};
use crate::reproduce::paper::Paper;
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// Bonnie's seeks on one drive and on mirrors.
const SEEKS: &str = "molnar/seeks";
/// Bonnie's streams.
const STREAMS: &str = "molnar/streams";
/// The drive, and the lengths of Bonnie's file and of its blocks, in sectors.
const DRIVE: &str = "molnar-uw-scsi";
const FILE: u64 = 500 << 11;
const BLOCK: u32 = 16;
/// The volumes of the mail's table, one disk and four copies, with their names in the experiment of
/// streams.
const COPIES: [(&str, u32, &str); 2] = [("one", 1, "one drive"), ("four", 4, "four in a mirror")];
/// The same volumes in the experiment of seeks. Linux's copies took turns there, too.
const SEEKERS: [&str; 2] = [IN_TURN[0].0, IN_TURN[3].0];
/// Mirrors in which the nearest head reads, and mirrors in which copies take turns.
const NEAREST: [(&str, u32); 4] =
    [("one drive", 1), ("two in a mirror", 2), ("three in a mirror", 3), ("four in a mirror", 4)];
const IN_TURN: [(&str, u32); 4] =
    [("one drive", 1), ("two in turn", 2), ("three in turn", 3), ("four in turn", 4)];
/// Bonnie's phases that move blocks, with their names in the experiments.
const STREAMED: [(&str, &str); 3] = [("block-out", "write"), ("rewrite", "rewrite"), ("block-in", "read")];
/// Bonnie's phases that move characters.
const BY_CHARACTERS: [&str; 2] = ["per-char-out", "per-char-in"];
/// The number of accesses of 64 KB under way: Linux 2.1 reads 31 pages of 4 KB ahead.
const AHEAD: &str = "2";
/// The same with a longer read-ahead.
const FARTHER: &str = "4";
/// Bonnie's K are 1,024 bytes; our megabytes are 1,000,000 bytes.
const K_OF_MEGABYTE: f64 = 1e6 / 1_024.0;
/// The seek time of the mail's example of high-end disks, and the number of disks.
const HIGH_END_SEEK_MS: f64 = 6.0;
const HIGH_END_DISKS: u32 = 4;
/// The price of memory in disks of the same size, least and most, and the number of copies of the
/// mirror that the mail compares with memory.
const MEMORY_TO_DISK: (f64, f64) = (30.0, 50.0);
const WAYS: u32 = 10;
/// "The current practical limit is 10-12 disks."
const MOST_COPIES: u32 = 12;

pub(super) fn study() -> Study {
    bonnie(Study::of(Paper::Molnar).experiment(SEEKS).experiment(STREAMS))
        .number("mo.write", |evidence| rate(evidence, "write"))
        .number("mo.read", |evidence| rate(evidence, "read"))
        .number("mo.raid0.seek", |evidence| {
            Ok(Finding::estimated(time_of_one(seeks(evidence, "four in a stripe set")?)).because(
                "ours serves three processes on four disks at the same time; why the mail's stripe set gains so much less \
                 its text does not tell: \
                 neither the stripe unit nor how often the processes wait for the host",
            ))
        })
        .number("mo.10.5", |evidence| seek_time(evidence, "one"))
        .number("mo.5.7", |evidence| seek_time(evidence, "four"))
        .number("mo.sqrt", |evidence| {
            let (_, copies, _) = COPIES[1];
            let single = per_second(evidence.published("mo.bonnie.one.seeks")?);
            Ok(Finding::model(per_second(seek_by_root(single, copies))))
        })
        .number("mo.30.8", |evidence| {
            let ((_, copies, _), written) = (COPIES[1], evidence.published("mo.bonnie.four.block-out")?);
            Ok(Finding::model(bus_rate(written, copies) / 1_000.0))
        })
        .number("mo.50", |evidence| {
            let one = evidence.published("mo.bonnie.one.block-in")?;
            let four = evidence.published("mo.bonnie.four.block-in")?;
            Ok(Finding::model((four / one - 1.0) * 100.0))
        })
        .number("mo.8.0", |evidence| megabytes(evidence, "mo.bonnie.one.block-out"))
        .number("mo.1_2", |_| Ok(Finding::model(seek_by_copies(HIGH_END_SEEK_MS, HIGH_END_DISKS))))
        .number("mo.3_5", |_| {
            let (least, most) = MEMORY_TO_DISK;
            Ok(Finding::model(Value::Range(
                cheaper_than_memory(least, WAYS),
                cheaper_than_memory(most, WAYS),
            )))
        })
        .figure(
            "mo.table",
            "parlour simulate experiments/molnar/streams.toml experiments/molnar/seeks.toml",
            table,
        )
        .figure("mo.law", "parlour simulate experiments/molnar/seeks.toml", law)
}

/// The mail's table: blocks and seeks by simulation. The processor's work is not described.
fn bonnie(study: Study) -> Study {
    COPIES.into_iter().zip(SEEKERS).fold(study, |study, ((copies, _, machine), seeker)| {
        let id = |phase: &str| format!("mo.bonnie.{copies}.{phase}");
        let study = STREAMED.into_iter().fold(study, |study, (phase, ours)| {
            study.number(id(phase), move |evidence| {
                let found = Finding::estimated(streamed(evidence, ours, machine, AHEAD)?);
                Ok(found.because(why(evidence, ours, machine)?))
            })
        });
        let study = study.number(id("seeks"), move |evidence| {
            let nearest = seeks(evidence, NEAREST[3].0)?.mean;
            Ok(Finding::estimated(seeks(evidence, seeker)?).because(format!(
                "a seek of 8 KB moves one arm of ours; Linux took its turn after the first block of what did not follow, so \
                 that it moved two \
                 (ours with the nearest head, which the mail does not claim, would do {nearest:.0} a second)"
            )))
        });
        let study = BY_CHARACTERS.into_iter().fold(study, |study, phase| {
            study.not_derivable(id(phase), "bound by the processor, which is not described")
        });
        let phases = STREAMED.into_iter().map(|(phase, _)| phase).chain(BY_CHARACTERS).chain(["seeks"]);
        phases.fold(study, |study, phase| {
            let cpu = format!("{}-cpu", id(phase));
            study.not_derivable(cpu, "what the processor does in this time is not described")
        })
    })
}

/// Bonnie's result for a stream, in K per second. A rewritten block counts once, although it is
/// read and written.
fn streamed(
    evidence: &Evidence,
    phase: &str,
    machine: &str,
    at_once: &str,
) -> Result<Interval, EvidenceError> {
    let figures = evidence.run(STREAMS, &[phase, at_once, machine])?;
    let moved = figures.mb_per_second;
    let once = if phase == "rewrite" { 0.5 } else { 1.0 };
    Ok(scaled(moved, once * K_OF_MEGABYTE))
}

fn scaled(Interval { mean, interval }: Interval, by: f64) -> Interval {
    Interval { mean: mean * by, interval: interval.map(|half| half * by) }
}

/// Why a stream differs, if it does: it depends on the kernel's read-ahead and write-back.
fn why(evidence: &Evidence, phase: &str, machine: &str) -> Result<String, EvidenceError> {
    let farther = streamed(evidence, phase, machine, FARTHER)?.mean;
    Ok(match phase {
        "read" => format!(
            "with 128 KB under way, Linux's read-ahead, two copies at a time read 64 KB and pass over 192 KB; with 256 KB under way it \
             would be {farther:.0} K/s, so that it hangs on how the kernel batches its reads, which the mail does not say"
        ),
        "rewrite" => format!(
            "ours turns from reading to writing within 128 KB (within 256 KB it would be {farther:.0} K/s), while a kernel gathers what is \
             written in memory and turns less often: the mail does not say how often"
        ),
        _ => "the mail does not say how the kernel gathers what is written".to_owned(),
    })
}

/// The throughput of one drive, in MB per second.
fn rate(evidence: &Evidence, phase: &str) -> Result<Finding, EvidenceError> {
    let (_, _, machine) = COPIES[0];
    Ok(Finding::estimated(evidence.run(STREAMS, &[phase, AHEAD, machine])?.mb_per_second))
}

/// Bonnie's seeks per second. A block that is written back belongs to the seek that read it.
fn seeks(evidence: &Evidence, machine: &str) -> Result<Interval, EvidenceError> {
    let figures = evidence.run(SEEKS, &[machine])?;
    let tasks = figures.sources.iter().find_map(|source| source.tasks.as_ref());
    Ok(tasks.map_or(figures.throughput, |tasks| tasks.throughput))
}

/// Converts seeks per second to the time per seek, in milliseconds.
fn time_of_one(Interval { mean, interval }: Interval) -> Interval {
    let time = per_second(mean);
    Interval { mean: time, interval: interval.map(|half| time * half / mean) }
}

/// The time per seek, from the printed seeks per second.
fn seek_time(evidence: &Evidence, copies: &str) -> Result<Finding, EvidenceError> {
    let seeks = evidence.published(&format!("mo.bonnie.{copies}.seeks"))?;
    Ok(Finding::model(per_second(seeks)))
}

/// Converts kilobytes per second to megabytes.
fn megabytes(evidence: &Evidence, id: &str) -> Result<Finding, EvidenceError> {
    Ok(Finding::model(evidence.published(id)? / 1_000.0))
}

fn point(x: f64, Interval { mean, interval }: Interval) -> Point {
    Point { x, y: mean, interval }
}

/// The part of the mail's table that disks decide, and the parameters that it depends on.
fn table(evidence: &Evidence) -> Result<Vec<Panel>, EvidenceError> {
    let (mut streams, mut sought) = (Vec::new(), Vec::new());
    for ((copies, _, machine), seeker) in COPIES.into_iter().zip(SEEKERS) {
        let number = |phase: &str| evidence.published(&format!("mo.bonnie.{copies}.{phase}"));
        let (mut printed, mut ours) = (Vec::new(), Vec::new());
        for (place, (phase, our_phase)) in STREAMED.into_iter().enumerate() {
            printed.push((place as f64, number(phase)?));
            ours.push(point(place as f64, streamed(evidence, our_phase, machine, AHEAD)?));
        }
        streams.push(Curve::new(machine, Source::Published, printed));
        streams.push(Curve::simulated(machine, ours));
        sought.push(Curve::new(machine, Source::Published, [(0.0, number("seeks")?)]));
        sought.push(Curve::simulated(machine, [point(0.0, seeks(evidence, seeker)?)]));
    }
    let chart = |x: Axis, y: Axis, curves| Content::Chart(Chart { x, y, curves });
    let rate = || Axis::linear("rate", "K/s");
    Ok(vec![
        Panel::titled(
            "Blocks",
            chart(Axis::names("phase", STREAMED.map(|(phase, _)| phase)), rate(), streams),
        ),
        Panel::titled("Seeks", chart(Axis::names("phase", ["seeks"]), Axis::linear("seeks", "1/s"), sought)),
        Panel::titled(
            "Reading blocks with so many accesses of 64 KB under way",
            chart(Axis::linear("under way", ""), rate(), under_way(evidence)?),
        ),
    ])
}

/// The read rate of a stream over the number of accesses under way. The far mirror is the mail's
/// layout for bandwidth.
fn under_way(evidence: &Evidence) -> Result<Vec<Curve>, EvidenceError> {
    let curve = |machine: &str| {
        let points = ["1", "2", "4", "8"].into_iter().map(|at_once| {
            let under_way = at_once.parse().expect("it is a number");
            Ok(point(under_way, streamed(evidence, "read", machine, at_once)?))
        });
        Ok(Curve::simulated(machine, points.collect::<Result<Vec<_>, EvidenceError>>()?))
    };
    ["one drive", "four in a mirror", "four in a far mirror", "four in a stripe set"]
        .into_iter()
        .map(curve)
        .collect()
}

/// The times of single reads if the nearest of several heads moves: with independent random
/// positions of the heads, and with the positions that result from this policy.
fn nearest_heads() -> Result<[Curve; 2], EvidenceError> {
    let description = drives::find(DRIVE, Path::new("")).map_err(EvidenceError::model)?;
    let mechanics = description.mechanics(Angle::default()).map_err(EvidenceError::model)?;
    let electronics = description.electronics().map_err(EvidenceError::model)?;
    let last = mechanics.surface.place(FILE - 1);
    let revolution = mechanics.spindle.revolution.as_secs_f64() * 1e3;
    let command = electronics.overheads.read_miss.after(Way::Read).as_secs_f64() * 1e3;
    let overhead = command + revolution * f64::from(BLOCK) / f64::from(last.track);
    let (mut independent, mut steady) = (Vec::new(), Vec::new());
    for (_, copies) in NEAREST {
        let time = |distance: Distance| random_read(distance.seek(&mechanics.seek), revolution, overhead);
        let drawn = Distance::independent(copies, last.cylinder + 1).map_err(EvidenceError::model)?;
        let heads = SteadyHeads::new(copies).map_err(EvidenceError::model)?;
        let settled = heads.distance(last.cylinder + 1).map_err(EvidenceError::model)?;
        independent.push((f64::from(copies), time(drawn)));
        steady.push((f64::from(copies), time(settled)));
    }
    Ok([
        Curve::new("one read at a time, heads anywhere", Source::Model, independent),
        Curve::new("one read at a time, heads as they settle", Source::Model, steady),
    ])
}

/// Mean seek times by the mail's two laws, from Bonnie's results, and by simulation.
fn law(evidence: &Evidence) -> Result<Vec<Panel>, EvidenceError> {
    let measured = COPIES.into_iter().map(|(name, copies, _)| {
        let seeks = evidence.published(&format!("mo.bonnie.{name}.seeks"))?;
        Ok((f64::from(copies), per_second(seeks)))
    });
    let measured = measured.collect::<Result<Vec<_>, EvidenceError>>()?;
    let (_, single) = measured[0];
    let by = |law: fn(f64, u32) -> f64| {
        (1..=MOST_COPIES).map(move |copies| (f64::from(copies), law(single, copies)))
    };
    let simulated = |of: &str, machines: [(&str, u32); 4]| {
        let points = machines
            .into_iter()
            .map(|(machine, copies)| Ok(point(f64::from(copies), time_of_one(seeks(evidence, machine)?))));
        Ok(Curve::simulated(of, points.collect::<Result<Vec<_>, EvidenceError>>()?))
    };
    let mut chart = Chart {
        x: Axis::linear("copies", ""),
        y: Axis::linear("mean time from seek to seek", "ms"),
        curves: vec![
            Curve::new("SEEK0/√N", Source::Model, by(seek_by_root)),
            Curve::new("SEEK0/N", Source::Model, by(seek_by_copies)),
            Curve::new("Bonnie", Source::Published, measured),
            simulated("the nearest head answers, three at a time", NEAREST)?,
            simulated("copies in turn, three at a time", IN_TURN)?,
        ],
    };
    chart.curves.extend(nearest_heads()?);
    Ok(vec![Panel::only(Content::Chart(chart))])
}
