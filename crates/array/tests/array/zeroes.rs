//! Whole stripes become zeroes by a record and are unmapped: little is written for that, and no
//! crash undoes it.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::BTreeMap;

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{
    Action, Array, Assembly, Candidate, Class, CommitLogContent, Effect, Event, LargeWrite, MemberInfo,
    NewArray, Opening, Operation, Outcome, Repair, Request, RequestError, Superblock, Tag, Tuning, create,
};
use parlour_units::{Instant, Sector, Sectors, Slot, Stripe, Unit};

const GIBIBYTE: u64 = 1 << 21;

/// The accesses to members since the first request.
#[derive(Debug, Default)]
struct Asked {
    reads: u64,
    writes: u64,
    written: u64,
    zeroings: u64,
    zeroed: u64,
    flushes: u64,
}

/// A new array on members without content: all effects are answered at once.
fn fresh(setup: &Setup) -> Array {
    let geometry = setup.geometry();
    let members: Vec<_> = (0..u64::from(setup.members))
        .map(|number| (crate::common::identity(number + 100), Sectors::new(setup.member_length)))
        .collect();
    let (array, session) = (crate::common::identity(1), crate::common::identity(2));
    let new =
        NewArray { array, session, members: members.clone(), name: "x".into(), created: 0, zeroed: true };
    let images: Vec<BTreeMap<Sector, Vec<u8>>> =
        create(&geometry, &new).into_iter().map(|image| image.into_iter().collect()).collect();
    let candidate = |image: &BTreeMap<Sector, Vec<u8>>| Candidate {
        name: "member".into(),
        length: Sectors::new(setup.member_length),
        superblock: Superblock::decode(&image[&Sector::ZERO]),
    };
    let assembly = Assembly::new(&images.iter().map(candidate).collect::<Vec<_>>()).unwrap();
    let banks = |slot: &dyn Fn(usize) -> (Sector, Sectors)| {
        let bank = |image: &BTreeMap<Sector, Vec<u8>>, bank| {
            let (at, length) = slot(bank);
            Some(image.get(&at).cloned().unwrap_or_else(|| vec![0; length.bytes().as_usize()]))
        };
        images.iter().map(|image| [0, 1].map(|number| bank(image, number))).collect()
    };
    let bitmaps = banks(&|bank| (geometry.bitmap_at(bank), geometry.bitmap_length()));
    let tables = banks(&|bank| (geometry.table_at(bank), geometry.table_length()));
    let bad_block_logs = banks(&|bank| geometry.bad_block_log_at(bank).unwrap());
    let commit_log = vec![0; geometry.commit_log().1.bytes().as_usize()];
    let commit_log = CommitLogContent::of(&assembly, &commit_log);
    let info = |(identity, length)| Some(MemberInfo { identity, length, unmaps: true });
    let opening = Opening {
        assembly,
        members: members.into_iter().map(info).collect(),
        spares: Vec::new(),
        bitmaps,
        tables,
        bad_block_logs,
        commits: vec![commit_log; images.len()],
        session: crate::common::identity(3),
        read_only: false,
        force: false,
        tuning: setup.tuning,
    };
    Array::open(Instant::ZERO, opening).unwrap()
}

/// Answers all effects until there are no more.
fn run(array: &mut Array, asked: &mut Asked) {
    while let Some(effect) = array.poll_effect() {
        let sums;
        let outcome = match effect.action {
            Action::Checksum => {
                sums = vec![0; array.parts_length(effect.id).get() as usize];
                Outcome::Checksums(&sums)
            }
            Action::Read { .. } => {
                asked.reads += 1;
                Outcome::Done
            }
            Action::Write { length, .. } => {
                asked.writes += 1;
                asked.written += length.get();
                Outcome::Done
            }
            Action::Zero { length, .. } => {
                asked.zeroings += 1;
                asked.zeroed += length.get();
                Outcome::Done
            }
            Action::Flush { .. } => {
                asked.flushes += 1;
                Outcome::Done
            }
            _ => Outcome::Done,
        };
        array.complete(Instant::ZERO, effect.id, outcome);
    }
    while array.poll_release().is_some() {}
}

/// The default organization on five members of 512 MiB, with default settings.
fn as_people_get_it() -> Setup {
    let mut setup = Setup::logged(5);
    (setup.unit, setup.block, setup.member_length) = (128, 8, GIBIBYTE / 2);
    setup.log.segment = Some(Sectors::new(256));
    setup.log.regions = None;
    setup.tuning = Tuning::default();
    setup.real = true;
    setup
}

