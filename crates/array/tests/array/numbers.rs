//! Sequence numbers: they do not run out within a session, and numbers of a session that never was
//! are not believed.

use crate::common::{Disk, Random, SEED, Setup, World, candidate, payload};
use parlour_array::{AssemblyError, Event, Geometry, Superblock, Tuning};
use parlour_codec::checksum::crc32c;
use parlour_units::{Sector, Sectors, Slot};

/// An array that takes additional numbers after a few records.
fn short_sessions(setup: Setup) -> Setup {
    Setup { tuning: Tuning { session_records: 8, ..setup.tuning }, ..setup }
}

fn session_number(world: &World) -> u64 {
    let superblock = |(index, disk): (usize, &Disk)| candidate(disk, index).superblock.ok();
    let numbers = world.disks.iter().enumerate().filter_map(superblock).map(|one| one.session_number);
    numbers.max().expect("there are members")
}

/// Writes blocks at random; updates `content` to match.
fn exercise(world: &mut World, content: &mut [u8], writes: u64) {
    let sectors = content.len() as u64 / 512;
    for _ in 0..writes {
        let at = world.random.below(sectors / 8) * 8;
        let bytes = payload(&mut world.random, 8);
        world.write_now(at, &bytes).expect("it is written");
        content[at as usize * 512..][..bytes.len()].copy_from_slice(&bytes);
    }
}

fn assert_holds(world: &mut World, content: &[u8]) {
    let sectors = content.len() as u64 / 512;
    for at in (0..sectors).step_by(64) {
        let length = 64.min(sectors - at);
        let read = world.read_now(at, length).expect("it can be read");
        assert!(read == content[at as usize * 512..][..read.len()], "at {at}");
    }
}

/// Regression test. After 2⁴⁰ records the array panicked: in 636 days at 20,000 records a second.
#[test]
fn a_session_takes_further_numbers_before_its_own_run_out() {
    let logged = Setup::logged(4);
    let unlogged = Setup::named("parity-logging", 4);
    for setup in [logged, unlogged].map(short_sessions) {
        let mut world = World::new(&setup, SEED);
        let mut content = vec![0; 1 << 20];
        assert_eq!(session_number(&world), 1, "the opening is still to be recorded");
        exercise(&mut world, &mut content, 40);
        world.settle();
        assert_eq!(session_number(&world), 3, "the second has taken the third's numbers");
        assert_holds(&mut world, &content);
        let mut world = world.restart();
        world.settle();
        assert_eq!(world.array.unsynced_regions(), 0, "the log of the session before still counts");
        exercise(&mut world, &mut content, 40);
        world.settle();
        let mut world = world.reopen(false).expect("it opens after a crash");
        world.settle();
        assert_holds(&mut world, &content);
        assert!(world.events.iter().all(|event| !matches!(event, Event::Implausible { .. })));
        assert_eq!(world.scrub(parlour_array::Repair::Nothing).mismatches, 0);
    }
}

/// Puts a valid checksum into a structure that has it at byte 8.
fn seal(block: &mut [u8]) {
    block[8..12].fill(0);
    let checksum = crc32c(block);
    block[8..12].copy_from_slice(&checksum.to_le_bytes());
}

/// Changes eight bytes of the block at `at` and corrects its checksum.
fn forge(disk: &mut Disk, at: Sector, length: Sectors, field: usize, value: u64) {
    let block = &mut disk.bytes[at.bytes() as usize..][..length.bytes().as_usize()];
    block[field..field + 8].copy_from_slice(&value.to_le_bytes());
    seal(block);
}

/// The sectors at which a structure begins.
fn found(disk: &Disk, magic: &[u8; 8]) -> Vec<usize> {
    let starts = disk.bytes.chunks(512).enumerate().filter(|(_, sector)| sector.starts_with(magic));
    starts.map(|(index, _)| index).collect()
}

fn implausible(world: &World) -> Vec<(Slot, &'static str)> {
    let forged = |event: &Event| match event {
        Event::Implausible { slot, what } => Some((*slot, *what)),
        _ => None,
    };
    world.events.iter().filter_map(forged).collect()
}

/// Opens the array with forged metadata after a stop: it must hold the right content and go on, and
/// report the forged metadata with its slot.
fn assert_reported(mut world: World, content: &mut [u8], what: &'static str) {
    assert_holds(&mut world, content);
    exercise(&mut world, content, 20);
    world.settle();
    assert!(implausible(&world).contains(&(Slot::new(1), what)), "{what}: {:?}", world.events);
    let mut world = world.restart();
    assert_holds(&mut world, content);
    world.settle();
    let mut world = world.reopen(false).expect("it opens after a crash");
    world.settle();
    assert_holds(&mut world, content);
    assert_eq!(world.scrub(parlour_array::Repair::Nothing).mismatches, 0);
}

