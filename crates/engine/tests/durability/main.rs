//! Tests of durability: records all changes that the real engine makes to members, cuts power after
//! any of them, and opens the remaining state again. Data that no flush has covered is lost or kept
//! at random.

#[path = "../common/mod.rs"]
mod common;

mod check;
mod content;
mod journal;
mod oracle;
#[cfg(feature = "planted-bugs")]
mod planted;
#[cfg(not(feature = "planted-bugs"))]
mod promises;
mod session;
mod story;

use std::collections::BTreeMap;

use check::{Cut, Outcome};
use common::{Numbers, on_disk, on_memory};
use journal::Slow;
use oracle::Expected;
use parlour_engine::Choice;
use session::{Focus, Session};
use story::{Setup, Story, Told, tell};

/// A story with its journal, and the results of its power cuts.
struct Trial {
    setup: Setup,
    session: Session,
    before: Expected,
    io: Choice,
    aim: Aim,
    numbers: Numbers,
    counts: BTreeMap<&'static str, usize>,
}

/// How power is cut.
#[derive(Clone, Copy, Debug)]
struct Aim {
    focus: Focus,
    /// One in this number of cuts is followed by a second cut during recovery.
    again: u64,
    /// The time of the second cut.
    then: Focus,
    slow: Slow,
}

impl Default for Aim {
    fn default() -> Aim {
        Aim { focus: Focus::Any, again: 4, then: Focus::Any, slow: Slow::Some }
    }
}

impl Trial {
    fn new(setup: Setup, story: Story, io: Choice, aim: Aim, seed: u64) -> Trial {
        let mut numbers = Numbers::new(seed);
        let directory = on_memory().unwrap_or_else(on_disk);
        let Told { journal, sectors } = tell(setup, story, io, aim.slow, &mut numbers, directory.path());
        let (before, session) = (Expected::zeroes(sectors), Session::of(&journal));
        Trial { setup, session, before, io, aim, numbers, counts: BTreeMap::new() }
    }

    /// Cuts power once, and sometimes again during recovery.
    fn cut(&mut self) -> Result<(), String> {
        let Trial { setup, session, before, io, aim, numbers, counts } = self;
        let again = (numbers.below(aim.again) == 0).then_some(*io);
        let cut = Cut::draw(*setup, session, before, aim.focus, None, numbers);
        let first = cut.about.clone();
        let outcome = cut.check(*setup, again, numbers)?;
        let (word, outcome) = match outcome {
            Outcome::Again { session, before, gone } => {
                let returning = gone.filter(|_| numbers.below(2) == 0);
                let cut = Cut::draw(*setup, &session, &before, aim.then, returning, numbers);
                let wrong = |wrong: String| format!("{first}; then {wrong}");
                ("twice", cut.check(*setup, None, numbers).map_err(wrong)?)
            }
            outcome => ("once", outcome),
        };
        let word = if matches!(outcome, Outcome::Refused) { "refused" } else { word };
        *counts.entry(word).or_default() += 1;
        Ok(())
    }
}
