//! Layout × code × update × read: each combination passes the corpus's random requests, or is
//! refused with its reason.

use std::collections::BTreeMap;

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::{Code, LayoutChoice, Organization, ReadChoice, Update};

/// Writes and reads at random, kills a member if the organization tolerates that, and reads
/// everything again.
fn passes(organization: Organization) {
    let mut setup = Setup::named("raid5", 4);
    setup.organization = organization;
    setup.copies = if organization.code == Code::Copy { 2 } else { 1 };
    let mut world = World::new(&setup, SEED);
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
    if world.array.geometry().fault_tolerance() > 0 {
        world.disk_at(2).dead = true;
    }
    for at in (0..capacity).step_by(64) {
        let length = 64.min(capacity - at);
        let bytes = world.read_now(at, length).expect("all can be read");
        assert!(bytes == flat[at as usize * 512..(at + length) as usize * 512], "{organization:?} at {at}");
    }
}

#[test]
fn each_combination_passes_or_is_refused_with_its_reason() {
    let mut refused: BTreeMap<String, u32> = BTreeMap::new();
    let mut passed = 0;
    for layout in LayoutChoice::ALL.iter().copied() {
        for code in Code::ALL.iter().copied() {
            for update in Update::ALL {
                for read in ReadChoice::ALL {
                    let organization = Organization { layout, code, update, read };
                    match organization.check() {
                        Ok(()) => {
                            passes(organization);
                            passed += 1;
                        }
                        Err(reason) => *refused.entry(reason.to_string()).or_default() += 1,
                    }
                }
            }
        }
    }
    let all = LayoutChoice::ALL.len() * Code::ALL.len() * Update::ALL.len() * ReadChoice::ALL.len();
    println!("{passed} of {all} combinations pass; the others are refused:");
    for (reason, count) in &refused {
        println!("{count:5}  {reason}");
    }
    assert_eq!(passed + refused.values().sum::<u32>(), all as u32);
    assert!(passed >= 26, "2 without redundancy, 3 × 5 of copies, 7 parity in place, 1 logged, 1 floating");
}
