//! The test tested: what makes something durable is taken away, one barrier at a time, and each
//! time a cut finds it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parlour_array::{Bug, plant};
use parlour_engine::Choice;

use crate::common::ways;
use crate::journal::Slow;
use crate::session::Focus;
use crate::story::{LOGGED, RAID1, RAID5, RESYNCED, Setup, Story, TWO_SUBLOGS};
use crate::{Aim, Trial};

/// Cuts within which each bug is found. Most take few; some need an order of events that the
/// engine's threads seldom take on a busy machine.
const CUTS: usize = 8_000;
/// Cuts of one telling of a story.
const OF_ONE: usize = 25;

/// Where a bug matters.
struct Scene {
    setup: Setup,
    story: Story,
    aim: Aim,
    /// Where something has to overtake: threads, which do.
    io: Option<Choice>,
}

/// Where there is what `bug` takes away, and when that shows.
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

/// How many of `cuts` it takes to find something in the scene of `bug`, and what.
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
        // Said here, because panics say nothing meanwhile.
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
