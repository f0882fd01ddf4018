//! Arrays with too many members missing, opened to be read only: what is left can be read, what is
//! lost reads as errors and is listed.

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::organization::{LayoutChoice, Organization};
use parlour_array::{AssemblyError, RequestError};
use parlour_units::Stripe;

fn setups() -> Vec<Setup> {
    let of = |name: &str, members: u16| Setup { member_length: 4 * 2_048, ..Setup::named(name, members) };
    let raid6 = of("raid6", 9);
    let declustered = Organization { layout: LayoutChoice::Declustered, ..raid6.organization };
    vec![
        of("simple", 3),
        of("raid0", 4),
        of("raid10", 4),
        of("raid1", 2),
        of("raid5", 5),
        of("raid6", 6),
        of("raid-2d", 8),
        of("parity-logging", 5),
        Setup { organization: declustered, width: Some(4), ..raid6.clone() },
        Setup { organization: declustered, width: Some(4), spares: 1, ..raid6 },
    ]
}

/// The array without the members in these slots, read-only.
fn rescued(setup: &Setup, content: &[u8], lost: &[u16], force: bool) -> Result<World, AssemblyError> {
    let mut world = World::new(setup, SEED);
    world.settle();
    assert_eq!(world.write_now(0, content), Ok(()));
    world.stop();
    let World { disks, random, sessions, .. } = world;
    let order = (0..disks.len()).filter(|index| !lost.contains(&(*index as u16))).collect();
    World::try_open(setup, disks, order, random, sessions, force, true).map_err(|(error, _)| error)
}

/// By sector, whether the array lists it as lost.
fn listed(world: &World) -> Vec<bool> {
    let (mut listed, mut from) = (vec![false; world.capacity() as usize], Some(Stripe::new(0)));
    while let Some(stripe) = from {
        let lost = world.array.lost(stripe, 7);
        for (at, length) in lost.ranges {
            listed[at.get() as usize..(at + length).get() as usize].fill(true);
        }
        from = lost.next;
    }
    listed
}

#[test]
fn what_is_left_can_be_read_and_the_rest_is_listed() {
    for setup in setups() {
        let name = setup.geometry().stored().organization_name();
        let capacity = setup.geometry().capacity().get();
        let content = payload(&mut Random(SEED), capacity);
        for count in 1..setup.members {
            let lost: Vec<u16> = (0..setup.members).step_by(2).chain(1..2).take(count.into()).collect();
            let case = format!("{name} without {lost:?}");
            let mut world = rescued(&setup, &content, &lost, true).unwrap_or_else(|e| panic!("{case}: {e}"));
            let is_listed = listed(&world);
            for at in 0..capacity {
                let right = content[at as usize * 512..][..512].to_vec();
                let expected = if is_listed[at as usize] { Err(RequestError::Lost) } else { Ok(right) };
                assert!(world.read_now(at, 1) == expected, "{case}: sector {at}");
            }
            let all = is_listed.iter().filter(|is_lost| **is_lost).count() as u64;
            assert_eq!(world.array.status().lost, all > 0, "{case}");
            // Only what was on these members can be lost.
            assert!(all <= capacity * u64::from(count) / u64::from(setup.members) + capacity / 4, "{case}");
            assert_eq!(world.write_now(0, &content[..512]), Err(RequestError::ReadOnly), "{case}");
        }
    }
}

/// It was told to open the array for writing, which is refused and says to open it read-only.
#[test]
fn where_logs_hold_records_the_refusal_does_not_send_to_another_one() {
    let setup = Setup::named("parity-logging", 5);
    let mut world = World::new(&setup, SEED);
    world.settle();
    assert_eq!(world.write_now(3, &payload(&mut Random(SEED), 2)), Ok(()));
    world.stop();
    let World { disks, random, sessions, .. } = world;
    let opened = World::try_open(&setup, disks, vec![0, 2, 4], random, sessions, true, true);
    let (error, _) = opened.err().expect("two of five are missing");
    assert!(matches!(error, AssemblyError::TooManyMissingToRecover { .. }), "{error}");
    assert!(error.to_string().contains("member 1, member 3"), "{error}");
}

#[test]
fn without_force_it_is_refused_and_the_refusal_says_how() {
    let setup = Setup::named("raid5", 4);
    let content = payload(&mut Random(SEED), setup.geometry().capacity().get());
    let error = rescued(&setup, &content, &[0, 2], false).err().expect("two of four are missing").to_string();
    assert!(error.contains("member 0, member 2") && error.contains("--read-only --force"), "{error}");
}
