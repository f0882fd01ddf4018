//! The tests tested. Bugs are planted in the whole process: no other test is beside this one.

use parlour_array::{Bug, plant};

use crate::cuts::cut_everywhere;

#[test]
fn every_bug_of_the_list_is_found() {
    for bug in Bug::OF_LISTS {
        plant(Some(bug));
        let found = std::panic::catch_unwind(cut_everywhere);
        plant(None);
        assert_ne!(found.ok(), Some(None), "{bug:?} is not found");
    }
    assert_eq!(cut_everywhere(), None);
}
