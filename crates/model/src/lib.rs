//! Closed forms: what arrays of disks will do, without events.
//!
//! Each module is a model of one paper, as pure functions of its parameters, in the paper's words
//! and with its sections. Where a paper disagrees with itself the reading that its other numbers
//! bear out is the default, and the printed one is there by name. Times are in milliseconds, and
//! rates in units a second, unless a name says otherwise: these are the papers' units.

pub mod disk;
#[cfg(test)]
mod draws;
pub mod fork_join;
pub mod markov;
pub mod mirror;
pub mod order;
pub mod raid;
pub mod reliability;
pub mod retrieval;
pub mod service;
pub mod utilization;
pub mod writes;
