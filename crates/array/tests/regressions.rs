//! Regression tests: each reproduces a defect that a review found.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

mod common;
use common::{Random, SEED, Setup, World, payload};
use parlour_array::*;
use parlour_units::{Member, Sector, Sectors, Slot, Stripe};

fn is_write(e: &Effect) -> Option<(Member, Sector, Sectors)> {
    if let Action::Write { member, at, length, .. } = e.action { Some((member, at, length)) } else { None }
}
fn run_where(w: &mut World, f: impl Fn(&Effect) -> bool) -> bool {
    if let Some(i) = w.pending.iter().position(f) {
        w.step_at(i);
        true
    } else {
        false
    }
}
fn logging(n: u16) -> Setup {
    Setup::named("parity-logging", n)
}

/// The server is killed while the first superblock of an opening is written.
#[test]
fn an_opening_that_was_cut_off_leaves_no_member_stale() {
    let mut w = World::new(&Setup::named("raid5", 5), SEED);
    w.write_now(0, &payload(&mut Random(1), 10)).unwrap();
    let mut w = w.restart();
    assert!(w.pending.iter().any(|e| e.class == Class::Metadata));
    // One member's superblock.
    assert!(run_where(&mut w, |e| is_write(e).is_some_and(|(_, at, _)| at == Sector::ZERO)));
    match w.reopen(false) {
        Ok(w) => {
            println!("{:?}", w.array.status().members.iter().map(|m| m.state).collect::<Vec<_>>());
            assert!(w.array.status().members.iter().all(|m| m.state == "active"));
        }
        Err(e) => panic!("{e}"),
    };
}

/// The server is killed repeatedly, each time while another member's first superblock is written.
#[test]
fn openings_that_were_cut_off_one_after_another_leave_no_member_stale() {
    for name in ["raid5", "parity-logging"] {
        let mut w = World::new(&Setup::named(name, 5), SEED);
        w.write_now(0, &payload(&mut Random(1), 10)).unwrap();
        let mut w = w.restart();
        for slot in [0, 3, 1, 4] {
            assert!(run_where(&mut w, |e| is_write(e)
                .is_some_and(|(member, at, _)| at == Sector::ZERO && member == Member::new(slot))));
            w = w.reopen(false).unwrap();
            assert!(w.array.status().members.iter().all(|m| m.state == "active"), "{name}, member {slot}");
        }
    }
}

/// Two members were used separately, and both servers were killed.
#[test]
fn members_that_were_used_apart_are_refused_together_though_both_were_killed() {
    let mut w = World::new(&Setup::named("raid1", 2), SEED);
    w.write_now(0, &payload(&mut Random(1), 10)).unwrap();
    w.stop();
    let (setup, disks) = (w.setup.clone(), w.disks.clone());
    let mut apart = disks.clone();
    for (member, kept) in apart.iter_mut().enumerate() {
        let (random, session) = (Random(member as u64 + 2), 50 + member as u64);
        let mut alone = World::open(&setup, disks.clone(), vec![member], random, session, false).unwrap();
        alone.write_now(0, &payload(&mut Random(member as u64 + 5), 10)).unwrap();
        *kept = alone.disks[member].clone();
    }
    let together = World::open(&setup, apart, vec![0, 1], Random(9), 60, false);
    let refusal = together.map(|_| ()).unwrap_err();
    assert!(matches!(refusal, AssemblyError::Diverged(..)), "{refusal}");
}

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
fn t03(at_map: bool) {
    for seed in 0..20 {
        let setup = logging(5);
        let mut w = World::new(&setup, SEED + seed);
        let mut r = Random(seed);
        let cap = w.capacity();
        let mut flat = vec![0u8; cap as usize * 512];
        for _ in 0..200 {
            let at = r.below(cap - 3);
            let b = payload(&mut r, 3);
            flat[at as usize * 512..][..1536].copy_from_slice(&b);
            w.write_now(at, &b).unwrap();
        }
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
        let mut bad = 0;
        for at in (0..cap).step_by(256) {
            let l = 256.min(cap - at);
            match w.read_now(at, l) {
                Ok(b) => {
                    bad += b
                        .chunks(512)
                        .zip(flat[at as usize * 512..].chunks(512))
                        .filter(|(a, b)| a != b)
                        .count();
                }
                Err(e) => println!("{e}"),
            }
        }
        println!("seed {seed}: killed {killed:?}, pending at stop {pending}, {bad} bad sectors");
        assert_eq!(bad, 0);
    }
}
#[test]
fn a_member_that_dies_while_the_last_map_is_written_costs_nothing() {
    t03(true)
}
#[test]
fn a_member_that_dies_while_the_last_table_is_written_costs_nothing() {
    t03(false)
}

