//! What the engine promises on files, by subject.

mod access;
mod assembling;
mod commanding;
#[path = "../common/mod.rs"]
mod common;
mod crafted;
mod failing;
mod fencing;
mod hanging;
mod lives;
mod member;
mod recording;
