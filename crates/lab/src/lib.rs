//! Experiments as data: the settings of an array, its drives and its hosts, and the results.
//!
//! Read [`experiment`] (the keys of a file, and the axes of a sweep), [`simulate`] (runs an
//! experiment on all cores), [`settings`] (the settings of an array, shared with the program's
//! options), [`reliability`] (how likely an array loses data), [`reproduce`] (the papers' numbers
//! and figures, compared with ours).

mod cores;
pub mod drives;
pub mod experiment;
pub mod figures;
pub mod file;
pub mod reliability;
pub mod reproduce;
pub mod settings;
pub mod simulate;
