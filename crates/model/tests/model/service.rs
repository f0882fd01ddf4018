//! Compares service times with those of the drives themselves, one request after another.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Drawn, Parts, count, near};
use parlour_drive::drive::Drive;
use parlour_drive::mechanics::Way;
use parlour_drive::surface::Surface;
use parlour_model::service::{Access, Pattern, ServiceError, Work, service};
use parlour_units::{Duration, Instant};

const REQUESTS: usize = 24_000;

/// The times of a drive for requests at random blocks, without pauses, in ms.
fn measured(parts: &Parts, work: Work, blocks: u64, mut place: impl FnMut() -> u64) -> Vec<f64> {
    let mut drive = Drive::new(parts.mechanics.clone(), parts.electronics.clone());
    let mut now = Instant::ZERO;
    let serve = |_| {
        let block = place();
        let served = match work {
            Work::Read => drive.serve(now, Way::Read, block, blocks),
            Work::Write => drive.serve(now, Way::Write, block, blocks),
            Work::Modify => drive.modify(now, block, blocks),
        };
        let took = served.done.since(now).nanoseconds() as f64 / 1e6;
        now = served.done;
        took
    };
    (0..REQUESTS).map(serve).collect()
}

fn anywhere(first: u64, end: u64, blocks: u64) -> impl FnMut() -> u64 {
    let mut drawn = Drawn(0x9e37_79b9_7f4a_7c15);
    move || first + drawn.below(end - first - blocks + 1)
}

fn mean(times: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = times.len() as f64;
    times.sum::<f64>() / count
}

fn deviation(times: &[f64]) -> f64 {
    let center = mean(times.iter().copied());
    mean(times.iter().map(|time| (time - center).powi(2))).sqrt()
}

/// The mean agrees within 0.5%, the deviation within 7% (the model ignores that seeks to the outer
/// and inner cylinders, where tracks are longest and shortest, are the longest), the largest of
/// eight within 1.5%.
#[test]
fn times_of_random_accesses_are_the_drives_own() {
    for (name, work, sizes) in [
        ("hp-c2247a", Work::Read, &[1, 12, 64, 256, 1_024, 8_192][..]),
        ("hp-c2247a", Work::Write, &[1, 12, 64]),
        ("hp-c2247a", Work::Modify, &[1, 12]),
        ("ibm-0661", Work::Read, &[8, 64, 1_024]),
        ("ibm-0661", Work::Modify, &[8, 64]),
        ("seagate-st31200w", Work::Write, &[12, 1_024]),
        ("quantum-atlas-10k", Work::Read, &[1, 12, 64, 256, 1_024]),
        ("dec-rz26", Work::Read, &[1, 12, 30, 57, 200, 1_024]),
        ("dec-rz26", Work::Write, &[1, 12, 57]),
        ("dec-rz26", Work::Modify, &[1, 12]),
        ("wd-4tb", Work::Read, &[64, 1_024]),
    ] {
        let parts = Parts::find(name);
        for blocks in sizes.iter().copied() {
            let times = measured(&parts, work, blocks, anywhere(0, parts.mechanics.surface.blocks(), blocks));
            let model = parts.uniform(work, blocks);
            let what = |of: &str| format!("{of} of {work:?} of {blocks} blocks, {name}");
            near(&what("mean"), model.mean(), mean(times.iter().copied()), 0.005);
            near(&what("deviation"), model.deviation(), deviation(&times), 0.07);
            let largest = times.chunks(8).map(|eight| eight.iter().copied().fold(0.0, f64::max));
            near(&what("maximum"), model.distribution.expected_maximum(count(8)), mean(largest), 0.015);
            near(&what("distribution"), model.distribution.mean(), model.mean(), 0.001);
        }
    }
}

/// The first block of a cylinder.
fn first_of(surface: &Surface, cylinder: u32) -> u64 {
    let (mut low, mut high) = (0, surface.blocks());
    while low < high {
        let middle = low + (high - low) / 2;
        if surface.place(middle).cylinder < cylinder { low = middle + 1 } else { high = middle }
    }
    low
}

#[test]
fn times_within_neighbouring_cylinders_are_the_drives_own() {
    let parts = Parts::find("hp-c2247a");
    for (first, last) in [(100, 299), (1_000, 1_299), (1_900, 2_000)] {
        let surface = &parts.mechanics.surface;
        let (from, to) = (first_of(surface, first), first_of(surface, last + 1));
        let times = measured(&parts, Work::Read, 16, anywhere(from, to, 16));
        let model = parts.service(Work::Read, 16, Pattern::Within(first, last));
        near("mean", model.mean(), mean(times.iter().copied()), 0.005);
        near("deviation", model.deviation(), deviation(&times), 0.03);
    }
}

