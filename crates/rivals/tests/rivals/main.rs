//! Rivals under a driver that completes accesses in any order.

mod driver;
mod lraid;
mod mirrors;
mod structured;

use parlour_rivals::mirrors::Cylinders;
use parlour_rivals::{Rival, Way};
use parlour_units::Sectors;

use driver::{Done, Driver, Random, anywhere};

const CYLINDERS: Cylinders = Cylinders { track: Sectors::new(48), tracks: 14 };

/// 20 cylinders.
const LENGTH: Sectors = Sectors::new(48 * 14 * 20);
/// 2 KiB.
const UNIT: Sectors = Sectors::new(4);

fn driver(rival: &dyn Rival, seed: u64) -> Driver {
    Driver::new(rival, CYLINDERS.track * 14, seed)
}

/// Ages a rival, and sends it requests of all kinds, several at once: what is asked is answered,
/// and its invariants hold all the time.
fn survives(mut make: impl FnMut() -> Box<dyn Rival>) {
    for (seed, reads, most, hosts) in
        [(1, 0, 1, 8), (2, 3, 1, 40), (3, 5, 60, 5), (4, 2, 400, 3), (5, 5, 3, 1)]
    {
        let run = |rival: &mut Box<dyn Rival>| {
            let mut random = Random(seed);
            if seed != 4 {
                rival.age(&mut |bound| random.below(bound));
            }
            rival.check();
            let mut driver = driver(&**rival, seed);
            let most = most.min(rival.capacity() / rival.unit());
            let mut next = anywhere(&**rival, reads, most);
            for _ in 0..20 {
                driver.run(&mut **rival, hosts, 100, &mut next);
                rival.check();
            }
            driver.done
        };
        let (mut one, mut other) = (make(), make());
        let done: Done = run(&mut one);
        assert_eq!(done.answers.len(), 2_000, "each request is answered once");
        assert!(done == run(&mut other), "the same requests and completions give the same accesses");
    }
}

/// Random writes of one unit.
fn small_writes(rival: &mut dyn Rival, hosts: u64, count: u64) -> Done {
    let mut driver = driver(rival, 9);
    let next = anywhere(rival, 0, 1);
    rival.forget();
    driver.run(rival, hosts, count, next);
    rival.check();
    driver.done
}

/// One request.
fn one(rival: &mut dyn Rival, way: Way, first: u64, units: u64) -> Done {
    let mut driver = driver(rival, 9);
    let (at, length) = (parlour_units::Sector::ZERO + rival.unit() * first, rival.unit() * units);
    driver.run(rival, 1, 1, |_| (way, at, length));
    driver.done
}

/// A measurement by its name.
fn measured(rival: &dyn Rival, name: &str) -> f64 {
    let found = rival.measured().into_iter().find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("no '{name}'")).1
}