fn live_logs(seed: u64, setup: &Setup) -> (World, Vec<u8>) {
    let mut w = World::new(setup, SEED + seed);
    let mut r = Random(seed);
    let cap = w.capacity();
    let mut flat = vec![0u8; cap as usize * 512];
    for _ in 0..100 {
        let at = r.below(cap - 3);
        let b = payload(&mut r, 3);
        flat[at as usize * 512..][..1536].copy_from_slice(&b);
        w.write_now(at, &b).unwrap();
    }
    w.stop();
    (w, flat)
}
fn bad_sectors(w: &mut World, flat: &[u8]) -> (usize, usize) {
    let cap = w.capacity();
    let mut bad = 0;
    let mut lost = 0;
    for at in (0..cap).step_by(16) {
        let l = 16.min(cap - at);
        match w.read_now(at, l) {
            Ok(b) => {
                bad +=
                    b.chunks(512).zip(flat[at as usize * 512..].chunks(512)).filter(|(a, b)| a != b).count();
            }
            Err(_) => lost += l as usize,
        }
    }
    (bad, lost)
}

/// A read-only array writes nothing, even if a member dies.
#[test]
fn a_read_only_array_writes_nothing_though_a_member_dies() {
    let setup = logging(5);
    let (w, flat) = live_logs(1, &setup);
    let World { disks, random, .. } = w;
    let mut w = World::try_open(&setup, disks, vec![0, 1, 2, 3, 4], random, 50, false, true)
        .map_err(|e| e.0)
        .unwrap();
    let before: Vec<u64> = w.disks.iter().map(|d| d.writes).collect();
    w.disks[1].dead = true;
    println!("read only: {:?}", bad_sectors(&mut w, &flat));
    w.settle();
    let after: Vec<u64> = w.disks.iter().map(|d| d.writes).collect();
    println!("{before:?} {after:?}");
    let mut w = w.reopen(false).expect("opens");
    w.settle();
    println!("then opened for writing: {:?}", bad_sectors(&mut w, &flat));
    assert_eq!(before, after, "a read-only array wrote");
}
#[test]
fn a_read_only_array_repairs_nothing_though_two_units_of_a_stripe_have_bad_blocks() {
    let setup = Setup::named("raid5", 4);
    let mut world = World::new(&setup, SEED);
    let stripe = world.array.geometry().layout().stripe_data().get();
    world.write_now(0, &payload(&mut Random(5), stripe * 8)).expect("it is written");
    world.stop();
    let World { disks, .. } = world;
    let opened = World::try_open(&setup, disks, vec![0, 1, 2, 3], Random(1), 50, false, true);
    let mut world = opened.map_err(|(error, _)| error).expect("it opens");
    let start = world.array.geometry().data_start().get();
    world.disks[1].unreadable.insert(start + 1);
    world.disks[2].unreadable.insert(start + 7);
    let before: Vec<u64> = world.disks.iter().map(|disk| disk.writes).collect();
    for at in 0..stripe * 8 {
        let _lost_or_not = world.read_now(at, 1);
    }
    let _lost_or_not = world.read_now(0, stripe);
    assert!(world.disks.iter().map(|disk| disk.writes).eq(before));
}

#[test]
fn a_read_only_array_writes_nothing_though_sectors_are_unreadable() {
    let setup = logging(5);
    let (w, flat) = live_logs(1, &setup);
    let World { disks, random, .. } = w;
    let mut w = World::try_open(&setup, disks, vec![0, 1, 2, 3, 4], random, 50, false, true)
        .map_err(|e| e.0)
        .unwrap();
    let before: Vec<u64> = w.disks.iter().map(|d| d.writes).collect();
    let start = w.array.geometry().data_start().get();
    for s in (start..start + 16000).step_by(40) {
        w.disks[1].unreadable.insert(s);
    }
    println!("read only: {:?}", bad_sectors(&mut w, &flat));
    w.settle();
    let after: Vec<u64> = w.disks.iter().map(|d| d.writes).collect();
    println!("{before:?} {after:?}");
    assert_eq!(before, after, "a read-only array wrote");
}

