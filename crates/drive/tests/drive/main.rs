//! What the models of drives promise, by subject. One program: each takes time to build.

mod catalogue;
mod constants;
mod measured;
mod mechanics;
mod near;
mod positioning;
