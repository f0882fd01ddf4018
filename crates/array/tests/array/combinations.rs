//! Layout × code × check units × update × read × consistency × when writes are acknowledged: each
//! combination passes the corpus's random requests, or is refused with its reason.

use std::collections::BTreeMap;

use parlour_array::{Geometry, LogCreation};
use parlour_units::Sectors;

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::{Code, Consistency, LayoutChoice, Organization, ReadChoice, Update};

/// What a crash may cost, and when writes are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safety {
    Bitmap,
    WriteThrough,
    WriteBack,
}

/// An array with so many check units in each stripe.
fn setup(organization: Organization, checks: u16, safety: Safety) -> Setup {
    // (Logged parity has a copy of each log on a member of its own.)
    let members = match organization {
        copied if copied.keeps_copies() => (checks + 1) * 2,
        logged if logged.is_logged() => 3 + checks * 2,
        _ => 3 + checks,
    };
    let width = organization.layout.is_declustered().then_some(checks + 2);
    let usual = Setup::named("raid5", members);
    let writes = if safety == Safety::WriteBack { Sectors::new(1_024) } else { Sectors::ZERO };
    let consistency = if safety == Safety::Bitmap { Consistency::Bitmap } else { Consistency::Journal };
    let log = LogCreation { writes: Some(writes), ..usual.log };
    Setup { organization, checks, members, width, consistency, log, ..usual }
}

/// Writes and reads at random, kills as many members as may be lost, one after the other, and reads
/// everything again each time.
fn passes(setup: &Setup) {
    let organization = setup.organization;
    let mut world = World::new(setup, SEED);
    let mut random = Random(SEED);
    let capacity = world.capacity();
    let mut flat = vec![0u8; capacity as usize * 512];
    for _ in 0..40 {
        let length = 1 + random.below(100);
        let at = random.below(capacity - length);
        let bytes = payload(&mut random, length);
        flat[at as usize * 512..(at + length) as usize * 512].copy_from_slice(&bytes);
        assert_eq!(world.write_now(at, &bytes), Ok(()));
    }
    for lost in 0..=world.array.geometry().fault_tolerance() {
        if lost > 0 {
            world.disk_at(lost).dead = true;
        }
        for at in (0..capacity).step_by(64) {
            let length = 64.min(capacity - at);
            let bytes = world.read_now(at, length).expect("all can be read");
            let expected = &flat[at as usize * 512..(at + length) as usize * 512];
            assert!(bytes == expected, "{organization:?} at {at}, {lost} lost");
        }
    }
}

#[test]
fn each_combination_passes_or_is_refused_with_its_reason() {
    let mut refused: BTreeMap<String, u32> = BTreeMap::new();
    let mut passed = 0;
    let checks = 0..=4;
    for layout in LayoutChoice::ALL.iter().copied() {
        for code in Code::ALL.iter().copied() {
            for update in Update::ALL {
                for read in ReadChoice::ALL {
                    let organization = Organization { layout, code, update, read };
                    let safeties = [Safety::Bitmap, Safety::WriteThrough, Safety::WriteBack];
                    let each = checks.clone().flat_map(|checks| safeties.map(|safety| (checks, safety)));
                    for (checks, safety) in each {
                        let setup = setup(organization, checks, safety);
                        match Geometry::create_on(&setup.creation(), setup.cylinder) {
                            Ok(_) => {
                                passes(&setup);
                                passed += 1;
                            }
                            Err(reason) => *refused.entry(reason.to_string()).or_default() += 1,
                        }
                    }
                }
            }
        }
    }
    let all = LayoutChoice::ALL.len() * Code::ALL.len() * Update::ALL.len() * ReadChoice::ALL.len();
    let all = all * checks.count() * 3;
    println!("{passed} of {all} combinations pass; the others are refused:");
    for (reason, count) in &refused {
        println!("{count:5}  {reason}");
    }
    assert_eq!(passed + refused.values().sum::<u32>(), all as u32);
    // Without redundancy, copies, floating; in place over rotations, declustered and regions;
    // logged.
    let least = 2 + 3 * 5 * 4 + 1 + (5 + 1 + 1) * 4 * 3 + 4 * 3;
    assert!(passed >= least, "{passed} of {least}");
}
