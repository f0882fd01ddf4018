//! Sectors that cannot be read, or that have changed behind the array's back.

use parlour_array::*;
use parlour_units::{Sectors, Slot, Stripe};

use crate::common::{Random, SEED, Setup, World, payload};

/// A write whose preread meets an unreadable sector, with little scratch memory.
#[test]
fn a_write_that_meets_an_unreadable_sector_is_answered_with_little_memory() {
    let mut setup = Setup::named("raid5", 5);
    setup.tuning.scratch_memory = Sectors::new(64);
    let mut w = World::new(&setup, SEED);
    w.write_now(0, &payload(&mut Random(1), 64)).unwrap();
    let start = w.array.geometry().data_start().get();
    for m in 0..5 {
        w.disks[m].unreadable.insert(start + 3);
    }
    for m in 1..5 {
        w.disks[m].unreadable.clear();
    }
    for at in [0, 16, 32, 48] {
        let t = w.write(at, &payload(&mut Random(1), 12));
        w.settle();
        assert!(w.done.contains_key(&t), "write at {at} hangs: {:?}", w.array.status());
    }
}

/// The same with the default amount of memory.
#[test]
fn many_writes_that_meet_unreadable_sectors_are_all_answered() {
    let mut setup = Setup::named("raid5", 9);
    setup.unit = 512;
    setup.member_length = 60 * 2048;
    setup.tuning = Tuning { slice: Sectors::new(512), ..Tuning::default() };
    let mut w = World::new(&setup, SEED);
    let g = w.array.geometry().clone();
    let n = 60u64;
    for s in 0..n {
        let p = g.layout().locate(parlour_units::Stripe::new(s), parlour_units::Unit::new(0));
        w.disks[p.slot.as_usize()].unreadable.insert(g.data_start().get() + p.at.get() + 200);
    }
    let tags: Vec<u64> = (0..n).map(|s| w.write(s * 512 * 8 + 1, &payload(&mut Random(s), 400))).collect();
    w.settle();
    let hang = tags.iter().filter(|t| !w.done.contains_key(t)).count();
    assert_eq!(hang, 0, "{hang} of {} writes hang", tags.len());
}

/// Three copies, two of them unreadable.
#[test]
fn the_last_good_copy_of_three_answers() {
    let mut w = World::new(&Setup::named("raid1", 3), SEED);
    let b = payload(&mut Random(1), 8);
    w.write_now(0, &b).unwrap();
    let start = w.array.geometry().data_start().get();
    w.disks[0].unreadable.insert(start + 3);
    w.disks[1].unreadable.insert(start + 3);
    assert!(w.read_now(0, 8).map(|g| g == b) == Ok(true), "a good copy is left");
}

/// An unsynced array with one bad sector beside good data, both read in one access.
#[test]
fn unsynced_parity_repairs_nothing() {
    let mut setup = Setup::named("raid5", 4);
    setup.zeroed = false;
    setup.tuning.maintenance_depth = 0;
    setup.tuning.maintenance_depth_busy = 0;
    let mut w = World::new(&setup, SEED);
    let b = payload(&mut Random(1), 600);
    w.write_now(0, &b[..20 * 512]).unwrap(); // small
    for at in (0..600).step_by(10) {
        w.write_now(at, &b[at as usize * 512..][..10 * 512]).unwrap();
    }
    let start = w.array.geometry().data_start().get();
    w.disks[0].unreadable.insert(start + 3);
    let got = w.read_now(0, 600);
    match got {
        Err(e) => println!("{e}"),
        Ok(g) => {
            let bad = g.chunks(512).zip(b.chunks(512)).filter(|(a, b)| a != b).count();
            assert_eq!(bad, 0, "{bad} sectors silently wrong for one bad sector; on the member for good");
        }
    }
}

