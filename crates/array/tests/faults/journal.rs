//! The journal, with write-back and for parity in its place: what is acknowledged as durable
//! survives, whenever the power goes and whichever member is lost with it; what was read is read
//! again; requests that pass a stage by and staged ones keep their order.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::Consistency;
use parlour_array::{Action, Event, Fault, LogCreation, Mode, Operation, Repair};
use parlour_units::{Sectors, Stripe, Unit};

/// What each sector may hold.
type May = BTreeMap<u64, Vec<Vec<u8>>>;

fn setup() -> Setup {
    let mut setup = Setup::logged(5);
    setup.member_length = 5 * 2_048;
    setup.tuning.slice = Sectors::new(8);
    setup.tuning.live_records = 20;
    setup.log.writes = Some(Sectors::new(512));
    setup
}

/// Parity in its place, whose new content is recorded with that of the data.
fn in_place() -> Setup {
    let mut setup = Setup { consistency: Consistency::Journal, ..Setup::named("raid5", 5) };
    setup.unit = 8;
    setup.member_length = 5 * 2_048;
    setup.commit_log = Some(Sectors::new(1_024));
    setup
}

/// Arrays whose entries stand on members.
fn on_members() -> [Setup; 4] {
    let staged = LogCreation { writes: Some(Sectors::new(512)), ..in_place().log };
    let lanes = LogCreation { writes: Some(Sectors::new(1_024)), lanes: Some(2), ..setup().log };
    let lanes = Setup { log: lanes, commit_log: None, member_length: 8 * 2_048, ..setup() };
    [setup(), in_place(), Setup { log: staged, ..in_place() }, lanes]
}

/// The arrays of the stories: each with its entries on members, and on journal devices.
fn setups() -> Vec<Setup> {
    let write_through = Setup { log: LogCreation { writes: None, ..setup().log }, ..setup() };
    let on_devices = on_members().into_iter().chain([write_through]).map(with_journals);
    on_members().into_iter().chain(on_devices).collect()
}

/// The same with two journal devices, of slots 5 and 6.
fn with_journals(setup: Setup) -> Setup {
    Setup { log: LogCreation { journals: 2, ..setup.log }, ..setup }
}

struct Story {
    world: World,
    may: May,
    /// Sectors of which it is not known since the last crash which of these they hold.
    unsure: BTreeSet<u64>,
    /// Sectors of long writes that crashes have cut off: with the loss of a member they may be
    /// lost.
    cut_off: BTreeSet<u64>,
    random: Random,
    /// Requests that are not answered yet: tag, place, content, and whether the answer promises
    /// durability.
    open: Vec<(u64, u64, Vec<u8>, bool)>,
    told: String,
}

impl Story {
    fn begin(setup: &Setup, seed: u64) -> Story {
        let mut world = World::new(setup, SEED + seed);
        world.settle();
        world.all_volatile();
        Story {
            world,
            may: May::new(),
            unsure: BTreeSet::new(),
            cut_off: BTreeSet::new(),
            random: Random(seed),
            open: Vec::new(),
            told: format!(
                "{}, {} journal devices, seed {seed}",
                setup.organization.name(1, 5),
                setup.log.journals
            ),
        }
    }

    /// The place of a request: few sectors, so that many overlap.
    fn place(&mut self, length: u64) -> u64 {
        let spread = self.random.below(2) * (self.world.capacity() / 2);
        spread + self.random.below(400 - length)
    }

    /// Submits a write that does not overlap others under way.
    fn write(&mut self) {
        let long = self.random.chance(6);
        let length = if long { 60 + self.random.below(100) } else { 1 + self.random.below(6) };
        let at = self.place(length);
        let overlaps = |(_, other, content, _): &(u64, u64, Vec<u8>, bool)| {
            at < other + content.len() as u64 / 512 && *other < at + length
        };
        if self.open.iter().any(overlaps) {
            return;
        }
        let zeroes = long && self.random.chance(3);
        let new = if zeroes { vec![0; length as usize * 512] } else { payload(&mut self.random, length) };
        for (sector, content) in (at..).zip(new.chunks(512)) {
            self.may.entry(sector).or_insert_with(|| vec![vec![0; 512]]).push(content.to_vec());
        }
        let durable = self.random.chance(3);
        let tag = match zeroes {
            true => {
                let operation = Operation::WriteZeroes { may_unmap: true, fast_only: false, durable };
                self.world.submit(operation, at, length, None)
            }
            false => self.world.submit(Operation::Write { durable }, at, length, Some(&new)),
        };
        self.open.push((tag, at, new, durable));
    }

