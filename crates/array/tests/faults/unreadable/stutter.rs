//! After a crash a member cannot read some of its sectors the first time, or the first two or three
//! times. Their content was then never compared with the records in the commit log.

use std::collections::BTreeMap;

use parlour_array::layout::{Location, Occupant};
use parlour_array::{Action, Repair};
use parlour_units::{Sector, Sectors, Slot};

use crate::common::{Random, SEED, Setup, World, payload};

/// The greatest number of effects that are carried out.
const STEPS: u64 = 160;

/// Writes that a crash cuts off, after which a member has read errors.
struct Story {
    setup: Setup,
    /// The number of effects that are carried out before the crash.
    steps: u64,
    /// The member with read errors, and the number of reads of each sector that fail.
    member: u16,
    times: u32,
    /// The number of effects that are carried out before the next crash, if there is one, while
    /// hosts write again.
    again: Option<u64>,
}

/// Arrays whose logs fill quickly, so that reintegrations run all the time. (All writes are logged,
/// also those of whole stripes: what is cut off of those that are not may be lost.)
fn setups() -> Vec<Setup> {
    let mut small = Setup::logged(4);
    small.tuning.large_write = Some(parlour_array::LargeWrite::Overwrite);
    small.member_length = 3 * 2_048;
    small.tuning.log_memory = Sectors::new(64);
    small.tuning.log_flush = Some(parlour_array::LogFlush::WhenFull);
    let mut blocks = small.clone();
    blocks.block = 8;
    blocks.log.segment = Some(Sectors::new(128));
    blocks.tuning.log_memory = Sectors::new(256);
    vec![small, blocks]
}

/// The places that hosts write repeatedly: two units of one stripe, and a whole stripe.
fn places(setup: &Setup) -> Vec<(u64, u64)> {
    let (unit, block) = (setup.unit, setup.block);
    vec![(0, block), (unit, block * 2), (block, block), (0, unit * 3), (unit * 2, block), (0, block * 2)]
}

/// All contents that each sector ever had, the newest last.
type History = BTreeMap<u64, Vec<Vec<u8>>>;

/// Answers a pending effect, or advances the time; bad-block logs are not written. Returns `false`
/// if there is nothing else to do.
fn step_without_lists(world: &mut World) -> bool {
    let (first, length) = world.array.geometry().bad_block_log_at(0).expect("there are bad-block logs");
    let bad_block_logs = first..first + length * 2;
    let is_list = |action: Action| matches!(action, Action::Write { at, .. } if bad_block_logs.contains(&at));
    let others: Vec<usize> =
        (0..world.pending.len()).filter(|index| !is_list(world.pending[*index].action)).collect();
    if others.is_empty() {
        let Some(due) = world.array.poll_timeout() else { return false };
        world.now = world.now.max(due);
        world.array.handle_timeout(world.now);
        world.drain();
        return true;
    }
    let chosen = world.random.below(others.len() as u64) as usize;
    world.step_at(others[chosen]);
    true
}

/// Writes until this many effects are carried out, or nothing is left to do; adds the data to
/// `history`.
fn write(world: &mut World, steps: u64, history: &mut History) {
    let mut random = Random(SEED ^ steps);
    let places = places(&world.setup);
    let mut left = steps;
    for (at, length) in places.iter().cycle().copied() {
        let new = payload(&mut random, length);
        for (sector, content) in (at..).zip(new.chunks(512)) {
            history.entry(sector).or_insert_with(|| vec![vec![0; 512]]).push(content.to_vec());
        }
        let tag = world.write(at, &new);
        while !world.done.contains_key(&tag) {
            if left == 0 || !step_without_lists(world) {
                return;
            }
            left -= 1;
        }
    }
}

/// The sectors of units on the member in `slot`.
fn unit_sectors(world: &World, slot: Slot) -> impl Iterator<Item = u64> {
    let geometry = world.array.geometry().clone();
    let (start, length) = (geometry.data_start(), geometry.stored().layout.length);
    let is_unit = move |at: &u64| {
        let location = Location { slot, at: Sector::new(*at) };
        matches!(geometry.layout().occupant(location), Occupant::Unit { .. })
    };
    (0..length).filter(is_unit).map(move |at| (start + Sectors::new(at)).get())
}

/// Runs a story. Returns what is wrong at the end, if anything.
fn tell(story: &Story) -> Option<String> {
    let mut world = World::new(&story.setup, SEED ^ story.steps);
    world.all_volatile();
    let mut history = History::new();
    write(&mut world, story.steps, &mut history);
    let bad: Vec<u64> = unit_sectors(&world, Slot::new(story.member)).collect();
    world = world.crash(false).unwrap();
    let stutters = bad.into_iter().map(|sector| (sector, story.times)).collect();
    world.disk_at(story.member).stutters = stutters;
    if let Some(steps) = story.again {
        write(&mut world, steps, &mut history);
        world.disks.iter_mut().for_each(|disk| disk.stutters.clear());
        world = world.crash(false).unwrap();
    }
    world.settle();
    world.disks.iter_mut().for_each(|disk| disk.stutters.clear());
    let block = story.setup.block;
    for (sector, known) in &history {
        let read = world.read_now(sector / block * block, block);
        let of_sector = |read: &Vec<u8>| read[(sector % block) as usize * 512..][..512].to_vec();
        if !read.as_ref().is_ok_and(|read| known.contains(&of_sector(read))) {
            return Some(format!("sector {sector} reads wrong ({:?})", read.err()));
        }
    }
    let report = world.scrub(Repair::Nothing);
    let listed = world.array.status().unreadable.get();
    let whole = (report.mismatches, report.unreadable, listed) == (0, 0, 0);
    (!whole).then(|| format!("{report:?}, {listed} bytes on the list"))
}

fn stories() -> Vec<Story> {
    let mut stories = Vec::new();
    for setup in setups() {
        for steps in (0..STEPS).step_by(5) {
            let ways = [(2, None), (2, Some(200)), (1, None), (3, None), (2, Some(60))];
            // The first two find most defects.
            let ways = match steps % 20 {
                0 => &ways[..],
                10 => &ways[..1],
                _ => &ways[1..2],
            };
            for member in 0..setup.members {
                for (times, again) in ways.iter().copied() {
                    stories.push(Story { setup: setup.clone(), steps, member, times, again });
                }
            }
        }
    }
    stories
}

/// Runs all stories. Returns what is wrong in the first failing one.
pub(crate) fn stutter_everywhere() -> Option<String> {
    stories().into_iter().find_map(|story| {
        let Story { setup, steps, member, times, again } = &story;
        let wrong = tell(&story)?;
        Some(format!(
            "blocks of {}, power is cut after {steps} effects, {times} reads of member {member} fail, cut again: {again:?}: \
             {wrong}",
            setup.block
        ))
    })
}
