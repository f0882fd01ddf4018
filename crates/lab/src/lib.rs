//! Experiments as data: what an array, its drives and its hosts are to be, and what came of it.
//!
//! Read [`experiment`] (what a file says, and which of it is swept), [`simulate`] (all runs of it,
//! on all cores), [`settings`] (what can be set of an array, here as in the program), [`reproduce`]
//! (the papers' numbers and figures, ours beside theirs).

pub mod drives;
pub mod experiment;
pub mod figures;
pub mod file;
pub mod reproduce;
pub mod settings;
pub mod simulate;
