//! Carrying out plans: jobs and their effects, stripe locks, and the budget of scratch memory.
//!
//! The purpose of a job is known to its owner only: here it is a value of type `K` that is kept and
//! given back.

pub(crate) mod effects;
pub(crate) mod failures;
pub(crate) mod job;
pub(crate) mod locks;
pub(crate) mod narrow;
pub(crate) mod progress;
pub(crate) mod run;
pub(crate) mod scratch;
pub(crate) mod waiting;
