//! A scrub that is cancelled, and the status of regions whose reads may be wrong.

use crate::common::{Random, SEED, Setup, World, payload};
use parlour_array::{AdminError, Event, Repair};

#[test]
fn a_cancelled_scrub_ends_with_what_it_has_found_and_another_may_begin() {
    let mut setup = Setup::named("raid5", 4);
    setup.tuning.maintenance_depth = 2;
    let mut world = World::new(&setup, SEED);
    let bytes = payload(&mut Random(SEED), 300);
    assert_eq!(world.write_now(5, &bytes), Ok(()));
    world.settle();
    // The parity of the first stripe.
    let at = world.array.geometry().data_start().bytes() as usize;
    world.disk_at(3).bytes[at + 17] ^= 0x10;
    assert_eq!(world.array.cancel_scrub(world.now), Err(AdminError::NoScrub));
    world.array.scrub(world.now, Repair::Nothing).expect("it can begin");
    world.drain();
    world.settle_until(|world| world.array.status().scrub.is_some_and(|task| task.done > 1));
    world.array.cancel_scrub(world.now).expect("it is under way");
    world.drain();
    world.settle_until(|world| world.array.status().scrub.is_none());
    let report = world.array.status().last_scrub.expect("it has ended");
    assert!(report.cancelled && !report.complete, "{report:?}");
    assert!(report.stripes > 1 && report.stripes < world.array.geometry().layout().stripes(), "{report:?}");
    assert_eq!(report.mismatches, 1, "{report:?}");
    assert_eq!(world.array.cancel_scrub(world.now), Err(AdminError::NoScrub));
    let report = world.scrub(Repair::Nothing);
    assert!(report.complete && !report.cancelled, "{report:?}");
    assert!(world.events.iter().any(|event| matches!(event, Event::ScrubDone(report) if report.cancelled)));
}

/// A member dies before the resync is complete: its data cannot be computed from parity that does
/// not fit.
#[test]
fn regions_that_stand_in_for_lost_data_before_they_are_in_sync_are_told() {
    for (zeroed, doubtful) in [(true, false), (false, true)] {
        let mut setup = Setup::named("raid5", 4);
        setup.zeroed = zeroed;
        let mut world = World::new(&setup, SEED);
        assert_eq!(world.array.status().doubtful_regions, 0);
        world.disks[1].dead = true;
        let _ = world.write_now(0, &payload(&mut Random(3), 300));
        let status = world.array.status();
        assert_eq!(status.members[1].state, "failed", "{status:?}");
        assert_eq!(status.doubtful_regions > 0, doubtful, "{status:?}");
        assert_eq!(status.spare_redundancy, 0);
    }
}
