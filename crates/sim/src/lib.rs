//! Virtual time: the same array that serves data, on models of drives. There is no payload at all.
//!
//! Read [`world`] (how effects become accesses of drives), [`member`] (a drive and what waits for it).

pub mod member;
pub mod opening;
pub mod world;