/// One region cannot be resynced; later regions were never resynced.
#[test]
fn what_could_not_be_resynced_is_tried_again_after_it_was_written() {
    let mut setup = Setup::named("raid5", 4);
    setup.zeroed = false;
    let mut w = World::new(&setup, SEED);
    let start = w.array.geometry().data_start().get();
    // A data unit in the last region.
    w.disks[0].unreadable.insert(start + 16 * 900 + 3);
    w.settle();
    println!("{:?}", w.array.status().resync);
    // Hosts write everything: nothing is unreadable any more.
    let cap = w.capacity();
    for at in (0..cap).step_by(480) {
        let l = 480.min(cap - at);
        w.write_now(at, &payload(&mut Random(1), l)).unwrap();
    }
    w.settle();
    println!("unreadable {:?}", w.disks[0].unreadable);
    assert!(w.array.status().resync.is_none(), "{:?}", w.array.status().resync);
}

/// Two members have a bad sector each under one long read, in the same stripe.
#[test]
fn bad_sectors_in_different_columns_cost_nothing() {
    for name in ["raid5", "raid10", "parity-logging"] {
        let mut w = World::new(&Setup::named(name, 4), SEED);
        let bytes = payload(&mut Random(1), 600);
        w.write_now(0, &bytes).unwrap();
        w.settle();
        let geometry = w.array.geometry().clone();
        let data = geometry.data_start();
        for (unit, column) in [(0, 3), (1, 9)] {
            let location = geometry.layout().locate(Stripe::new(0), parlour_units::Unit::new(unit));
            let at = data + (location.at + Sectors::new(column)).from_start();
            w.disk_at(location.slot.get()).unreadable.insert(at.get());
        }
        assert_eq!(w.read_now(0, 600).as_deref(), Ok(&bytes[..]), "{name}");
        // With copies only one of them was read.
        let rewritten = w.disks.iter().all(|disk| disk.unreadable.is_empty());
        assert!(rewritten || name == "raid10", "{name}: what was met is rewritten");
    }
}

/// A long read of a member meets one unreadable sector. Its other blocks are not computed and
/// rewritten: where their parity has silently become wrong, good data was replaced.
#[test]
fn blocks_that_can_be_read_are_not_computed_for_an_unreadable_neighbour() {
    for (name, read_only) in [("raid5", false), ("raid5", true), ("parity-logging", false)] {
        let setup = Setup::named(name, 4);
        let mut w = World::new(&setup, SEED);
        let bytes = payload(&mut Random(1), 600);
        w.write_now(0, &bytes).unwrap();
        w.settle();
        let geometry = w.array.geometry().clone();
        let place = |stripe, unit| {
            let location = geometry.layout().locate(Stripe::new(stripe), parlour_units::Unit::new(unit));
            (location.slot.get(), (geometry.data_start() + location.at.from_start()).get())
        };
        // The sectors of each stripe's parity in which it is wrong.
        for stripe in 0..12 {
            let (slot, at) = place(stripe, geometry.layout().data_units());
            let from = if stripe == 0 { 8 } else { 0 };
            w.disk_at(slot).bytes[(at as usize + from) * 512..][..(16 - from) * 512].fill(7);
        }
        let (slot, at) = place(0, 0);
        w.disk_at(slot).unreadable.insert(at + 3);
        if read_only {
            w.stop();
            let World { disks, random, .. } = w;
            let all = vec![0, 1, 2, 3];
            w = World::try_open(&setup, disks, all, random, 50, false, true).map_err(|e| e.0).unwrap();
        }
        assert!(w.read_now(0, 600).as_deref() == Ok(&bytes[..]), "{name}");
        assert_eq!(w.disk_at(slot).unreadable.is_empty(), !read_only, "{name}: it is rewritten");
        assert!(w.read_now(0, 600).as_deref() == Ok(&bytes[..]), "{name}: nothing else is");
    }
}

