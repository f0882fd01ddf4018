//! Simulations of the papers' machines: the accesses of their writes and reads, and the order of
//! these.

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::ReadChoice;
use parlour_array::{Action, Class, Compression, Modify, Operation, Repair, Simulated};
use parlour_units::{Sectors, Slot};

const COMBINED: Simulated =
    Simulated { combined: true, old_data_known: false, compression: Compression::NONE };
const KNOWN: Simulated = Simulated { combined: false, old_data_known: true, compression: Compression::NONE };
const BOTH: Simulated = Simulated { combined: true, old_data_known: true, compression: Compression::NONE };

fn setup(name: &str, simulated: Simulated) -> Setup {
    Setup { simulated, ..Setup::named(name, 5) }
}

/// A letter for each access that waits to be carried out, in the order of members: read, write,
/// exchange, modify.
fn waiting(world: &World) -> String {
    let letter = |action: Action| match action {
        Action::Read { .. } => 'r',
        Action::Write { .. } => 'w',
        Action::ReadModifyWrite { modify: Modify::Replace, .. } => 'x',
        Action::ReadModifyWrite { modify: Modify::Xor, .. } => 'm',
        _ => '?',
    };
    let mut letters: Vec<char> =
        world.pending.iter().filter(|e| e.class == Class::Foreground).map(|e| letter(e.action)).collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}

/// The accesses of a small write; those that are handed out together are in one string.
fn accesses_of_a_write(world: &mut World, at: u64) -> Vec<String> {
    let bytes = payload(&mut Random(at), 4);
    // The region is dirty from here on.
    world.write_now(at + 4, &bytes).expect("it can be written");
    let tag = world.write(at, &bytes);
    let mut steps = Vec::new();
    while !world.done.contains_key(&tag) {
        steps.push(waiting(world));
        for _ in 0..world.pending.len() {
            world.step_at(0);
        }
    }
    steps
}

fn accesses(name: &str, simulated: Simulated) -> Vec<String> {
    accesses_of_a_write(&mut World::new(&setup(name, simulated), SEED), 40)
}

/// Stodolsky §3, §4, footnotes 4 and 9.
#[test]
fn a_small_write_of_raid_5_is_four_accesses_or_two_and_one_less_or_none_where_the_data_is_known() {
    assert_eq!(accesses("raid5", Simulated::default()), ["rr", "ww"]);
    assert_eq!(accesses("raid5", COMBINED), ["x", "m"], "parity after the data");
    assert_eq!(accesses("raid5", KNOWN), ["r", "ww"]);
    assert_eq!(accesses("raid5", BOTH), ["mw"], "parity beside the data");
}

/// Stodolsky §9: each failure more that is survived takes one more access to a check unit. These
/// run at the same time.
#[test]
fn a_small_write_of_raid_6_is_one_access_more_for_each_check_unit() {
    let accesses = |name, simulated| {
        let setup = Setup { checks: 2, simulated, ..Setup::named(name, 7) };
        accesses_of_a_write(&mut World::new(&setup, SEED), 40)
    };
    assert_eq!(accesses("raid6", Simulated::default()), ["rrr", "www"]);
    assert_eq!(accesses("raid6", COMBINED), ["x", "mm"]);
    assert_eq!(accesses("raid6", KNOWN), ["rr", "www"]);
    assert_eq!(accesses("raid6", BOTH), ["mmw"]);
    assert_eq!(accesses("parity-logging", COMBINED), ["x"]);
    assert_eq!(accesses("parity-logging", BOTH), ["w"]);
}

/// Footnote 8: the write is answered when the data is on the member and the record is in memory.
#[test]
fn a_small_write_of_parity_logging_is_two_accesses_or_one() {
    assert_eq!(accesses("parity-logging", Simulated::default()), ["r", "w"]);
    assert_eq!(accesses("parity-logging", COMBINED), ["x"]);
    assert_eq!(accesses("parity-logging", KNOWN), ["w"]);
    assert_eq!(accesses("parity-logging", BOTH), ["w"]);
}

#[test]
fn where_records_are_durable_before_their_data_nothing_comes_in_one_access() {
    let logged = Setup { simulated: COMBINED, ..Setup::logged(5) };
    let mut world = World::new(&logged, SEED);
    let steps = accesses_of_a_write(&mut world, 40);
    assert_eq!((steps[0].as_str(), steps[steps.len() - 1].as_str()), ("r", "w"), "{steps:?}");
}

