//! Compares simulations with exact results of queueing theory.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::station::{MS, near, reads, station};
use parlour_sim::report::Report;
use parlour_sim::run::{Measure, RunError, WarmUp, run};
use parlour_workload::delay::Delay;
use parlour_workload::random::Random;
use parlour_workload::source::Load;

/// The report for a load on a drive with this service time.
fn measured(service: Delay, units: u16, load: Load, count: u64, seed: u64) -> Result<Report, RunError> {
    let mut world = station(service, units, seed);
    let mut sources = [reads(&world, "reads", load)];
    let warm_up = WarmUp { requests: 1_000, ..WarmUp::default() };
    let measure = Measure { warm_up, least: count, most: count, precision: 0.0, ..Measure::default() };
    run(&mut world, &mut sources, &measure, &Random::new(seed))
}

#[test]
fn a_queue_of_exponential_times_has_its_mean_and_its_deviation() {
    let load = Load::Open { gap: Delay::Exponential(MS(20)) };
    let report = measured(Delay::Exponential(MS(10)), 1, load, 400_000, 1).unwrap();
    // M/M/1: response times are exponential, with mean 1/(mu - lambda).
    near(report.all().all.response.mean().mean, 0.020, 0.02);
    near(report.all().all.response.deviation(), 0.020, 0.03);
    near(report.all().all.response.quantile(0.9).as_secs_f64(), 0.020 * 10_f64.ln(), 0.03);
    near(report.members[0].utilization, 0.5, 0.01);
    near(report.all().all.requests.mean, 50.0, 0.01);
    near(report.under_way, 1.0, 0.02);
}

/// Compares with the formula of Pollaczek and Khinchine.
#[test]
fn queues_of_other_times_have_their_means() {
    let load = Load::Open { gap: Delay::Exponential(MS(20)) };
    let fixed = measured(Delay::Fixed(MS(10)), 1, load, 400_000, 1).unwrap();
    near(fixed.all().all.response.mean().mean, 0.015, 0.01);
    let normal = Delay::Normal { mean: MS(10), deviation: MS(2) };
    let normal = measured(normal, 1, load, 400_000, 1).unwrap();
    near(normal.all().all.response.mean().mean, 0.010 + 50.0 * (1e-4 + 4e-6) / (2.0 * 0.5), 0.01);
}

#[test]
fn several_units_are_a_queue_with_several_servers() {
    let load = Load::Open { gap: Delay::Exponential(MS(10)) };
    let report = measured(Delay::Exponential(MS(15)), 2, load, 400_000, 1).unwrap();
    // M/M/2 at 75%: s / (1 - rho^2).
    near(report.all().all.response.mean().mean, 0.015 / (1.0 - 0.75 * 0.75), 0.02);
}

/// The machine repairman's model: the throughput of N processes with think time Z by exact mean
/// value analysis.
#[test]
fn a_closed_loop_has_the_throughput_of_mean_value_analysis() {
    let (service, think) = (0.010, 0.050);
    let load = Load::Closed { processes: 6, think: Delay::Exponential(MS(50)) };
    let report = measured(Delay::Exponential(MS(10)), 1, load, 200_000, 1).unwrap();
    let mut queue = 0.0;
    let mut rate = 0.0;
    for processes in 1..=6 {
        let response = service * (1.0 + queue);
        rate = f64::from(processes) / (think + response);
        queue = rate * response;
    }
    near(report.all().all.requests.mean, rate, 0.01);
    near(report.under_way, queue, 0.02);
}

#[test]
fn intervals_hold_the_exact_mean_as_often_as_they_say() {
    let load = Load::Open { gap: Delay::Exponential(MS(20)) };
    let holds = (0..200).filter(|seed| {
        let report = measured(Delay::Exponential(MS(10)), 1, load, 20_000, *seed).unwrap();
        report.all().all.response.mean().contains(0.020)
    });
    let holds = holds.count();
    assert!((180..=198).contains(&holds), "{holds} of 200");
}

#[test]
fn a_seed_says_all() {
    let load = Load::Closed { processes: 3, think: Delay::Fixed(MS(1)) };
    let run = |seed| {
        let report = measured(Delay::Exponential(MS(10)), 1, load, 5_000, seed).unwrap();
        (report.span, report.all().all.response.mean(), report.all().all.response.quantile(0.99))
    };
    assert_eq!(run(4), run(4));
    assert_ne!(run(4), run(5));
}

#[test]
fn a_load_beyond_what_is_served_is_called_unstable() {
    let load = Load::Open { gap: Delay::Exponential(MS(9)) };
    let error = measured(Delay::Exponential(MS(10)), 1, load, 10_000_000, 1).unwrap_err();
    assert!(matches!(error, RunError::Unstable { .. }), "{error}");
}
