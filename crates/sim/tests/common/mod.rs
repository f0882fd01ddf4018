//! Arrays for the tests of the simulator.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Creation, Geometry, LogCreation, Operation, Simulated, Tag, Tuning};
use parlour_drive::angle::Angle;
use parlour_drive::catalogue;
use parlour_drive::description::Description;
use parlour_drive::queue::Discipline;
use parlour_sim::flat::{Flat, FlatModel};
use parlour_sim::member::Member;
use parlour_sim::opening::{self, New};
use parlour_sim::report::Report;
use parlour_sim::run::{Measure, RunError, WarmUp, run};
use parlour_sim::volume::Volume;
use parlour_sim::world::World;
use parlour_units::{Duration, Instant, Sector, Sectors};
use parlour_workload::delay::Delay;
use parlour_workload::place::{Place, Places};
use parlour_workload::random::Random;
use parlour_workload::size::{Size, Sizes};
use parlour_workload::source::{Load, Pattern, Source};
use parlour_workload::space::Space;
use parlour_workload::stream::Stream;

pub const BLOCK: Sectors = Sectors::new(8);
pub const FAR: Instant = Instant::from_nanoseconds(1 << 62);
pub const MS: fn(u64) -> Duration = Duration::from_millis;
/// 16 MiB.
pub const LENGTH: Sectors = Sectors::new(32 * 1_024);

/// A drive of the catalogue.
pub fn drive(name: &str) -> Member {
    let description = Description::parse(catalogue::find(name).unwrap()).unwrap();
    Member::described(&description, Angle::default(), Discipline::Fcfs).unwrap()
}

/// A drive with a fixed time for each access.
pub fn flat(service: Duration) -> Member {
    Member::flat(Flat::new(FlatModel::station(Delay::Fixed(service)), Random::new(1)))
}

pub fn geometry(organization: &str, members: u16, length: Sectors) -> Geometry {
    let row = Organization::named(organization).unwrap();
    let checks = row.checks.of(members);
    Geometry::create(&Creation {
        organization: row.organization,
        checks,
        members,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(64),
        block: BLOCK,
        member_length: length,
        log: LogCreation::default(),
        consistency: Consistency::Bitmap,
    })
    .unwrap()
}

/// The description of a new array with members of 16 MiB.
pub fn new<'a>(name: &'a str, geometry: &'a Geometry) -> New<'a> {
    let (tuning, simulated) = (Tuning::default(), Simulated::default());
    New { name, geometry, length: LENGTH, tuning, simulated }
}

pub fn volume(organization: &str, drives: Vec<Member>) -> Volume {
    let geometry = geometry(organization, drives.len() as u16, LENGTH);
    let tuning = Tuning { bitmap: false, ..Tuning::default() };
    opening::open(&New { tuning, ..new(organization, &geometry) }, drives).unwrap()
}

/// One array of this number of IBM 0661 drives.
pub fn array(organization: &str, members: usize) -> World {
    World::new(vec![volume(organization, (0..members).map(|_| drive("ibm-0661")).collect())])
}

pub const READ: Operation = Operation::Read;
pub const WRITE: Operation = Operation::Write { durable: false };

/// Runs until all pending events have happened.
pub fn settle(world: &mut World) {
    while let Some(next) = world.next_time() {
        world.step(next);
    }
    drop(world.answers());
}

/// Runs until all requests are answered.
pub fn answered(world: &mut World) {
    while world.under_way() > 0 {
        assert!(world.step(FAR), "nothing happens any more");
    }
    drop(world.answers());
}

/// Issues a request and waits. Returns its response time and its result.
pub fn ask(
    world: &mut World,
    operation: Operation,
    at: u64,
    length: u64,
) -> (Duration, Result<(), parlour_array::RequestError>) {
    let began = world.now();
    assert!(world.submit(Tag(0), operation, Sector::new(at), Sectors::new(length)));
    loop {
        let answer = world.answers().next();
        if let Some(answer) = answer {
            assert!(world.answers().next().is_none(), "a request is answered once");
            return (world.now().since(began), answer.result);
        }
        assert!(world.step(FAR), "nothing happens any more");
    }
}

/// Random requests of 4 KiB by this number of processes.
pub fn closed(world: &mut World, reads: f64, processes: u32, count: u64) -> Result<Report, RunError> {
    load(world, reads, BLOCK, Load::Closed { processes, think: Delay::Fixed(Duration::ZERO) }, count)
}

pub fn load(
    world: &mut World,
    reads: f64,
    size: Sectors,
    load: Load,
    count: u64,
) -> Result<Report, RunError> {
    let space = Space::new(world.capacity(), size).unwrap();
    let sizes = Sizes::new(Size::Fixed(size.get() as f64), size, size, size).unwrap();
    let places = Places::new(Place::Uniform, &space).unwrap();
    let stream = Stream::new(reads, sizes, places).unwrap();
    let mut sources = [Source::new("hosts", load, Pattern::Stream(stream)).unwrap()];
    let warm_up = WarmUp { requests: 100, ..WarmUp::default() };
    let measure = Measure { warm_up, least: count, most: count, precision: 0.0, ..Measure::default() };
    let report = run(world, &mut sources, &measure, &Random::new(5));
    answered(world);
    report
}
