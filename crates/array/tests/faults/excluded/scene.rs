//! The scene: a member is excluded while its parity is written; a few seeds give different orders
//! of effects.

use parlour_array::layout::{Location, Occupant};
use parlour_array::{Action, Repair};
use parlour_units::{Sector, Sectors, Slot};

use crate::common::{Random, SEED, Setup, World, payload};

/// The greatest number of effects that are carried out while superblocks are not.
const STEPS: usize = 2_000;

/// The member whose parity a reintegration is about to rewrite.
fn rewritten(world: &World) -> Option<Slot> {
    let geometry = world.array.geometry();
    let start = geometry.data_start();
    let parity = geometry.layout().data_units();
    world.pending.iter().find_map(|effect| match effect.action {
        Action::Write { member, at, durable: false, .. } if at >= start => {
            let slot = world.slot_of(member)?;
            let location = Location { slot, at: Sector::ZERO + (at - start) };
            let occupant = geometry.layout().occupant(location);
            matches!(occupant, Occupant::Unit { unit, .. } if unit.get() == parity).then_some(slot)
        }
        _ => None,
    })
}

/// The number of stripes whose parity does not fit, after a member was excluded just before its
/// parity was rewritten, and power was cut before superblocks recorded the exclusion.
pub(crate) fn excluded_while_parity_is_written() -> u64 {
    let mut setup = Setup::logged(4);
    setup.member_length = 3 * 2_048;
    setup.tuning.log_memory = Sectors::new(64);
    (0..8).map(|seed| story(&setup, SEED + seed)).sum()
}

fn story(setup: &Setup, seed: u64) -> u64 {
    let mut world = World::new(setup, seed);
    world.all_volatile();
    let mut random = Random(seed);
    while rewritten(&world).is_none() {
        let tag = world.write(0, &payload(&mut random, 16));
        world.settle_until(|world| world.done.contains_key(&tag) || rewritten(world).is_some());
    }
    let slot = rewritten(&world).unwrap();
    let out = world.array.member_at(slot).unwrap();
    world.array.fail(world.now, slot).unwrap();
    world.drain();
    world.step_unrecorded(out, STEPS);
    world.lose_what_is_not_flushed();
    let mut world = world.reopen(false).unwrap();
    world.settle();
    world.scrub(Repair::Nothing).mismatches
}
