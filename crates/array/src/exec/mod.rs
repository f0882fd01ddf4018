//! Carrying out plans: jobs and their effects, stripe locks, and the budget of scratch memory.
//!
//! What a job is for is its owner's matter: here it is a value (`K`) that is kept and given back.

pub(crate) mod effects;
pub(crate) mod job;
pub(crate) mod locks;
pub(crate) mod run;
pub(crate) mod scratch;
