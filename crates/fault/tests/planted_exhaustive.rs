//! The exhaustive check tested: some cut finds a bug that is planted.
#![cfg(feature = "planted-bugs")]
#![expect(clippy::disallowed_methods, reason = "the crate has no threads, its tests do")]

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Bug, plant};
use parlour_fault::exhaustive::{SCENARIOS, Subject, exhaust};

/// Bugs for which a few writes are enough, to such an array of so many members.
const BUGS: [(Bug, &str, Consistency, u16); 4] = [
    (Bug::FlushDoesNothing, "raid1", Consistency::Resync, 3),
    (Bug::WritesBeforeDirtyBit, "raid1", Consistency::Resync, 3),
    (Bug::GivenUpReadAtOnce, "parity-logging", Consistency::Logged, 4),
    (Bug::ZeroedBeforeRecord, "parity-logging", Consistency::Logged, 4),
];

#[test]
fn some_cut_finds_each_bug() {
    std::panic::set_hook(Box::new(|_| {}));
    for (bug, organization, consistency, members) in BUGS {
        let organization = *Organization::named(organization).expect("a name of the table");
        let subject = Subject { organization, consistency, members };
        plant(Some(bug));
        let mut suiting = SCENARIOS.iter().filter(|one| one.suits(&subject));
        let found = suiting.find_map(|one| exhaust(one, &subject, 0).failures.into_iter().next());
        plant(None);
        println!("{bug:?}: {}", found.as_ref().map_or_else(|| "not found".to_owned(), ToString::to_string));
        assert!(found.is_some(), "{bug:?} is found by no cut");
    }
    drop(std::panic::take_hook());
}