/// Runs of exactly this number of reads. A drive without read-ahead misses the next sector during
/// the overhead of a command.
#[test]
fn reads_in_runs_take_as_long_as_the_drive_takes_for_them() {
    for (name, blocks, length, part) in [
        ("hp-c2247a", 16, 8, 0.02),
        ("hp-c2247a", 64, 20, 0.02),
        ("ibm-0661", 8, 8, 0.02),
        ("seagate-cheetah-9lp", 64, 16, 0.03),
    ] {
        let parts = Parts::find(name);
        let mut begin = anywhere(0, parts.mechanics.surface.blocks(), blocks * length);
        let (mut next, mut left) = (0, 0);
        let times = measured(&parts, Work::Read, blocks, || {
            (next, left) = if left == 0 { (begin(), length - 1) } else { (next + blocks, left - 1) };
            next
        });
        let model = parts.service(Work::Read, blocks, Pattern::Runs(length as f64));
        near(name, model.mean(), mean(times.iter().copied()), part);
        let random = parts.uniform(Work::Read, blocks);
        assert!(model.positioning().mean < random.positioning().mean);
        // Only siblings that begin a run have to move their arms.
        let [late, seldom] = [&random, &model].map(|service| service.last_of(count(5), 0.3) - service.mean());
        near("the last", seldom, late / length as f64, 1e-9);
    }
}

/// Siblings that were at one position before differ by the rotations; others differ by the seeks
/// too.
#[test]
fn the_last_of_siblings_is_as_late_as_drives_are() {
    let parts = Parts::find("hp-c2247a");
    let (blocks, siblings) = (32, 5);
    let mut place = anywhere(0, parts.mechanics.surface.blocks(), blocks);
    let mut drives: Vec<Drive> =
        (0..siblings).map(|_| Drive::new(parts.mechanics.clone(), parts.electronics.clone())).collect();
    let model = parts.uniform(Work::Read, blocks);
    for together in [true, false] {
        let (mut now, mut sum, rounds) = (Instant::ZERO, 0.0, 8_000);
        let mut turned = Drawn(7);
        for _ in 0..rounds {
            let (here, common) = (place(), place());
            let mut longest = 0;
            for drive in &mut drives {
                // The arm comes from a random position, and the spindle has a random angle.
                let from = if together { common } else { place() };
                let moved = drive.serve(now, Way::Read, from, 1).done;
                let revolution = parts.mechanics.spindle.revolution.nanoseconds();
                let begin = moved + Duration::from_nanoseconds(turned.below(revolution));
                let done = drive.serve(begin, Way::Read, here, blocks).done;
                longest = longest.max(done.since(begin).nanoseconds());
                now = now.max(done);
            }
            sum += longest as f64 / 1e6;
        }
        let part = if together { 1.0 } else { 0.0 };
        near("the last", model.last_of(count(siblings), part), sum / f64::from(rounds), 0.01);
    }
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    let parts = Parts::find("hp-c2247a");
    let refused = |work, blocks, pattern| {
        let access = Access { work, blocks, pattern };
        service(&parts.mechanics, &parts.electronics, access).unwrap_err()
    };
    let most = parts.mechanics.surface.blocks();
    assert_eq!(refused(Work::Read, 0, Pattern::Uniform), ServiceError::Blocks { blocks: 0, most });
    assert!(matches!(refused(Work::Read, most + 1, Pattern::Uniform), ServiceError::Blocks { .. }));
    let cylinders = |first, last| ServiceError::Cylinders { first, last, end: 2_046 };
    assert_eq!(refused(Work::Read, 1, Pattern::Within(5, 4)), cylinders(5, 4));
    assert_eq!(refused(Work::Read, 1, Pattern::Within(5, 2_051)), cylinders(5, 2_051));
    assert_eq!(refused(Work::Read, 1, Pattern::Runs(0.5)), ServiceError::Run(0.5));
    assert!(matches!(refused(Work::Read, 1, Pattern::Runs(f64::NAN)), ServiceError::Run(_)));
    assert_eq!(refused(Work::Write, 1, Pattern::Runs(2.0)), ServiceError::WrittenRun);
    assert_eq!(refused(Work::Write, 1_024, Pattern::Uniform), ServiceError::SlowBus { blocks: 1_024 });
    assert_eq!(refused(Work::Modify, 64, Pattern::Uniform), ServiceError::SlowBus { blocks: 64 });
    let cached = Parts::find("seagate-cheetah-9lp");
    let access = Access { work: Work::Write, blocks: 8, pattern: Pattern::Uniform };
    assert_eq!(service(&cached.mechanics, &cached.electronics, access), Err(ServiceError::CachedWrites));
}

/// All distances between two cylinders weighted by their blocks, one by one.
#[test]
fn mean_seeks_are_those_of_all_pairs_of_cylinders() {
    let parts = Parts::find("hp-c2247a");
    let surface = &parts.mechanics.surface;
    let ends: Vec<u64> = (0..=2_051).map(|cylinder| first_of(surface, cylinder)).collect();
    let held: Vec<f64> = ends.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let (mut sum, mut all) = (0.0, 0.0);
    for (from, weight) in held.iter().enumerate() {
        for (to, other) in held.iter().enumerate() {
            // In the same cylinder the head may be another.
            let seek = match from.abs_diff(to) {
                0 => 0.89 * 12.0 / 13.0,
                distance => parts.mechanics.seek.time(distance as u32).nanoseconds() as f64 / 1e6,
            };
            sum += weight * other * seek;
            all += weight * other;
        }
    }
    near("seek", parts.uniform(Work::Read, 1).seek.mean, sum / all, 0.001);
}
