//! What is promised for parity whose member is excluded.

use super::scene::excluded_while_parity_is_written;

#[test]
fn no_table_counts_on_parity_of_a_member_whose_exclusion_is_not_recorded() {
    assert_eq!(excluded_while_parity_is_written(), 0);
}
