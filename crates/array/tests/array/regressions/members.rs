//! Members that die, are replaced, and are rebuilt.

use parlour_array::*;
use parlour_units::{Member, Sector, Sectors, Slot, Stripe, Unit};

use super::{bad_sectors, is_write, logging, run_where, write_at_random};
use crate::common::{Random, SEED, Setup, World, payload};

/// A member is replaced while the last checkpoint of the earlier rebuild is flushed.
#[test]
fn a_member_replaced_during_its_last_checkpoint_is_rebuilt() {
    let mut w = World::new(&Setup::named("raid5", 4), SEED);
    let bytes = payload(&mut Random(1), 400);
    w.write_now(5000, &bytes).unwrap();
    w.array.fail(w.now, Slot::new(1)).unwrap();
    w.drain();
    w.replace(1);
    // Runs until the checkpoint's flush is pending.
    for _ in 0..1_000_000 {
        if w.pending.iter().any(|e| e.class == Class::Rebuild && matches!(e.action, Action::Flush { .. })) {
            break;
        }
        assert!(w.step());
    }
    assert!(w.pending.iter().any(|e| matches!(e.action, Action::Flush { .. })));
    w.replace(1);
    run_where(&mut w, |e| matches!(e.action, Action::Flush { .. }));
    assert_eq!(w.array.status().members[1].state, "rebuilding", "what was flushed was the other's");
    w.settle();
    assert_eq!(w.array.status().members[1].state, "active");
    assert!(w.read_now(5000, 400).unwrap() == bytes, "wrong data");
    // What it holds counts when another is lost.
    w.disk_at(0).dead = true;
    assert!(w.read_now(5000, 400).unwrap() == bytes, "wrong data was rebuilt");
}

/// A member dies while the array stops, after the table was written.
fn dies_while_stopping(at_map: bool) {
    for seed in 0..20 {
        let setup = logging(5);
        let mut w = World::new(&setup, SEED + seed);
        let mut r = Random(seed);
        let flat = write_at_random(&mut w, &mut r, 200);
        w.array.stop(w.now);
        w.drain();
        let g = w.array.geometry().clone();
        let slots: Vec<Sector> =
            if at_map { vec![g.bitmap_at(0), g.bitmap_at(1)] } else { vec![g.table_at(0), g.table_at(1)] };
        let mut killed = None;
        while w.array.mode() != Mode::Stopped {
            if killed.is_none() {
                // The bitmap that the stop writes: no flush, no other write.
                if let Some(e) =
                    w.pending.iter().find(|e| is_write(e).is_some_and(|(_, at, _)| slots.contains(&at)))
                {
                    let m = is_write(e).unwrap().0;
                    let slot = w.slot_of(m).unwrap();
                    if !at_map || w.array.status().counters.appends > 0 {
                        killed = Some(slot);
                        w.disk_at(slot.get()).dead = true;
                    }
                }
            }
            if !w.step() {
                break;
            }
        }
        assert_eq!(w.array.mode(), Mode::Stopped);
        let pending = w.pending.len();
        let mut w = w.reopen(false).expect("one may be missing");
        w.settle();
        let (bad, lost) = bad_sectors(&mut w, &flat);
        println!("seed {seed}: killed {killed:?}, pending at stop {pending}, {bad} bad sectors, {lost} lost");
        assert_eq!((bad, lost), (0, 0));
    }
}

#[test]
fn a_member_that_dies_while_the_last_map_is_written_costs_nothing() {
    dies_while_stopping(true)
}

#[test]
fn a_member_that_dies_while_the_last_table_is_written_costs_nothing() {
    dies_while_stopping(false)
}

/// The rebuilt member alone had the bitmap: regions that were being written were forgotten when the
/// only other member could not read its own.
#[test]
fn a_member_that_is_rebuilt_has_the_map_the_table_and_the_list() {
    let mut w = World::new(&Setup::logged(5), SEED);
    w.write_now(0, &payload(&mut Random(1), 16)).unwrap();
    w.replace(1);
    w.settle_until(|w| w.array.status().members[1].state == "active");
    let geometry = w.array.geometry().clone();
    let slots = [0, 1].map(|bank| {
        let list = geometry.bad_block_log_at(bank).expect("there is room for a list").0;
        [geometry.bitmap_at(bank), geometry.table_at(bank), list]
    });
    let joining = w.disk_at(1);
    let begins = |at: Sector, magic: &[u8]| joining.bytes[at.bytes() as usize..].starts_with(magic);
    for (kind, magic) in [b"PRLRDIRT", b"PRLRAPPL", b"PRLRLIST"].into_iter().enumerate() {
        assert!(slots.iter().any(|bank| begins(bank[kind], magic)), "none in {magic:?}");
    }
}

