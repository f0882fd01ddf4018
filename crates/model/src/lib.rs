//! Closed-form models: the performance of disk arrays without simulation.
//!
//! Each module is the model of one paper, as pure functions of its parameters, in the paper's terms
//! and with its section numbers. Where a paper contradicts itself, the reading that agrees with its
//! other numbers is the default, and the printed one is available by name. Times are in
//! milliseconds, and rates in units per second, unless a name says otherwise: these are the papers'
//! units.

pub mod bursts;
pub mod disk;
#[cfg(test)]
mod draws;
pub mod fork_join;
pub mod journal;
pub mod markov;
pub mod mirror;
pub mod order;
pub mod raid;
pub mod rebuild;
pub mod reliability;
pub mod retrieval;
pub mod service;
pub mod utilization;
pub mod writes;
