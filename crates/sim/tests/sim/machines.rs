//! Tests of the special behaviour of the papers' machines, in accesses and in time.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Compression, Creation, Geometry, LogCreation, Operation, Simulated, Tag, Tuning};
use parlour_drive::angle::Angle;
use parlour_drive::catalogue;
use parlour_drive::description::Description;
use parlour_drive::queue::Discipline;
use parlour_sim::member::Member;
use parlour_sim::opening::{self, New};
use parlour_sim::world::World;
use parlour_units::{Instant, Sector, Sectors};
use parlour_workload::random::Random;

const BLOCK: Sectors = Sectors::new(4);
const FAR: Instant = Instant::from_nanoseconds(1 << 62);
const COMBINED: Simulated =
    Simulated { combined: true, old_data_known: false, compression: Compression::NONE };
const KNOWN: Simulated = Simulated { combined: false, old_data_known: true, compression: Compression::NONE };
const BOTH: Simulated = Simulated { combined: true, old_data_known: true, compression: Compression::NONE };
/// Half a revolution, the mean seek, and the number of data units of 2 KB per track (Stodolsky et
/// al., figure 12). Times are in milliseconds.
const R: f64 = 13.9 / 2.0;
const S: f64 = 12.69;
const D: f64 = 12.0;

struct Machine {
    organization: &'static str,
    tuning: Tuning,
    simulated: Simulated,
    /// The angle between the platters of consecutive drives, in sixths of a revolution.
    apart: u64,
}

/// The mean cost of a small write.
struct Cost {
    accesses: f64,
    response: f64,
}

impl Machine {
    fn of(organization: &'static str, simulated: Simulated) -> Machine {
        let tuning = Tuning { bitmap: false, ..Tuning::default() };
        Machine { organization, tuning, simulated, apart: 0 }
    }

    fn world(&self) -> World {
        let description = Description::parse(catalogue::find("ibm-0661").unwrap()).unwrap();
        let mechanics = description.mechanics(Angle::default()).unwrap();
        let length = Sectors::new(mechanics.surface.blocks()).round_down(Sectors::new(2_048));
        let row = Organization::named(self.organization).unwrap();
        let creation = Creation {
            organization: row.organization,
            checks: row.checks.of(6),
            members: 6,
            groups: 1,
            width: None,
            domains: None,
            spares: 0,
            unit: BLOCK,
            block: Sectors::new(1),
            member_length: length,
            log: LogCreation::default(),
            consistency: Consistency::Bitmap,
        };
        let geometry = Geometry::create(&creation).unwrap();
        let phase = |number| Angle::of(self.apart * number, 6);
        let drive = |number| Member::described(&description, phase(number), Discipline::Fcfs).unwrap();
        let (tuning, simulated) = (self.tuning, self.simulated);
        let new = New { name: "machine", geometry: &geometry, length, tuning, simulated };
        World::new(vec![opening::open(&new, (0..6).map(drive).collect()).unwrap()])
    }

    /// The cost for a single host that writes one block after the other.
    fn cost(&self) -> Cost {
        let mut world = self.world();
        // The members' superblocks are written first, for the session.
        while world.step(Instant::from_nanoseconds(1_000_000_000)) {}
        let before = accesses(&world);
        let (count, begun) = (20_000, world.now());
        ask(&mut world, Operation::Write { durable: false }, BLOCK, count);
        let accesses = accesses(&world);
        let response = world.now().since(begun).as_secs_f64() * 1e3;
        Cost {
            accesses: (accesses - before) as f64 / f64::from(count),
            response: response / f64::from(count),
        }
    }
}

/// A single host issues one request after the other, at random positions.
fn ask(world: &mut World, operation: Operation, length: Sectors, count: u32) {
    let pieces = world.capacity() / length;
    ask_among(world, operation, (length, pieces), count);
}

/// The same, in the first pieces of the array.
fn ask_among(world: &mut World, operation: Operation, (length, pieces): (Sectors, u64), count: u32) {
    let mut random = Random::new(3);
    for _ in 0..count {
        let at = Sector::new(random.below(pieces) * length.get());
        assert!(world.submit(Tag(0), operation, at, length));
        while world.answers().next().is_none() {
            assert!(world.step(FAR), "it is answered");
        }
    }
}

fn accesses(world: &World) -> u64 {
    world.members().map(|member| member.tally().accesses).sum()
}

