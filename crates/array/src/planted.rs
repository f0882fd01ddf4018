//! Known bugs that can be planted, one at a time, so that the tests themselves are tested.
//!
//! Nothing of this is in a program that people run: without the feature `planted-bugs`, [`is_planted`] is the constant
//! `false`. With it, [`plant`] chooses the bug of the whole process.

/// A bug.
#[cfg_attr(
    not(feature = "planted-bugs"),
    expect(unreachable_pub, reason = "only who can plant it needs its name")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// A layout's parity begins one member further and rotates right.
    ParityRotatesAstray = 1,
    /// A plan reads old data and parity even where the rest of the stripe would be fewer accesses.
    AlwaysModifies,
}

#[cfg(feature = "planted-bugs")]
impl Bug {
    /// All bugs.
    pub const ALL: [Bug; 2] = [Bug::ParityRotatesAstray, Bug::AlwaysModifies];
}

#[cfg(feature = "planted-bugs")]
mod chosen {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Bug;

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    /// Plants `bug` in all arrays of this process, in place of the one before.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(0, |bug| bug as u8), Ordering::SeqCst);
    }

    /// Whether `bug` is there.
    pub(crate) fn is_planted(bug: Bug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }
}

#[cfg(feature = "planted-bugs")]
pub(crate) use chosen::is_planted;
#[cfg(feature = "planted-bugs")]
pub use chosen::plant;

/// No bug is there.
#[cfg(not(feature = "planted-bugs"))]
pub(crate) const fn is_planted(_: Bug) -> bool {
    false
}
