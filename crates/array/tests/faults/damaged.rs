//! Damaged metadata of logs: entries, headers, records and payloads that have rotted or were never
//! written. They must not count as absent, and must not lead to wrong reads. Each test is a
//! regression test for one defect.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::BTreeMap;

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{Action, Class, Event, Operation, Repair, RequestError};
use parlour_units::{Region, Sector, Sectors, Slot};

/// The content that the array should have, from a given place on.
struct Expected {
    at: u64,
    content: Vec<u8>,
}

const AT: u64 = 0;
/// The number of sectors that are written: several stripes of several regions.
const SPAN: u64 = 16 * 4 * 24;

fn setup() -> Setup {
    let mut setup = Setup { member_length: 6 * 2_048, ..Setup::logged(5) };
    // All writes are logged, also those of whole stripes.
    setup.tuning.large_write = Some(parlour_array::LargeWrite::Overwrite);
    // What is written is in the logs soon.
    setup.tuning.log_flush = Some(parlour_array::LogFlush::WhenFull);
    setup
}

/// An array that was written everywhere, and then by `writes` small durable writes, each answered
/// before the next.
fn written(setup: &Setup, seed: u64, writes: usize) -> (World, Expected) {
    let mut world = World::new(setup, seed);
    let mut random = Random(seed);
    let mut content = payload(&mut random, SPAN);
    for (index, part) in content.chunks(64 * 512).enumerate() {
        world.write_now(AT + index as u64 * 64, part).unwrap();
    }
    for _ in 0..writes {
        let at = random.below(SPAN / 8 - 1) * 8;
        let bytes = payload(&mut random, 8);
        let write = Operation::Write { durable: true };
        world.do_now(write, AT + at, 8, Some(&bytes)).0.unwrap();
        content[at as usize * 512..][..bytes.len()].copy_from_slice(&bytes);
    }
    (world, Expected { at: AT, content })
}

/// Opens the array again as after `kill -9`.
fn killed(world: World) -> World {
    let mut world = world.reopen(false).unwrap();
    world.settle();
    world
}

impl Expected {
    /// Checks that everything reads right.
    fn check(&self, world: &mut World) {
        for (index, part) in self.content.chunks(16 * 512).enumerate() {
            let at = self.at + index as u64 * 16;
            assert!(world.read_now(at, 16).unwrap() == part, "what was flushed reads wrong at sector {at}");
        }
    }

