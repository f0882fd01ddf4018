//! Random requests against each organization, with and without failures, give the same results as a
//! flat reference.

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::{ReadChoice, Update};
use parlour_array::{LargeWrite, LogFlush, LogPool, Operation, Repair, Tuning};
use parlour_units::{Sectors, Slot};

/// An array, and a flat copy of the content that it should have.
struct Twin {
    world: World,
    flat: Vec<u8>,
    random: Random,
}

impl Twin {
    fn new(setup: &Setup, seed: u64) -> Twin {
        let world = World::new(setup, seed);
        let flat = vec![0; world.capacity() as usize * 512];
        Twin { world, flat, random: Random(seed ^ 0xABCD) }
    }

    fn range(&mut self) -> (u64, u64) {
        let block = self.world.setup.block;
        let blocks = self.world.capacity() / block;
        let length = match self.random.below(4) {
            0 => 1,
            1 => 1 + self.random.below(8),
            2 => 1 + self.random.below(64),
            _ => 1 + self.random.below(200),
        };
        let length = length.min(blocks);
        let at = match self.random.below(3) {
            // Some blocks are requested often, so that stripes are shared and logs fill.
            0 => self.random.below(64.min(blocks - length + 1)),
            _ => self.random.below(blocks - length + 1),
        };
        (at * block, length * block)
    }

    /// A batch of requests at the same time; none overlaps another.
    fn batch(&mut self, reads: &mut Vec<(u64, u64, u64)>) {
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for _ in 0..1 + self.random.below(8) {
            let (at, length) = self.range();
            if taken.iter().any(|(other, size)| at < other + size && *other < at + length) {
                continue;
            }
            taken.push((at, length));
            self.request(at, length, reads);
            for _ in 0..self.random.below(6) {
                self.world.step();
            }
        }
    }

    fn request(&mut self, at: u64, length: u64, reads: &mut Vec<(u64, u64, u64)>) {
        let range = at as usize * 512..(at + length) as usize * 512;
        match self.random.below(10) {
            0..=5 => {
                let bytes = payload(&mut self.random, length);
                self.flat[range].copy_from_slice(&bytes);
                let durable = self.random.chance(4);
                self.world.submit(Operation::Write { durable }, at, length, Some(&bytes));
            }
            6 => {
                self.flat[range].fill(0);
                let may_unmap = self.random.chance(2);
                let zeroes = Operation::WriteZeroes { may_unmap, fast_only: false, durable: false };
                self.world.submit(zeroes, at, length, None);
            }
            7 => {
                self.world.submit(Operation::Flush, 0, 0, None);
            }
            _ => {
                let tag = self.world.read(at, length);
                reads.push((tag, at, length));
            }
        }
    }

    fn finish(&mut self, reads: &[(u64, u64, u64)]) {
        self.world.settle();
        for (tag, (result, _)) in &self.world.done {
            assert_eq!(*result, Ok(()), "request {tag}");
        }
        for (tag, at, length) in reads {
            let bytes = &self.world.done[tag].1;
            let expected = &self.flat[*at as usize * 512..(at + length) as usize * 512];
            assert!(bytes == expected, "a read of {length} sectors at {at} returned something else");
        }
        self.world.done.clear();
    }

    fn rounds(&mut self, count: u64) {
        for _ in 0..count {
            let mut reads = Vec::new();
            self.batch(&mut reads);
            self.finish(&reads);
        }
    }

    fn check_all(&mut self) {
        let capacity = self.world.capacity();
        let mut at = 0;
        while at < capacity {
            let length = 512.min(capacity - at);
            let bytes = self.world.read_now(at, length).expect("all can be read");
            let expected = &self.flat[at as usize * 512..(at + length) as usize * 512];
            if bytes != expected {
                let sector =
                    bytes.chunks(512).zip(expected.chunks(512)).position(|(a, b)| a != b).unwrap() as u64;
                panic!("sector {} differs", at + sector);
            }
            at += length;
        }
    }

    fn redundant(&self) -> bool {
        self.world.array.geometry().fault_tolerance() > 0
    }

    /// Whether it can be stopped and opened again.
    fn lasts(&self) -> bool {
        self.world.setup.organization.update != Update::Floating
    }

    fn fail(&mut self, slot: u16) {
        self.world.disk_at(slot).dead = true;
    }
}