fn written(setup: &Setup) -> (World, Vec<u8>, Geometry) {
    let mut world = World::new(setup, SEED);
    let mut content = vec![0; world.capacity() as usize * 512];
    exercise(&mut world, &mut content, 60);
    let geometry = world.array.geometry().clone();
    (world, content, geometry)
}

/// Regression test. The bitmap's next write had a number that decoding refuses: from then on no
/// bitmap was known.
#[test]
fn a_bitmap_from_the_future_does_not_count_and_is_reported() {
    let (mut world, mut content, geometry) = written(&Setup::named("raid5", 4));
    world.stop();
    for bank in 0..2 {
        let (at, length) = (geometry.bitmap_at(bank), geometry.bitmap_length());
        forge(&mut world.disks[1], at, length, 32, (1 << 63) - 2 + bank as u64 % 2);
    }
    let world = world.reopen(false).expect("it opens");
    assert_reported(world, &mut content, "write-intent bitmap");
}

/// Regression test. Records up to the highest possible number counted as applied, so that all later
/// records were lost.
#[test]
fn a_table_that_has_applied_what_was_never_written_does_not_count_and_is_reported() {
    let (mut world, mut content, geometry) = written(&Setup::logged(4));
    world.stop();
    for bank in 0..2 {
        let (at, length) = (geometry.table_at(bank), geometry.table_length());
        forge(&mut world.disks[1], at, length, 64, u64::MAX);
    }
    let world = world.reopen(false).expect("it opens");
    assert_reported(world, &mut content, "table of applied records");
}

/// Regression test. New entries had lower numbers than a forged one, and did not count after a
/// crash.
#[test]
fn an_entry_of_a_commit_log_from_the_future_does_not_count_and_is_reported() {
    let (mut world, mut content, _) = written(&Setup::logged(4));
    world.stop();
    let sector = *found(&world.disks[1], b"PRLRCMMT").first().expect("something was committed");
    let block = &world.disks[1].bytes[sector * 512..];
    let length = u32::from_le_bytes(block[12..16].try_into().expect("four bytes"));
    let at = Sector::new(sector as u64);
    forge(&mut world.disks[1], at, Sectors::new(length.into()), 32, 1 << 62);
    let world = world.reopen(false).expect("it opens");
    assert_reported(world, &mut content, "commit log");
}

/// Regression test. A forged record in the log counted as newer than all records that were written
/// later.
#[test]
fn a_log_segment_from_the_future_is_not_believed_and_is_reported() {
    let (mut world, mut content, geometry) = written(&Setup::named("parity-logging", 4));
    world.stop();
    let header = geometry.log_header_length().expect("it has logs");
    let headers = found(&world.disks[1], b"PRLRSEGM");
    assert!(!headers.is_empty(), "some segment was appended");
    for sector in headers {
        forge(&mut world.disks[1], Sector::new(sector as u64), header, 64, 1 << 62);
    }
    let world = world.reopen(false).expect("it opens");
    assert_reported(world, &mut content, "log segment");
}

/// After the highest possible number there is no next one: an array whose numbers are nearly used
/// up is not opened for writing.
#[test]
fn an_array_whose_numbers_are_used_up_can_be_read_and_is_not_opened_for_writing() {
    for (session, sequence) in [((1 << 24) - 2, 9), (9, (1 << 63) - 1)] {
        let setup = Setup::named("raid5", 4);
        let mut world = World::new(&setup, SEED);
        world.stop();
        for disk in &mut world.disks {
            let length = Sectors::new(disk.bytes.len() as u64 / 512);
            for at in Geometry::superblocks_at(length) {
                let block = &mut disk.bytes[at.bytes() as usize..][..parlour_array::SUPERBLOCK_BYTES];
                let old = Superblock::decode(block).expect("it is sound");
                let used = Superblock { session_number: session, sequence, ..old };
                block.copy_from_slice(&used.encode());
            }
        }
        let (disks, order) = (world.disks, vec![0, 1, 2, 3]);
        let refused = World::try_open(&setup, disks, order.clone(), Random(1), 7, false, false);
        let Err((error, disks)) = refused else { panic!("it was opened") };
        assert!(matches!(error, AssemblyError::NumbersUsedUp { .. }), "{error}");
        let opened = World::try_open(&setup, disks, order, Random(1), 7, false, true);
        assert!(opened.is_ok(), "it can be read");
    }
}
