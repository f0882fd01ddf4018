//! Compares writes of a RAID 5 with counting, and with drives that do the accesses.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{Drawn, Parts, count, near};
use parlour_drive::drive::Drive;
use parlour_drive::mechanics::Way;
use parlour_model::fork_join::Network;
use parlour_model::service::Work;
use parlour_model::writes::{Accesses, Method, Write, WriteError, combined};
use parlour_units::{Duration, Instant};

const BLOCKS: u64 = 16;

fn alone(parts: &Parts, disks: u32, write: Write, method: Method) -> f64 {
    let [read, written] = [Work::Read, Work::Write].map(|work| parts.uniform(work, BLOCKS));
    let accesses = Accesses { read: &read, write: &written, disks: count(disks) };
    let phases = write.phases(method, accesses).unwrap();
    Network::of(disks, phases, 0.0).unwrap().with(1).unwrap().response
}

/// The mean time of writes one after another on drives with independent rotation: some units are
/// read, and then some are written, at one position.
fn done(parts: &Parts, disks: usize, reads: std::ops::Range<usize>, writes: std::ops::Range<usize>) -> f64 {
    let mut drawn = Drawn(3);
    let mut drives = vec![Drive::new(parts.mechanics.clone(), parts.electronics.clone()); disks];
    let revolution = parts.mechanics.spindle.revolution.nanoseconds();
    // For each drive: how much later its clock is. The difference grows from write to write, as
    // spindles drift.
    let mut clocks = vec![Duration::ZERO; disks];
    let (mut now, mut sum, rounds) = (Instant::ZERO, 0.0, 20_000);
    for _ in 0..rounds {
        for clock in &mut clocks {
            *clock = *clock + Duration::from_nanoseconds(drawn.below(revolution));
        }
        let block = drawn.below(parts.mechanics.surface.blocks() - BLOCKS);
        let began = now;
        for (way, range) in [(Way::Read, reads.clone()), (Way::Write, writes.clone())] {
            let mut last = now;
            for disk in range {
                let done = drives[disk].serve(now + clocks[disk], way, block, BLOCKS).done;
                last = last.max(Instant::ZERO + done.since(Instant::ZERO + clocks[disk]));
            }
            now = last;
        }
        sum += now.since(began).nanoseconds() as f64 / 1e6;
    }
    sum / f64::from(rounds)
}

#[test]
fn what_is_written_where_it_was_read_waits_for_the_rest_of_a_revolution() {
    let parts = Parts::find("ibm-0661");
    let write = Write { data: 8, written: 1 };
    near("one", alone(&parts, 2, write, Method::ReadModifyWrite), done(&parts, 2, 0..2, 0..2), 0.01);
    let write = Write { data: 8, written: 3 };
    near("three", alone(&parts, 4, write, Method::ReadModifyWrite), done(&parts, 4, 0..4, 0..4), 0.01);
}

#[test]
fn the_rest_of_a_stripe_is_read_and_then_others_are_written() {
    let parts = Parts::find("ibm-0661");
    let write = Write { data: 8, written: 5 };
    near("reconstruct", alone(&parts, 9, write, Method::Reconstruct), done(&parts, 9, 0..3, 3..9), 0.01);
    let write = Write { data: 8, written: 8 };
    near("full", alone(&parts, 9, write, Method::FullStripe), done(&parts, 9, 0..0, 0..9), 0.01);
}

#[test]
fn in_one_access_data_and_parity_take_a_revolution_more_each() {
    let parts = Parts::find("ibm-0661");
    let modify = parts.uniform(Work::Modify, BLOCKS);
    let read = parts.uniform(Work::Read, BLOCKS);
    near("each", modify.mean(), read.mean() + 13.9, 1e-9);
    let response = Network::of(9, combined(&modify), 0.0).unwrap().with(1).unwrap().response;
    near("both", response, 2.0 * modify.mean(), 1e-9);
}

/// Chen et al. §3, by counting the accesses of both methods.
#[test]
fn the_method_is_that_of_the_fewest_accesses() {
    for data in 1_u32..40 {
        for written in 1..=data {
            let modify = 2 * (written + 1);
            let reconstruct = data - written + written + 1;
            let method = Write { data, written }.method().unwrap();
            match method {
                Method::FullStripe => assert_eq!(written, data),
                Method::ReadModifyWrite => assert!(modify <= reconstruct && written < data),
                Method::Reconstruct => assert!(reconstruct < modify && written < data),
            }
        }
    }
}

#[test]
fn what_is_no_write_is_refused() {
    let parts = Parts::find("ibm-0661");
    let read = parts.uniform(Work::Read, BLOCKS);
    let accesses = Accesses { read: &read, write: &read, disks: count(9) };
    let refused = |data, written, method| Write { data, written }.phases(method, accesses).unwrap_err();
    assert_eq!(refused(8, 0, Method::FullStripe), WriteError::Units { written: 0, data: 8 });
    assert_eq!(refused(8, 9, Method::Reconstruct), WriteError::Units { written: 9, data: 8 });
    let method = |method, written| WriteError::Method { method, written, data: 8 };
    assert_eq!(refused(8, 7, Method::FullStripe), method(Method::FullStripe, 7));
    assert_eq!(refused(8, 8, Method::Reconstruct), method(Method::Reconstruct, 8));
}
