//! A bound on the memory of what is fuzzed: whatever an image says, the array asks for no more than
//! its members justify.

use std::sync::Once;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The address space of the whole process, in bytes. The images' members have 3 MiB each.
const MOST: u64 = 1 << 30;

/// Bounds the address space of this process from now on: who allocates beyond it aborts.
pub(crate) fn bound() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Rlimit { maximum, .. } = getrlimit(Resource::As);
        let current = Some(maximum.map_or(MOST, |maximum| maximum.min(MOST)));
        setrlimit(Resource::As, Rlimit { current, maximum }).expect("a soft limit may be lowered");
    });
}
