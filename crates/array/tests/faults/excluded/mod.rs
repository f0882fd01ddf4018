//! A member is excluded while its parity is written, and power is cut before the exclusion is
//! recorded.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

#[cfg(feature = "planted-bugs")]
mod planted;
#[cfg(not(feature = "planted-bugs"))]
mod promises;
mod scene;