fn ask(array: &mut Array, operation: Operation, at: u64, length: u64) -> Asked {
    let mut asked = Asked::default();
    let (at, length) = (Sector::new(at), Sectors::new(length));
    array.submit(Instant::ZERO, Request { tag: Tag(1), operation, at, length, buffer: None });
    run(array, &mut asked);
    assert_eq!(array.poll_completion().map(|done| done.result), Some(Ok(())));
    asked
}

/// The space on members that a gibibyte of data takes with its parity.
fn with_parity(array: &Array) -> u64 {
    let data = u64::from(array.geometry().layout().data_units());
    GIBIBYTE / (data * 128) * (data + 1) * 128
}

#[test]
fn a_trim_of_a_gibibyte_reads_nothing_and_writes_next_to_nothing() {
    let mut setup = as_people_get_it();
    for large_write in [None, Some(LargeWrite::Cancel)] {
        setup.tuning.large_write = large_write;
        let mut array = fresh(&setup);
        run(&mut array, &mut Asked::default());
        let whole = with_parity(&array);
        let asked = ask(&mut array, Operation::Trim, 0, GIBIBYTE);
        println!("trim: {asked:?}");
        assert_eq!(asked.reads, 0);
        assert!(asked.zeroed >= whole - 4 * 128 && asked.zeroed <= whole, "{asked:?}");
        assert!(asked.written < 4 << 11, "{asked:?}: that is more than 4 MiB");
        // Stripe by stripe it would be four accesses for each.
        assert!(asked.zeroings * 16 < asked.zeroed / 128, "{asked:?}");
        let whole = Operation::WriteZeroes { may_unmap: false, fast_only: false, durable: true };
        let asked = ask(&mut array, whole, 0, GIBIBYTE / 64 / 384 * 384);
        assert_eq!(asked.reads, 0, "zeroes of whole stripes are not read before");
    }
}

#[test]
fn a_trim_writes_no_more_where_a_member_is_missing() {
    let mut array = fresh(&as_people_get_it());
    run(&mut array, &mut Asked::default());
    array.fail(Instant::ZERO, Slot::new(2)).unwrap();
    run(&mut array, &mut Asked::default());
    // Some regions are without their log, and are resynced later.
    let asked = ask(&mut array, Operation::Trim, 0, GIBIBYTE);
    assert_eq!(asked.reads, 0);
    assert!(asked.written < 4 << 11, "{asked:?}: that is more than 4 MiB");
}

/// An array whose whole first stripe was written but not flushed; all caches are volatile.
fn written() -> (World, u64) {
    let mut setup = Setup::logged(5);
    (setup.block, setup.log.segment) = (8, Some(Sectors::new(64)));
    let mut world = World::new(&setup, SEED);
    let stripe = world.array.geometry().layout().stripe_data().get();
    world.write_now(0, &payload(&mut Random(1), stripe * 4)).unwrap();
    world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
    world.all_volatile();
    (world, stripe)
}

/// Zeroes that no flush has covered are there all the same if they were read after the crash, and
/// they stay.
#[test]
fn what_became_zeroes_is_zeroes_after_a_cut_and_the_loss_of_any_member() {
    for seed in 0..60 {
        let (mut world, stripe) = written();
        world.random = Random(seed);
        world.do_now(Operation::Trim, 0, stripe * 3, None).0.unwrap();
        let bytes = payload(&mut Random(seed), 8);
        world.write_now(stripe + 8, &bytes).unwrap();
        if seed % 2 == 0 {
            world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
        }
        let durable = seed % 2 == 0;
        let mut world = world.crash(false).unwrap();
        let first = world.read_now(0, stripe * 4).unwrap();
        if durable {
            assert!(first[..stripe as usize * 512].iter().all(|byte| *byte == 0), "seed {seed}");
            assert_eq!(first[(stripe + 8) as usize * 512..][..bytes.len()], bytes, "seed {seed}");
        }
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "seed {seed}");
        world.array.fail(world.now, Slot::new(seed as u16 % 5)).unwrap();
        world.settle();
        assert!(world.read_now(0, stripe * 4).unwrap() == first, "seed {seed}: it reads otherwise now");
    }
}

