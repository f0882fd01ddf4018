//! Compares the results of the controllers with theory.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::station::{MS, near, reads, station};
use parlour_sim::control::{ControlError, Limit, keep_quantile, reach_throughput};
use parlour_sim::report::Report;
use parlour_sim::run::{Measure, RunError, run};
use parlour_units::Duration;
use parlour_workload::delay::Delay;
use parlour_workload::random::Random;
use parlour_workload::source::Load;

/// A number of processes on a drive with exponential service times of 10 ms, and with `units`
/// servers.
fn closed(processes: u32, think: Delay, units: u16) -> Result<Report, RunError> {
    let mut world = station(Delay::Exponential(MS(10)), units, 1);
    let mut sources = [reads(&world, "reads", Load::Closed { processes, think })];
    let measure = Measure { least: 100_000, most: 100_000, precision: 0.0, ..Measure::default() };
    run(&mut world, &mut sources, &measure, &Random::new(1))
}

/// The throughput of the machine repairman's model, by exact mean value analysis.
fn repairman(processes: u32, think: f64) -> f64 {
    let (mut queue, mut rate) = (0.0, 0.0);
    for count in 1..=processes {
        let response = 0.010 * (1.0 + queue);
        rate = f64::from(count) / (think + response);
        queue = rate * response;
    }
    rate
}

#[test]
fn think_time_is_found_for_a_throughput() {
    for target in [20.0, 60.0, 90.0] {
        let reached =
            reach_throughput(target, 0.01, 20, |think| closed(6, Delay::Exponential(think), 1)).unwrap();
        assert!(reached.met && reached.steps.len() <= 10, "{:?}", reached.steps);
        near(reached.report.all().all.requests.mean, target, 0.01);
        near(repairman(6, reached.setting.as_secs_f64()), target, 0.02);
        assert_eq!(reached.steps.last().unwrap().setting, reached.setting);
    }
}

#[test]
fn a_throughput_beyond_the_peak_is_not_reached_and_nobody_thinks() {
    let reached = reach_throughput(120.0, 0.01, 20, |think| closed(6, Delay::Exponential(think), 1)).unwrap();
    assert_eq!((reached.met, reached.setting, reached.steps.len()), (false, Duration::ZERO, 1));
    near(reached.report.all().all.requests.mean, 100.0, 0.02);
}

/// With n processes without think time, a response time is the sum of n exponential times.
#[test]
fn as_many_requests_are_outstanding_as_keep_the_limit() {
    // The 90% quantiles of Erlang's distribution with 5 and 6 phases are 7.99 and 9.27 service
    // times.
    let depth = |depth| closed(depth, Delay::Fixed(Duration::ZERO), 1);
    let reached = keep_quantile(0.9, Limit::Time(MS(86)), 64, depth).unwrap();
    assert_eq!((reached.setting, reached.met), (5, true));
    near(reached.report.all().all.response.quantile(0.9).as_secs_f64(), 0.0799, 0.02);
    // The 90% quantile with one process is 2.30 service times; four times that is 9.21.
    let reached = keep_quantile(0.9, Limit::TimesIdle(3.8), 64, depth).unwrap();
    assert_eq!((reached.setting, reached.met), (5, true));
    assert_eq!(reached.steps[0].setting, 1);
}

#[test]
fn a_limit_that_is_never_or_always_kept_says_so() {
    let depth = |depth| closed(depth, Delay::Fixed(Duration::ZERO), 1);
    let never = keep_quantile(0.9, Limit::Time(MS(10)), 64, depth).unwrap();
    assert_eq!((never.setting, never.met, never.steps.len()), (1, false, 1));
    let always = keep_quantile(0.9, Limit::Time(MS(10_000)), 11, depth).unwrap();
    assert_eq!((always.setting, always.met), (11, true));
}

#[test]
fn impossible_goals_are_refused() {
    let run = |_| closed(1, Delay::Fixed(Duration::ZERO), 1);
    assert!(matches!(reach_throughput(0.0, 0.1, 1, run), Err(ControlError::NoThroughput(_))));
    assert!(matches!(reach_throughput(1.0, 1.0, 1, run), Err(ControlError::NoTolerance(_))));
    let run = |_| closed(1, Delay::Fixed(Duration::ZERO), 1);
    assert!(matches!(keep_quantile(1.0, Limit::TimesIdle(4.0), 1, run), Err(ControlError::NoQuantile(_))));
    assert!(matches!(keep_quantile(0.9, Limit::TimesIdle(4.0), 0, run), Err(ControlError::NoDepth)));
    assert!(matches!(keep_quantile(0.9, Limit::Time(Duration::ZERO), 4, run), Err(ControlError::NoLimit)));
}