/// Found by a seed: the only member that holds all data took neither the bitmap nor the write, and
/// was kept. After a crash its copy and the one that was being rebuilt were both read.
#[test]
fn copies_that_a_kept_member_missed_are_not_read_in_turn_after_a_crash() {
    let mut setup = Setup::named("raid1", 2);
    setup.tuning.checkpoint = Sectors::new(64);
    let mut w = World::new(&setup, SEED);
    w.settle();
    w.replace(1);
    w.settle_until(|w| w.array.status().rebuild.is_some_and(|task| task.done > 100));
    w.disk_at(0).dead = true;
    let write = w.write(0, &payload(&mut Random(1), 16));
    w.settle_until(|w| w.done.contains_key(&write));
    assert_eq!(w.done.remove(&write).unwrap().0, Err(RequestError::Lost));
    w.disk_at(0).dead = false;
    w.pending.clear();
    let mut w = w.crash(false).expect("both are there");
    let first = w.read_now(0, 16).unwrap();
    for _ in 0..8 {
        assert!(w.read_now(0, 16).unwrap() == first);
    }
    w.settle();
    assert_eq!(w.array.status().members[1].state, "active");
    for _ in 0..8 {
        assert!(w.read_now(0, 16).unwrap() == first);
    }
}

/// Found by a seed: a member that had to be kept could not be flushed. The next flush of all
/// members passed it by, and records were forgotten that it still needed after the crash.
#[test]
fn records_are_not_forgotten_while_a_kept_member_has_not_flushed() {
    let mut setup = Setup::named("raid5", 4);
    setup.consistency = organization::Consistency::Journal;
    (setup.tuning.maintenance_depth, setup.tuning.maintenance_depth_busy) = (0, 0);
    let mut w = World::new(&setup, SEED);
    w.settle();
    w.all_volatile();
    let stripe = w.array.geometry().layout().stripe_data().get();
    let mut bytes = payload(&mut Random(1), stripe);
    w.write_now(0, &bytes).unwrap();
    w.do_now(Operation::Flush, 0, 0, None).0.unwrap();
    let new = payload(&mut Random(2), 8);
    w.write_now(0, &new).unwrap();
    bytes[..8 * 512].copy_from_slice(&new);
    let slot = w.array.geometry().layout().locate(Stripe::new(0), Unit::new(0)).slot.get();
    w.disk_at(slot).flush_fails = true;
    w.replace((slot + 1) % 4);
    w.settle();
    w.disk_at(slot).flush_fails = false;
    w.lose_what_is_not_flushed();
    let mut w = w.reopen(true).expect("three members are there");
    w.settle();
    assert!(w.read_now(0, stripe).unwrap() == bytes);
}

/// A spare takes the slot before the driver hears of the failure: the failed member was taken for
/// the spare.
#[test]
fn a_member_keeps_its_identity_when_a_spare_takes_its_slot() {
    let mut w = World::new(&Setup::named("raid10", 4), SEED);
    w.add_spare();
    let failed = w.array.member_at(Slot::new(1)).expect("a member stands there");
    let identity = w.array.identity_of(failed).expect("it is known");
    w.array.fail(w.now, Slot::new(1)).unwrap();
    w.drain();
    let spare = w.array.member_at(Slot::new(1)).expect("the spare stands there");
    assert_ne!(spare, failed);
    assert_eq!(w.array.identity_of(failed), Some(identity));
    assert_ne!(w.array.identity_of(spare), Some(identity));
    assert_eq!(w.array.identity_of(Member::new(99)), None);
}

/// The second spare takes the slot of a second failed member.
#[test]
fn a_second_spare_takes_a_second_place() {
    let mut w = World::new(&Setup::named("raid10", 4), SEED);
    w.add_spare();
    w.add_spare();
    w.array.fail(w.now, Slot::new(0)).unwrap();
    w.drain();
    w.array.fail(w.now, Slot::new(2)).unwrap();
    w.drain();
    w.settle();
    let s = w.array.status();
    assert!(
        s.members.iter().all(|m| m.state == "active"),
        "{:?} spares {:?}",
        s.members.iter().map(|m| m.state).collect::<Vec<_>>(),
        s.spares
    );
}

/// With one data unit in a stripe, the parity has the same content as the data, except for records
/// that are still in the log. It does not count as a copy.
#[test]
fn parity_of_one_data_unit_is_no_copy_while_its_log_is_live() {
    let setup = logging(3);
    for seed in 0..20 {
        let mut w = World::new(&setup, SEED + seed);
        let bytes = payload(&mut Random(seed), 40);
        w.write_now(3, &bytes).unwrap();
        let location =
            w.array.geometry().layout().locate(parlour_units::Stripe::new(0), parlour_units::Unit::new(0));
        w.array.fail(w.now, location.slot).unwrap();
        w.drain();
        assert!(w.read_now(3, 40).unwrap() == bytes, "seed {seed}");
    }
}