/// A write that finds neither old data nor parity has no record: an earlier zero record must not
/// undo it.
#[test]
fn a_write_without_a_record_outlives_a_zero_record_from_before() {
    let (mut world, stripe) = written();
    world.do_now(Operation::Trim, 0, stripe, None).0.unwrap();
    let layout = world.array.geometry().layout().clone();
    let start = world.array.geometry().data_start().get();
    for unit in [0, layout.data_units()] {
        let location = layout.locate(Stripe::new(0), Unit::new(unit));
        let at = start + location.at.get();
        world.disk_at(location.slot.get()).unreadable.extend(at..at + 8);
    }
    let bytes = payload(&mut Random(7), 8);
    world.write_now(0, &bytes).unwrap();
    world.settle();
    assert!(
        world.events.iter().any(|event| matches!(event, Event::BadBlocksRecorded { .. })),
        "it was no such write"
    );
    world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
    let mut world = world.crash(false).unwrap();
    assert!(world.read_now(0, 8).unwrap() == bytes);
}

/// An array with a record of stripe 0 and a zero record of stripe 1, and without the member of the
/// first block. A write to stripe 3 finds that one more member fails, which is kept because nothing
/// can replace it: so the region is to be resynced. With `beside`, there is an earlier write to
/// stripe 2, whose data is being written: that effect is returned.
fn to_be_resynced(beside: bool) -> (World, Vec<u8>, Option<Effect>) {
    let mut world = World::new(&Setup::logged(4), SEED);
    let layout = world.array.geometry().layout().clone();
    let start = world.array.geometry().data_start();
    let stripe = layout.unit_length().get() * u64::from(layout.data_units());
    world.settle();
    let bytes = payload(&mut Random(1), 1);
    world.write_now(0, &bytes).unwrap();
    let zeroes = Operation::WriteZeroes { may_unmap: true, fast_only: false, durable: false };
    world.do_now(zeroes, stripe, stripe, None).0.unwrap();
    let lost = layout.locate(Stripe::new(0), Unit::new(0)).slot;
    world.array.fail(world.now, lost).unwrap();
    world.settle();
    let unit = (0..layout.data_units()).map(Unit::new);
    let kept = |stripe: u64| {
        let slots = unit.clone().map(|unit| (unit, layout.locate(Stripe::new(stripe), unit).slot));
        slots.into_iter().find(|(_, slot)| *slot != lost).unwrap()
    };
    let at = |stripe_number: u64| {
        stripe_number * stripe + u64::from(kept(stripe_number).0.get()) * layout.unit_length().get()
    };
    let mut held = None;
    if beside {
        world.write(at(2), &payload(&mut Random(2), 1));
        let data = |world: &World| {
            world
                .pending
                .iter()
                .position(|effect| matches!(effect.action, Action::Write { at, .. } if at >= start))
        };
        world.settle_until(|world| data(world).is_some());
        let index = data(&world).unwrap();
        held = Some(world.pending.swap_remove(index));
    }
    world.write(at(3), &payload(&mut Random(3), 1));
    let writes = |world: &World| {
        world.pending.iter().any(|effect| matches!(effect.action, Action::Write { at, .. } if at >= start))
    };
    world.settle_until(writes);
    let slot = kept(3).1.get();
    world.disk_at(slot).dead = true;
    world.settle_until(|world| world.array.unsynced_regions() > 0);
    world.disk_at(slot).dead = false;
    assert!(world.array.unsynced_regions() > 0, "it was no such write");
    (world, bytes, held)
}

/// Reads the first block of stripe 0, whose member is missing.
fn read_without_its_member(world: &mut World) -> Result<Vec<u8>, RequestError> {
    world.read_now(0, 1)
}

/// The region of a committed write is to be resynced: all its records are dropped.
#[test]
fn parity_that_lacks_dropped_records_stands_in_for_no_missing_member() {
    let (mut world, bytes, held) = to_be_resynced(true);
    world.pending.extend(held);
    world.step_at(world.pending.len() - 1);
    let read = read_without_its_member(&mut world);
    assert!(read == Err(RequestError::Lost) || read == Ok(bytes), "{read:?}");
}

/// While a member is missing, the records of a region that is to be resynced stay in its log. What
/// that member held is computed all the same.
#[test]
fn records_that_stay_in_the_log_before_the_resync_cost_nothing_of_a_missing_member() {
    let (mut world, bytes, _) = to_be_resynced(false);
    let other = |world: &World| world.pending.iter().position(|effect| effect.class != Class::Rebuild);
    while let Some(other) = other(&world) {
        world.step_at(other);
    }
    assert!(world.array.status().log.unwrap().live_records > 0);
    assert!(world.array.unsynced_regions() > 0);
    assert!(read_without_its_member(&mut world) == Ok(bytes));
}