fn setups() -> Vec<(String, Setup)> {
    let mut setups: Vec<(String, Setup)> = Vec::new();
    for (name, members) in [
        ("simple", 3),
        ("raid0", 4),
        ("raid1", 3),
        ("raid01", 4),
        ("raid10", 4),
        ("raid1-far", 3),
        ("raid10-far", 6),
        ("raid4", 4),
        ("raid5", 5),
        ("parity-logging", 5),
        ("floating", 5),
    ] {
        setups.push((name.into(), Setup::named(name, members)));
    }
    let logging = |members| Setup::named("parity-logging", members);
    setups.push(("parity-logging of 3".into(), logging(3)));
    let mut wide = logging(6);
    wide.log.sublogs = Some(2);
    setups.push(("parity-logging L = 2".into(), wide));
    let mut groups = logging(8);
    (groups.groups, groups.member_length) = (2, 6 * 2_048);
    setups.push(("parity-logging in 2 groups".into(), groups));
    let mut groups = Setup::named("raid5", 12);
    (groups.groups, groups.member_length) = (3, 4 * 2_048);
    setups.push(("raid5 in 3 groups".into(), groups));
    let mut blocks = logging(4);
    (blocks.block, blocks.unit) = (8, 80);
    blocks.log.segment = Some(Sectors::new(128));
    setups.push(("parity-logging in 4 KiB blocks".into(), blocks));
    let mut odd = Setup::named("raid5", 3);
    odd.unit = 7;
    setups.push(("raid5 of 3.5 KiB units".into(), odd));
    let mut cached = Setup::named("raid5", 4);
    cached.tuning.preread_cache = Sectors::new(400);
    setups.push(("raid5 with a preread cache".into(), cached));
    let mut copies = Setup::named("raid10", 6);
    copies.tuning.copies_in_turn = true;
    copies.organization.read = ReadChoice::Random;
    setups.push(("raid10 whose copies are written in turn and read at random".into(), copies));
    let floating = Setup { checks: 2, ..Setup::named("floating", 6) };
    setups.push(("floating with two parities".into(), floating));
    for name in ["raid5", "raid6", "parity-logging"] {
        let mut through = Setup::named(name, 5);
        through.tuning.read_through = Sectors::new(through.unit);
        setups.push((format!("{name} that reads parity along"), through));
        let mut combined = Setup::named(name, 5);
        combined.simulated.combined = true;
        setups.push((format!("{name} that reads and writes in one access"), combined.clone()));
        combined.tuning.preread_cache = Sectors::new(400);
        setups.push((format!("{name} that does unless it knows the data"), combined));
    }
    for (label, tuning) in log_tunings() {
        let mut setup = logging(5);
        setup.tuning = tuning;
        setups.push((format!("parity-logging, {label}"), setup));
    }
    setups
}

/// The options of §2.1 and §2.5, with so little memory that everything waits.
fn log_tunings() -> Vec<(&'static str, Tuning)> {
    let base = Setup::named("parity-logging", 5).tuning;
    vec![
        ("overwrite records", Tuning { large_write: Some(LargeWrite::Overwrite), ..base }),
        ("cancel records", Tuning { large_write: Some(LargeWrite::Cancel), ..base }),
        ("static pool", Tuning { log_pool: LogPool::Static, ..base }),
        ("watermark", Tuning { log_flush: Some(LogFlush::Watermark(6)), ..base }),
        ("shared memory", Tuning { shared_memory: Some(Sectors::new(256)), ..base }),
        ("shared memory, as little as there can be", Tuning { shared_memory: Some(Sectors::ZERO), ..base }),
        ("a pool of two buffers", Tuning { log_memory: Sectors::new(64), ..base }),
        (
            "serial reintegration",
            Tuning { reintegration_memory: Sectors::new(96), reintegration_buffers: 1, ..base },
        ),
        ("preread cache", Tuning { preread_cache: Sectors::new(600), ..base }),
        ("little scratch", Tuning { scratch_memory: Sectors::new(64), ..base }),
    ]
}

/// The number of seeds for each setup.
const ROUNDS: u64 = 3;

fn for_each_setup(test: impl Fn(&mut Twin)) {
    for (name, setup) in setups() {
        for round in 0..ROUNDS {
            let seed = SEED + round;
            println!("{name}: seed {seed:#x}");
            let mut twin = Twin::new(&setup, seed);
            test(&mut twin);
        }
    }
}

#[test]
fn random_requests_on_a_healthy_array_equal_a_flat_reference() {
    for_each_setup(|twin| {
        twin.rounds(60);
        twin.check_all();
    });
}

#[test]
fn what_was_written_is_there_after_a_stop_and_a_start() {
    for_each_setup(|twin| {
        if !twin.lasts() {
            return;
        }
        for _ in 0..4 {
            twin.rounds(15);
            let world = std::mem::replace(&mut twin.world, World::new(&Setup::named("raid0", 2), 1));
            twin.world = world.restart();
            twin.check_all();
        }
    });
}

#[test]
fn a_scrub_of_an_array_that_was_only_used_finds_nothing() {
    for_each_setup(|twin| {
        if twin.redundant() {
            twin.rounds(30);
            let report = twin.world.scrub(Repair::Nothing);
            assert_eq!((report.mismatches, report.unreadable, report.skipped), (0, 0, 0));
        }
    });
}

