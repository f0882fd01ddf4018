//! Writes of whole stripes with `journal`: they pass the log by. What a crash cuts off is old or
//! new, sector by sector; if a member is lost with it, what it held of these stripes may be lost,
//! and nothing else.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::BTreeMap;

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{Action, Event, Geometry, Identity, Operation, Repair, RequestError};
use parlour_units::{Region, Sectors, Slot, Stripe, Unit};

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
    setup.tuning.slice = Sectors::new(8);
    setup.tuning.live_records = 5;
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

/// An array whose stripes are written durably. From here on its members have caches.
fn begun(seed: u64) -> (World, May, Random) {
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
    (world, may, random)
}

/// Whole stripes and single sectors are written; the power is cut a few times, and at one of the
/// cuts a member is lost.
fn story(seed: u64) -> Told {
    let (mut world, mut may, mut random) = begun(seed);
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
            match random.chance(2) {
                true => write_what_is_lost(&mut world, &mut may, &mut random, &story),
                false => world = write_durably(world, &mut may, &mut random, &story),
            }
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

/// The same, durably, beside writes that are not: the power is cut once more.
fn write_durably(mut world: World, may: &mut May, random: &mut Random, told: &str) -> World {
    let unit = world.array.geometry().layout().unit_length().get();
    let lost: Vec<u64> = may.iter().filter(|(_, values)| values.len() > 1).map(|(at, _)| *at).collect();
    for at in lost {
        let beside = if random.chance(2) { at + unit } else { at.saturating_sub(unit) };
        if may.get(&beside).is_some_and(|values| values.len() == 1) {
            let new = payload(random, 1);
            note(may, beside, &new, false);
            world.write_now(beside, &new).unwrap();
        }
        let new = payload(random, 1);
        note(may, at, &new, true);
        let done = world.do_now(Operation::Write { durable: true }, at, 1, Some(&new)).0;
        done.unwrap_or_else(|error| panic!("{told}: durable write at {at}: {error}"));
    }
    let mut world = world.crash(false).unwrap();
    world.settle();
    check(&mut world, may, &format!("{told}, written durably"));
    world
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
    lose_another(&mut world, may, slot, &story);
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

/// What is lost costs its stripe no redundancy: when another member fails, and is replaced, nothing
/// else is lost.
fn lose_another(world: &mut World, may: &mut May, slot: u16, story: &str) {
    let story = format!("{story}, another member lost");
    let other = (slot + 1) % 5;
    world.array.fail(world.now, Slot::new(other)).unwrap();
    world.drain();
    world.settle();
    check(world, may, &story);
    world.replace(other);
    world.settle();
    check(world, may, &story);
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{story}");
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

/// An opening without a member does not come to its end, and the next one finds the member again.
fn absent_for_a_while(seed: u64) -> bool {
    let (mut world, mut may, mut random) = begun(seed);
    let slot = random.below(5) as u16;
    let absent = world.disk_at(slot).identity;
    world = cut_off(world, &mut may, &mut random, Some(slot));
    (0..random.below(80)).for_each(|_| _ = world.step());
    is_believed(world, &mut may, absent, &format!("seed {seed}, member {slot} is absent for a while"))
}

/// A member dies while the array is recovered, the power is cut before a superblock says so, and
/// the next opening finds the member again.
fn dead_for_a_while(seed: u64) -> bool {
    let (mut world, mut may, mut random) = begun(seed);
    let slot = random.below(5) as u16;
    let absent = world.disk_at(slot).identity;
    world = cut_off(world, &mut may, &mut random, None);
    (0..random.below(200)).for_each(|_| _ = world.step());
    world.disk_at(slot).dead = true;
    let superblocks = Geometry::superblocks_at(Sectors::new(setup().member_length));
    let is_superblock =
        |action: Action| matches!(action, Action::Write { at, .. } if superblocks.contains(&at));
    while let Some(next) = world.pending.iter().position(|effect| !is_superblock(effect.action)) {
        world.step_at(next);
    }
    is_believed(world, &mut may, absent, &format!("seed {seed}, member {slot} is dead for a while"))
}

/// The power is cut, and a member that was gone is there again. Returns whether it is believed;
/// then nothing is lost.
fn is_believed(mut world: World, may: &mut May, absent: Identity, story: &str) -> bool {
    let disk = world.disks.iter_mut().find(|disk| disk.identity == absent).unwrap();
    disk.dead = false;
    let mut world = world.crash(false).unwrap();
    world.settle();
    let believed = world.array.status().members.iter().all(|member| member.state == "active");
    let lost = check(&mut world, may, story);
    if believed {
        assert_eq!((lost, world.array.status().unreadable.get()), (0, 0), "{story}");
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{story}");
    }
    believed
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_member_that_is_believed_again_costs_nothing() {
    let believed = (0..250).filter(|seed| absent_for_a_while(*seed)).count();
    assert!((50..200).contains(&believed), "{believed} of 250 were believed");
    let believed = (0..250).filter(|seed| dead_for_a_while(*seed)).count();
    assert!((50..=250).contains(&believed), "{believed} of 250 were believed");
}

/// All is read as soon as it can be after a cut. Then the power is cut again, and a member is lost.
fn read_between_cuts(seed: u64) -> u64 {
    let (mut world, mut may, mut random) = begun(seed);
    let slot = random.below(5) as u16;
    world = cut_off(world, &mut may, &mut random, None);
    let story = format!("seed {seed}, read between cuts of which the second loses member {slot}");
    let lost = check(&mut world, &mut may, &story);
    world.disk_at(slot).dead = true;
    let mut world = world.crash(false).unwrap();
    check(&mut world, &mut may, &story) + lost
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_is_read_after_a_cut_stays_whatever_the_next_one_loses() {
    let lost: u64 = (0..250).map(read_between_cuts).sum();
    assert_eq!(lost, 0);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_rots_in_a_whole_stripe_is_restored_while_its_record_counts() {
    let mut world = World::new(&setup(), SEED);
    world.settle();
    let data = world.array.geometry().layout().stripe_data().get();
    let bytes = payload(&mut Random(1), data);
    world.write_now(0, &bytes).unwrap();
    let location = world.array.geometry().layout().locate(Stripe::new(0), Unit::new(1));
    let at = (world.array.geometry().data_start().get() + location.at.get() + 3) as usize * 512;
    world.disk_at(location.slot.get()).bytes[at..at + 512].fill(0x55);
    let mut world = world.crash(false).unwrap();
    world.settle();
    assert!(world.read_now(0, data).unwrap() == bytes);
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
}

/// A write that finds neither old data nor parity has no record: it must not look like a part of
/// the whole stripe that was written before, and cost what a member held that is lost.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_write_without_a_record_is_not_taken_for_a_write_that_was_cut_off() {
    let mut world = World::new(&setup(), SEED);
    world.settle();
    let layout = world.array.geometry().layout().clone();
    let data = layout.stripe_data().get();
    let old = payload(&mut Random(1), data);
    world.write_now(0, &old).unwrap();
    let start = world.array.geometry().data_start().get();
    for unit in [0, layout.data_units()] {
        let location = layout.locate(Stripe::new(0), Unit::new(unit));
        world.disk_at(location.slot.get()).unreadable.insert(start + location.at.get());
    }
    let bytes = payload(&mut Random(7), 1);
    world.write_now(0, &bytes).unwrap();
    world.settle_until(|world| world.array.unsynced_regions() == 0);
    let blind = |event: &Event| matches!(event, Event::BadBlocksRecorded { .. });
    assert!(world.events.iter().any(blind), "it was no such write");
    world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
    world.disk_at(layout.locate(Stripe::new(0), Unit::new(2)).slot.get()).dead = true;
    let mut world = world.crash(false).unwrap();
    world.settle();
    assert!(world.read_now(0, 1).unwrap() == bytes);
    assert!(world.read_now(1, data - 1).unwrap() == old[512..]);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn no_more_is_cut_off_than_the_bad_block_log_has_room_for() {
    let mut setup = setup();
    setup.member_length = 16 * 2_048;
    setup.commit_log = Some(Sectors::new(1_024));
    for seed in 0..4 {
        let (mut world, mut may, mut random) = (World::new(&setup, SEED + seed), May::new(), Random(seed));
        world.settle();
        let data = world.array.geometry().layout().stripe_data().get();
        let stripes = 500.min(world.capacity() / data);
        assert!(stripes * 16 > 2 * 2_044, "{stripes} stripes are more than the list could hold");
        for at in (0..stripes).map(|stripe| stripe * data) {
            note(&mut may, at, &vec![0; data as usize * 512], true);
            let new = payload(&mut random, data);
            note(&mut may, at, &new, false);
            world.write(at, &new);
        }
        // Data is written last: as much as possible is under way.
        let start = world.array.geometry().data_start();
        let of_data = |action: &Action| matches!(action, Action::Write { at, .. } if *at >= start);
        for _ in 0..2_000 {
            let Some(next) = world.pending.iter().position(|effect| !of_data(&effect.action)) else { break };
            world.step_at(next);
        }
        (0..100 + 100 * seed).for_each(|_| _ = world.step());
        world.disk_at(seed as u16).dead = true;
        let mut world = world.crash(false).unwrap();
        world.settle();
        let listed = world.array.status().unreadable.get() / 512;
        assert!((1..=1_022).contains(&listed), "seed {seed}: {listed} sectors are listed");
        // (The member that was lost may have held the log of one region.)
        assert!(world.array.unsynced_regions() <= 1, "seed {seed}: regions were given up");
        check(&mut world, &mut may, &format!("seed {seed}"));
    }
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    #[test]
    fn every_bug_of_whole_stripes_is_found() {
        let tests: [fn(); 6] = [
            super::what_rots_in_a_whole_stripe_is_restored_while_its_record_counts,
            super::a_write_without_a_record_is_not_taken_for_a_write_that_was_cut_off,
            super::no_more_is_cut_off_than_the_bad_block_log_has_room_for,
            super::what_is_read_after_a_cut_stays_whatever_the_next_one_loses,
            super::a_member_that_is_believed_again_costs_nothing,
            super::a_cut_costs_nothing_but_what_a_lost_member_held_of_what_was_being_written,
        ];
        find_each(&Bug::OF_WHOLE_STRIPES, &tests);
    }
}