/// An opening without a member: reintegration wrote parity before the session was durable; then the
/// server was killed.
#[test]
fn parity_is_not_written_before_the_session_is_durable() {
    let setup = logging(5);
    for seed in 0..5 {
        let (w, flat) = live_logs(seed, &setup);
        let World { mut disks, random, .. } = w;
        disks[2].dead = true;
        let mut w = World::open(&setup, disks, vec![0, 1, 3, 4], random, 50, false).unwrap();
        let n = w.disks.iter().map(|d| d.writes).sum::<u64>();
        // Writes of superblocks are slow.
        while run_where(&mut w, |e| e.class != Class::Metadata) {}
        println!(
            "writes before the session is durable: {}",
            w.disks.iter().map(|d| d.writes).sum::<u64>() - n
        );
        let mut w = w.reopen(false).expect("opens");
        w.settle();
        let (bad, lost) = bad_sectors(&mut w, &flat);
        assert_eq!((bad, lost), (0, 0));
    }
}

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

/// The watermark policy.
#[test]
fn a_watermark_just_below_the_pool_stops_nothing() {
    let mut setup = logging(5);
    setup.unit = 160;
    setup.tuning = Tuning {
        log_flush: LogFlush::Watermark(6),
        log_memory: Sectors::new(32 * 7),
        large_write: Some(LargeWrite::Overwrite),
        ..setup.tuning
    };
    for seed in 0..40 {
        let mut w = World::new(&setup, SEED + seed);
        let mut r = Random(seed);
        let cap = w.capacity();
        for _ in 0..60 {
            let l = 1 + r.below(500);
            let at = r.below(cap - l);
            let t = w.write(at, &payload(&mut r, l));
            w.settle();
            assert!(w.done.contains_key(&t), "seed {seed}: hangs: {:?}", w.array.status().log);
        }
    }
}
#[test]
fn a_watermark_above_the_pool_stops_nothing() {
    let mut setup = logging(5);
    setup.tuning = Tuning { log_flush: LogFlush::Watermark(6), log_memory: Sectors::new(64), ..setup.tuning };
    for seed in 0..10 {
        let mut w = World::new(&setup, SEED + seed);
        let mut r = Random(seed);
        let cap = w.capacity();
        for _ in 0..60 {
            let l = 1 + r.below(50);
            let at = r.below(cap - l);
            let t = w.write(at, &payload(&mut r, l));
            w.settle();
            assert!(w.done.contains_key(&t), "seed {seed}: hangs: {:?}", w.array.status().log);
        }
    }
}

/// The server is killed (without a power cut), the array is opened and flushed, and then the power
/// fails.
#[test]
fn what_was_read_after_a_kill_and_then_flushed_is_durable() {
    let mut w = World::new(&Setup::named("raid5", 4), SEED);
    w.settle();
    w.all_volatile();
    let b = payload(&mut Random(1), 8);
    w.write_now(0, &b).unwrap();
    let mut w = w.reopen(false).unwrap();
    assert!(w.read_now(0, 8).unwrap() == b);
    assert_eq!(w.do_now(Operation::Flush, 0, 0, None).0, Ok(()));
    w.settle();
    println!("dirty {}", w.array.status().dirty_regions);
    let mut r = Random(1);
    for d in &mut w.disks {
        d.power_loss(&mut r, 0);
    }
    let mut w = w.reopen(false).unwrap();
    w.settle();
    let got = w.read_now(0, 8).unwrap();
    let report = w.scrub(Repair::Nothing);
    println!("mismatches {}", report.mismatches);
    assert!(got == b, "flushed data lost");
}

