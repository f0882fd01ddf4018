//! Tests of the test: each planted bug removes one barrier that makes data durable, and a power cut
//! must find it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parlour_array::{Bug, plant};
use parlour_engine::Choice;

use crate::common::ways;
use crate::journal::Slow;
use crate::session::Focus;
use crate::story::{LOGGED, RAID1, RAID5, RESYNCED, Setup, Story, TWO_SUBLOGS};
use crate::{Aim, Trial};

/// The number of cuts within which each bug must be found. Most bugs need few cuts. Some need an
/// order of events that the engine's threads seldom produce on a busy machine.
const CUTS: usize = 8_000;
/// The number of cuts of one run of a story.
const OF_ONE: usize = 25;

/// The scene in which a bug matters.
struct Scene {
    setup: Setup,
    story: Story,
    aim: Aim,
    /// The thread backend, if one access has to overtake another.
    io: Option<Choice>,
}

/// The scene in which the removed barrier of `bug` is used, and the time at which the bug shows.
fn scene(bug: Bug) -> Scene {
    let scene = |setup, story, focus| {
        let aim = Aim { focus, ..Aim::default() };
        Scene { setup, story, aim, io: None }
    };
    let overtaking = |slow, scene: Scene| {
        let aim = Aim { slow, ..scene.aim };
        Scene { io: Some(Choice::Threads), aim, ..scene }
    };
    match bug {
        Bug::CommitNotDurable
        | Bug::IntentNotDurable
        | Bug::AppendNotDurable
        | Bug::CommitFlushSkipped
        | Bug::ReintegrationFlushSkipped => scene(LOGGED, Story::Peace, Focus::Any),
        Bug::TableNotDurable => scene(LOGGED, Story::Peace, Focus::Records),
        Bug::LogEmptiedBeforeTable => overtaking(Slow::Metadata, scene(LOGGED, Story::Peace, Focus::Any)),
        Bug::RedoFlushSkipped => {
            let aim = Aim { again: 1, then: Focus::Reads, ..Aim::default() };
            Scene { aim, ..scene(LOGGED, Story::Peace, Focus::Any) }
        }
        Bug::ResyncFlushSkipped | Bug::FrontierBeforeFlush => scene(LOGGED, Story::Loss, Focus::Any),
        Bug::LoggedAgainBeforeTable => scene(TWO_SUBLOGS, Story::QuietLoss, Focus::Any),
        Bug::WritesBeforeExclusion => overtaking(Slow::Metadata, scene(RAID1, Story::Loss, Focus::Exclusion)),
        Bug::SuperblockCopiesAtOnce => {
            overtaking(Slow::Metadata, scene(RAID5, Story::Loss, Focus::Superblocks))
        }
        Bug::DegradedDurableNotFlushed => scene(RAID5, Story::Loss, Focus::Absence),
        Bug::DegradedFlushBeforeParity => {
            overtaking(Slow::Data, scene(RESYNCED, Story::QuietLoss, Focus::Flushes))
        }
        _ => scene(RAID5, Story::Peace, Focus::Any),
    }
}

/// Looks for an error in the scene of `bug`. Returns the number of cuts and the error, if it is
/// found within `cuts`.
fn find(bug: Bug, cuts: usize) -> Option<(usize, String)> {
    let Scene { setup, story, aim, io } = scene(bug);
    let ways: Vec<Choice> = io.map_or_else(ways, |io| vec![io]);
    for seed in 0..cuts / OF_ONE {
        let mut trial = Trial::new(setup, story, ways[seed % ways.len()], aim, seed as u64 + 1);
        for number in 1..=OF_ONE {
            if let Err(wrong) = trial.cut() {
                return Some((seed * OF_ONE + number, wrong));
            }
        }
    }
    None
}

#[test]
fn every_barrier_that_is_missing_is_found() {
    std::panic::set_hook(Box::new(|_| {}));
    let (mut missed, mut wrong_without) = (Vec::new(), Vec::new());
    println!("{:<28} {:>6}  what is wrong then", "without", "cuts");
    for bug in Bug::OF_DURABILITY {
        plant(Some(bug));
        let found = catch_unwind(AssertUnwindSafe(|| find(bug, CUTS)));
        plant(None);
        let name = format!("{bug:?}");
        // Printed here, because panic messages are suppressed during the run.
        let sound = catch_unwind(|| find(bug, 2 * OF_ONE));
        if !matches!(sound, Ok(None)) {
            let panic = sound.as_ref().err().and_then(|panic| panic.downcast_ref::<String>());
            println!("{name:<28} {:>6}  is wrong without it too: {sound:?} {panic:?}", "-");
            wrong_without.push(bug);
        }
        match found {
            Ok(Some((cuts, wrong))) => {
                println!("{name:<28} {cuts:>6}  {}", wrong.lines().next().unwrap_or_default());
            }
            Ok(None) => {
                println!("{name:<28} {:>6}  nothing", "-");
                missed.push(bug);
            }
            Err(panic) => {
                println!("{name:<28} {:>6}  the story ends early: {:?}", "-", panic.downcast_ref::<String>());
                missed.push(bug);
            }
        }
    }
    drop(std::panic::take_hook());
    assert!(wrong_without.is_empty(), "with no barrier missing something is wrong: {wrong_without:?}");
    assert!(missed.is_empty(), "not found within {CUTS} cuts: {missed:?}");
}
