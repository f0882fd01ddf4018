//! Tests that the array's own work is proportional to the number of requests, however many of them
//! wait.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{BLOCK, drive, load};
use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Creation, Geometry, LogCreation, Simulated, Tuning};
use parlour_sim::opening::{self, New};
use parlour_sim::world::World;
use parlour_units::{Duration, Sectors};
use parlour_workload::delay::Delay;
use parlour_workload::source::Load;

/// Parity logging on five solid-state drives with the defaults of `parlour simulate`, and with many
/// more regions than log buffers.
fn world(consistency: Consistency) -> World {
    let length = Sectors::new(200_000_000_000 / 512).round_down(Sectors::new(2_048));
    let creation = Creation {
        organization: Organization::named("parity-logging").unwrap().organization,
        checks: 1,
        members: 5,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(128),
        block: BLOCK,
        member_length: length,
        // (With write-back a few thousand writes would be staged, and none wait for a buffer.)
        log: LogCreation { writes: Some(Sectors::ZERO), ..LogCreation::default() },
        consistency,
    };
    let geometry = Geometry::create(&creation).unwrap();
    let (tuning, simulated) = (Tuning::default(), Simulated::default());
    let new = New { name: "test", geometry: &geometry, length, tuning, simulated };
    let drives = (0..5).map(|_| drive("intel-dc-s3700")).collect();
    World::new(vec![opening::open(&new, drives).unwrap()])
}

/// The steps of the array for this number of small writes, at 400 per second.
fn steps(consistency: Consistency, requests: u64) -> u64 {
    let mut world = world(consistency);
    let gap = Delay::Exponential(Duration::from_micros(2_500));
    load(&mut world, 0.0, BLOCK, Load::Open { gap }, requests).unwrap();
    world.volumes()[0].array().unwrap().status().counters.steps
}

/// Regression test: each freed buffer let all jobs that waited for one try again, hundreds of them,
/// and each step of the array went through all segments in the logs. So twenty thousand requests
/// took four times as long as ten thousand.
#[test]
fn writes_that_wait_for_log_buffers_cost_the_array_no_more_the_more_there_are() {
    for consistency in [Consistency::Bitmap, Consistency::Journal] {
        let [few, many] = [4_000, 16_000].map(|requests| steps(consistency, requests));
        assert!(many < 5 * few, "{consistency:?}: {few} steps for 4,000 requests, {many} for 16,000");
    }
}
