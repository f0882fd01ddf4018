//! Seeds with the code and the layouts that only tests have: two check units, each the parity of
//! half of the data.
#![cfg(feature = "test-choices")]

use parlour_array::organization::Organization;
use parlour_fault::{Limits, run};

/// Runs seeds of the organization with this name, and fails with those that broke a promise.
fn check(name: &str, seeds: u64) {
    let row = *Organization::named(name).expect("it is built in");
    let limits = Limits { organization: Some(row), ..Limits::default() };
    let broken =
        (0..seeds).filter_map(|seed| Some(format!("seed {seed}: {}", run(seed, &limits).violation?)));
    assert_eq!(broken.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn two_check_units_that_are_updated_in_place_break_no_promise() {
    check("halves", 600);
}

#[test]
fn two_check_units_whose_updates_are_logged_break_no_promise() {
    check("halves-logging", 600);
}
