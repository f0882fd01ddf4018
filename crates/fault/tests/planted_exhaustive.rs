//! The exhaustive check tested: some cut finds a bug that is planted.
#![cfg(feature = "planted-bugs")]
#![expect(clippy::disallowed_methods, reason = "the crate has no threads, its tests do")]

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Bug, plant};
use parlour_fault::exhaustive::{SCENARIOS, Subject, exhaust};

/// Bugs that a few writes to a mirror are enough for.
const BUGS: [Bug; 2] = [Bug::FlushDoesNothing, Bug::WritesBeforeDirtyBit];

#[test]
fn some_cut_finds_each_bug() {
    std::panic::set_hook(Box::new(|_| {}));
    let organization = *Organization::named("raid1").expect("a name of the table");
    let subject = Subject { organization, consistency: Consistency::Resync, members: 3 };
    for bug in BUGS {
        plant(Some(bug));
        let mut suiting = SCENARIOS.iter().filter(|one| one.suits(&subject));
        let found = suiting.find_map(|one| exhaust(one, &subject, 0).failures.into_iter().next());
        plant(None);
        println!("{bug:?}: {}", found.as_ref().map_or_else(|| "not found".to_owned(), ToString::to_string));
        assert!(found.is_some(), "{bug:?} is found by no cut");
    }
    drop(std::panic::take_hook());
}
