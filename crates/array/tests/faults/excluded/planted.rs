//! Tests of the tests. A planted bug affects the whole process, so this file has no other test.

use parlour_array::{Bug, plant};

use super::scene::excluded_while_parity_is_written;
use crate::common::alone;

#[test]
fn a_table_that_counts_on_parity_of_a_member_whose_exclusion_is_not_recorded_is_found() {
    let _alone = alone();
    for bug in Bug::OF_EXCLUSION {
        plant(Some(bug));
        assert!(excluded_while_parity_is_written() > 0, "{bug:?} is not found");
        plant(None);
    }
    assert_eq!(excluded_while_parity_is_written(), 0);
}
