//! Members that were away come back, and are rebuilt only in what they have missed.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "planted-bugs")]
mod planted;
#[cfg(not(feature = "planted-bugs"))]
mod promises;
#[cfg_attr(feature = "planted-bugs", expect(dead_code, reason = "one story needs less of it"))]
mod scene;
