//! Recovery may be interrupted anywhere and repeatedly, and comes to its end when it is not.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::layout::{Location, Occupant};
use parlour_array::{Action, Class, Event, Mode, Repair};
use parlour_units::{Bytes, Member, Region, Sector, Sectors, Slot};

/// The parity that a reintegration is about to rewrite: the member, the first sector and the
/// length.
fn rewritten(world: &World) -> Option<(Member, Sector, Sectors)> {
    let geometry = world.array.geometry();
    let start = geometry.data_start();
    let of_parity = |action: Action| match action {
        Action::Write { member, at, length, durable: false } if at >= start => {
            let location = Location { slot: world.slot_of(member)?, at: Sector::ZERO + (at - start) };
            let parity = geometry.layout().data_units();
            let occupant = geometry.layout().occupant(location);
            matches!(occupant, Occupant::Unit { unit, .. } if unit.get() == parity)
                .then_some((member, at, length))
        }
        _ => None,
    };
    world.pending.iter().find_map(|effect| of_parity(effect.action))
}

fn is_rewriting(world: &World) -> bool {
    rewritten(world).is_some()
}

/// An array that is about to rewrite parity, and the two contents that its start may have: the last
/// data that was written and, if that write was not answered, the data before it.
fn about_to_rewrite() -> (World, [Vec<u8>; 2]) {
    let mut setup = Setup::logged(4);
    setup.member_length = 3 * 2_048;
    setup.tuning.log_memory = Sectors::new(64);
    let mut world = World::new(&setup, SEED);
    world.all_volatile();
    let mut random = Random(SEED);
    let mut content = [Vec::new(), Vec::new()];
    while !is_rewriting(&world) {
        content[1] = payload(&mut random, 16);
        let tag = world.write(0, &content[1]);
        world.settle_until(|world| world.done.contains_key(&tag) || is_rewriting(world));
        if world.done.contains_key(&tag) {
            content[0] = content[1].clone();
        }
    }
    (world, content)
}

/// A power cut: all unflushed writes and all writes in flight are lost.
fn cut(mut world: World) -> World {
    world.pending.clear();
    world.disks.iter_mut().for_each(|disk| disk.power_loss(&mut Random(0), 0));
    world.reopen(false).unwrap()
}

#[test]
fn a_reintegration_that_is_cut_off_again_and_again_takes_no_more_room_for_that() {
    let (mut world, content) = about_to_rewrite();
    // If each round took space, it would take at least one sector.
    let rounds = world.array.geometry().commit_log().1.get();
    for _ in 0..rounds {
        world = cut(world);
        world.settle_until(is_rewriting);
        assert!(is_rewriting(&world), "the reintegration goes on");
    }
    world = cut(world);
    world.settle();
    assert!(content.contains(&world.read_now(0, 16).unwrap()));
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
}

#[test]
fn parity_that_is_neither_what_it_was_nor_what_it_was_to_become_is_computed_from_the_data() {
    let (mut world, content) = about_to_rewrite();
    let (member, at, length) = rewritten(&world).unwrap();
    world.pending.clear();
    world.disks.iter_mut().for_each(|disk| disk.power_loss(&mut Random(0), 0));
    let bytes = &mut world.disks[member.as_usize()].bytes;
    bytes[at.bytes() as usize..][..length.bytes().as_usize()].iter_mut().for_each(|byte| *byte ^= 0x40);
    let mut world = world.reopen(false).unwrap();
    world.settle();
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
    world.array.fail(world.now, Slot::new(0)).unwrap();
    world.drain();
    assert!(content.contains(&world.read_now(0, 16).unwrap()));
}

