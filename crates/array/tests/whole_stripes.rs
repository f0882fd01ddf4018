//! Writes of whole stripes with `journal`: they pass the log by. What a crash cuts off is old or
//! new, sector by sector; if a member is lost with it, what it held of these stripes may be lost,
//! and nothing else.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

mod common;

use std::collections::BTreeMap;

use common::{Random, SEED, Setup, World, payload};
use parlour_array::{Event, LargeWrite, Operation, Repair, RequestError};
use parlour_units::{Region, Slot};

/// The stripes that are used: of two regions.
const STRIPES: u64 = 4;

/// What each sector may hold. Where there are several contents, a write was cut off.
type May = BTreeMap<u64, Vec<Vec<u8>>>;

/// What a story came to.
#[derive(Default)]
struct Told {
    /// Sectors that are lost.
    lost: u64,
    /// Recoveries after which the bad-block log was not empty.
    listed: u64,
}

fn setup() -> Setup {
    let mut setup = Setup::logged(5);
    setup.member_length = 4 * 2_048;
    setup.tuning.slice = parlour_units::Sectors::new(8);
    setup.tuning.live_records = 5;
    setup.tuning.large_write = Some(LargeWrite::Cancel);
    setup
}

fn note(may: &mut May, at: u64, content: &[u8], acknowledged: bool) {
    for (sector, content) in (at..).zip(content.chunks(512)) {
        let values = may.entry(sector).or_default();
        if acknowledged {
            values.clear();
        }
        values.push(content.to_vec());
    }
}

/// The first sectors of the stripes that are used.
fn stripes(world: &World) -> Vec<u64> {
    let layout = world.array.geometry().layout();
    let data = layout.stripe_data().get();
    let first = |region: u32| layout.stripe_in(Region::new(region), 0).unwrap().get() * data;
    (0..STRIPES).map(|number| first((number % 2) as u32) + number / 2 * data).collect()
}

/// Begins writes, carries out a few effects, and cuts the power.
fn cut_off(mut world: World, may: &mut May, random: &mut Random, lost: Option<u16>) -> World {
    let data = world.array.geometry().layout().stripe_data().get();
    for at in stripes(&world) {
        if random.chance(3) {
            let new = payload(random, data);
            world.write_now(at, &new).unwrap();
            // With all members there, a whole stripe is durable when it is answered.
            let whole = world.array.status().members.iter().all(|member| member.state == "active");
            note(may, at, &new, whole);
        }
        let (at, length) = match random.below(4) {
            0 => (at + random.below(data), 1),
            _ => (at, data),
        };
        let new = payload(random, length);
        note(may, at, &new, false);
        world.write(at, &new);
    }
    for _ in 0..random.below(90) {
        world.step();
    }
    if let Some(lost) = lost {
        world.disk_at(lost).dead = true;
    }
    world.crash(false).unwrap()
}

/// Reads all that was written. What is read once is read from then on.
fn check(world: &mut World, may: &mut May, told: &str) -> u64 {
    let mut lost = 0;
    for (sector, values) in may.iter_mut() {
        match world.read_now(*sector, 1) {
            Ok(content) => {
                assert!(values.contains(&content), "{told}: sector {sector} holds what it never held");
                *values = vec![content];
            }
            Err(RequestError::Lost) => {
                assert!(values.len() > 1, "{told}: sector {sector} is lost, and nobody was writing it");
                lost += 1;
            }
            Err(other) => panic!("{told}: sector {sector}: {other}"),
        }
    }
    let wrong = |event: &&Event| matches!(event, Event::BlockDamaged { .. } | Event::LogDamaged { .. });
    assert_eq!(world.events.iter().find(wrong), None, "{told}");
    lost
}

