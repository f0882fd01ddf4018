//! The simulator: runs the arrays that serve data in virtual time, on models of drives. There is no
//! payload.
//!
//! The modules: [`world`] (turns effects into accesses to drives), [`member`] (a drive and its
//! queue), [`paths`] (processors, channel and buses), [`opening`] and [`volume`] (arrays, created
//! and opened again, and rivals), [`health`] (failures and replacements), [`run`] (hosts and their
//! requests), [`report`] and [`history`] (the results of a run), [`statistics`] (confidence
//! intervals), [`control`] (searches for a setting that meets a target).

pub mod control;
mod controller;
pub mod flat;
pub mod health;
pub mod history;
mod identity;
pub mod log_tally;
pub mod member;
mod metadata;
pub mod opening;
pub mod paths;
pub mod report;
pub mod run;
pub mod statistics;
mod together;
pub mod volume;
pub mod world;
