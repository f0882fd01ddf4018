//! Compares the times of accesses with values that are known exactly.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use parlour_drive::angle::Angle;
use parlour_drive::catalogue::find;
use parlour_drive::description::Description;
use parlour_drive::drive::{Drive, Hit};
use parlour_drive::electronics::Electronics;
use parlour_drive::mechanics::{Arm, Mechanics, Parts, Way, ZeroLatency};
use parlour_drive::surface::Place;
use parlour_units::{Duration, Instant};

fn ibm_0661() -> Mechanics {
    Description::parse(find("ibm-0661").unwrap()).unwrap().mechanics(Angle::default()).unwrap()
}

/// Pseudo-random numbers, always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Stodolsky et al., section 3: S, R and the time of a data unit.
#[test]
fn random_accesses_cost_the_mean_seek_half_a_revolution_and_their_transfer() {
    let drive = ibm_0661();
    let (mut numbers, mut arm, mut now) = (Numbers(1), Arm::default(), Instant::ZERO);
    let count = 200_000;
    let mut sum = Parts::default();
    for _ in 0..count {
        let block = numbers.below(drive.surface.blocks() / 4) * 4;
        let parts = drive.access(&mut arm, now, Way::Read, (block, 4));
        now = now + parts.total() + Duration::from_nanoseconds(numbers.below(50_000_000));
        sum += parts;
    }
    let mean = |time: Duration| milliseconds(time) / f64::from(count);
    assert!((mean(sum.seek) - 12.69).abs() < 0.05, "{}", mean(sum.seek));
    assert!((mean(sum.rotation) - 13.9 / 2.0).abs() < 0.03, "{}", mean(sum.rotation));
    assert!((mean(sum.transfer) - 13.9 * 4.0 / 48.0).abs() < 1e-3, "{}", mean(sum.transfer));
}

/// A read-modify-write of a block takes a revolution after the read (Stodolsky et al., section 3).
#[test]
fn a_write_after_a_read_of_the_same_block_waits_for_it_to_come_round() {
    let drive = ibm_0661();
    let (mut arm, start) = (Arm::default(), Instant::ZERO);
    let read = drive.access(&mut arm, start, Way::Read, (100_000, 4));
    let write = drive.access(&mut arm, start + read.total(), Way::Write, (100_000, 4));
    assert_eq!(write.seek, Duration::ZERO);
    let revolution = write.total().nanoseconds().abs_diff(drive.spindle.revolution.nanoseconds());
    assert!(revolution < 10, "{}", write.total());
}

/// Stodolsky et al., section 3: S + (3 + 2/D) R.
#[test]
fn a_read_modify_write_costs_a_seek_and_three_halves_of_a_revolution_and_its_transfer() {
    let mut drive = Drive::new(ibm_0661(), Electronics::default());
    let (mut numbers, mut now, mut busy) = (Numbers(2), Instant::ZERO, Parts::default());
    let count = 200_000;
    for _ in 0..count {
        let block = numbers.below(drive.mechanics().surface.blocks() / 4) * 4;
        let served = drive.modify(now, block, 4);
        assert_eq!(served.done.since(now), served.parts.total());
        now = served.done + Duration::from_nanoseconds(numbers.below(50_000_000));
        busy += served.parts;
    }
    let mean = |time: Duration| milliseconds(time) / f64::from(count);
    let (units, half) = (48.0 / 4.0, 13.9 / 2.0);
    assert!((mean(busy.seek) - 12.69).abs() < 0.05, "{}", mean(busy.seek));
    // In the revolution between, the unit passes once more and is written.
    assert!((mean(busy.rotation) - half * (3.0 - 2.0 / units)).abs() < 0.03, "{}", mean(busy.rotation));
    assert!((mean(busy.transfer) - half * 4.0 / units).abs() < 1e-3, "{}", mean(busy.transfer));
    let expected = 12.69 + (3.0 + 2.0 / units) * half;
    assert!((mean(busy.total()) / expected - 1.0).abs() < 0.003, "{} of {expected}", mean(busy.total()));
}

/// Cached data is durable only later.
#[test]
fn a_read_modify_write_is_in_the_buffer_before_it_is_on_the_platters() {
    let description = Description::parse(find("seagate-cheetah-9lp").unwrap()).unwrap();
    let mechanics = description.mechanics(Angle::default()).unwrap();
    let revolution = mechanics.spindle.revolution;
    let mut drive = Drive::new(mechanics, description.electronics().unwrap());
    let served = drive.modify(Instant::ZERO, 600_000, 8);
    let late = drive.flush(served.done).since(served.done);
    assert!(late > Duration::ZERO && late < revolution, "{late}");
}

/// The skews hide head switches and seeks to the next cylinder: no revolution is lost.
#[test]
fn a_long_read_loses_no_revolution() {
    let drive = ibm_0661();
    let tracks = 3 * 14;
    let parts = drive.access(&mut Arm::default(), Instant::ZERO, Way::Read, (0, 48 * tracks));
    assert_eq!(parts.transfer, drive.spindle.revolution * tracks);
    // 39 head switches are hidden in four sectors each, and 2 seeks in seven each.
    let skews = 13.9 / 48.0 * (39.0 * 4.0 + 2.0 * 7.0);
    let between = milliseconds(parts.seek + parts.rotation);
    assert!((between - skews).abs() < 0.01, "{between} ms between tracks, {skews} expected");
}