/// Whole stripes and single sectors are written; the power is cut a few times, and at one of the
/// cuts a member is lost.
fn story(seed: u64) -> Told {
    let mut random = Random(seed);
    let (mut world, mut may) = (World::new(&setup(), SEED + seed), May::new());
    world.settle();
    for at in stripes(&world) {
        let data = world.array.geometry().layout().stripe_data().get();
        let old = payload(&mut random, data);
        note(&mut may, at, &old, true);
        world.do_now(Operation::Write { durable: true }, at, data, Some(&old)).0.unwrap();
    }
    world.settle();
    world.all_volatile();
    let mut told = Told::default();
    let (with_loss, slot) = (random.below(4), random.below(5) as u16);
    for cut in 0..3 {
        let loses = cut == with_loss;
        let story = format!("seed {seed}, cut {cut} of which {with_loss} loses member {slot}");
        world = cut_off(world, &mut may, &mut random, loses.then_some(slot));
        if random.chance(2) {
            // The recovery is cut off too.
            (0..random.below(60)).for_each(|_| _ = world.step());
            world = world.crash(false).unwrap();
        }
        world.settle();
        told.listed += u64::from(world.array.status().unreadable.get() > 0);
        let lost = check(&mut world, &mut may, &story);
        told.lost += lost;
        if lost > 0 && random.chance(2) {
            write_what_is_lost(&mut world, &mut may, &mut random, &story);
        }
        if cut >= with_loss && lost == 0 && random.chance(2) {
            break;
        }
        if lost > 0 {
            break;
        }
    }
    heal(world, &mut may, slot, seed);
    told
}

/// What is lost can be written, without the member that was lost: alone, and with what is beside
/// it.
fn write_what_is_lost(world: &mut World, may: &mut May, random: &mut Random, told: &str) {
    let lost: Vec<u64> = may.iter().filter(|(_, values)| values.len() > 1).map(|(at, _)| *at).collect();
    let last = *may.keys().next_back().unwrap();
    for at in lost {
        let length = (1 + random.below(3)).min(last + 1 - at);
        if (at..at + length).any(|sector| !may.contains_key(&sector)) {
            continue;
        }
        let new = payload(random, length);
        note(may, at, &new, true);
        world.write_now(at, &new).unwrap_or_else(|error| panic!("{told}: write at {at}: {error}"));
    }
    check(world, may, told);
}

/// A missing member is replaced: what could be read is read, and what is lost can be written.
fn heal(mut world: World, may: &mut May, slot: u16, seed: u64) {
    let story = format!("seed {seed}, healed");
    if world.array.status().members[usize::from(slot)].state != "active" {
        world.replace(slot);
    }
    world.settle();
    check(&mut world, may, &story);
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{story}");
    let data = world.array.geometry().layout().stripe_data().get();
    for at in stripes(&world) {
        let new = payload(&mut Random(seed + at), data);
        note(may, at, &new, true);
        world.write_now(at, &new).unwrap();
    }
    world.settle();
    assert_eq!(check(&mut world, may, &story), 0, "{story}");
    assert_eq!(world.array.status().unreadable.get(), 0, "{story}");
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{story}");
    world.array.fail(world.now, Slot::new(seed as u16 % 5)).unwrap();
    world.drain();
    world.settle();
    assert_eq!(check(&mut world, may, &story), 0, "{story}");
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_cut_costs_nothing_but_what_a_lost_member_held_of_what_was_being_written() {
    let (mut lost, mut listed, mut quiet) = (0, 0, 0);
    for seed in 0..250 {
        let told = story(seed);
        lost += told.lost;
        listed += told.listed;
        quiet += u64::from(told.lost == 0);
    }
    assert!(lost > 0 && listed > 0 && quiet > 100, "{lost} sectors lost, {listed} listed, {quiet} whole");
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    #[test]
    fn every_bug_of_whole_stripes_is_found() {
        let test = super::a_cut_costs_nothing_but_what_a_lost_member_held_of_what_was_being_written;
        find_each(&Bug::OF_WHOLE_STRIPES, &[test]);
    }
}