#[test]
fn parity_that_a_reintegration_was_rewriting_and_cannot_be_read_costs_only_its_block() {
    let (mut world, content) = about_to_rewrite();
    let (member, at, length) = rewritten(&world).unwrap();
    assert!(length > world.array.geometry().block() * 2);
    world.disks[member.as_usize()].unreadable.insert(at.get() + 1);
    let mut world = cut(world);
    let one = world.array.geometry().block().bytes();
    let is_bad = |world: &World| world.array.status().unreadable != Bytes::ZERO;
    world.settle_until(is_bad);
    assert_eq!(world.array.status().unreadable, one);
    world.settle();
    assert!(!is_bad(&world), "it is mended");
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
    assert!(content.contains(&world.read_now(0, 16).unwrap()));
}

#[test]
fn parity_that_a_reintegration_was_rewriting_is_compared_at_the_next_opening_if_there_is_no_memory_at_this() {
    let (world, content) = about_to_rewrite();
    let mut world = cut(world);
    world.starve(true);
    world.settle();
    assert_eq!(world.array.mode(), Mode::ReadOnly);
    assert_eq!(world.array.unsynced_regions(), 0);
    world.starve(false);
    world.array.stop(world.now);
    world.drain();
    world.settle_until(|world| world.array.mode() == Mode::Stopped);
    let mut world = world.reopen(false).unwrap();
    world.settle();
    assert_eq!(world.array.unsynced_regions(), 0);
    assert!(content.contains(&world.read_now(0, 16).unwrap()));
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
}

#[test]
fn a_whole_stripe_that_is_cut_off_while_it_is_written_in_slices_has_parity_that_fits() {
    let mut setup = Setup::logged(4);
    setup.member_length = 3 * 2_048;
    setup.tuning.slice = Sectors::new(8);
    setup.tuning.large_write = Some(parlour_array::LargeWrite::Cancel);
    for seed in 0..60 {
        let mut world = World::new(&setup, SEED + seed);
        world.settle();
        world.all_volatile();
        let mut random = Random(seed);
        let stripe = world.array.geometry().layout().stripe_data().get();
        for number in 0..4 {
            // The first slice of the first unit is not written: only the second slice is written in
            // all units.
            world.write(number * stripe + 8, &payload(&mut random, stripe - 8));
        }
        for _ in 0..random.below(100) {
            world.step();
        }
        let mut world = world.crash(false).unwrap();
        world.settle();
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "seed {seed}");
    }
}

/// An array with long region logs and a short commit log.
fn with_long_logs() -> Setup {
    let mut setup = Setup::logged(4);
    setup.member_length = 24 * 2_048;
    setup.log.regions = Some(4);
    setup.log.ratio = Some(4.0);
    setup.unit = 8;
    setup.tuning.log_memory = Sectors::new(64);
    // (This test writes nothing long.)
    setup.commit_log = Some(Sectors::new(160));
    setup
}

#[test]
fn a_log_that_the_commit_log_has_no_room_to_tell_of_is_folded_in_part_by_part() {
    folded_in_parts(&with_long_logs());
}

#[test]
fn a_record_that_a_later_cancel_record_covers_is_not_folded_in_by_an_earlier_part() {
    let mut setup = with_long_logs();
    setup.tuning.large_write = Some(parlour_array::LargeWrite::Cancel);
    folded_in_parts(&setup);
}

fn folded_in_parts(setup: &Setup) {
    let mut world = World::new(setup, SEED);
    let geometry = world.array.geometry().clone();
    let segment = setup.log.segment.unwrap().get();
    let of_region = geometry.layout().region_stripes() * geometry.layout().stripe_data().get();
    let positions = geometry.layout().logs().unwrap().segments();
    let records = u64::from(positions) * (segment - 2);
    // (Each record takes 48 bytes.)
    assert!(records * 48 / 512 > geometry.commit_log().1.get() / 8, "they do not fit");
    let (mut random, mut content) = (Random(SEED), std::collections::BTreeMap::new());
    for _ in 0..records * 3 {
        let stripe = world.array.geometry().layout().stripe_data().get();
        let (at, length) = match random.below(8) {
            0 => (random.below(of_region / stripe) * stripe, stripe),
            _ => (random.below(of_region), 1),
        };
        let new = payload(&mut random, length);
        world.write_now(at, &new).unwrap();
        content.extend((at..).zip(new.chunks(512).map(<[u8]>::to_vec)));
    }
    assert!(world.array.status().counters.reintegrations > 3, "more often than the log was full");
    for again in [false, true] {
        for (at, new) in &content {
            assert!(world.read_now(*at, 1).as_ref() == Ok(new), "sector {at}, opened again: {again}");
        }
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
        world = world.reopen(false).unwrap();
        world.settle();
    }
}

