//! Virtual time: the same array that serves data, on models of drives. There is no payload at all.
//!
//! Read [`world`] (how effects become accesses of drives), [`member`] (a drive and what waits for it), [`run`] (hosts, and what
//! becomes of their requests), [`statistics`] (how sure that is).

pub mod flat;
pub mod member;
pub mod opening;
pub mod run;
pub mod statistics;
pub mod world;