    /// Takes the answers in.
    fn hear(&mut self) {
        for (tag, at, new, durable) in std::mem::take(&mut self.open) {
            let Some((result, _)) = self.world.done.remove(&tag) else {
                self.open.push((tag, at, new, durable));
                continue;
            };
            result.unwrap_or_else(|error| panic!("{}: write at {at}: {error}", self.told));
            for (sector, content) in (at..).zip(new.chunks(512)) {
                let values = self.may.get_mut(&sector).unwrap();
                if durable {
                    values.clear();
                }
                values.retain(|value| value != content);
                values.push(content.to_vec());
                self.unsure.remove(&sector);
            }
        }
    }

    fn steps(&mut self, most: u64) {
        (0..self.random.below(most)).for_each(|_| _ = self.world.step());
        self.hear();
    }

    /// Waits for all answers, and flushes: each sector holds the last that was answered.
    fn flush(&mut self) {
        while !self.open.is_empty() {
            assert!(self.world.step() || self.wake(), "{}: requests are never answered", self.told);
            self.hear();
        }
        self.world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
        for (sector, values) in &mut self.may {
            if !self.unsure.contains(sector) {
                values.drain(..values.len() - 1);
            }
        }
    }

    fn wake(&mut self) -> bool {
        let due = self.world.array.poll_timeout();
        if let Some(due) = due {
            self.world.now = self.world.now.max(due);
            self.world.array.handle_timeout(self.world.now);
            self.world.drain();
        }
        due.is_some()
    }

    /// Reads some sectors for which no write is under way: they hold what was answered last.
    fn read(&mut self) {
        let length = 1 + self.random.below(40);
        let at = self.place(length);
        let busy = |(_, other, content, _): &(u64, u64, Vec<u8>, bool)| {
            at < other + content.len() as u64 / 512 && *other < at + length
        };
        if self.open.iter().any(busy) {
            return;
        }
        let content = match self.world.read_now(at, length) {
            Ok(content) => content,
            Err(_) if (at..at + length).any(|sector| self.cut_off.contains(&sector)) => return,
            Err(error) => panic!("{}: read at {at}: {error}", self.told),
        };
        self.hear();
        for (sector, content) in (at..).zip(content.chunks(512)) {
            let Some(values) = self.may.get_mut(&sector) else { continue };
            if self.unsure.remove(&sector) {
                assert!(values.iter().any(|value| value == content), "{}: sector {sector}", self.told);
                *values = vec![content.to_vec()];
            }
            let last = values.last().unwrap();
            assert!(last == content, "{}: sector {sector} is read as it was before", self.told);
        }
    }

    fn play(&mut self, most: u64) {
        for _ in 0..self.random.below(most) {
            match self.random.below(12) {
                0 => self.flush(),
                1 | 2 => self.read(),
                3 => _ = self.wake(),
                4 | 5 => self.steps(40),
                _ => self.write(),
            }
        }
        self.steps(60);
    }

    fn crash(mut self, loses: &[usize]) -> Story {
        loses.iter().for_each(|lost| self.world.disks[*lost].dead = true);
        let world = self.world.crash(false);
        let world = world.unwrap_or_else(|error| panic!("{}: {error}", self.told));
        let unsure = self.may.keys().copied().collect();
        let sectors = |(_, at, content, _): &(u64, u64, Vec<u8>, bool)| *at..at + content.len() as u64 / 512;
        let long = self.open.iter().filter(|(_, _, content, _)| content.len() > 40 * 512);
        self.cut_off.extend(long.flat_map(sectors));
        Story { world, open: Vec::new(), unsure, ..self }
    }