/// Regions with the same commit log.
fn regions_of_one_slot(world: &World) -> Vec<Region> {
    let layout = world.array.geometry().layout();
    let sublogs = u32::from(layout.logs().unwrap().shape().sublogs);
    let slot = |region: &Region| layout.sublog_slot(*region, (region.get() % sublogs) as u16, 0);
    let regions = (0..layout.region_count()).map(Region::new);
    regions.filter(|region| slot(region) == slot(&Region::new(0))).collect()
}

#[test]
fn many_regions_whose_logs_are_full_are_folded_in_though_the_oldest_record_is_of_the_last() {
    let mut setup = with_long_logs();
    (setup.log.regions, setup.log.ratio) = (Some(48), Some(0.7));
    setup.log.segment = Some(Sectors::new(16));
    setup.tuning.log_memory = Sectors::new(16 * 64);
    setup.tuning.reintegration_buffers = 1;
    let mut world = World::new(&setup, SEED);
    let layout = world.array.geometry().layout().clone();
    let regions = regions_of_one_slot(&world);
    assert!(regions.len() > 10);
    let of_region = layout.region_stripes() * layout.stripe_data().get();
    // (A segment has room for one more record.)
    let records = u64::from(layout.logs().unwrap().segments()) * 13;
    let (mut random, mut content) = (Random(SEED), std::collections::BTreeMap::new());
    let mut write = |world: &mut World, region: &Region| {
        let at = u64::from(region.get()) * of_region + random.below(of_region);
        let new = payload(&mut random, 1);
        content.insert(at, new.clone());
        world.write(at, &new)
    };
    for region in &regions {
        for _ in 0..records {
            write(&mut world, region);
            world.settle();
        }
    }
    assert_eq!(world.array.status().counters.reintegrations, 0);
    let (last, others) = regions.split_last().unwrap();
    write(&mut world, last);
    world.settle();
    for _ in 0..200 {
        others.iter().for_each(|region| _ = write(&mut world, region));
    }
    world.settle();
    assert!(world.array.status().counters.reintegrations as usize > others.len());
    for (at, new) in &content {
        assert!(world.read_now(*at, 1).as_ref() == Ok(new), "sector {at}");
    }
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
}

#[test]
fn an_opening_that_is_cut_off_leaves_nothing_that_looks_damaged() {
    let mut setup = Setup::logged(4);
    setup.member_length = 3 * 2_048;
    setup.tuning.log_memory = Sectors::new(64);
    for steps in 0..160 {
        let mut world = World::new(&setup, SEED + steps);
        world.settle();
        world.all_volatile();
        let mut random = Random(SEED);
        // More than one segment holds, and nothing of it reaches the region's log.
        for at in 0..5 {
            world.write(at * 8, &payload(&mut random, 8));
        }
        world.settle_until(|world| world.done.len() == 5);
        let mut world = cut(world);
        // Writes of superblocks are slow.
        for _ in 0..steps {
            let log = world.pending.iter().position(|effect| effect.class == Class::Log);
            match log {
                Some(index) => world.step_at(index),
                None => drop(world.step()),
            }
        }
        let mut world = cut(world);
        world.settle();
        let damaged = |event: &Event| matches!(event, Event::LogDamaged { .. } | Event::Implausible { .. });
        assert_eq!(world.events.iter().find(|event| damaged(event)), None, "after {steps} steps");
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "after {steps} steps");
    }
}

