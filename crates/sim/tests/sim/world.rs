//! Tests of the array on drives, in simulated time.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Class, Creation, Geometry, LogCreation, Operation, Simulated, Tag, Tuning};
use parlour_drive::angle::Angle;
use parlour_drive::catalogue;
use parlour_drive::description::Description;
use parlour_drive::queue::Discipline;
use parlour_sim::member::Member;
use parlour_sim::opening::{self, New};
use parlour_sim::world::World;
use parlour_units::{Instant, Sector, Sectors};
use parlour_workload::random::Random;

const BLOCK: Sectors = Sectors::new(8);
const FAR: Instant = Instant::from_nanoseconds(1 << 62);

/// An array of IBM 0661 drives.
fn world(organization: &str, members: u16, consistency: Consistency) -> World {
    let description = Description::parse(catalogue::find("ibm-0661").unwrap()).unwrap();
    let mechanics = description.mechanics(Angle::default()).unwrap();
    let row = Organization::named(organization).unwrap();
    let length = Sectors::new(mechanics.surface.blocks()).round_down(Sectors::new(2_048));
    let creation = Creation {
        organization: row.organization,
        checks: row.checks.of(members),
        members,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        // Tracks of twelve units.
        unit: if organization == "floating" { Sectors::new(4) } else { Sectors::new(48) },
        block: if organization == "floating" { Sectors::new(1) } else { BLOCK },
        member_length: length,
        log: LogCreation::default(),
        consistency,
    };
    let geometry = Geometry::create_on(&creation, opening::cylinder(&mechanics).unwrap()).unwrap();
    let tuning = Tuning { bitmap: false, ..Tuning::default() };
    let simulated = Simulated::default();
    let drive = |_| Member::described(&description, Angle::default(), Discipline::Fcfs).unwrap();
    let new = New { name: "test", geometry: &geometry, length, tuning, simulated };
    World::new(vec![opening::open(&new, (0..members).map(drive).collect()).unwrap()])
}

/// A number of hosts, each of which issues its next request as soon as the last one is answered.
/// Returns the time of each answer.
fn closed(world: &mut World, hosts: u64, count: usize, operation: Operation) -> Vec<Instant> {
    let mut random = Random::new(7);
    let blocks = world.capacity().get() / BLOCK.get();
    let mut ask = |world: &mut World, tag| {
        let at = Sector::new(random.below(blocks) * BLOCK.get());
        assert!(world.submit(tag, operation, at, BLOCK));
    };
    (0..hosts).for_each(|host| ask(world, Tag(host)));
    let mut answered = Vec::new();
    while answered.len() < count {
        assert!(world.step(FAR), "nothing happens any more");
        let tags: Vec<Tag> =
            world.answers().map(|answer| answer.result.map(|()| answer.tag).unwrap()).collect();
        for tag in tags {
            answered.push(world.now());
            ask(world, tag);
        }
    }
    answered
}

/// Stodolsky et al., section 3: S + R + the time of a data unit.
#[test]
fn a_lone_host_waits_for_seek_rotation_and_transfer() {
    let mut world = world("simple", 1, Consistency::Bitmap);
    let count = 100_000;
    let answered = closed(&mut world, 1, count, Operation::Read);
    let mean = answered[count - 1].nanoseconds() as f64 / 1e6 / count as f64;
    let expected = 12.69 + 13.9 / 2.0 + 13.9 * 8.0 / 48.0;
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} ms, {expected} expected");
}

/// Stodolsky et al., section 4: an access that reads a unit and writes it to the nearest free
/// position takes S + (1 + 5.52/D)R + H. A small write is two such accesses.
#[test]
fn a_floating_access_takes_a_seek_half_a_turn_and_hardly_more() {
    let mut world = world("floating", 4, Consistency::Bitmap);
    let unit = world.volumes()[0].array().unwrap().geometry().layout().unit_length();
    let mut random = Random::new(7);
    let units = world.capacity() / unit;
    let count = 30_000;
    for _ in 0..count {
        let at = Sector::new(random.below(units) * unit.get());
        assert!(world.submit(Tag(0), Operation::Write { durable: false }, at, unit));
        while world.answers().next().is_none() {
            assert!(world.step(FAR), "nothing happens any more");
        }
    }
    // Each access reads and writes.
    let traffic = world.volumes()[0].array().unwrap().traffic(Class::Foreground);
    let accesses = traffic.writes;
    assert_eq!((accesses, traffic.reads), (2 * count, 2 * count));
    let busy: f64 = world.members().map(|member| member.tally().busy.nanoseconds() as f64 / 1e6).sum();
    let mean = busy / accesses as f64;
    let (turn, per_track) = (13.9, 48.0 / unit.get() as f64);
    let expected = 12.69 + (1.0 + 5.52 / per_track) * turn / 2.0 + 1.16;
    println!("{mean:.2} ms, {expected:.2} expected");
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} ms, {expected} expected");
}

/// Molnar: one stream is read at the rate of all members with far copies, and not with near copies.
#[test]
fn a_stream_over_far_copies_is_read_at_the_rate_of_all_members() {
    let rate = |organization| {
        let mut world = world(organization, 4, Consistency::Bitmap);
        let (length, count) = (Sectors::new(48 * 14 * 4), 60);
        for index in 0..count {
            let at = Sector::ZERO + length * index;
            assert!(world.submit(Tag(0), Operation::Read, at, length));
            while world.answers().next().is_none() {
                assert!(world.step(FAR), "nothing happens any more");
            }
        }
        (length * count).bytes().get() as f64 / world.now().nanoseconds() as f64
    };
    let (near, far, striped) = (rate("raid1"), rate("raid1-far"), rate("raid0"));
    println!("near {near:.4}, far {far:.4}, striped {striped:.4}");
    assert!((far / striped - 1.0).abs() < 0.02, "far {far}, striped {striped}");
    assert!(far > 1.5 * near, "far {far}, near {near}");
}

/// Chen et al., section 3: a small write of RAID 5 is two reads, and two writes a revolution later;
/// a small write of a mirror is two writes.
#[test]
fn a_small_write_costs_a_mirror_two_accesses_and_raid_5_four() {
    let rate = |organization, operation| {
        let mut world = world(organization, 4, Consistency::Bitmap);
        let count = 20_000;
        count as f64 / (closed(&mut world, 64, count, operation)[count - 1].nanoseconds() as f64 / 1e9)
    };
    let write = Operation::Write { durable: false };
    let (reads, mirror, raid5) =
        (rate("raid0", Operation::Read), rate("raid10", write), rate("raid5", write));
    // Both copies are written, each after a seek of its own.
    assert!((0.47..0.53).contains(&(mirror / reads)), "{mirror} of {reads}");
    assert!((0.20..0.34).contains(&(raid5 / reads)), "{raid5} of {reads}");
}

#[test]
fn the_same_questions_get_the_same_answers_at_the_same_times() {
    for (organization, consistency) in [
        ("raid1", Consistency::Bitmap),
        ("raid5", Consistency::Bitmap),
        ("parity-logging", Consistency::Bitmap),
        ("parity-logging", Consistency::Journal),
        ("floating", Consistency::Bitmap),
    ] {
        let write = Operation::Write { durable: false };
        let run = || closed(&mut world(organization, 4, consistency), 8, 2_000, write);
        assert_eq!(run(), run(), "{organization}");
    }
}
