//! Limits the memory of a fuzz target: whatever an image contains, the array must not allocate more
//! than its members' size justifies.

use std::sync::Once;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The address space of the whole process, in bytes. The members of the images have 3 MiB each.
const MOST: u64 = 1 << 30;

/// Limits the address space of this process from now on. An allocation beyond the limit aborts it.
pub(crate) fn bound() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Rlimit { maximum, .. } = getrlimit(Resource::As);
        let current = Some(maximum.map_or(MOST, |maximum| maximum.min(MOST)));
        setrlimit(Resource::As, Rlimit { current, maximum }).expect("a soft limit may be lowered");
    });
}
