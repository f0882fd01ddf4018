//! Tests of the tests. A planted bug affects the whole process, so this file has no other test.

use parlour_array::{Bug, plant};

use super::scene::resync_meanwhile;
use crate::common::alone;

#[test]
fn a_copy_that_misses_a_resync_is_found() {
    let _alone = alone();
    for bug in Bug::OF_ABSENCE {
        plant(Some(bug));
        assert!(resync_meanwhile() > 0, "{bug:?} is not found");
        plant(None);
    }
    assert_eq!(resync_meanwhile(), 0);
}