/// The array is stopped with a resync pending, then opened without a member.
#[test]
fn an_unsynced_array_without_a_member_is_refused() {
    let mut setup = Setup::named("raid5", 4);
    setup.zeroed = false;
    setup.tuning.maintenance_depth = 0;
    setup.tuning.maintenance_depth_busy = 0;
    let mut w = World::new(&setup, SEED);
    let b = payload(&mut Random(1), 8);
    for at in [0, 16, 32] {
        w.write_now(at, &b).unwrap();
    }
    w.stop();
    let World { mut disks, random, .. } = w;
    for m in 0..4 {
        disks[m].dead = true;
        match World::open(
            &setup,
            disks.clone(),
            (0..4).filter(|i| *i != m).collect(),
            random.clone(),
            50,
            false,
        ) {
            Err(e) => println!("refused: {e}"),
            Ok(mut w) => {
                for at in [0, 16, 32] {
                    assert!(
                        w.read_now(at, 8).unwrap() == b,
                        "opened without a word and wrong data at {at}, member {m}"
                    );
                }
            }
        }
        disks[m].dead = false;
    }
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

/// Opened without a member, and with one bad header sector.
#[test]
fn a_bad_header_of_a_free_position_costs_nothing() {
    let setup = logging(5);
    let (w, flat) = live_logs(3, &setup);
    let World { disks, random, .. } = w;
    // Finds the headers that would be read.
    let mut disks = disks;
    disks[2].dead = true;
    let mut w = World::open(&setup, disks, vec![0, 1, 3, 4], random, 50, false).unwrap();
    let heads: Vec<(u16, u64)> = w
        .pending
        .iter()
        .filter_map(|e| match e.action {
            Action::Read { member, at, .. } if e.class == Class::Log => Some((member.get(), at.get())),
            _ => None,
        })
        .collect();
    println!("{} header reads", heads.len());
    let (mut bad, mut n) = (0, 0);
    // Makes one header that holds nothing unreadable.
    for (m, at) in heads {
        let d = &w.disks[m as usize];
        let free = &d.bytes[at as usize * 512..][..8] != b"PRLRSEGM";
        if free && n < 1 {
            w.disks[m as usize].unreadable.insert(at);
            n += 1;
        }
    }
    w.settle();
    let r = bad_sectors(&mut w, &flat);
    bad += r.0;
    println!("{n} bad sector(s) in free positions: {r:?}");
    assert_eq!(bad, 0);
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

/// A flush failed on a member that was kept; the next flush succeeded.
#[test]
fn a_flush_that_failed_is_not_forgotten() {
    let mut w = World::new(&Setup::named("raid0", 2), SEED);
    w.settle();
    w.all_volatile();
    w.write_now(0, &payload(&mut Random(1), 64)).unwrap();
    w.disks[0].flush_fails = true;
    println!("{:?}", w.do_now(Operation::Flush, 0, 0, None).0);
    let second = w.do_now(Operation::Flush, 0, 0, None).0;
    assert!(second.is_err() || w.disks[0].cache.is_empty(), "said to be flushed: {second:?}");
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

/// The steps of a phase in any order, including computations.
#[test]
fn steps_of_a_phase_may_be_done_in_any_order() {
    for big in [LargeWrite::Overwrite] {
        let mut setup = logging(5);
        setup.tuning.large_write = Some(big);
        let mut w = World::new(&setup, SEED);
        w.shuffle = true;
        let mut r = Random(4);
        let cap = w.capacity();
        for _ in 0..600 {
            let l = 1 + r.below(60);
            let at = r.below(600 - l).min(cap - l);
            w.write_now(at, &payload(&mut r, l)).unwrap();
        }
        let report = w.scrub(Repair::Nothing);
        assert_eq!(report.mismatches, 0);
    }
}

/// An opening without a member, and one log cannot be loaded: the flush was never answered.
#[test]
fn a_flush_is_answered_though_a_log_cannot_be_loaded() {
    let setup = logging(5);
    let mut w = World::new(&setup, SEED);
    w.write_now(0, &payload(&mut Random(1), 3)).unwrap();
    w.stop();
    let World { mut disks, random, .. } = w;
    disks[2].dead = true;
    let mut w = World::open(&setup, disks, vec![0, 1, 3, 4], random, 50, false).unwrap();
    let heads: Vec<(u16, u64)> = w
        .pending
        .iter()
        .filter_map(|e| match e.action {
            Action::Read { member, at, .. } if e.class == Class::Log => Some((member.get(), at.get())),
            _ => None,
        })
        .collect();
    println!("{heads:?}");
    for (m, at) in heads.iter().take(1) {
        w.disks[*m as usize].unreadable.insert(*at);
    }
    // Superblocks are written first.
    while run_where(&mut w, |e| e.class == Class::Metadata) {}
    let t = w.submit(Operation::Flush, 0, 0, None);
    w.settle();
    assert!(w.done.contains_key(&t), "flush hangs");
}

/// A stale entry for a read in the preread cache.
#[test]
fn a_read_that_was_answered_leaves_nothing_for_the_cache() {
    let mut setup = Setup::named("raid5", 4);
    setup.tuning.preread_cache = Sectors::new(600);
    let mut w = World::new(&setup, SEED);
    let mut r = Random(1);
    // Host request 0 reads a unit of a member that dies.
    w.write_now(0, &payload(&mut r, 2000)).unwrap();
    w.disks[0].dead = true;
    w.read_now(0, 4).unwrap();
    // A new member takes its slot.
    w.replace(0);
    w.settle();
    assert!(w.array.status().members.iter().all(|m| m.state == "active"));
    // A long read (which the cache does not watch) beside a write to one of its stripes: host
    // requests 0 and 1.
    let long = w.read(900, 590);
    let at = 1000;
    // Runs the read's access to that place first, then the write, then the rest of the read.
    let g = w.array.geometry().clone();
    println!("{}", w.pending.len());
    let (su, so) = (at / 48, at % 48);
    let p = g.layout().locate(parlour_units::Stripe::new(su), parlour_units::Unit::new((so / 16) as u16));
    let abs = g.data_start().get() + p.at.get() + so % 16;
    assert!(run_where(
        &mut w,
        |e| matches!(e.action, Action::Read { member, at, length } if member.get() == p.slot.get() && at.get() <= abs && abs < at.get() + length.get())
    ));
    let keep: Vec<_> = std::mem::take(&mut w.pending);
    let new = payload(&mut r, 2);
    w.write_now(at, &new).unwrap();
    w.pending.extend(keep);
    w.settle();
    assert!(w.done.contains_key(&long));
    w.write_now(at, &payload(&mut r, 3)).unwrap();
    let report = w.scrub(Repair::Nothing);
    assert_eq!(report.mismatches, 0);
}

/// Zeroes and trims are not limited by credits.
#[test]
fn a_long_trim_goes_on_in_parts() {
    let mut setup = Setup::named("raid5", 3);
    setup.unit = 8;
    setup.member_length = 3 << 23; // 12 GiB
    setup.tuning = Tuning::default();
    let geometry = setup.geometry();
    let members: Vec<(Identity, Sectors)> =
        (0..3).map(|m| (common::identity(m + 100), Sectors::new(setup.member_length))).collect();
    let new = NewArray {
        array: common::identity(1),
        session: common::identity(2),
        members: members.clone(),
        name: "x".into(),
        created: 0,
        zeroed: true,
    };
    let images = create(&geometry, &new);
    let candidates: Vec<Candidate> = images
        .iter()
        .enumerate()
        .map(|(i, image)| {
            let sb = &image.last().unwrap().1;
            Candidate {
                name: format!("{i}"),
                length: Sectors::new(setup.member_length),
                superblock: Superblock::decode(sb),
            }
        })
        .collect();
    let assembly = Assembly::new(&candidates).unwrap();
    let opening = Opening {
        assembly,
        members: members
            .iter()
            .map(|(identity, length)| Some(MemberInfo { identity: *identity, length: *length, unmaps: true }))
            .collect(),
        spares: vec![],
        bitmaps: images.iter().map(|i| [Some(i[1].1.clone()), Some(i[0].1.clone())]).collect(),
        tables: vec![],
        bad_block_logs: vec![],
        commits: vec![],
        session: common::identity(3),
        read_only: false,
        force: false,
        tuning: setup.tuning,
    };
    let mut array = Array::open(parlour_units::Instant::ZERO, opening).unwrap();
    for tag in 0..3 {
        let request = Request {
            tag: Tag(tag),
            operation: Operation::Trim,
            at: Sector::new(tag << 23),
            length: Sectors::new((1 << 23) - 8),
            buffer: None,
        };
        array.submit(parlour_units::Instant::ZERO, request);
    }
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