#[test]
fn with_zero_latency_a_track_takes_a_revolution_from_anywhere() {
    let mut drive = ibm_0661();
    drive.zero_latency = ZeroLatency { reads: true, writes: false };
    let sector = drive.spindle.revolution.nanoseconds() / 48;
    for step in 0..1_000 {
        let at = Instant::from_nanoseconds(step * 13_901);
        let read = drive.access(&mut Arm::default(), at, Way::Read, (0, 48)).total().nanoseconds();
        let over = read - drive.spindle.revolution.nanoseconds();
        assert!(over <= sector, "{over} ns more than a revolution");
        let half = drive.access(&mut Arm::default(), at, Way::Read, (0, 24)).total();
        assert!(half.nanoseconds() <= drive.spindle.revolution.nanoseconds() + sector, "{half}");
    }
    let write = drive.access(&mut Arm::default(), Instant::from_nanoseconds(5_000_000), Way::Write, (0, 48));
    assert!(write.total() > drive.spindle.revolution + Duration::from_millis(5), "{}", write.total());
}

/// The RZ26 and the Atlas 10K read on to the end of the track. With zero latency, the read-ahead or
/// the end of the request may pass first. The host still gets blocks in order: the bus sends each
/// block when it has passed and the blocks before it have been sent.
#[test]
fn the_host_has_a_read_when_each_block_has_passed_and_those_behind_it_are_sent() {
    for (name, watermark) in
        [("dec-rz26", 0.0), ("dec-rz26", 1.0), ("quantum-atlas-10k", 0.0), ("quantum-atlas-10k", 1.0)]
    {
        let description = Description::parse(find(name).unwrap()).unwrap();
        let mechanics = description.mechanics(Angle::default()).unwrap();
        let mut electronics = description.electronics().unwrap();
        electronics.buffer.read_watermark = watermark;
        let overheads = electronics.overheads.clone();
        let (mut numbers, mut amid, mut seen) = (Numbers(2), 0, 0);
        while seen < 2_000 {
            let blocks = 1 + numbers.below(40);
            let block = numbers.below(mechanics.surface.blocks() - blocks);
            let at = Instant::from_nanoseconds(numbers.below(50_000_000));
            let (_, on_track, passed) = mechanics.surface.run(block, blocks);
            if on_track < blocks || passed > blocks {
                continue;
            }
            seen += 1;
            let command = at + overheads.read_miss.after(Way::Read);
            let passes =
                |index| mechanics.pass(&mut Arm::default(), command, Way::Read, block + index, 1).ends;
            let bus = electronics.bus.0;
            let sent = (0..blocks).map(|index| passes(index) + bus * (blocks - index)).max().unwrap();
            let awaited = ((blocks as f64 * watermark) as u64).max(1);
            let preparation = overheads.reselect + overheads.data_preparation;
            let left = command + overheads.read_disconnect.after(Way::Read);
            let taken = (0..awaited).map(passes).max().unwrap().max(left) + preparation;
            let wanted = sent.max(taken + bus * blocks) + overheads.read_completion;
            let read = Drive::new(mechanics.clone(), electronics.clone()).serve(at, Way::Read, block, blocks);
            let off = read.done.nanoseconds().abs_diff(wanted.nanoseconds());
            assert!(off < 1_000, "{name}: {blocks} from {block}: {off} ns off");
            amid += u64::from(passes(0) > passes(blocks - 1));
        }
        assert!(amid > 0, "{name}: heads arrive amid a request");
    }
}

/// The Atlas 10K keeps blocks that pass on a track before the request, once the heads are there;
/// the Cheetah 9LP does not.
#[test]
fn blocks_that_pass_before_a_request_are_read_from_the_buffer_where_the_drive_keeps_them() {
    for (keeps, name) in [(true, "quantum-atlas-10k"), (false, "seagate-cheetah-9lp")] {
        let description = Description::parse(find(name).unwrap()).unwrap();
        let mechanics = description.mechanics(Angle::default()).unwrap();
        let electronics = description.electronics().unwrap();
        let (mut numbers, mut hits) = (Numbers(3), [0, 0]);
        for _ in 0..2_000 {
            let block = 400 + numbers.below(mechanics.surface.blocks() - 404);
            let at = Instant::from_nanoseconds(numbers.below(50_000_000));
            let begins = |block| {
                let command = at + electronics.overheads.read_miss.after(Way::Read);
                mechanics.pass(&mut Arm::default(), command, Way::Read, block, 1).begins
            };
            let back = 1 + numbers.below(200);
            let [place, before] = [block, block - back].map(|block| mechanics.surface.place(block));
            let track = |place: Place| (place.cylinder, place.head);
            let passed = track(before) == track(place) && begins(block - back) < begins(block);
            let mut drive = Drive::new(mechanics.clone(), electronics.clone());
            let done = drive.serve(at, Way::Read, block, 4).done;
            let again = drive.serve(done, Way::Read, block - back, 1).hit;
            assert_eq!(again == Hit::Whole, keeps && passed, "{name}: {back} before {block}");
            hits[usize::from(passed)] += 1;
        }
        assert!(hits.iter().all(|count| *count > 200), "{hits:?}");
    }
}

#[test]
fn writes_settle_where_the_arm_has_moved() {
    let description = Description::parse(find("hp-c2247a").unwrap()).unwrap();
    let drive = description.mechanics(Angle::default()).unwrap();
    let far = drive.surface.place(1_000_000);
    let moving = |way| drive.movement(Arm::default(), far, way);
    assert_eq!(moving(Way::Write), moving(Way::Read) + Duration::from_micros(650));
    let here = drive.surface.place(0);
    assert_eq!(
        drive.movement(Arm { cylinder: here.cylinder, head: here.head }, here, Way::Write),
        Duration::ZERO
    );
}