fn near(found: f64, exact: f64, tolerance: f64) {
    assert!((found / exact - 1.0).abs() < tolerance, "{found}, {exact} expected");
}

/// Stodolsky et al., sections 3 and 4: two accesses of S + (3 + 2/D) R, one after the other
/// (footnote 9).
#[test]
fn a_small_write_of_raid_5_is_two_read_modify_writes() {
    let cost = Machine::of("raid5", COMBINED).cost();
    near(cost.accesses, 2.0, 1e-6);
    near(cost.response, 2.0 * (S + (3.0 + 2.0 / D) * R), 0.01);
}

#[test]
fn where_the_data_is_known_it_is_written_beside_the_read_modify_write_of_parity() {
    let cost = Machine::of("raid5", BOTH).cost();
    near(cost.accesses, 2.0, 1e-6);
    // The parity access takes a revolution longer, so it seldom ends first.
    let parity = S + (3.0 + 2.0 / D) * R;
    assert!((parity * 0.99..parity * 1.03).contains(&cost.response), "{} of {parity}", cost.response);
}

#[test]
fn in_separate_accesses_a_small_write_of_raid_5_is_four_or_three() {
    near(Machine::of("raid5", Simulated::default()).cost().accesses, 4.0, 1e-6);
    near(Machine::of("raid5", KNOWN).cost().accesses, 3.0, 1e-6);
}

/// Stodolsky et al., sections 3 and 8.1: a write is answered when its record is in memory and its
/// data on the drive (footnote 8). There are few accesses to logs and parity.
#[test]
fn a_small_write_of_parity_logging_is_one_access_and_a_little() {
    for (simulated, service) in [(COMBINED, S + (3.0 + 2.0 / D) * R), (BOTH, S + (1.0 + 2.0 / D) * R)] {
        let cost = Machine::of("parity-logging", simulated).cost();
        assert!((1.0..1.2).contains(&cost.accesses), "{}", cost.accesses);
        // Sometimes a write waits for such an access.
        assert!((service * 0.95..service * 1.25).contains(&cost.response), "{} of {service}", cost.response);
    }
}

/// Stodolsky et al., section 11: with shorter records, a log buffer takes more of them, and so does
/// the log.
#[test]
fn compressed_records_are_appended_and_reintegrated_less_often() {
    let of = |thousandths| {
        let compression = Compression::of(thousandths).unwrap();
        let machine = Machine::of("parity-logging", Simulated { compression, ..KNOWN });
        let mut world = machine.world();
        // A single region, so that its log fills.
        ask_among(&mut world, Operation::Write { durable: false }, (BLOCK, 500), 80_000);
        world.log_tally().unwrap()
    };
    let whole = of(1_000);
    for thousandths in [500, 250] {
        let part = f64::from(thousandths) / 1e3;
        let found = of(thousandths);
        // (Headers are longer, and buffers are only counted when they are full.)
        near(found.appends as f64 / whole.appends as f64, part, 0.12);
        near(found.reintegrations as f64 / whole.reintegrations as f64, part, 0.12);
    }
    // A record takes a sector at least.
    assert_eq!(of(100), of(250));
}

/// Stodolsky et al., section 8.2, footnote 11.
#[test]
fn copies_that_are_written_in_turn_take_twice_the_time() {
    let mut machine = Machine::of("raid10", Simulated::default());
    let beside = machine.cost().response;
    machine.tuning.copies_in_turn = true;
    let cost = machine.cost();
    near(cost.accesses, 2.0, 1e-6);
    // The platters rotate in phase, and both arms start from the same cylinder.
    near(beside, S + (1.0 + 2.0 / D) * R, 0.01);
    near(cost.response, 2.0 * beside, 0.02);
}

/// Chen et al., section 7.1.1. For N disks with evenly distributed platter angles, the last disk
/// ends (N - 1) / 2N of a revolution after the mean.
#[test]
fn disks_that_read_a_stripe_wait_for_the_last_of_them() {
    for (apart, expected) in [(0, 0.0), (1, 5.0 / 12.0 * 2.0 * R)] {
        let mut world = Machine { apart, ..Machine::of("raid0", Simulated::default()) }.world();
        ask(&mut world, Operation::Read, BLOCK * 6, 5_000);
        let waited: f64 = world.members().map(|member| member.tally().synchronized.as_secs_f64()).sum();
        let mean = waited * 1e3 / accesses(&world) as f64;
        assert!((mean - expected).abs() < 0.01 * R, "{mean} ms, {expected} expected");
    }
}
