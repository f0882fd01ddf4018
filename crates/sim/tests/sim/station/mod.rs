//! A drive without mechanics in an array of its own, and requests of one block.
#![allow(dead_code, reason = "no test uses all of it")]

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Creation, Geometry, LogCreation, Simulated, Tuning};
use parlour_sim::flat::{Flat, FlatModel};
use parlour_sim::member::Member;
use parlour_sim::opening::{self, New};
use parlour_sim::world::World;
use parlour_units::{Duration, Sectors};
use parlour_workload::delay::Delay;
use parlour_workload::place::{Place, Places};
use parlour_workload::random::Random;
use parlour_workload::size::{Size, Sizes};
use parlour_workload::source::{Load, Pattern, Source};
use parlour_workload::space::Space;
use parlour_workload::stream::Stream;

pub(crate) const BLOCK: Sectors = Sectors::new(8);
pub(crate) const MS: fn(u64) -> Duration = Duration::from_millis;

/// An array of one drive with this service time.
pub(crate) fn station(service: Delay, units: u16, seed: u64) -> World {
    let length = Sectors::new(1 << 20);
    let row = Organization::named("simple").unwrap();
    let creation = Creation {
        organization: row.organization,
        checks: row.checks.of(1),
        members: 1,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(128),
        block: BLOCK,
        member_length: length,
        log: LogCreation::default(),
        consistency: Consistency::Bitmap,
    };
    let geometry = Geometry::create(&creation).unwrap();
    let model = FlatModel { units, ..FlatModel::station(service) };
    let member = Member::flat(Flat::new(model, Random::new(seed).part(1)));
    let tuning = Tuning { bitmap: false, ..Tuning::default() };
    let simulated = Simulated::default();
    let new = New { name: "station", geometry: &geometry, length, tuning, simulated };
    World::new(vec![opening::open(&new, vec![member]).unwrap()])
}

/// The whole capacity of a world.
pub(crate) fn space(world: &World) -> Space {
    Space::new(world.capacity(), BLOCK).unwrap()
}

/// Random requests of one block.
pub(crate) fn blocks(world: &World, reads: f64) -> Stream {
    let sizes = Sizes::new(Size::Fixed(8.0), BLOCK, BLOCK, BLOCK).unwrap();
    Stream::new(reads, sizes, Places::new(Place::Uniform, &space(world)).unwrap()).unwrap()
}

/// Random reads of one block.
pub(crate) fn reads(world: &World, name: &str, load: Load) -> Source {
    Source::new(name, load, Pattern::Stream(blocks(world, 1.0))).unwrap()
}

pub(crate) fn near(found: f64, exact: f64, tolerance: f64) {
    assert!((found / exact - 1.0).abs() < tolerance, "{found}, {exact} expected");
}