    /// Checks that everything reads right or is reported lost; returns the number of lost blocks.
    fn check_or_lost(&self, world: &mut World) -> usize {
        let mut lost = 0;
        for (index, part) in self.content.chunks(8 * 512).enumerate() {
            let at = self.at + index as u64 * 8;
            match world.read_now(at, 8) {
                Ok(bytes) => assert!(bytes == part, "what was flushed reads wrong at sector {at}"),
                Err(RequestError::Lost) => lost += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
        lost
    }

    /// Checks that everything reads right with member `lost` missing, and that parity fits
    /// everywhere.
    fn check_redundancy(&self, mut world: World, lost: u16) {
        self.check(&mut world);
        let report = world.scrub(Repair::Nothing);
        assert_eq!((report.mismatches, report.unreadable), (0, 0), "{report:?}");
        world.array.fail(world.now, Slot::new(lost)).unwrap();
        world.drain();
        self.check(&mut world);
    }
}

/// An entry of the commit log: its number, where it is on the disk in bytes, and the length of its
/// header.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    at: usize,
    header: usize,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn half_word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The entries with records in `disk`'s commit log, in order.
fn entries(world: &World, disk: usize) -> Vec<Entry> {
    let (start, length) = world.array.geometry().commit_log();
    let bytes = &world.disks[disk].bytes;
    let (from, to) = (start.bytes() as usize, (start + length).bytes() as usize);
    let found = (from..to).step_by(512).filter(|at| bytes[*at..].starts_with(b"PRLRCMMT"));
    let mut entries: Vec<Entry> = found
        .filter(|at| half_word(bytes, at + 64) > 0)
        .map(|at| Entry {
            number: word(bytes, at + 32),
            at,
            header: half_word(bytes, at + 12) as usize * 512,
        })
        .collect();
    entries.sort_by_key(|entry| entry.number);
    entries
}

/// The places of segments with records: the disk, and the first byte of the first header.
fn segments(world: &World) -> Vec<(usize, usize)> {
    let start = world.array.geometry().data_start().bytes() as usize;
    let mut found = Vec::new();
    for (index, disk) in world.disks.iter().enumerate() {
        let length = world.setup.log.segment.unwrap().bytes().as_usize();
        let headers: Vec<usize> = (start..disk.bytes.len() - length)
            .step_by(512)
            .filter(|at| disk.bytes[*at..].starts_with(b"PRLRSEGM") && half_word(&disk.bytes, at + 32) > 0)
            .collect();
        // A second header is not the start of a segment.
        let first = |at: &&usize| !headers.contains(&(**at + 512 - length));
        found.extend(headers.iter().filter(first).map(|at| (index, *at)));
    }
    found
}

/// The copies of each entry: the disk, and the entry there. In the order of numbers.
fn copies(world: &World) -> Vec<Vec<(usize, Entry)>> {
    let mut copies: BTreeMap<u64, Vec<(usize, Entry)>> = BTreeMap::new();
    for disk in 0..world.disks.len() {
        for entry in entries(world, disk) {
            copies.entry(entry.number).or_default().push((disk, entry));
        }
    }
    copies.into_values().collect()
}

fn is_commit_log_damaged(world: &World) -> bool {
    world.events.contains(&Event::CommitLogDamaged)
}

fn logs_damaged(world: &World) -> usize {
    world.events.iter().filter(|event| matches!(event, Event::LogDamaged { .. })).count()
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_commit_log_with_a_rotten_entry_in_the_middle_is_not_believed() {
    for lost in 0..5 {
        let (mut world, expected) = written(&setup(), SEED, 40);
        let all = copies(&world);
        // Entries before the number that the newest one names no longer count.
        for (disk, middle) in &all[all.len() - 2] {
            world.disks[*disk].bytes[middle.at + middle.header + 100] ^= 4;
        }
        let world = killed(world);
        assert!(is_commit_log_damaged(&world));
        expected.check_redundancy(world, lost);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn one_copy_of_each_entry_is_enough() {
    for lost in 0..5 {
        let (mut world, expected) = written(&setup(), SEED, 40);
        let all = copies(&world);
        let (disk, newest) = all[all.len() - 1][0];
        let tail = word(&world.disks[disk].bytes, newest.at + 48);
        for of_entry in all.iter().filter(|copies| copies[0].1.number >= tail) {
            assert_eq!(of_entry.len(), 2, "each entry stands on two members");
            let (disk, entry) = of_entry[(of_entry[0].1.number % 2) as usize];
            world.disks[disk].bytes[entry.at + entry.header + 100] ^= 4;
        }
        let world = killed(world);
        assert!(!is_commit_log_damaged(&world));
        assert!(world.array.status().resync.is_none());
        expected.check_redundancy(world, lost);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_commit_log_whose_entries_were_never_written_is_not_believed() {
    for lost in 0..5 {
        let (mut world, expected) = written(&setup(), SEED, 40);
        let (start, length) = world.array.geometry().commit_log();
        let range = start.bytes() as usize..(start + length).bytes() as usize;
        world.disks.iter_mut().for_each(|disk| disk.bytes[range.clone()].fill(0));
        let world = killed(world);
        assert!(is_commit_log_damaged(&world));
        expected.check_redundancy(world, lost);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_sound_commit_log_is_believed_wherever_the_array_is_killed() {
    for writes in 0..60 {
        let (mut world, expected) = written(&setup(), SEED + writes, writes as usize);
        for _ in 0..3 {
            world = killed(world);
            assert_eq!((is_commit_log_damaged(&world), logs_damaged(&world)), (false, 0), "after {writes}");
            assert!(world.array.status().resync.is_none());
        }
        expected.check_redundancy(world, (writes % 5) as u16);
    }
}

/// A change to a segment that starts here.
type Damage = fn(&mut [u8]);

const DAMAGES: [(&str, Damage); 4] = [
    ("both headers rot", |segment| {
        let last = segment.len() - 512;
        segment[40] ^= 1;
        segment[last + 40] ^= 1;
    }),
    ("it was never written", |segment| segment.fill(0)),
    ("its payload rots", |segment| segment[512 + 77] ^= 8),
    ("its payload was never written", |segment| {
        let last = segment.len() - 512;
        segment[512..last].fill(0);
    }),
];

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_segment_that_rots_while_the_array_is_stopped_makes_nothing_read_wrong() {
    for (story, damage) in DAMAGES {
        for lost in 0..5 {
            let (mut world, expected) = written(&setup(), SEED, 120);
            world.stop();
            let all = segments(&world);
            assert!(all.len() > 3, "the logs hold something");
            let (disk, at) = all[all.len() / 2];
            let length = world.setup.log.segment.unwrap().bytes().as_usize();
            damage(&mut world.disks[disk].bytes[at..at + length]);
            let mut world = world.reopen(false).unwrap();
            world.settle();
            world.array.fail(world.now, Slot::new(lost)).unwrap();
            world.drain();
            // If a member is lost as well, data that was known only from the log is lost too.
            let blocks = expected.check_or_lost(&mut world);
            assert!(blocks < 200, "{story}: {blocks} blocks are lost with member {lost}");
        }
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_segment_that_rots_costs_nothing_while_all_members_are_there() {
    for (story, damage) in DAMAGES {
        for clean in [true, false] {
            let (mut world, expected) = written(&setup(), SEED, 120);
            if clean {
                world.stop();
            }
            let (disk, at) = segments(&world)[2];
            let length = world.setup.log.segment.unwrap().bytes().as_usize();
            damage(&mut world.disks[disk].bytes[at..at + length]);
            let mut world = world.reopen(false).unwrap();
            world.settle();
            expected.check(&mut world);
            let report = world.scrub(Repair::Nothing);
            assert_eq!(report.mismatches, 0, "{story}, clean {clean}");
            expected.check_redundancy(world, 3);
        }
    }
}

/// The second copies of headers are far from the first ones: they are read if something is missing.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn the_first_copies_of_a_logs_headers_are_read() {
    let (mut world, expected) = written(&setup(), SEED, 120);
    world.stop();
    let mut world = world.reopen(false).unwrap();
    world.settle();
    world.array.scrub(world.now, Repair::Nothing).unwrap();
    world.drain();
    let geometry = world.array.geometry().clone();
    let positions = geometry.layout().logs().unwrap().segments();
    let each = (0..geometry.layout().region_count())
        .flat_map(|region| (0..positions).map(move |position| (Region::new(region), position)));
    let starts: Vec<Sector> = each
        .map(|(region, position)| geometry.log_segment_at(region, position, 0).unwrap())
        .map(|location| geometry.data_start() + location.at.from_start())
        .collect();
    let read = |world: &World| -> Vec<Sector> {
        let of_logs = world.pending.iter().filter(|effect| effect.class == Class::Log);
        let at = of_logs.filter_map(|effect| match effect.action {
            Action::Read { at, .. } => Some(at),
            _ => None,
        });
        at.collect()
    };
    world.settle_until(|world| !read(world).is_empty());
    let read = read(&world);
    assert!(!read.is_empty() && read.iter().all(|at| starts.contains(at)), "{read:?}");
    expected.check(&mut world);
}

/// Which segments still count depends on what is in the parity already: each is damaged once.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_region_whose_segment_has_lost_its_headers_is_resynced() {
    let (mut world, _) = written(&setup(), SEED, 120);
    world.stop();
    let all = segments(&world);
    let mut noticed = 0;
    for (disk, at) in all {
        let (mut world, expected) = written(&setup(), SEED, 120);
        world.stop();
        let length = world.setup.log.segment.unwrap().bytes().as_usize();
        DAMAGES[0].1(&mut world.disks[disk].bytes[at..at + length]);
        let mut world = world.reopen(false).unwrap();
        world.settle();
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "at {at} of {disk}");
        noticed += logs_damaged(&world);
        expected.check_redundancy(world, 3);
    }
    assert!(noticed > 0, "some of them counted");
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_member_that_silently_drops_writes_pollutes_nobody_else() {
    for dropping in 0..5 {
        let (mut world, mut expected) = written(&setup(), SEED, 30);
        world.disks[dropping].drops = true;
        let mut random = Random(7);
        // (No block twice: otherwise the former content would be read from the member that dropped
        // the write.)
        for index in 0..96 {
            let at = index * 2 * 8;
            let bytes = payload(&mut random, 8);
            world.write_now(AT + at, &bytes).unwrap();
            expected.content[at as usize * 512..][..bytes.len()].copy_from_slice(&bytes);
        }
        world.disks[dropping].drops = false;
        world.settle();
        // Only this member is wrong: without it all data is right.
        world.array.fail(world.now, Slot::new(dropping as u16)).unwrap();
        world.drain();
        world.replace(dropping as u16);
        world.settle();
        let report = world.scrub(Repair::Nothing);
        assert_eq!(report.mismatches, 0, "member {dropping}: {report:?}");
        expected.check(&mut world);
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_fits_no_record_after_a_crash_is_computed_from_the_rest() {
    let (mut world, expected) = written(&setup(), SEED, 40);
    // The last block that was written.
    let (disk, entry) = copies(&world).pop().unwrap()[0];
    let bytes = &world.disks[disk].bytes[entry.at..];
    let record = 72;
    let (region, stripe) = (half_word(bytes, record + 8), half_word(bytes, record + 12));
    let unit = u16::from_le_bytes(bytes[record + 16..record + 18].try_into().unwrap());
    let first = half_word(bytes, record + 20);
    let layout = world.array.geometry().layout();
    let stripe = layout.stripe_in(parlour_units::Region::new(region), stripe.into()).unwrap();
    let location = layout.locate(stripe, parlour_units::Unit::new(unit));
    let at = world.array.geometry().data_start() + (location.at + Sectors::new(first.into())).from_start();
    world.disks[location.slot.as_usize()].bytes[at.bytes() as usize + 33] ^= 0x40;
    let world = killed(world);
    let told =
        |event: &Event| matches!(event, Event::BlockDamaged { slot: told, .. } if *told == location.slot);
    assert!(world.events.iter().any(told), "{:?}", world.events);
    expected.check_redundancy(world, (disk as u16 + 1) % 5);
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    const TESTS: [fn(); 8] = [
        super::one_copy_of_each_entry_is_enough,
        super::a_commit_log_with_a_rotten_entry_in_the_middle_is_not_believed,
        super::a_commit_log_whose_entries_were_never_written_is_not_believed,
        super::a_sound_commit_log_is_believed_wherever_the_array_is_killed,
        super::a_segment_that_rots_while_the_array_is_stopped_makes_nothing_read_wrong,
        super::a_segment_that_rots_costs_nothing_while_all_members_are_there,
        super::a_member_that_silently_drops_writes_pollutes_nobody_else,
        super::what_fits_no_record_after_a_crash_is_computed_from_the_rest,
    ];

    #[test]
    fn every_bug_of_damaged_logs_is_found() {
        find_each(&Bug::OF_DAMAGE, &TESTS);
    }
}
