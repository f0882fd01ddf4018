//! Tests the durability that each organization promises, with power cuts in each story and with
//! each backend.

use crate::common::ways;
use crate::story::{LOGGED, RAID1, RAID5, RESYNCED, Setup, Story, TWO_SUBLOGS};
use crate::{Aim, Trial};

/// The number of cuts of each story.
const CUTS: usize = 60;

fn what_is_promised_to_last_lasts(setup: Setup) {
    let mut seed = 0;
    for story in [Story::Peace, Story::Loss, Story::QuietLoss] {
        for io in ways() {
            seed += 1;
            let mut trial = Trial::new(setup, story, io, Aim::default(), seed);
            for number in 0..CUTS {
                if let Err(wrong) = trial.cut() {
                    panic!("{}: {story:?} with {io:?}, cut {number}: {wrong}", setup.row);
                }
            }
            eprintln!(
                "{} {story:?} {io:?}: {} events, {:?}",
                setup.row,
                trial.session.length(),
                trial.counts
            );
        }
    }
}

#[test]
fn what_raid1_promises_to_last_lasts() {
    what_is_promised_to_last_lasts(RAID1);
}

#[test]
fn what_raid5_promises_to_last_lasts() {
    what_is_promised_to_last_lasts(RAID5);
}

#[test]
fn what_parity_logging_promises_to_last_lasts() {
    what_is_promised_to_last_lasts(RESYNCED);
}

#[test]
fn what_crash_safe_parity_logging_promises_to_last_lasts() {
    what_is_promised_to_last_lasts(LOGGED);
}

#[test]
fn what_crash_safe_parity_logging_with_two_sublogs_promises_to_last_lasts() {
    what_is_promised_to_last_lasts(TWO_SUBLOGS);
}
