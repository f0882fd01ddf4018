//! Everything at once: hosts, dying members, replacements, spares, scrubs, stops, kills and power
//! cuts with volatile caches, at random, against a model of the contents that each sector may have.

#![allow(
    dead_code,
    clippy::collapsible_match,
    clippy::collapsible_if,
    clippy::needless_range_loop,
    reason = "a model, not a product"
)]

mod model;
mod setups;

use crate::common::SEED;
use model::Model;
use setups::setups;

/// The number of seeds for each setup.
const SEEDS: u64 = 2;

#[test]
fn failures_commands_crashes_and_restarts_at_random_lose_nothing_that_was_flushed() {
    for (name, setup) in setups() {
        for seed in (0..SEEDS).map(|seed| SEED + seed * 1000) {
            println!("{name}: seed {seed:#x}");
            let mut model = Model::new(&setup, seed);
            for cycle in 0..12 {
                model.cycle();
                if cycle % 4 == 3 {
                    model.heal();
                }
            }
        }
    }
}
