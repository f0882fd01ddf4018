//! Before a member is failed, the array reports what would be lost with it.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

mod common;

use common::{Random, SEED, Setup, World, payload};
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
