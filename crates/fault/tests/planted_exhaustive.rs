//! Tests the exhaustive check: some cut finds the planted bug.
#![cfg(feature = "planted-bugs")]

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Bug, plant};
use parlour_fault::exhaustive::{SCENARIOS, Subject, exhaust};

/// The array for a bug: organization, consistency, members.
fn array(bug: Bug) -> (&'static str, Consistency, u16) {
    match bug {
        Bug::GivenUpReadAtOnce | Bug::ZeroedBeforeRecord => ("parity-logging", Consistency::Journal, 4),
        _ => ("raid1", Consistency::Bitmap, 3),
    }
}

#[test]
fn some_cut_finds_each_bug() {
    std::panic::set_hook(Box::new(|_| {}));
    for bug in Bug::OF_CUTS {
        let (organization, consistency, members) = array(bug);
        let organization = *Organization::named(organization).expect("a name of the table");
        let subject = Subject::new(organization, consistency, members);
        plant(Some(bug));
        let mut suiting = SCENARIOS.iter().filter(|one| one.suits(&subject));
        let found = suiting.find_map(|one| exhaust(one, &subject, 0).failures.into_iter().next());
        plant(None);
        println!("{bug:?}: {}", found.as_ref().map_or_else(|| "not found".to_owned(), ToString::to_string));
        assert!(found.is_some(), "{bug:?} is found by no cut");
    }
    drop(std::panic::take_hook());
}
