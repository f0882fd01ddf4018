//! The commit log: entries stand on f + 1 members, any of which may be lost with a crash. What was
//! answered stays, and what was read once is read again, through two crashes with a loss between
//! them, a member that fails under an entry, a replaced one, and the loss of one of each group.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::BTreeMap;

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::Consistency;
use parlour_array::{Action, Event, Operation, Repair};
use parlour_units::{Region, Sectors, Slot};

/// What each sector may hold.
type May = BTreeMap<u64, Vec<Vec<u8>>>;

/// A stripe in each of a few regions is used.
const REGIONS: u64 = 3;

fn setups() -> [Setup; 3] {
    let mut one = Setup::logged(5);
    one.member_length = 4 * 2_048;
    one.tuning.slice = Sectors::new(8);
    one.tuning.live_records = 5;
    let mut two = Setup { groups: 2, members: 8, ..one.clone() };
    two.log.regions = Some(4);
    let mut lanes = one.clone();
    (lanes.log.lanes, lanes.member_length) = (Some(3), 6 * 2_048);
    [one, two, lanes]
}

/// RAID 5, where nothing counts after a flush. The log is as short as such units allow, so it is
/// often full.
fn often_full() -> Setup {
    let mut setup = Setup { consistency: Consistency::Journal, unit: 3, ..Setup::named("raid5", 5) };
    (setup.member_length, setup.commit_log) = (4 * 2_048, Some(Sectors::new(96)));
    setup
}

struct Story {
    world: World,
    may: May,
    random: Random,
    told: String,
    setup: Setup,
}

impl Story {
    fn begin(setup: &Setup, seed: u64) -> Story {
        let mut world = World::new(setup, SEED + seed);
        world.settle();
        world.all_volatile();
        let told = format!("{} groups, seed {seed}", setup.groups);
        Story { world, may: May::new(), random: Random(seed), told, setup: setup.clone() }
    }

    /// Writes a few sectors, none of them a whole stripe, durably or not.
    fn write(&mut self) {
        let (at, new) = self.draw();
        let waits = self.random.chance(2);
        self.may_hold(at, &new, waits);
        if waits {
            let (write, length) = (Operation::Write { durable: true }, new.len() as u64 / 512);
            let done = self.world.do_now(write, at, length, Some(&new)).0;
            done.unwrap_or_else(|error| panic!("{}: write at {at}: {error}", self.told));
        } else {
            self.world.write(at, &new);
        }
    }

    /// Begins a write, and does nothing for it.
    fn write_unanswered(&mut self) {
        let (at, new) = self.draw();
        self.may_hold(at, &new, false);
        self.world.write(at, &new);
    }

    /// Where something is to be written, and what.
    fn draw(&mut self) -> (u64, Vec<u8>) {
        let layout = self.world.array.geometry().layout();
        let regions = REGIONS.min(layout.region_count().into());
        let region = Region::new(self.random.below(regions) as u32);
        let data = layout.stripe_data().get();
        let stripe = layout.stripe_in(region, self.random.below(2)).unwrap().get();
        let length = 1 + self.random.below(3);
        let at = stripe * data + self.random.below(data - length);
        (at, payload(&mut self.random, length))
    }

    /// From now on, these sectors may hold this, and what they may hold already unless it is
    /// `certain`.
    fn may_hold(&mut self, at: u64, new: &[u8], certain: bool) {
        for (sector, content) in (at..).zip(new.chunks(512)) {
            let values = self.may.entry(sector).or_insert_with(|| vec![vec![0; 512]]);
            if certain {
                values.clear();
            }
            values.push(content.to_vec());
        }
    }

    fn steps(&mut self, most: u64) {
        (0..self.random.below(most)).for_each(|_| _ = self.world.step());
    }

    /// A slot of each group.
    fn one_of_each_group(&mut self) -> Vec<u16> {
        let width = self.setup.members / self.setup.groups;
        (0..self.setup.groups).map(|group| group * width + self.random.below(width.into()) as u16).collect()
    }

    fn crash(self) -> Story {
        let world = self.world.crash(false);
        let world = world.unwrap_or_else(|error| panic!("{}: {error}", self.told));
        Story { world, ..self }
    }