/// Two units of a stripe cannot be read, in different blocks of the same 4 KiB.
#[test]
fn a_read_only_array_reads_each_block_that_it_can_compute() {
    for name in ["raid1", "raid10", "raid5", "raid6", "parity-logging"] {
        let setup = Setup::named(name, 4);
        let mut w = World::new(&setup, SEED);
        let bytes = payload(&mut Random(1), 600);
        w.write_now(0, &bytes).unwrap();
        w.settle();
        w.stop();
        let geometry = w.array.geometry().clone();
        for unit in 0..geometry.layout().units().count() as u16 {
            let location = geometry.layout().locate(Stripe::new(0), parlour_units::Unit::new(unit));
            let at = (geometry.data_start() + location.at.from_start()).get();
            w.disk_at(location.slot.get()).unreadable.insert(at + u64::from(unit));
        }
        let World { disks, random, .. } = w;
        let all = vec![0, 1, 2, 3];
        let mut w = World::try_open(&setup, disks, all, random, 50, false, true).map_err(|e| e.0).unwrap();
        let before: Vec<u64> = w.disks.iter().map(|disk| disk.writes).collect();
        assert!(w.read_now(0, 600).as_deref() == Ok(&bytes[..]), "{name}");
        assert!(w.disks.iter().map(|disk| disk.writes).eq(before), "{name}: nothing is written");
    }
}

/// Found by a seed: a short read of a member reached into two stripes, of which one was degraded.
/// Its unit was called lost, though only that of the other could not be read.
#[test]
fn what_cannot_be_computed_is_read_once_more_before_it_is_called_lost() {
    for (name, read_only) in
        [("raid5", false), ("raid5", true), ("raid10", false), ("raid10", true), ("raid5-journal", false)]
    {
        let mut setup = Setup::named(name.trim_end_matches("-journal"), 4);
        if name.ends_with("-journal") {
            setup.consistency = organization::Consistency::Journal;
        }
        let mut w = World::new(&setup, SEED);
        let bytes = payload(&mut Random(1), 600);
        w.write_now(0, &bytes).unwrap();
        w.settle();
        w.array.fail(w.now, Slot::new(1)).unwrap();
        w.settle();
        w.stop();
        let World { disks, random, .. } = w;
        let all = vec![0, 2, 3];
        let opened = World::try_open(&setup, disks, all, random, 50, false, read_only);
        let mut w = opened.map_err(|e| e.0).unwrap();
        w.settle();
        let geometry = w.array.geometry().clone();
        let location = geometry.layout().locate(Stripe::new(0), parlour_units::Unit::new(0));
        let at = (geometry.data_start() + location.at.from_start()).get();
        w.disk_at(location.slot.get()).stutters.insert(at + 3, 1);
        assert!(w.read_now(0, 8).as_deref() == Ok(&bytes[..8 * 512]), "{name}, read-only {read_only}");
        assert_eq!(w.disk_at(location.slot.get()).stutters[&(at + 3)], 0, "{name}: it was met");
    }
}

/// Found by a seed: a read that waited for a resync, which then found no room, was answered from
/// the second copy as a whole, and later reads from the first one but for a sector.
#[test]
fn reads_of_copies_that_differ_take_from_another_one_only_what_the_first_cannot_read() {
    let mut setup = Setup::named("raid1", 2);
    setup.zeroed = false;
    let mut w = World::new(&setup, SEED);
    let start = w.array.geometry().data_start().get();
    for (slot, fill) in [(0, 1), (1, 2)] {
        w.disk_at(slot).bytes[start as usize * 512..].fill(fill);
    }
    w.disk_at(1).full = true;
    let resyncs = |effect: &Effect| matches!(effect.action, Action::Write { at, .. } if at.get() >= start);
    while !w.pending.iter().any(resyncs) {
        assert!(w.step(), "there is something to resync");
    }
    w.disk_at(0).unreadable.insert(start + 3);
    let waits = w.read(0, 16);
    w.settle();
    let first = w.done.remove(&waits).unwrap().1;
    let again = w.read_now(0, 16).unwrap();
    let of_second = |bytes: &[u8]| bytes.chunks(512).map(|sector| sector[0] == 2).collect::<Vec<bool>>();
    assert_eq!(of_second(&first), of_second(&again));
    assert_eq!(w.array.mode(), Mode::ReadOnly, "the resync found no room");
}

