//! Lists of what requests have under way.

use crate::ids::HostId;

/// Removes and returns what `host` has on the list.
pub(super) fn take<T>(list: &mut Vec<(HostId, T)>, host: HostId) -> Option<T> {
    let index = list.iter().position(|(other, _)| *other == host)?;
    Some(list.swap_remove(index).1)
}
