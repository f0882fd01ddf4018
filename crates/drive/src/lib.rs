//! Models of disk drives: the time of accesses, with arms, platters, buffers and buses.
//!
//! A drive is described by a file (`drives/*.toml`). The models do not depend on arrays.
//!
//! The modules: [`surface`] (the positions of blocks), [`seek`] and [`angle`] (distances and
//! times), [`mechanics`] (the time of the mechanical parts for an access), [`electronics`] and
//! [`drive`] (the same with buffers and a bus, and with tracks that are kept for writes near the
//! heads). [`solid`] is a drive without mechanics.

pub mod angle;
pub mod catalogue;
pub mod description;
pub mod drive;
pub mod electronics;
pub mod mechanics;
mod near;
pub mod queue;
mod refusal;
pub mod seek;
pub mod solid;
pub mod sparing;
mod stream;
pub mod surface;
pub mod validate;