#[test]
fn a_log_that_is_given_up_with_its_member_is_whole_where_power_is_cut_before_that_is_recorded() {
    let mut setup = Setup::logged(4);
    setup.member_length = 3 * 2_048;
    setup.tuning.log_memory = Sectors::new(64);
    let geometry = setup.geometry();
    let tables = [0, 1].map(|bank| geometry.table_at(bank));
    let is_fast = |action: Action| match action {
        Action::Write { at, .. } => tables.contains(&at),
        action => matches!(action, Action::Read { .. }),
    };
    for steps in 0..60 {
        let mut world = World::new(&setup, SEED + steps);
        world.write_now(0, &payload(&mut Random(SEED), 24)).unwrap();
        let mut world = world.restart();
        world.all_volatile();
        for _ in 0..steps {
            world.step();
        }
        let log = geometry.layout().sublog_slot(Region::new(0), 0, 0).unwrap();
        world.replace(log.get());
        // Writes of superblocks and bitmaps are slow.
        while let Some(index) = world.pending.iter().position(|effect| is_fast(effect.action)) {
            world.step_at(index);
        }
        let mut world = cut(world);
        world.settle();
        // The log is read now, unless it was read before.
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "after {steps} steps");
        let damaged = world.events.iter().find(|event| matches!(event, Event::LogDamaged { .. }));
        assert_eq!(damaged, None, "after {steps} steps");
    }
}

/// An array whose commit log holds far more records of one region than are compared at a time.
fn with_large_regions() -> Setup {
    let mut setup = Setup::logged(4);
    (setup.unit, setup.block, setup.member_length) = (2_048, 8, 64 * 2_048);
    setup.log.regions = Some(4);
    setup.log.segment = Some(Sectors::new(512));
    // No segment is appended without need.
    let log_flush = Some(parlour_array::LogFlush::Watermark(u32::MAX));
    setup.tuning = parlour_array::Tuning { log_flush, ..parlour_array::Tuning::default() };
    setup
}

type Content = std::collections::BTreeMap<u64, Vec<u8>>;

/// Writes `count` blocks into the first `within` sectors. On stable storage there are only their
/// records.
fn write_blocks(world: &mut World, count: u64, within: u64) -> Content {
    world.settle();
    world.all_volatile();
    let (mut random, mut content) = (Random(SEED), Content::new());
    for _ in 0..count {
        let at = random.below(within / 16) * 16;
        let new = payload(&mut random, 16);
        world.write_now(at, &new).unwrap();
        content.insert(at, new);
    }
    content
}

fn assert_holds(world: &mut World, content: &Content) {
    for (at, new) in content {
        assert!(world.read_now(*at, 16).as_ref() == Ok(new), "sector {at}");
    }
}

/// Recovers the array; returns the greatest amount of payload memory that was held, in sectors.
fn recover_and_measure(world: &mut World) -> u64 {
    let mut most = 0;
    let held = |world: &World| world.memory.values().map(|buffer| buffer.len() as u64 / 512).sum::<u64>();
    while is_recovering(world) {
        most = most.max(held(world));
        assert!(world.step(), "it comes to an end");
    }
    most.max(held(world))
}

fn is_recovering(world: &World) -> bool {
    world.array.status().log.is_some_and(|log| log.recovering > 0)
}

/// Enough writes for two parts, but not so many that the commit log fills up.
const LARGE_WRITES: u64 = 350;

fn of_first_region(world: &World) -> u64 {
    let layout = world.array.geometry().layout();
    layout.region_stripes() * layout.stripe_data().get()
}

#[test]
fn a_region_with_many_records_is_recovered_in_parts_that_bound_the_memory() {
    let mut world = World::new(&with_large_regions(), SEED);
    let within = of_first_region(&world);
    let content = write_blocks(&mut world, LARGE_WRITES, within);
    assert_eq!(world.array.status().counters.appends, 0, "all of it is in the commit log alone");
    let mut world = cut(world);
    let most = recover_and_measure(&mut world);
    assert_eq!(world.array.status().counters.redone, 1);
    let (records, part) = (LARGE_WRITES * 16, 4_096);
    assert!(most > records, "records stay in memory, {most}");
    // (A log buffer is as long as a segment, however little it contains.)
    assert!(most < records + records / 16 + part + 512, "{most} sectors were held for {records} of records");
    assert_holds(&mut world, &content);
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
}