    /// What is read may have been written there, and stays.
    fn check(&mut self) {
        for (sector, values) in &mut self.may {
            match self.world.read_now(*sector, 1) {
                Ok(content) => {
                    assert!(values.contains(&content), "{}: sector {sector}", self.told);
                    *values = vec![content];
                }
                Err(error) => {
                    assert!(self.cut_off.contains(sector), "{}: sector {sector}: {error}", self.told)
                }
            }
        }
        self.unsure.clear();
    }

    /// Replaces members that have failed, and waits until the new ones are rebuilt.
    fn replace_failed(&mut self) {
        let inactive = |slot: &u16| {
            let status = self.world.array.status();
            status.slot(*slot).is_some_and(|status| status.state == "failed")
        };
        let slots = self.world.array.status().slots().count() as u16;
        let failed: Vec<u16> = (0..slots).filter(inactive).collect();
        failed.into_iter().for_each(|slot| self.world.replace(slot));
        self.world.settle();
        self.world.all_volatile();
    }

    fn end(mut self) {
        self.world.settle();
        self.check();
        let report = self.world.scrub(Repair::Nothing);
        assert_eq!(report.mismatches, 0, "{}", self.told);
        self.replace_failed();
        let mut world = self.world.restart();
        for (sector, values) in &self.may {
            match world.read_now(*sector, 1) {
                Ok(content) => assert!(values.contains(&content), "{}: sector {sector}", self.told),
                Err(error) => {
                    assert!(self.cut_off.contains(sector), "{}: sector {sector}: {error}", self.told)
                }
            }
        }
    }
}

/// The number of stories of each kind and array.
const STORIES: u64 = 150;

