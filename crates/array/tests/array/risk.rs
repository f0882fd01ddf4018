//! Before a member is failed, the array reports what would be lost with it.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::AdminError;
use parlour_units::{Slot, Stripe, Unit};

/// An array that was written to, and whose server was killed: some parity may not fit.
fn killed(name: &str, members: u16) -> World {
    let mut world = World::new(&Setup::named(name, members), SEED);
    world.settle();
    world.write_now(0, &payload(&mut Random(1), 200)).unwrap();
    world.reopen(false).unwrap()
}

#[test]
fn a_member_whose_regions_are_not_resynced_is_needed_until_they_are() {
    for (name, members) in [("raid5", 4), ("raid1", 3), ("parity-logging", 5)] {
        let mut world = killed(name, members);
        let refused = world.array.may_lose(Slot::new(1));
        let Err(AdminError::NotResynced { slot, regions, of }) = refused else {
            panic!("{name}: {refused:?}");
        };
        assert_eq!(slot, Slot::new(1));
        let pending = world.array.status().resync.expect("it is resynced");
        assert!(regions > 0 && u64::from(regions) <= pending.total - pending.done, "{name}: {regions}");
        assert!(regions <= of, "{name}");
        world.settle();
        assert_eq!(world.array.may_lose(Slot::new(1)), Ok(()), "{name}");
        world.array.fail(world.now, Slot::new(1)).unwrap();
        // The next failure would be one too many. The member that has failed cannot be lost again.
        assert_eq!(world.array.may_lose(Slot::new(1)), Ok(()), "{name}");
        if name != "raid1" {
            assert_eq!(world.array.may_lose(Slot::new(0)), Err(AdminError::Needed(Slot::new(0))));
        }
    }
}

/// What can be resynced depends on the members. Those that were passed over are found again when a
/// member more is whole.
#[test]
fn regions_that_lack_a_member_are_resynced_once_it_is_replaced() {
    for name in ["raid5", "raid4"] {
        let mut setup = Setup::named(name, 4);
        // The parity of all regions is still to be computed.
        setup.zeroed = false;
        let mut world = World::new(&setup, SEED);
        world.disks[1].dead = true;
        let _ = world.write_now(0, &payload(&mut Random(3), 300));
        world.settle();
        assert!(world.array.status().resync.is_some(), "{name}: it is not complete");
        world.replace(1);
        world.settle();
        assert!(world.array.status().resync.is_none(), "{name}");
        assert_eq!(world.array.unsynced_regions(), 0, "{name}");
    }
}

#[test]
fn a_member_is_needed_where_anothers_block_cannot_be_read() {
    let mut world = World::new(&Setup::named("raid5", 4), SEED);
    world.settle();
    world.write_now(0, &payload(&mut Random(1), 200)).unwrap();
    let layout = world.array.geometry().layout().clone();
    let start = world.array.geometry().data_start().get();
    let [bad, lost, other] = [0, 1, 2].map(|unit| layout.locate(Stripe::new(0), Unit::new(unit)));
    world.disk_at(bad.slot.get()).unreadable.insert(start + bad.at.get());
    world.array.fail(world.now, lost.slot).unwrap();
    world.replace(lost.slot.get());
    world.settle();
    assert!(world.array.status().unreadable.get() > 0, "what cannot be computed is passed over");
    let needed = world.array.may_lose(other.slot);
    assert!(matches!(needed, Err(AdminError::NeededForUnreadable { blocks: 1, .. })), "{needed:?}");
    assert_eq!(world.array.may_lose(lost.slot), Ok(()), "nothing else is missing where it is");
    // When it is written anew, the whole stripe is there again.
    world.write_now(0, &payload(&mut Random(2), layout.stripe_data().get())).unwrap();
    world.settle();
    assert_eq!(world.array.may_lose(other.slot), Ok(()));
}

#[test]
fn a_member_that_no_other_can_stand_in_for_is_needed() {
    let world = World::new(&Setup::named("raid0", 2), SEED);
    assert_eq!(world.array.may_lose(Slot::new(0)), Err(AdminError::Needed(Slot::new(0))));
    assert_eq!(world.array.may_lose(Slot::new(7)), Err(AdminError::NoSuchMember(Slot::new(7), 1)));
}
