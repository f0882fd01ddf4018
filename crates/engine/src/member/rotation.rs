//! Whether a block device rotates.

use std::fs;
use std::path::Path;

/// Whether the block device `number` rotates, as far as the kernel knows.
pub(super) fn rotates(number: u64) -> bool {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let device = format!("/sys/dev/block/{major}:{minor}");
    // (A partition has no queue of its own.)
    ["queue", "../queue"].iter().any(|queue| {
        let told = fs::read_to_string(Path::new(&device).join(queue).join("rotational"));
        told.is_ok_and(|told| told.trim() == "1")
    })
}