#[test]
fn a_recovery_in_parts_may_be_cut_off_between_them_again_and_again() {
    let mut world = World::new(&with_large_regions(), SEED);
    let within = of_first_region(&world);
    let content = write_blocks(&mut world, LARGE_WRITES, within);
    for steps in [100, 300, 500, 600] {
        world = cut(world);
        for _ in 0..steps {
            assert!(world.step());
        }
        assert!(is_recovering(&world), "{steps} steps are not enough");
    }
    world = cut(world);
    world.settle();
    assert_holds(&mut world, &content);
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
}

#[test]
fn a_member_that_fails_between_the_parts_of_a_recovery_costs_nothing() {
    for slot in 0..4 {
        let mut world = World::new(&with_large_regions(), SEED);
        let within = of_first_region(&world);
        let content = write_blocks(&mut world, LARGE_WRITES, within);
        world = cut(world);
        for _ in 0..600 {
            assert!(world.step());
        }
        assert!(is_recovering(&world));
        let holds_log = log_slot(&world) == Some(Slot::new(slot));
        world.array.fail(world.now, Slot::new(slot)).unwrap();
        world.drain();
        world.settle();
        // If the region's log is lost as well, data that was never flushed may be lost.
        if holds_log {
            assert!(content.keys().all(|at| world.read_now(*at, 16).is_ok()));
        } else {
            assert_holds(&mut world, &content);
        }
    }
}

/// The slot that holds the log of the first region.
fn log_slot(world: &World) -> Option<Slot> {
    world.array.geometry().layout().sublog_slot(Region::new(0), 0, 0)
}

/// An array with many regions and few log buffers.
fn with_many_regions() -> Setup {
    let mut setup = with_long_logs();
    (setup.log.regions, setup.log.ratio) = (Some(96), Some(0.7));
    setup.commit_log = None;
    setup.log.segment = Some(Sectors::new(128));
    setup.tuning.log_memory = Sectors::new(128 * 8);
    setup.tuning.large_write = Some(parlour_array::LargeWrite::Overwrite);
    setup
}

#[test]
fn recovery_of_many_regions_takes_as_much_memory_as_a_few() {
    let mut setup = with_many_regions();
    // All records are in the commit log when the power is cut.
    setup.tuning.log_memory = Sectors::new(128 * 200);
    let mut world = World::new(&setup, SEED);
    let regions = u64::from(world.array.geometry().layout().region_count());
    let of_region = of_first_region(&world);
    let write = |number: u64| (number % regions) * of_region + number / regions * 16;
    let mut content = Content::new();
    world.settle();
    world.all_volatile();
    let mut random = Random(SEED);
    for number in 0..regions * 2 {
        let new = payload(&mut random, 16);
        world.write_now(write(number), &new).unwrap();
        content.insert(write(number), new);
    }
    world.setup.tuning.log_memory = with_many_regions().tuning.log_memory;
    let mut world = cut(world);
    let recovering = world.array.status().log.unwrap().recovering;
    assert!(recovering > 16, "{recovering} regions are to be recovered, of {regions}");
    let most = recover_and_measure(&mut world);
    // Half of the log buffers, and for four regions their buffers and the data that is compared.
    let bound = 128 * 8 / 2 + 4 * (128 + 2 * 2 * 16);
    assert!(most <= bound, "{most} of {bound} sectors were held at a time");
    assert_holds(&mut world, &content);
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
}

/// The number of sectors that were written to members' logs.
fn logged_sectors(world: &World) -> u64 {
    world.array.status().members.iter().map(|member| member.traffic[1].write_bytes / 512).sum()
}

