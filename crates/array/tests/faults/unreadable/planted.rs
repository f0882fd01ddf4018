//! Tests of the tests. Planted bugs affect the whole process, so this file has no other test.

use parlour_array::{Bug, plant};

use super::cuts::cut_everywhere;
use super::stutter::stutter_everywhere;
use crate::common::alone;

#[test]
fn every_bug_of_the_list_is_found() {
    let _alone = alone();
    let of_lists = Bug::OF_LISTS.map(|bug| (bug, cut_everywhere as fn() -> Option<String>));
    let of_stutters = Bug::OF_STUTTERS.map(|bug| (bug, stutter_everywhere as fn() -> Option<String>));
    for (bug, search) in of_lists.into_iter().chain(of_stutters) {
        plant(Some(bug));
        let found = std::panic::catch_unwind(search);
        plant(None);
        assert_ne!(found.ok(), Some(None), "{bug:?} is not found");
    }
    assert_eq!(cut_everywhere(), None);
    assert_eq!(stutter_everywhere(), None);
}
