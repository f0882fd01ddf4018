//! What cannot be recovered is on a list: it is an error, it harms nothing else, and it is over
//! when it is written anew.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

#[path = "../common/mod.rs"]
mod common;
mod cuts;
#[cfg(feature = "planted-bugs")]
mod planted;
#[cfg(not(feature = "planted-bugs"))]
mod promises;
#[cfg_attr(feature = "planted-bugs", expect(dead_code, reason = "the cuts need less of it"))]
mod scene;
mod stutter;
