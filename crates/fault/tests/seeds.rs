//! Tests that seeds are reproducible and that no seed breaks a promise.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the crate has no threads, its tests do"
)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parlour_array::organization::{LayoutChoice, NAMED, NamedOrganization, Organization};
use parlour_fault::{Coverage, Fault, Limits, Report, State, is_promised, run};

const SEEDS: u64 = 12_000;

/// Runs `count` seeds from `first` on all cores.
fn run_all(first: u64, count: u64, limits: &Limits) -> Vec<Report> {
    let (next, reports) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let report = run(first + number, limits);
            reports.lock().expect("no thread has panicked").push(report);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    reports.into_inner().expect("no thread has panicked")
}

/// Fails with the seeds that broke a promise.
fn check(reports: &[Report]) {
    let broken: Vec<String> = reports
        .iter()
        .filter_map(|report| {
            let violation = report.violation.as_ref()?;
            Some(format!("seed {} ({}): {violation}", report.seed, report.organization))
        })
        .collect();
    assert!(broken.is_empty(), "{} of {} seeds:\n{}", broken.len(), reports.len(), broken.join("\n"));
}

#[test]
fn a_seed_run_twice_is_equal_to_the_byte() {
    for seed in 0..24 {
        assert_eq!(run(seed, &Limits::default()), run(seed, &Limits::default()), "seed {seed}");
    }
}

#[test]
fn no_organization_breaks_a_promise() {
    let reports = run_all(0, SEEDS, &Limits::default());
    check(&reports);
    let mut requests: Vec<u64> = reports.iter().map(|report| report.requests).collect();
    requests.sort_unstable();
    assert!(requests[requests.len() / 2] >= 200, "the median seed makes too few requests");
    let mut coverage = Coverage::default();
    reports.iter().for_each(|report| coverage.add(&report.coverage));
    let pairs = Fault::ALL.into_iter().flat_map(|fault| State::ALL.map(|state| (fault, state)));
    let never: Vec<String> = pairs
        .filter(|(fault, state)| is_promised(*fault, *state) && coverage.count(*fault, *state) == 0)
        .map(|(fault, state)| format!("{} while {}", fault.name(), state.name()))
        .collect();
    assert!(never.is_empty(), "no seed met {}", never.join(", "));
}

/// Organizations that are not drawn if none is given, because drawing them would change the runs of
/// existing seeds.
#[test]
fn organizations_that_are_not_drawn_break_no_promise_either() {
    let drawn = run_all(0, 400, &Limits::default());
    let is_drawn = |row: &&NamedOrganization| drawn.iter().any(|report| report.organization == row.name);
    let others: Vec<&NamedOrganization> = NAMED.iter().filter(|row| !is_drawn(row)).collect();
    assert!(others.iter().any(|row| row.name == "raid10-far"), "far copies are not drawn");
    for row in others {
        check(&run_all(0, 500, &Limits { organization: Some(*row), ..Limits::default() }));
    }
}

/// Combinations without a name: parity in place where there is room for logs or floating units.
#[test]
fn parity_in_place_in_any_layout_breaks_no_promise() {
    let raid5 = NAMED.iter().find(|row| row.name == "raid5").expect("it is in the table");
    for (name, layout) in
        [("in place in regions", LayoutChoice::Regions), ("in place in cylinders", LayoutChoice::Cylinders)]
    {
        let organization = Organization { layout, ..raid5.organization };
        let row = NamedOrganization { name, organization, ..*raid5 };
        check(&run_all(0, 500, &Limits { organization: Some(row), ..Limits::default() }));
    }
}

#[test]
fn more_than_an_organization_survives_is_lost_where_it_is_and_never_read_wrong() {
    check(&run_all(0, 1_000, &Limits { beyond: true, ..Limits::default() }));
}