fn stories(first: u64) -> impl Iterator<Item = (Setup, u64)> {
    setups()
        .into_iter()
        .flat_map(move |setup| (first..first + STORIES).map(move |seed| (setup.clone(), seed)))
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_is_acknowledged_survives_crashes() {
    for (setup, seed) in stories(0) {
        let mut story = Story::begin(&setup, seed);
        for _ in 0..4 {
            story.play(60);
            story = story.crash(&[]);
            if story.random.chance(2) {
                story.steps(80);
            } else {
                story.check();
            }
        }
        story.end();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_is_acknowledged_survives_crashes_with_the_loss_of_a_member() {
    for (setup, seed) in stories(1_000_000) {
        let mut story = Story::begin(&setup, seed);
        story.play(80);
        let mut lost = vec![story.random.below(5) as usize];
        if setup.log.journals > 0 {
            lost = match story.random.below(3) {
                0 => lost,
                1 => vec![5 + story.random.below(2) as usize],
                _ => vec![lost[0], 5 + story.random.below(2) as usize],
            };
        }
        story = story.crash(&lost);
        story.check();
        for replaces in [false, true] {
            story.play(40);
            if replaces {
                story.flush();
                story.replace_failed();
            }
            story = story.crash(&[]);
            story.check();
        }
        story.end();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_small_write_is_answered_after_one_entry_and_survives_without_a_flush() {
    let mut world = World::new(&setup(), SEED);
    world.settle();
    world.all_volatile();
    let new = payload(&mut Random(1), 3);
    let (start, length) = world.array.geometry().commit_log();
    let tag = world.write(1_000, &new);
    while !world.done.contains_key(&tag) {
        for effect in &world.pending {
            let in_log = |action: &Action| match *action {
                Action::Write { at, .. } => at >= start && at < start + length,
                _ => action.is_computation(),
            };
            assert!(in_log(&effect.action), "{effect:?}");
        }
        assert!(world.step());
    }
    let mut world = world.crash(false).unwrap();
    assert_eq!(world.read_now(1_000, 3).unwrap(), new);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_stop_leaves_nothing_in_the_stage() {
    let mut world = World::new(&setup(), SEED);
    let new = payload(&mut Random(1), 3);
    world.write_now(1_000, &new).unwrap();
    let mut world = world.restart();
    assert_eq!(world.array.status().counters.destaged, 0);
    assert_eq!(world.read_now(1_000, 3).unwrap(), new);
}

/// Runs until nothing is pending, through the next few timeouts.
fn rest(world: &mut World) {
    for _ in 0..20 {
        let before = world.handed_out;
        while world.step() {
            assert!(
                world.handed_out < before + 20_000,
                "accesses go on for ever: {:?}",
                world.array.status()
            );
        }
        let Some(due) = world.array.poll_timeout() else { return };
        world.now = world.now.max(due);
        world.array.handle_timeout(world.now);
        world.drain();
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn nothing_waits_or_goes_on_for_ever_where_no_member_makes_anything_durable() {
    let through = Setup { log: LogCreation { writes: None, ..setup().log }, ..setup() };
    let faults = [Fault::Gone, Fault::Undurable].into_iter();
    let cases = faults.flat_map(|fault| [setup(), through.clone()].map(|setup| (fault, setup)));
    for (seed, (fault, setup)) in cases.cycle().take(40).enumerate() {
        let mut world = World::new(&setup, SEED + seed as u64);
        world.settle();
        let old = payload(&mut Random(1), 3);
        world.write_now(1_000, &old).unwrap();
        let staged = payload(&mut Random(2), 3);
        let tag = world.write(2_000, &staged);
        (0..seed).for_each(|_| _ = world.step());
        world.disks.iter_mut().for_each(|disk| disk.durable_writes_fail = Some(fault));
        let small = world.write(1_001, &payload(&mut Random(3), 1));
        let long = world.write(900, &payload(&mut Random(4), 200));
        rest(&mut world);
        let answered = [tag, small, long].map(|tag| world.done.contains_key(&tag));
        assert_eq!(answered, [true; 3], "{fault:?}, {seed} steps");
        world.array.stop(world.now);
        world.drain();
        rest(&mut world);
        let ended = matches!(world.array.mode(), Mode::Stopped | Mode::Halted);
        assert!(ended, "{fault:?}, {seed} steps: the stop never ends: {:?}", world.array.held());
    }
}

/// A write that finds neither old data nor parity has no record: what was recorded before of its
/// sectors must not come back over it.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_write_without_a_record_is_not_undone_by_content_that_was_recorded_before() {
    let mut world = World::new(&in_place(), SEED);
    world.settle();
    world.write_now(0, &payload(&mut Random(1), 1)).unwrap();
    let layout = world.array.geometry().layout().clone();
    let start = world.array.geometry().data_start().get();
    for unit in [0, layout.data_units()] {
        let location = layout.locate(Stripe::new(0), Unit::new(unit));
        world.disk_at(location.slot.get()).unreadable.insert(start + location.at.get());
    }
    let new = payload(&mut Random(7), 1);
    world.write_now(0, &new).unwrap();
    let blind = |event: &Event| matches!(event, Event::BadBlocksRecorded { .. });
    assert!(world.events.iter().any(blind), "it was no such write");
    world.do_now(Operation::Flush, 0, 0, None).0.unwrap();
    let mut world = world.crash(false).unwrap();
    world.settle();
    assert!(world.read_now(0, 1).unwrap() == new);
}

/// After a crash with the loss of a member: parity cannot be read whose content is recorded.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_block_that_cannot_be_read_is_written_anew_if_its_content_is_recorded() {
    let mut world = World::new(&in_place(), SEED);
    world.settle();
    let layout = world.array.geometry().layout().clone();
    let old = payload(&mut Random(1), layout.stripe_data().get());
    world.write_now(0, &old).unwrap();
    let new = payload(&mut Random(2), 1);
    world.do_now(Operation::Write { durable: true }, 0, 1, Some(&new)).0.unwrap();
    let start = world.array.geometry().data_start().get();
    let place = |unit| layout.locate(Stripe::new(0), Unit::new(unit));
    let parity = place(layout.data_units());
    world.disk_at(parity.slot.get()).unreadable.insert(start + parity.at.get());
    world.disk_at(place(1).slot.get()).dead = true;
    let mut world = world.crash(false).unwrap();
    world.settle();
    let unit = layout.unit_length().get();
    let expected = &old[unit as usize * 512..][..512];
    assert!(world.read_now(unit, 1).unwrap() == expected, "it is computed from the parity");
    assert!(world.read_now(0, 1).unwrap() == new);
    assert_eq!(world.array.status().unreadable.get(), 0);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn staged_writes_in_a_row_are_destaged_together() {
    let mut world = World::new(&setup(), SEED);
    world.settle();
    let start = world.array.geometry().data_start();
    let new: Vec<Vec<u8>> = (0..8).map(|seed| payload(&mut Random(seed), 1)).collect();
    for (at, new) in (0..).zip(&new) {
        world.do_now(Operation::Write { durable: true }, at, 1, Some(new)).0.unwrap();
    }
    let (mut seen, mut reads) = (BTreeSet::new(), 0);
    loop {
        for effect in &world.pending {
            let of_data = matches!(effect.action, Action::Read { at, .. } if at >= start);
            reads += u64::from(seen.insert(effect.id.get()) && of_data);
        }
        if world.array.status().counters.destaged == 8 {
            break;
        }
        if !world.step() {
            let due = world.array.poll_timeout().expect("something is staged");
            world.now = world.now.max(due);
            world.array.handle_timeout(world.now);
            world.drain();
        }
    }
    assert_eq!(reads, 1, "the old data of all is read in one access");
    for (at, new) in (0..).zip(&new) {
        assert_eq!(world.read_now(at, 1).unwrap(), *new);
    }
}

/// After a crash with the loss of a member: blocks of another member's commit log cannot be read.
#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_block_of_the_commit_log_that_cannot_be_read_costs_nothing_where_no_entry_can_be_the_newest() {
    for setup in setups() {
        let mut world = World::new(&setup, SEED);
        world.settle();
        world.all_volatile();
        let new: Vec<Vec<u8>> = (0..8).map(|seed| payload(&mut Random(seed), 3)).collect();
        for (at, new) in (0..).zip(&new) {
            world.do_now(Operation::Write { durable: true }, at * 100, 3, Some(new)).0.unwrap();
        }
        let geometry = world.array.geometry().clone();
        world.disk_at(4).dead = true;
        for part in geometry.commit_parts() {
            // (In the second half, which no entry has reached.)
            let (start, length) = geometry.commit_part(*part);
            let sector = start.get() + length.get() / 4 * 3;
            world.disk_at(1).unreadable.insert(sector);
        }
        let mut world = world.crash(false).expect("what is unreadable is not needed");
        world.settle();
        for (at, new) in (0..).zip(&new) {
            assert!(world.read_now(at * 100, 3).unwrap() == *new);
        }
        let damaged = |event: &Event| matches!(event, Event::CommitLogDamaged);
        assert!(!world.events.iter().any(damaged), "the log is whole");
    }
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn a_block_that_may_hide_the_newest_entry_is_not_passed_over() {
    for setup in on_members() {
        let mut world = World::new(&setup, SEED);
        world.settle();
        let new = payload(&mut Random(1), 3);
        world.do_now(Operation::Write { durable: true }, 0, 3, Some(&new)).0.unwrap();
        let geometry = world.array.geometry().clone();
        for slot in 0..5 {
            for part in geometry.commit_parts() {
                let start = geometry.commit_part(*part).0.get();
                world.disk_at(slot).unreadable.insert(start);
            }
        }
        world.disk_at(4).dead = true;
        assert!(world.crash(false).is_err(), "all copies of the newest entry may be there");
    }
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    #[test]
    fn every_bug_of_the_journal_is_found() {
        let tests: [fn(); 5] = [
            super::a_write_without_a_record_is_not_undone_by_content_that_was_recorded_before,
            super::a_small_write_is_answered_after_one_entry_and_survives_without_a_flush,
            super::a_stop_leaves_nothing_in_the_stage,
            super::what_is_acknowledged_survives_crashes,
            super::what_is_acknowledged_survives_crashes_with_the_loss_of_a_member,
        ];
        find_each(&Bug::OF_WRITE_BACK, &tests);
        // (It shows after a loss only, and the other stories take long to pass.)
        find_each(&[Bug::MissingChecksNotVoided], &tests[4..]);
        // (The second takes many more stories, which the fault tester has.)
        let others = [Bug::MissingChecksNotVoided, Bug::MissingDataNotRecorded];
        let content: Vec<Bug> = Bug::OF_CONTENT.into_iter().filter(|bug| !others.contains(bug)).collect();
        find_each(&content, &tests);
    }
}