/// Found by a seed: the last member could not read the newest bad-block log. By the older one it
/// had been rebuilt completely.
#[test]
fn a_member_that_cannot_read_a_bank_still_knows_which_blocks_were_not_rebuilt() {
    for bank in [0, 1] {
        let setup = Setup::named("raid1", 2);
        let mut w = World::new(&setup, SEED);
        let geometry = w.array.geometry().clone();
        let last = w.capacity() - 8;
        w.write_now(last - 8, &payload(&mut Random(1), 16)).unwrap();
        w.settle();
        w.array.fail(w.now, Slot::new(1)).unwrap();
        w.settle();
        w.disk_at(0).unreadable.insert(geometry.data_start().get() + last + 3);
        w.replace(1);
        w.settle();
        assert_eq!(w.array.status().members[1].state, "active");
        let rebuilt = w.numbers[w.array.member_at(Slot::new(1)).unwrap().as_usize()];
        let World { mut disks, random, .. } = w;
        let list = geometry.bad_block_log_at(bank).unwrap().0.get();
        disks[rebuilt].unreadable.insert(list);
        let opened = World::open(&setup, disks, vec![rebuilt], random, 50, true);
        let mut w = opened.expect("the rebuilt member holds all else");
        assert!(w.read_now(last, 8) == Err(RequestError::Lost), "bank {bank}");
        w.read_now(last - 8, 8).expect("nothing else is lost");
    }
}

/// A long read fails once; nothing is found unreadable when it is repeated.
#[test]
fn a_read_that_succeeds_in_parts_is_an_error_of_its_member_and_changes_nothing() {
    let mut w = World::new(&Setup::named("raid5", 4), SEED);
    let bytes = payload(&mut Random(1), 600);
    w.write_now(0, &bytes).unwrap();
    w.settle();
    let before: Vec<u64> = w.disks.iter().map(|disk| disk.writes).collect();
    let errors = |w: &World| w.array.status().members.iter().map(|member| member.errors).sum::<u32>();
    let read = w.read(0, 600);
    w.drain();
    let is_long = |effect: &Effect| match effect.action {
        Action::Read { length, .. } => length > Sectors::new(16),
        _ => false,
    };
    let index = w.pending.iter().position(is_long).unwrap();
    let effect = w.pending.remove(index);
    w.array.complete(w.now, effect.id, Outcome::Failed(Fault::Unreadable));
    assert_eq!(errors(&w), 0, "it is repeated first");
    w.settle();
    assert!(w.done[&read] == (Ok(()), bytes));
    assert_eq!(errors(&w), 1);
    assert!(w.disks.iter().map(|disk| disk.writes).eq(before));
}

/// Data that was changed behind the array's back, while records of it wait to be redone, fits none
/// of them. It is computed from the rest of its stripe, which still has the right content.
#[test]
fn what_fits_no_record_after_a_crash_does_not_spread() {
    let mut w = World::new(&Setup::logged(4), SEED);
    let bytes = payload(&mut Random(1), 16);
    w.write_now(0, &bytes).unwrap();
    w.do_now(Operation::Flush, 0, 0, None).0.unwrap();
    let geometry = w.array.geometry().clone();
    let location = geometry.layout().locate(Stripe::new(0), parlour_units::Unit::new(0));
    let at = geometry.data_start() + (location.at + Sectors::new(3)).from_start();
    let rotten = &mut w.disk_at(location.slot.get()).bytes[at.get() as usize * 512..][..512];
    rotten.iter_mut().for_each(|byte| *byte ^= 0x55);
    let mut w = w.crash(false).unwrap();
    w.settle();
    assert_eq!(w.array.status().counters.unlike_records, 1);
    assert_eq!(w.scrub(parlour_array::Repair::Nothing).mismatches, 0);
    assert!(w.read_now(0, 16).unwrap() == bytes);
    w.array.fail(w.now, location.slot).unwrap();
    w.drain();
    assert!(w.read_now(0, 16).unwrap() == bytes);
}
