//! The number of log buffers of a region, and when they are appended (parity logging's K; Stodolsky
//! 1993, section 3).
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{Action, LogFlush, LogPool};
use parlour_units::Sectors;

fn logging() -> Setup {
    Setup::named("parity-logging", 5)
}

fn buffers(world: &World) -> u32 {
    world.array.status().log.unwrap().buffers
}

#[test]
fn a_static_pool_gives_a_region_two_buffers_and_no_more() {
    let mut setup = logging();
    setup.tuning.log_pool = LogPool::Static;
    let mut world = World::new(&setup, SEED);
    let mut random = Random(SEED);
    let mut most = 0;
    let tags: Vec<u64> = (0..40).map(|write| world.write(write * 16, &payload(&mut random, 15))).collect();
    while world.step() {
        assert_eq!(world.array.status().log.unwrap().regions, 1, "one region is written");
        most = most.max(buffers(&world));
    }
    world.settle_until(|world| tags.iter().all(|tag| world.done.contains_key(tag)));
    assert_eq!(most, 2);
}

#[test]
fn a_watermark_keeps_full_buffers_in_memory_until_it_is_reached() {
    let mark = 6;
    let full_buffers = |log_flush| {
        let mut setup = logging();
        setup.tuning.log_flush = Some(log_flush);
        let mut world = World::new(&setup, SEED);
        let mut random = Random(SEED);
        let mut kept = Vec::new();
        for write in 0..12 {
            world.write_now(write * 16, &payload(&mut random, 15)).unwrap();
            world.settle();
            kept.push(buffers(&world));
        }
        kept
    };
    let kept = full_buffers(LogFlush::Watermark(mark));
    assert!(kept.is_sorted_by(|one, next| *next <= mark && (one <= next || *one >= mark - 1)), "{kept:?}");
    assert!(kept.contains(&(mark - 1)), "{kept:?}");
    let kept = full_buffers(LogFlush::WhenFull);
    assert!(kept.iter().all(|buffers| *buffers <= 1), "{kept:?}");
}

/// The records' part of the commit log that is in use, and its length.
fn records(world: &World) -> (u64, u64) {
    let journal = world.array.status().journal.unwrap();
    let records = journal.streams.iter().find(|stream| stream.of == "records").unwrap();
    (records.used.get(), records.room.get())
}

/// With a journal, records are durable before they are in a log. So they are appended late, and all
/// of a region together.
#[test]
fn with_a_journal_buffers_are_appended_when_records_take_half_of_it() {
    let mut setup = logging_with_journal();
    setup.log.lanes = Some(1);
    let mut world = World::new(&setup, SEED);
    let of_region = world.array.geometry().capacity().get() / u64::from(regions(&world));
    let mut random = Random(SEED);
    let (mut used, mut write) = (0, 0);
    while world.array.status().counters.appends == 0 {
        used = records(&world).0;
        let at = write % 2 * of_region + write / 2 * 16;
        world.write_now(at, &payload(&mut random, 8)).unwrap();
        world.settle();
        write += 1;
    }
    let (left, room) = records(&world);
    assert!(used * 2 <= room && (used + 16 * 512) * 2 > room, "{used} of {room}, then {left}");
    assert!(left <= used * 3 / 4, "the oldest quarter is forgotten: {used} of {room}, then {left}");
    // Two regions were written: each has one access for its many segments.
    assert!(world.array.status().counters.appends <= 2 && write > 40, "{write} writes");
}

/// A table lets go of the oldest records. While it is being written, they still wait for one.
#[test]
fn with_a_journal_one_table_lets_go_of_what_waits_for_it() {
    let mut setup = logging_with_journal();
    setup.log.lanes = Some(1);
    let mut world = World::new(&setup, SEED);
    world.settle();
    let mut random = Random(SEED);
    let mut tables = 0;
    for write in 0.. {
        world.write(write * 16, &payload(&mut random, 8));
        while !world.pending.is_empty() {
            tables += usize::from(is_of_table(&world));
            world.step_at(0);
        }
        if tables > 0 {
            break;
        }
    }
    assert_eq!(tables, world.disks.len(), "each member has one more table");
}

/// Whether the next access writes a table.
fn is_of_table(world: &World) -> bool {
    let geometry = world.array.geometry();
    let tables = [0, 1].map(|bank| geometry.table_at(bank));
    matches!(world.pending[0].action, Action::Write { at, .. } if tables.contains(&at))
}

fn logging_with_journal() -> Setup {
    Setup::logged(5)
}

fn regions(world: &World) -> u32 {
    world.array.geometry().layout().region_count()
}

/// What log buffers and jobs have of the shared memory, in sectors.
fn shared(world: &World, segment: u64) -> u64 {
    let buffers = u64::from(buffers(world)) * segment;
    buffers + world.array.held().scratch.get()
}

#[test]
fn shared_memory_is_never_exceeded_and_log_buffers_keep_their_minimum() {
    let (total, segment) = (512, 32);
    let mut setup = logging();
    setup.tuning.shared_memory = Some(Sectors::new(total));
    let mut world = World::new(&setup, SEED);
    let mut random = Random(SEED);
    for round in 0..20 {
        let writes = (0..40).map(|write| (round * 40 + write) * 37 % 1_500);
        let tags: Vec<u64> = writes.map(|at| world.write(at, &payload(&mut random, 15))).collect();
        while world.step() {
            let used = shared(&world, segment);
            assert!(used <= total, "{used} of {total}");
            assert!(world.array.status().log.unwrap().buffer_limit >= 2);
        }
        world.settle_until(|world| tags.iter().all(|tag| world.done.contains_key(tag)));
    }
    assert!(world.array.status().counters.reintegrations > 0);
}