    /// Cuts the power, and opens the array without the member in `slot`, if it opens.
    fn crash_without(mut self, slot: u16) -> Option<Story> {
        self.world.disk_at(slot).dead = true;
        let Story { world, .. } = self;
        let world = world.crash(false).ok()?;
        Some(Story { world, ..self })
    }

    /// All members are there again at the next opening.
    fn bring_back(&mut self) {
        self.world.disks.iter_mut().for_each(|disk| disk.dead = false);
    }

    /// Goes on until an entry is being written to two members, and lets one of them have it.
    /// Returns the slots of this one and of the other.
    fn write_entry_once(&mut self) -> Option<(u16, u16)> {
        let (index, slots) = self.begin_entry()?;
        self.world.step_at(index);
        Some(slots)
    }

    /// Goes on until an entry is being written to two members. Returns which of the pending effects
    /// writes it to one of them, and the slots of this one and of the other.
    fn begin_entry(&mut self) -> Option<(usize, (u16, u16))> {
        let (start, length) = self.world.array.geometry().commit_log();
        for _ in 0..400 {
            let of_entry = |action: &Action| match action {
                Action::Write { member, at, .. } if *at >= start && *at < start + length => Some(*member),
                _ => None,
            };
            let pending = self.world.pending.iter().enumerate();
            let found: Vec<_> =
                pending.filter_map(|(index, effect)| Some((index, of_entry(&effect.action)?))).collect();
            // (In other lanes, too, entries may be under way.)
            let same = |one: &(usize, _), other: &(usize, _)| self.world.is_same_place(one.0, other.0);
            let pair = found.iter().enumerate().find_map(|(index, one)| {
                let other = found[index + 1..].iter().find(|other| same(one, other))?;
                Some([*one, *other])
            });
            if let Some([(index, one), (_, other)]) = pair {
                let slots = (self.world.slot_of(one)?.get(), self.world.slot_of(other)?.get());
                return Some((index, slots));
            }
            if !self.world.step() {
                return None;
            }
        }
        None
    }

    fn check(&mut self) {
        self.world.settle();
        for (sector, values) in &mut self.may {
            match self.world.read_now(*sector, 1) {
                Ok(content) => {
                    assert!(values.contains(&content), "{}: sector {sector}", self.told);
                    *values = vec![content];
                }
                Err(error) => panic!("{}: sector {sector}: {error}", self.told),
            }
        }
    }

    fn inactive(&self) -> Vec<u16> {
        let states = self.world.array.status().members.into_iter().map(|member| member.state);
        (0..).zip(states).filter(|(_, state)| *state != "active").map(|(slot, _)| slot).collect()
    }

    /// Members that are gone are replaced. A crash may cut that off.
    fn heal(mut self) -> Story {
        for cuts in [true, false] {
            for slot in self.inactive() {
                let state = &self.world.array.status().members[usize::from(slot)].state;
                if *state != "rebuilding" {
                    self.world.replace(slot);
                }
            }
            if cuts && self.random.chance(2) {
                self.write();
                self.steps(150);
                self = self.crash();
            }
        }
        self.check();
        for slot in self.inactive() {
            self.world.replace(slot);
        }
        self.check();
        assert_eq!(self.inactive(), [], "{}", self.told);
        self
    }
}

