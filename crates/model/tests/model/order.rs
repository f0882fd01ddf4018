//! Compares expected maxima with integrals, enumeration and sampling.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Drawn, count, near};
use parlour_model::order::{Distribution, DistributionError};
use proptest::prelude::*;

/// ∫ f over an interval, by Simpson's rule.
fn integral((from, to): (f64, f64), steps: u32, f: impl Fn(f64) -> f64) -> f64 {
    let step = (to - from) / f64::from(2 * steps);
    let at = |index: u32| f(from + step * f64::from(index));
    let inner: f64 = (1..2 * steps).map(|index| at(index) * if index % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (at(0) + inner + at(2 * steps)) * step / 3.0
}

/// The mean of the largest of k from their density k f Fᵏ⁻¹, where F is summed along the way.
fn largest_of(siblings: u32, (from, to): (f64, f64), density: impl Fn(f64) -> f64) -> f64 {
    let (steps, mut below, mut sum) = (200_000, 0.0_f64, 0.0);
    let step = (to - from) / f64::from(steps);
    for index in 0..steps {
        let middle = from + step * (f64::from(index) + 0.5);
        let above = below + integral((middle - step / 2.0, middle + step / 2.0), 1, &density);
        let power = |part: f64| part.min(1.0).powf(f64::from(siblings));
        sum += middle * (power(above) - power(below));
        below = above;
    }
    sum
}

#[test]
fn the_largest_of_normal_times_is_that_of_their_density() {
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    for siblings in [1, 2, 3, 5, 8, 21, 100, 5_000] {
        let times = Distribution::normal(20.0, 4.0).unwrap();
        let wanted = 20.0 + 4.0 * largest_of(siblings, (-9.0, 9.0), density);
        near(&siblings.to_string(), times.expected_maximum(count(siblings)), wanted, 1e-7);
    }
    let two = Distribution::normal(0.0, 1.0).unwrap().expected_maximum(count(2));
    near("two", two, std::f64::consts::PI.sqrt().recip(), 1e-12);
}

#[test]
fn the_largest_of_exponential_and_uniform_times_are_those_of_their_densities() {
    for siblings in [1, 2, 3, 8, 21] {
        let exponential = Distribution::exponential(3.0).unwrap().expected_maximum(count(siblings));
        let wanted = largest_of(siblings, (0.0, 120.0), |x| (-x / 3.0).exp() / 3.0);
        near("exponential", exponential, wanted, 1e-6);
        let uniform = Distribution::uniform(2.0, 10.0).unwrap().expected_maximum(count(siblings));
        near("uniform", uniform, largest_of(siblings, (2.0, 10.0), |_| 0.125), 1e-6);
    }
}

/// The paper's §2.2, and what its errata say of it.
#[test]
fn the_printed_maximum_is_the_mean_and_the_root_of_twice_the_natural_logarithm_of_deviations() {
    let printed = Distribution::printed(12.5, 2.0).unwrap();
    near("21", printed.expected_maximum(count(21)), 12.5 + 2.0 * 2.467_599, 1e-6);
    let above = |distribution: Distribution, siblings| distribution.expected_maximum(count(siblings));
    assert_eq!(format!("{:.2}", above(Distribution::printed(0.0, 1.0).unwrap(), 2)), "1.18");
    assert_eq!(format!("{:.2}", above(Distribution::normal(0.0, 1.0).unwrap(), 2)), "0.56");
    for siblings in 2..200 {
        let [printed, normal] =
            [Distribution::printed, Distribution::normal].map(|of| above(of(0.0, 1.0).unwrap(), siblings));
        assert!(printed > normal, "{siblings}: {printed} {normal}");
    }
}

#[test]
fn the_largest_of_measured_times_is_the_mean_over_all_ways_to_draw_them() {
    let times = [7.0, 1.0, 4.0, 4.0, 9.5];
    let sample = Distribution::sample(&times).unwrap();
    let mut sum = 0.0;
    for a in times {
        for b in times {
            for c in times {
                sum += a.max(b).max(c);
            }
        }
    }
    near("three", sample.expected_maximum(count(3)), sum / 125.0, 1e-12);
    near("one", sample.expected_maximum(count(1)), sample.mean(), 1e-12);
    let weighted =
        Distribution::weighted([(2.0, 4.0), (1.0, 7.0), (1.0, 1.0), (1.0, 9.5)].into_iter()).unwrap();
    near("weights", weighted.expected_maximum(count(3)), sum / 125.0, 1e-12);
}

/// The bins of a uniform distribution, and of a sampled triangular one.
#[test]
fn counted_times_lie_evenly_in_their_bins() {
    let uniform = Distribution::histogram(&[2.0, 3.0, 7.0, 10.0], &[1.0, 4.0, 3.0]).unwrap();
    let even = Distribution::uniform(2.0, 10.0).unwrap();
    for siblings in [1, 2, 7, 40] {
        near(
            "bins",
            uniform.expected_maximum(count(siblings)),
            even.expected_maximum(count(siblings)),
            1e-12,
        );
    }
    near("deviation", uniform.deviation(), even.deviation(), 1e-12);
    let mut drawn = Drawn(5);
    let times: Vec<f64> = (0..40_000).map(|_| 5.0 + drawn.part() + drawn.part()).collect();
    let edges: Vec<f64> = (0..=40).map(|edge| 5.0 + f64::from(edge) / 20.0).collect();
    let counted =
        |edges: &[f64]| times.iter().filter(|time| **time >= edges[0] && **time < edges[1]).count() as f64;
    let counts: Vec<f64> = edges.windows(2).map(counted).collect();
    let (sample, bins) =
        (Distribution::sample(&times).unwrap(), Distribution::histogram(&edges, &counts).unwrap());
    for siblings in [1, 4, 21] {
        near(
            "sample",
            bins.expected_maximum(count(siblings)),
            sample.expected_maximum(count(siblings)),
            2e-3,
        );
    }
    near("deviation", bins.deviation(), sample.deviation(), 5e-3);
}

#[test]
fn so_many_times_are_below_a_quantile() {
    let normal = Distribution::normal(20.0, 4.0).unwrap();
    for (part, deviations) in [(0.5, 0.0), (0.841_344_746, 1.0), (0.158_655_254, -1.0), (0.977_249_868, 2.0)]
    {
        near("normal", normal.quantile(part), 20.0 + 4.0 * deviations, 1e-6);
    }
    near("exponential", Distribution::exponential(3.0).unwrap().quantile(0.5), 3.0 * 2.0_f64.ln(), 1e-12);
    near("uniform", Distribution::uniform(2.0, 6.0).unwrap().quantile(0.25), 3.0, 1e-12);
    let counted = Distribution::histogram(&[0.0, 1.0, 3.0], &[1.0, 3.0]).unwrap();
    for (part, time) in [(0.0, 0.0), (0.125, 0.5), (0.25, 1.0), (0.625, 2.0), (1.0, 3.0)] {
        near("counted", counted.quantile(part), time, 1e-12);
    }
    // Quantiles at equal distances have the mean of the distribution.
    let mean = (0..10_000).map(|number| normal.quantile((f64::from(number) + 0.5) / 1e4)).sum::<f64>() / 1e4;
    near("mean", mean, 20.0, 1e-9);
}

#[test]
fn what_is_no_distribution_is_refused() {
    let number = |name, value| DistributionError::Number { name, value };
    assert_eq!(Distribution::normal(-1.0, 1.0), Err(number("mean", -1.0)));
    assert_eq!(Distribution::printed(1.0, f64::INFINITY), Err(number("deviation", f64::INFINITY)));
    assert!(Distribution::exponential(f64::NAN).is_err());
    assert_eq!(Distribution::uniform(2.0, 1.0), Err(DistributionError::Ends { low: 2.0, high: 1.0 }));
    assert_eq!(Distribution::sample(&[]), Err(DistributionError::Empty));
    assert_eq!(Distribution::sample(&[1.0, -2.0]), Err(number("time", -2.0)));
    assert_eq!(Distribution::histogram(&[1.0], &[1.0]), Err(DistributionError::Bins { edges: 1, counts: 1 }));
    assert_eq!(Distribution::histogram(&[1.0, 2.0], &[0.0]), Err(DistributionError::Empty));
    let falling = Distribution::histogram(&[2.0, 1.0], &[1.0]);
    assert_eq!(falling, Err(DistributionError::Ends { low: 2.0, high: 1.0 }));
}

fn any() -> impl Strategy<Value = Distribution> {
    prop_oneof![
        (0.0..50.0, 0.0..20.0).prop_map(|(mean, deviation)| Distribution::printed(mean, deviation).unwrap()),
        (0.0..50.0, 0.0..20.0).prop_map(|(mean, deviation)| Distribution::normal(mean, deviation).unwrap()),
        (0.0..50.0).prop_map(|mean| Distribution::exponential(mean).unwrap()),
        (0.0..50.0, 0.0..20.0).prop_map(|(low, width)| Distribution::uniform(low, low + width).unwrap()),
        prop::collection::vec(0.0..50.0, 1..60).prop_map(|times| Distribution::sample(&times).unwrap()),
        prop::collection::vec(0.0..9.0, 1..60).prop_filter_map("something is counted", |counts| {
            let edges: Vec<f64> = (0..=counts.len()).map(|edge| edge as f64).collect();
            Distribution::histogram(&edges, &counts).ok()
        }),
    ]
}

proptest! {
    #[test]
    fn of_more_the_largest_is_larger_and_of_one_it_is_the_mean(times in any(), siblings in 1_u32..400) {
        let of = |siblings| times.expected_maximum(count(siblings));
        prop_assert!((of(1) - times.mean()).abs() < 1e-9 * (1.0 + times.mean()));
        prop_assert!(of(siblings + 1) >= of(siblings) - 1e-9);
    }
}
