//! Tests the fault tester: known bugs are planted in the array one at a time, and each must be
//! found within a fixed number of seeds.
#![cfg(feature = "planted-bugs")]
#![expect(clippy::disallowed_methods, reason = "the crate has no threads, its tests do")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use parlour_array::organization::{Checks, Consistency, NamedOrganization, Organization};
use parlour_array::{Bug, plant};
use parlour_fault::{Limits, run};

/// The number of seeds within which a bug must be found.
const SEEDS: u64 = 2_000;

/// The first seed that is tried.
fn first_seed(bug: Bug) -> u64 {
    match bug {
        // Few stories have the member that matters replaced, or absent for one opening, just then.
        Bug::MissingChecksNotVoided => 3_500,
        // Few of the blocks that cannot be read, which alone are repaired, lie in unsynced stripes
        // whose parity does not fit just there.
        Bug::RepairFromUnsynced => 2_000,
        // Few headers that are damaged are of segments that count, with the other copy in order.
        Bug::OtherLogCopiesNotLoaded => 1_500,
        _ => 0,
    }
}

/// The organization in which the bug has an effect, and its consistency; any, if it has one in all.
fn array(bug: Bug) -> (Option<&'static str>, Option<Consistency>) {
    match bug {
        Bug::LogTruncatedBeforeParity | Bug::OverwriteOrderIgnored | Bug::ParityBehindLogUsed => {
            (Some("parity-logging"), None)
        }
        Bug::RebuildFromOneCopyOnly | Bug::ResyncFromWrongCopy | Bug::RepairLostWithMember => {
            (Some("raid1"), None)
        }
        Bug::CacheNotInvalidated
        | Bug::RepairFromUnsynced
        | Bug::ForceTrustsAllGroups
        | Bug::CleanWithoutFlush
        | Bug::StopWithoutFlush => (Some("raid5"), Some(Consistency::Bitmap)),
        Bug::CheckUnitsAlike | Bug::AccusedWithoutFactor => (Some("raid6"), None),
        _ => (None, None),
    }
}

/// The lowest seed that finds the planted bug.
fn first_that_fails(limits: &Limits, first: u64) -> Option<u64> {
    let (next, found) = (AtomicU64::new(first), AtomicU64::new(u64::MAX));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            // Lower seeds that are still running are completed, so that the result does not depend
            // on threads.
            if seed >= first + SEEDS || seed > found.load(Ordering::Relaxed) {
                return;
            }
            if run(seed, limits).violation.is_some() {
                found.fetch_min(seed, Ordering::Relaxed);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    Some(found.into_inner()).filter(|seed| *seed < first + SEEDS)
}

/// The limits for a bug.
fn limits(name: Option<&str>, consistency: Option<Consistency>) -> Limits {
    let organization = name.map(|name| *Organization::named(name).expect("a name of the table"));
    Limits { organization, consistency, ..Limits::default() }
}

/// One bug is planted at a time.
static PLANTING: Mutex<()> = Mutex::new(());

/// Plants each bug by itself, and fails unless all are found.
fn find(bugs: impl Iterator<Item = (Bug, Limits)>) {
    let _one = PLANTING.lock().unwrap_or_else(PoisonError::into_inner);
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    println!("{:<28} {:>6}  first violation", "bug", "seeds");
    for (bug, limits) in bugs {
        plant(Some(bug));
        match first_that_fails(&limits, first_seed(bug)) {
            Some(seed) => {
                let kind = run(seed, &limits).violation.map_or("none", |violation| violation.kind());
                println!("{:<28} {:>6}  {kind}", format!("{bug:?}"), seed + 1);
                plant(None);
                assert_eq!(run(seed, &limits).violation, None, "seed {seed} fails without {bug:?} too");
            }
            None => {
                println!("{:<28} {:>6}  none", format!("{bug:?}"), "-");
                missed.push(bug);
            }
        }
        plant(None);
    }
    drop(std::panic::take_hook());
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn every_planted_bug_is_found() {
    find(Bug::UNDER_FAULTS.into_iter().map(|bug| {
        let (organization, consistency) = array(bug);
        (bug, limits(organization, consistency))
    }));
}

#[test]
fn every_bug_of_crash_safe_logging_is_found() {
    let logging = Bug::OF_LOGGING.into_iter().chain(Bug::OF_LANES);
    find(logging.map(|bug| (bug, limits(Some("parity-logging"), Some(Consistency::Journal)))));
}

#[test]
fn every_bug_of_content_that_is_recorded_is_found() {
    // (A test of the array alone finds the one that is left out.)
    let content = Bug::OF_CONTENT.into_iter().filter(|bug| *bug != Bug::ContentUndoesABlindWrite);
    find(content.map(|bug| (bug, limits(Some("raid5"), Some(Consistency::Journal)))));
}

#[test]
fn every_bug_of_the_copies_of_logs_is_found() {
    find(Bug::OF_LOG_COPIES.into_iter().map(|bug| {
        let mut limits = limits(Some("parity-logging"), None);
        limits.organization =
            limits.organization.map(|row| NamedOrganization { checks: Checks::Number(2), ..row });
        (bug, limits)
    }));
}
