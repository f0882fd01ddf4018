//! Long writes in a row: where one ends within a stripe and the next one begins there, the stripe
//! is written as a whole.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{Operation, Repair};
use parlour_units::{Sector, Sectors, Slot};

/// Sectors of data in a stripe, and of each write: a stripe and a third.
const STRIPE: u64 = 48;
const LENGTH: u64 = 64;

/// Three data units in each stripe.
fn setups() -> [Setup; 4] {
    let mut staged = Setup::logged(5);
    staged.log.writes = Some(Sectors::new(512));
    let raid5 = Setup::named("raid5", 4);
    [raid5.clone(), Setup { consistency: staged.consistency, ..raid5 }, Setup::logged(5), staged]
}

/// Submits `count` writes, one behind the other, each of which is announced before the one before
/// it comes. Nothing is done for them yet. Returns their tags and their content.
fn row(world: &mut World, from: u64, count: u64) -> (Vec<u64>, Vec<u8>) {
    let content = payload(&mut Random(SEED + from), count * LENGTH);
    let mut tags = Vec::new();
    for (index, part) in (0..).zip(content.chunks(LENGTH as usize * 512)) {
        let at = from + index * LENGTH;
        if index + 1 < count {
            expect(world, at + LENGTH);
        }
        tags.push(world.write(at, part));
    }
    (tags, content)
}

fn expect(world: &mut World, at: u64) {
    world.array.expect_write(world.now, Sector::new(at), Sectors::new(LENGTH));
}

fn all_done(world: &mut World, tags: &[u64]) {
    world.settle();
    for tag in tags {
        assert_eq!(world.done.remove(tag).unwrap().0, Ok(()));
    }
}

#[test]
fn long_writes_in_a_row_share_whole_stripes() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        // They end at sectors 64, 128, 192 and 256, of which 192 begins a stripe.
        let (tags, content) = row(&mut world, 0, 4);
        all_done(&mut world, &tags);
        let counters = world.array.counters();
        assert_eq!((counters.full_stripe, counters.gathered), (5, 2), "all but the last one");
        assert_eq!(world.read_now(0, 4 * LENGTH).unwrap(), content);
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
    }
}

/// A client that keeps several writes under way sends the next one when the oldest is done.
#[test]
fn writes_in_a_row_that_nobody_announced_share_stripes_while_others_are_under_way() {
    for setup in setups() {
        for announced in [false, true] {
            let mut world = World::new(&setup, SEED);
            let content = payload(&mut Random(SEED), 40 * LENGTH);
            let mut tags = Vec::new();
            for (at, part) in (0..).step_by(LENGTH as usize).zip(content.chunks(LENGTH as usize * 512)) {
                tags.push(world.write(at, part));
                let oldest = tags.len().checked_sub(4).map(|index| tags[index]);
                while oldest.is_some_and(|tag| !world.done.contains_key(&tag)) {
                    if !world.step() {
                        // All that is left waits for the next write, or for the time to be over.
                        world.now = world.array.poll_timeout().unwrap();
                        world.array.handle_timeout(world.now);
                        world.drain();
                    }
                }
                if announced {
                    expect(&mut world, at + LENGTH);
                }
            }
            all_done(&mut world, &tags);
            let gathered = world.array.counters().gathered;
            assert!(gathered >= 15, "{gathered} of 26 stripes were written for two");
            assert_eq!(world.read_now(0, 40 * LENGTH).unwrap(), content);
        }
    }
}

#[test]
fn a_single_write_is_not_held_back() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        let tag = world.write(0, &payload(&mut Random(1), LENGTH));
        // (No time passes by itself: a part that is held back would stay so.)
        while world.step() {}
        assert_eq!(world.done[&tag].0, Ok(()));
    }
}

#[test]
fn what_is_held_back_goes_on_if_no_other_write_comes() {
    for setup in setups() {
        for count in 1..6 {
            let mut world = World::new(&setup, SEED + count);
            expect(&mut world, count * LENGTH);
            let (tags, content) = row(&mut world, 0, count);
            all_done(&mut world, &tags);
            let held = world.array.held();
            assert_eq!((held.requests, held.host_memory), (0, Sectors::ZERO));
            // If it comes later, it finds nothing to complete.
            let (tags, more) = row(&mut world, count * LENGTH, 1);
            all_done(&mut world, &tags);
            let all = world.read_now(0, (count + 1) * LENGTH).unwrap();
            assert_eq!(all, [content, more].concat());
        }
    }
}

/// Regression test. An announcement was forgotten for newer ones, and nothing let go of the part
/// that waited for it. And one of a place that does not exist overflowed.
#[test]
fn what_is_held_back_goes_on_however_many_writes_are_announced() {
    for setup in setups() {
        // (With write-back so short a write is staged.)
        if setup.log.writes.is_some() {
            continue;
        }
        let mut world = World::new(&setup, SEED);
        world.settle();
        expect(&mut world, STRIPE / 3);
        let tag = world.write(0, &payload(&mut Random(1), STRIPE / 3));
        (0..200).for_each(|_| expect(&mut world, 10 * LENGTH));
        world.array.expect_write(world.now, Sector::new(u64::MAX), Sectors::new(u64::MAX));
        all_done(&mut world, &[tag]);
    }
}

#[test]
fn stripes_of_two_writes_survive_a_missing_member_and_a_stop() {
    for setup in setups() {
        for missing in 0..4 {
            let mut world = World::new(&setup, SEED + u64::from(missing));
            world.array.fail(world.now, Slot::new(missing)).unwrap();
            let (mut tags, content) = row(&mut world, 7, 5);
            let flush = world.submit(Operation::Flush, 0, 0, None);
            world.array.stop(world.now);
            world.drain();
            tags.push(flush);
            all_done(&mut world, &tags);
            let mut world = world.reopen(false).unwrap();
            assert_eq!(world.read_now(7, 5 * LENGTH).unwrap(), content);
        }
    }
}

#[test]
fn writes_in_rows_among_others_read_back() {
    for setup in setups() {
        for seed in 0..20 {
            let mut world = World::new(&setup, SEED + seed);
            let mut random = Random(seed);
            let capacity = 40 * STRIPE;
            let mut content = vec![0; capacity as usize * 512];
            for _ in 0..30 {
                let mut at = random.below(capacity - 6 * LENGTH);
                let mut tags = Vec::new();
                for _ in 0..1 + random.below(4) {
                    let length = 1 + random.below(LENGTH * 3 / 2);
                    expect(&mut world, at + length);
                    let new = payload(&mut random, length);
                    content[at as usize * 512..][..new.len()].copy_from_slice(&new);
                    tags.push(world.write(at, &new));
                    at += length;
                    (0..random.below(30)).for_each(|_| _ = world.step());
                }
                all_done(&mut world, &tags);
            }
            assert_eq!(world.read_now(0, capacity).unwrap(), content);
            assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
        }
    }
}