#[test]
fn what_is_missing_or_in_several_pieces_is_done_in_ordinary_steps() {
    for name in ["raid5", "raid6", "parity-logging"] {
        let mut world = World::new(&setup(name, COMBINED), SEED);
        // Two units of a stripe.
        world.write(10, &payload(&mut Random(1), 12));
        assert!(!waiting(&world).contains(['x', 'm']), "{name}");
        world.settle();
        world.array.fail(world.now, Slot::new(0)).expect("it is redundant");
        world.drain();
        world.settle();
        for at in (0..160).step_by(16) {
            world.write(at, &payload(&mut Random(at), 4));
        }
        // Some stripes have no unit there, and no stripe has more than one missing.
        world.settle();
        for at in (0..160).step_by(16) {
            assert_eq!(world.read_now(at, 4), Ok(payload(&mut Random(at), 4)), "{name}");
        }
    }
}

#[test]
fn what_one_access_cannot_read_is_repaired_and_then_written() {
    for name in ["raid5", "raid6", "parity-logging"] {
        let mut world = World::new(&setup(name, COMBINED), SEED);
        let mut random = Random(SEED);
        let first = payload(&mut random, 64);
        world.write_now(0, &first).expect("it can be written");
        world.settle();
        let start = world.array.geometry().data_start().get();
        // The first unit of each member: data and parity of the first stripe.
        for slot in 0..5 {
            world.disk_at(slot).unreadable.insert(start);
            let second = payload(&mut random, 4);
            for at in [0, 16, 32, 48] {
                world.write_now(at, &second).expect("it can be written");
            }
            world.settle();
            for at in [0, 16, 32, 48] {
                assert_eq!(world.read_now(at, 4), Ok(second.clone()), "{name}, {slot}");
            }
            let report = world.scrub(Repair::Nothing);
            assert_eq!((report.mismatches, report.unreadable), (0, 0), "{name}, {slot}");
        }
    }
}

/// Stodolsky §8.2, footnote 11.
#[test]
fn copies_are_written_together_or_one_after_the_other() {
    let mut setup = Setup::named("raid1", 3);
    let steps = |setup: &Setup| accesses_of_a_write(&mut World::new(setup, SEED), 40);
    assert_eq!(steps(&setup), ["www"]);
    setup.tuning.copies_in_turn = true;
    assert_eq!(steps(&setup), ["w", "w", "w"]);
}

/// Chen §8.1.3: in three stripes on five members, some members hold data on both sides of parity.
#[test]
fn a_long_read_skips_parity_or_reads_it_along() {
    let mut setup = Setup::named("raid5", 5);
    let accesses = |setup: &Setup| {
        let mut world = World::new(setup, SEED);
        let bytes = payload(&mut Random(3), 5 * 64);
        world.write_now(0, &bytes).expect("it can be written");
        world.settle();
        let tag = world.read(0, 5 * 64);
        let count = world.pending.len();
        world.settle();
        assert_eq!(world.done[&tag], (Ok(()), bytes));
        count
    };
    // Parity is the last of the first member's units, the first of the last member's, and in the
    // middle of three.
    assert_eq!(accesses(&setup), 8);
    setup.tuning.read_through = Sectors::new(15);
    assert_eq!(accesses(&setup), 8, "parity is longer");
    setup.tuning.read_through = Sectors::new(16);
    assert_eq!(accesses(&setup), 5);
    setup.tuning.longest_access = Sectors::new(32);
    assert!(accesses(&setup) > 5, "no access is longer than that");
}

#[test]
fn what_is_read_along_may_be_unreadable() {
    let mut setup = Setup::named("raid5", 5);
    setup.tuning.read_through = Sectors::new(16);
    let mut world = World::new(&setup, SEED);
    let bytes = payload(&mut Random(3), 5 * 64);
    world.write_now(0, &bytes).expect("it can be written");
    world.settle();
    let start = world.array.geometry().data_start().get();
    // The parity of the third stripe.
    world.disk_at(2).unreadable.extend(start + 32..start + 48);
    assert_eq!(world.read_now(0, 5 * 64), Ok(bytes));
    assert_eq!(world.array.status().counters.repaired, 0, "nobody needs it");
}

#[test]
fn reads_at_random_take_all_copies_alike_and_the_same_ones_each_time() {
    let mut setup = Setup::named("raid1", 3);
    setup.organization.read = ReadChoice::Random;
    let chosen = || {
        let mut world = World::new(&setup, SEED);
        world.settle();
        let mut read = |at| {
            world.submit(Operation::Read, at, 1, None);
            let [Action::Read { member, .. }] =
                world.pending.iter().map(|e| e.action).collect::<Vec<_>>()[..]
            else {
                panic!("a read is one access");
            };
            world.settle();
            member.as_usize()
        };
        (0..3_000).map(|at| read(at % 1_000)).collect::<Vec<usize>>()
    };
    let members = chosen();
    assert_eq!(members, chosen());
    for member in 0..3 {
        let count = members.iter().filter(|chosen| **chosen == member).count();
        assert!((900..1_100).contains(&count), "member {member} is read {count} times");
        let again = members.windows(2).filter(|pair| *pair == [member; 2]).count();
        assert!((250..420).contains(&again), "member {member} follows itself {again} times");
    }
}
