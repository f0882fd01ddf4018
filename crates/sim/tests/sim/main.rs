//! What simulations promise, by subject. One program: each takes time to build.

#[path = "../common/mod.rs"]
mod common;
mod control;
mod health;
mod interrupted;
mod linear;
mod machines;
mod paths;
mod queueing;
mod replay;
mod sources;
mod station;
mod volumes;
mod world;
