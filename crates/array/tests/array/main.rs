//! What the array promises, by subject. One program: many would take minutes to build.

mod assembly;
#[path = "../common/mod.rs"]
mod common;
mod crafted;
mod creation;
mod examples;
mod failing;
mod fence;
mod floating;
mod gathered;
mod idle;
mod numbers;
mod parts;
mod pools;
mod rebuilds;
mod recovering;
mod reference;
mod regressions;
mod reread;
mod risk;
mod scrubbing;
mod simulated;
mod stress;
mod zeroes;