#[test]
fn any_one_member_may_die_in_the_middle_and_be_replaced() {
    for_each_setup(|twin| {
        if !twin.redundant() {
            return;
        }
        for _ in 0..3 {
            let slot = twin.random.below(u64::from(twin.world.setup.members)) as u16;
            let mut reads = Vec::new();
            twin.rounds(10);
            twin.batch(&mut reads);
            twin.fail(slot);
            (0..4).for_each(|_| _ = twin.world.step());
            twin.finish(&reads);
            twin.rounds(10);
            twin.check_all();
            if twin.world.array.status().members[usize::from(slot)].state != "failed" {
                // Nothing happened to touch it yet.
                twin.world.array.fail(twin.world.now, Slot::new(slot)).expect("it can be done without");
                twin.world.drain();
            }
            twin.world.replace(slot);
            let mut reads = Vec::new();
            twin.batch(&mut reads);
            twin.finish(&reads);
            assert_eq!(twin.world.array.status().members[usize::from(slot)].state, "active");
            twin.check_all();
            let report = twin.world.scrub(Repair::Nothing);
            assert_eq!((report.mismatches, report.skipped), (0, 0));
        }
    });
}

#[test]
fn unreadable_sectors_are_computed_rewritten_and_counted() {
    for_each_setup(|twin| {
        if !twin.redundant() {
            return;
        }
        twin.rounds(10);
        let start = twin.world.array.geometry().data_start().get();
        let length = twin.world.setup.member_length;
        for _ in 0..8 {
            let slot = twin.random.below(u64::from(twin.world.setup.members)) as u16;
            let sector = start + twin.random.below(length - start);
            twin.world.disk_at(slot).unreadable.insert(sector);
            twin.check_all();
            twin.rounds(2);
        }
        twin.check_all();
    });
}

#[test]
fn a_spare_takes_a_dead_members_place_by_itself() {
    for_each_setup(|twin| {
        if !twin.redundant() {
            return;
        }
        twin.world.add_spare();
        twin.rounds(10);
        twin.fail(1);
        twin.rounds(20);
        twin.check_all();
        twin.world.settle();
        let status = twin.world.array.status();
        assert!(status.members.iter().all(|member| member.state == "active"), "{:?}", status.members);
        assert!(status.spares.is_empty());
    });
}

#[test]
fn a_killed_array_keeps_what_was_flushed_and_resyncs() {
    for_each_setup(|twin| {
        if !twin.lasts() {
            return;
        }
        for _ in 0..3 {
            twin.rounds(10);
            twin.world.submit(Operation::Flush, 0, 0, None);
            twin.finish(&[]);
            let flushed = twin.flat.clone();
            let mut reads = Vec::new();
            twin.batch(&mut reads);
            for _ in 0..twin.random.below(20) {
                twin.world.step();
            }
            let world = std::mem::replace(&mut twin.world, World::new(&Setup::named("raid0", 2), 1));
            twin.world = world.reopen(false).expect("all members are there");
            twin.world.settle();
            assert!(twin.world.array.status().resync.is_none());
            twin.adopt_what_is_there(&flushed);
            if twin.redundant() {
                let report = twin.world.scrub(Repair::Nothing);
                assert_eq!(report.mismatches, 0, "after a resync all redundancy fits");
            }
        }
    });
}

impl Twin {
    /// Each sector is as it was flushed, or as it was being written since; which of them it is the
    /// reference takes from the array.
    fn adopt_what_is_there(&mut self, flushed: &[u8]) {
        for at in (0..self.world.capacity()).step_by(512) {
            let length = 512.min(self.world.capacity() - at);
            let bytes = self.world.read_now(at, length).expect("all can be read");
            let range = at as usize * 512..(at + length) as usize * 512;
            let allowed = flushed[range.clone()].chunks(512).zip(self.flat[range.clone()].chunks(512));
            for ((sector, found), (old, new)) in (at..).zip(bytes.chunks(512)).zip(allowed) {
                assert!(found == old || found == new, "sector {sector} is neither old nor new");
            }
            self.flat[range].copy_from_slice(&bytes);
        }
    }
}

#[test]
fn what_a_host_has_just_read_or_written_is_not_read_again_before_it_is_overwritten() {
    for name in ["raid5", "parity-logging"] {
        let mut setup = Setup::named(name, 5);
        setup.tuning.preread_cache = Sectors::new(64);
        let mut world = World::new(&setup, SEED);
        let mut random = Random(SEED);
        let reads = |world: &World| world.array.traffic(parlour_array::Class::Foreground).reads;
        let parity_reads = u64::from(name == "raid5");
        for (read_first, at, length) in [(true, 40, 4), (false, 40, 4), (false, 41, 2)] {
            if read_first {
                world.read_now(at, 8).expect("it can be read");
            }
            let before = reads(&world);
            world.write_now(at, &payload(&mut random, length)).expect("it can be written");
            assert_eq!(reads(&world) - before, parity_reads, "{name}: write at {at}");
        }
        // Data that was dropped from the bounded cache is read again.
        for at in (200..300).step_by(8) {
            world.read_now(at, 8).expect("it can be read");
        }
        let before = reads(&world);
        world.write_now(40, &payload(&mut random, 4)).expect("it can be written");
        assert_eq!(reads(&world) - before, parity_reads + 1, "{name}");
    }
}
