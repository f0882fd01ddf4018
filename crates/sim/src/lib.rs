//! Virtual time: the same arrays that serve data, on models of drives. There is no payload at all.
//!
//! Read [`world`] (how effects become accesses of drives), [`member`] (a drive and what waits for
//! it), [`paths`] (what lies between), [`opening`] and [`volume`] (arrays, new and again),
//! [`health`] (what befalls them), [`run`] (hosts, and what becomes of their requests), [`report`]
//! and [`history`] (what a run has shown), [`statistics`] (how sure that is), [`control`] (runs,
//! until one shows what is wanted).

pub mod control;
pub mod flat;
pub mod health;
pub mod history;
mod identity;
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
