//! The conformance corpus with the driver of the array's own tests: members in memory, virtual
//! time.

mod common;
mod corpus;

use common::{SEED, Setup, World};
use corpus::combinations::{self, Combinations, Half};
use parlour_array::{Class, Creation, Geometry, Operation, Repair, Simulated, Tuning};
use parlour_units::Slot;

struct InMemory {
    world: Option<World>,
    before: [u64; 2],
}

impl InMemory {
    fn new(creation: &Creation) -> InMemory {
        let setup = Setup {
            organization: creation.organization,
            checks: creation.checks,
            members: creation.members,
            groups: creation.groups,
            width: creation.width,
            spares: creation.spares,
            unit: creation.unit.get(),
            block: creation.block.get(),
            member_length: creation.member_length.get(),
            log: creation.log,
            tuning: Tuning::default(),
            simulated: Simulated::default(),
            zeroed: true,
            consistency: creation.consistency,
            cylinder: combinations::CYLINDER,
            ..Setup::named("raid5", creation.members)
        };
        InMemory { world: Some(World::new(&setup, SEED)), before: [0; 2] }
    }

    fn world(&mut self) -> &mut World {
        self.world.as_mut().expect("an array is open")
    }

    fn counted(&mut self) -> [u64; 2] {
        let traffic = self.world().array.traffic(Class::Foreground);
        [traffic.reads, traffic.writes]
    }
}

impl corpus::World for InMemory {
    fn write(&mut self, at: u64, bytes: &[u8]) {
        assert_eq!(self.world().write_now(at, bytes), Ok(()));
    }

    fn zero(&mut self, at: u64, length: u64) {
        let zeroes = Operation::WriteZeroes { may_unmap: false, fast_only: false, durable: false };
        assert_eq!(self.world().do_now(zeroes, at, length, None).0, Ok(()));
    }

    fn read(&mut self, at: u64, length: u64) -> Vec<u8> {
        self.world().read_now(at, length).expect("it can be read")
    }

    fn flush(&mut self) {
        assert_eq!(self.world().do_now(Operation::Flush, 0, 0, None).0, Ok(()));
    }

    fn fail(&mut self, slot: u16) {
        let world = self.world();
        world.array.fail(world.now, Slot::new(slot)).expect("it can be done without");
        world.drain();
    }

    fn replace(&mut self, slot: u16) {
        self.world().replace(slot);
        self.world().settle();
    }

    fn scrub(&mut self) -> u64 {
        self.world().scrub(Repair::Nothing).mismatches
    }

    fn restart(&mut self) {
        let [reads, writes] = self.counted();
        self.before = [self.before[0] + reads, self.before[1] + writes];
        let mut world = self.world.take().expect("an array is open");
        // A replaced member's disk must not come back.
        let standing: Vec<usize> = world
            .array
            .status()
            .members
            .iter()
            .map(|m| world.numbers[usize::from(m.member.unwrap())])
            .collect();
        (0..world.disks.len())
            .filter(|index| !standing.contains(index))
            .for_each(|index| world.disks[index].dead = true);
        self.world = Some(world.restart());
    }

    fn member(&mut self, slot: u16) -> Vec<u8> {
        self.world().disk_at(slot).bytes.clone()
    }

    fn accesses(&mut self) -> [u64; 2] {
        let [reads, writes] = self.counted();
        [self.before[0] + reads, self.before[1] + writes]
    }
}

#[cfg(not(feature = "planted-bugs"))]
#[test]
fn the_corpus_holds_in_memory() {
    corpus::run_all(InMemory::new);
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_change_to_a_layout_or_a_plan_fails_the_corpus_in_memory() {
    corpus::run_all_with_bugs(InMemory::new);
}

/// Every combination of choices that is admitted, with as many members lost as it survives.
fn combinations_hold(half: Half) {
    let all = Combinations::all(|creation| Geometry::create_on(creation, combinations::CYLINDER));
    assert!(all.admitted.len() >= 200, "{} are admitted", all.admitted.len());
    all.run(half, InMemory::new);
}

#[test]
fn one_half_of_all_combinations_of_choices_holds_in_memory() {
    combinations_hold(Half::First);
}

#[test]
fn the_other_half_of_all_combinations_of_choices_holds_in_memory() {
    combinations_hold(Half::Second);
}

/// The corpus's steps with a code and layouts that only tests have, for all cases with one group
/// and parity. There is one more check unit, and so one more member.
#[cfg(feature = "test-choices")]
#[test]
fn the_corpus_holds_with_another_code_and_other_layouts() {
    let other = |name: &str| match name {
        "raid4" | "raid5" => Some("halves"),
        "parity-logging" => Some("halves-logging"),
        _ => None,
    };
    let mut tried = std::collections::BTreeMap::new();
    for case in corpus::cases().into_iter().filter(|case| case.groups == 1) {
        let Some(name) = other(&case.organization) else { continue };
        let case =
            corpus::Case { organization: name.into(), layout: None, members: case.members + 1, ..case };
        corpus::run(&case, &mut InMemory::new(&case.creation()));
        *tried.entry(name).or_insert(0) += 1;
    }
    assert!(tried["halves"] >= 5 && tried["halves-logging"] >= 3, "{tried:?}");
}