fn story(setup: &Setup, seed: u64) {
    let mut story = Story::begin(setup, seed);
    for round in 0..4 {
        story.told = format!("{} groups, seed {seed}, round {round}", setup.groups);
        (0..1 + story.random.below(6)).for_each(|_| story.write());
        story.steps(90);
        let slots = story.one_of_each_group();
        let way = story.random.below(5);
        if way == 0 {
            // Members fail, perhaps under an entry.
            let now = story.world.now;
            slots.iter().for_each(|slot| story.world.array.fail(now, Slot::new(*slot)).unwrap());
            story.steps(60);
        }
        if way == 3 {
            // They are replaced, perhaps before another entry is written, and others are lost.
            let now = story.world.now;
            slots.iter().for_each(|slot| story.world.array.fail(now, Slot::new(*slot)).unwrap());
            story.world.settle();
            slots.iter().for_each(|slot| story.world.replace(*slot));
            let active = |world: &World| {
                let members = world.array.status().members;
                members.iter().all(|member| member.state == "active") && world.array.unsynced_regions() == 0
            };
            story.world.settle_until(active);
            let others = story.one_of_each_group();
            others.iter().for_each(|slot| story.world.disk_at(*slot).dead = true);
        }
        if way == 1 {
            slots.iter().for_each(|slot| story.world.disk_at(*slot).dead = true);
        }
        story = story.crash();
        story.steps(60);
        if way == 2 {
            // The opening is cut off, and members are lost with it.
            slots.iter().for_each(|slot| story.world.disk_at(*slot).dead = true);
            story = story.crash();
        }
        if story.random.chance(2) {
            story.steps(60);
            story = story.crash();
        }
        story.check();
        if story.random.chance(2) {
            (0..3).for_each(|_| story.write());
            story.steps(60);
            story = story.crash();
            story.check();
        }
        story = story.heal();
    }
    assert_eq!(story.world.scrub(Repair::Nothing).mismatches, 0, "{}", story.told);
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn nothing_changes_back_through_crashes_and_losses() {
    for setup in setups() {
        (0..150).for_each(|seed| story(&setup, seed));
    }
}

/// A crash comes when only one member has the newest entry, and that one is lost with the next
/// crash.
fn found_once(setup: &Setup, seed: u64) -> bool {
    let mut story = Story::begin(setup, seed);
    (0..2 + story.random.below(6)).for_each(|_| story.write());
    let Some((one, _)) = story.write_entry_once() else { return false };
    story = story.crash();
    story.steps(90);
    story.world.disk_at(one).dead = true;
    story = story.crash();
    story.check();
    story.heal();
    true
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn an_entry_that_one_member_has_is_on_others_before_anything_is_redone() {
    for setup in setups() {
        let told = (0..300).filter(|seed| found_once(&setup, *seed)).count();
        assert!(told > 100, "only {told} crashes came in time");
    }
}

/// One of an entry's members fails while it is written. The power is cut before that is recorded,
/// and the other member is lost, but not the one that failed.
fn failed_under_an_entry(setup: &Setup, seed: u64) -> bool {
    let mut story = Story::begin(setup, seed);
    (0..2 + story.random.below(6)).for_each(|_| story.write());
    let Some((one, other)) = story.write_entry_once() else { return false };
    let absent = story.world.disk_at(other).identity;
    story.world.disk_at(other).dead = true;
    story.steps(12);
    story.world.disk_at(one).dead = true;
    let disk = story.world.disks.iter_mut().find(|disk| disk.identity == absent).unwrap();
    disk.dead = false;
    let Story { world, .. } = story;
    // (If it is recorded that the first one has failed, both are lost.)
    let Ok(world) = world.crash(false) else { return false };
    story = Story { world, ..story };
    story.check();
    story.heal();
    true
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn an_entry_does_not_count_that_one_of_its_members_failed_to_take() {
    for setup in setups() {
        let told = (0..300).filter(|seed| failed_under_an_entry(&setup, *seed)).count();
        assert!(told > 30, "only {told} crashes came in time");
    }
}

/// Two openings are cut off, each without another member: the first one without the only member
/// that has the newest entry, the second one without the only member that knows of the first. What
/// was redone in the second stays. Returns whether the second opening came as far as a redo.
fn openings_are_cut_off(setup: &Setup, seed: u64) -> bool {
    let mut story = Story::begin(setup, seed);
    (0..2 + story.random.below(6)).for_each(|_| story.write());
    let Some((one, _)) = story.write_entry_once() else { return false };
    let story = story.crash_without(one);
    let Some((mut story, (first, _))) = story.and_then(|mut story| {
        let slots = story.write_entry_once()?;
        Some((story, slots))
    }) else {
        return false;
    };
    story.bring_back();
    let Some(mut story) = story.crash_without(first) else { return false };
    let sectors: Vec<u64> = story.may.keys().copied().collect();
    let reads: Vec<(u64, u64)> =
        sectors.into_iter().map(|sector| (sector, story.world.read(sector, 1))).collect();
    while story.world.array.counters().redone == 0 && story.world.step() {}
    for (sector, tag) in reads {
        if let Some((Ok(()), content)) = story.world.done.remove(&tag) {
            story.may.insert(sector, vec![content]);
        }
    }
    let redone = story.world.array.counters().redone > 0;
    story.bring_back();
    let mut story = story.crash();
    story.check();
    assert_eq!(story.world.scrub(Repair::Nothing).mismatches, 0, "{}", story.told);
    redone
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn what_one_opening_has_redone_is_known_to_all_that_follow() {
    for setup in setups() {
        let told = (0..150).filter(|seed| openings_are_cut_off(&setup, *seed)).count();
        assert!(told > 30, "only {told} openings redid something");
    }
}

/// After a stop, two openings are cut off, the second one with the loss of the only member that has
/// the first one's empty entry: what counts then is what counted before the stop. Returns whether
/// the crashes came in time.
fn begun_twice(setup: &Setup, seed: u64) -> bool {
    let mut story = Story::begin(setup, seed);
    // An entry goes to the start of a lane if nothing counts there any more.
    for _ in 0..2 + story.random.below(40) {
        story.write();
        story.check();
    }
    let Story { world, .. } = story;
    let mut story = Story { world: world.restart(), ..story };
    let Some((one, _)) = story.write_entry_once() else { return false };
    story = story.crash();
    if story.begin_entry().is_none() {
        return false;
    }
    story.world.disk_at(one).dead = true;
    story = story.crash();
    story.check();
    let damaged = |event: &Event| matches!(event, Event::CommitLogDamaged);
    assert!(!story.world.events.iter().any(damaged), "{}", story.told);
    story.heal();
    true
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn an_opening_overwrites_nothing_that_the_loss_of_an_empty_entry_would_bring_back() {
    let told = (0..200).filter(|seed| begun_twice(&often_full(), *seed)).count();
    assert!(told > 100, "only {told} crashes came in time");
}

/// A member is excluded, and more is to be written than the commit log has room for. The power is
/// cut before the exclusion is recorded, and the member is believed: what it had not flushed is
/// still in the log.
fn excluded_while_the_log_is_short(setup: &Setup, seed: u64) {
    let mut story = Story::begin(setup, seed);
    (0..4 + story.random.below(8)).for_each(|_| story.write());
    story.world.settle();
    let out = Slot::new(story.random.below(setup.members.into()) as u16);
    let gone = story.world.array.member_at(out).unwrap();
    story.world.array.fail(story.world.now, out).unwrap();
    (0..24).for_each(|_| story.write_unanswered());
    story.world.drain();
    story.world.step_unrecorded(gone, 2_000);
    story.world.lose_what_is_not_flushed();
    let Story { world, .. } = story;
    story = Story { world: world.reopen(false).unwrap(), ..story };
    assert_eq!(story.inactive(), [], "{}: the exclusion was recorded", story.told);
    story.check();
}

#[cfg_attr(not(feature = "planted-bugs"), test)]
fn no_entry_is_forgotten_for_a_member_whose_exclusion_is_not_recorded() {
    (0..40).for_each(|seed| excluded_while_the_log_is_short(&often_full(), seed));
}

/// Tests of the tests. A planted bug affects the whole process, so this module has no other test.
#[cfg(feature = "planted-bugs")]
mod planted {
    use parlour_array::Bug;

    use crate::common::find_each;

    #[test]
    fn every_bug_of_the_commit_logs_entries_is_found() {
        let tests: [fn(); 5] = [
            super::no_entry_is_forgotten_for_a_member_whose_exclusion_is_not_recorded,
            super::what_one_opening_has_redone_is_known_to_all_that_follow,
            super::an_entry_that_one_member_has_is_on_others_before_anything_is_redone,
            super::an_entry_does_not_count_that_one_of_its_members_failed_to_take,
            super::nothing_changes_back_through_crashes_and_losses,
        ];
        find_each(&Bug::OF_COMMIT_LOG, &tests);
    }
}