/// Writes one block to each region; there are more regions than log buffers.
fn write_to_each_region(world: &mut World) -> Content {
    let (regions, of_region) =
        (u64::from(world.array.geometry().layout().region_count()), of_first_region(world));
    let (mut random, mut content) = (Random(SEED), Content::new());
    for region in 0..regions {
        let new = payload(&mut random, 16);
        world.write_now(region * of_region, &new).unwrap();
        content.insert(region * of_region, new);
    }
    content
}

fn with_short_segments() -> Setup {
    let mut setup = with_many_regions();
    setup.tuning.segment_gap = Sectors::new(16);
    setup
}

#[test]
fn a_segment_of_one_record_costs_about_as_much_as_the_record() {
    let mut world = World::new(&with_short_segments(), SEED);
    let before = logged_sectors(&world);
    let content = write_to_each_region(&mut world);
    world.settle();
    let counters = world.array.status().counters;
    assert!(counters.short_segments > 40, "there are fewer buffers than regions");
    // In the commit log each record takes a header and its payload, twice; in a segment, two
    // headers and the payload.
    let most = counters.short_segments * (2 * 2 + 16) + content.len() as u64 * 2 * (16 + 4) + 512;
    let written = logged_sectors(&world) - before;
    assert!(written < most, "{written} sectors, and {most} would do");
    let mut world = world.restart();
    assert_holds(&mut world, &content);
    world.array.fail(world.now, Slot::new(0)).unwrap();
    world.drain();
    world.settle();
    assert_holds(&mut world, &content);
}

#[test]
fn what_was_never_written_of_a_short_segment_need_not_be_readable() {
    let mut world = World::new(&with_short_segments(), SEED);
    // Where nothing was written yet, all sectors are unreadable.
    let start = world.array.geometry().data_start().get();
    let layout = world.array.geometry().layout().clone();
    for (location, disk) in (0..).zip(&mut world.disks) {
        let in_log = |sector: &u64| {
            let at = Sector::new(sector - start);
            let location = Location { slot: Slot::new(location), at };
            matches!(layout.occupant(location), Occupant::Log { .. })
        };
        let end = disk.bytes.len() as u64 / 512 - 2_048;
        disk.unreadable = (start..end).filter(in_log).collect();
    }
    let content = write_to_each_region(&mut world);
    world.settle();
    assert!(world.array.status().counters.appends > 40);
    world.array.fail(world.now, Slot::new(1)).unwrap();
    world.drain();
    world.settle();
    assert_holds(&mut world, &content);
    assert_eq!(world.array.status().unreadable, Bytes::ZERO);
}

#[test]
fn a_resync_whose_end_is_still_to_be_recorded_has_not_stopped() {
    for setup in [Setup::named("raid5", 4), Setup::logged(4)] {
        let mut world = World::new(&Setup { zeroed: false, ..setup }, SEED);
        let mut recorded = false;
        while let Some(task) = world.array.status().resync {
            assert!(!task.stopped, "{task:?}");
            recorded |= world.pending.iter().all(|effect| effect.class == Class::Metadata);
            assert!(world.step(), "it goes on");
        }
        assert!(recorded, "there is a time when nothing else is under way");
    }
}

/// Regression test. The status reported full redundancy before that was recorded: a crash then cost
/// more than a member.
#[test]
fn a_resync_that_is_over_stays_over_after_a_crash() {
    let setup = Setup { zeroed: false, ..Setup::logged(4) };
    let mut world = World::new(&setup, SEED);
    let length = world.capacity();
    let content = World::new(&setup, SEED).read_now(0, length).unwrap();
    world.all_volatile();
    let done = |world: &World| world.events.iter().any(|event| matches!(event, Event::ResyncDone));
    assert!(world.array.status().resync.is_some());
    world.settle_until(|world| world.array.status().resync.is_none());
    assert!(done(&world));
    world.disk_at(3).dead = true;
    let mut world = world.crash(false).unwrap();
    assert!(world.read_now(0, length).unwrap() == content);
}
