//! The arrays of which there are images, and the state in which each was left.

use parlour_array::organization::{Consistency, NAMED};
use parlour_array::{LogFlush, Tuning};
use parlour_units::Slot;

use crate::common::{SEED, Setup, World};
use crate::image::Golden;

/// The state in which an array was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// As it was created.
    Created,
    /// Written to, and stopped.
    Stopped,
    /// Written to and stopped, with a member that was failed in between.
    Degraded,
    /// Written to, and killed.
    Unclean,
}

pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) setup: Setup,
    pub(crate) left: Left,
}

/// The content that a host writes there: each eight sectors repeat one word, so that images stay
/// small.
pub(crate) fn content(at: u64, length: u64) -> Vec<u8> {
    let sector = |sector: u64| (sector / 8 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().repeat(64);
    (at..at + length).flat_map(sector).collect()
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |name: &str, left: Left, setup: &Setup| {
        let how = match left {
            Left::Created => "created",
            Left::Stopped => "stopped",
            Left::Degraded => "degraded",
            Left::Unclean => "unclean",
        };
        Scenario { name: format!("{name}-{how}"), setup: small(setup.clone()), left }
    };
    // The places of floating units are not stored on members.
    let rows = NAMED.iter().filter(|row| row.name != "floating");
    let mut all: Vec<Scenario> = rows
        .flat_map(|row| {
            let setup = Setup::named(row.name, row.least_members().max(4));
            [Left::Created, Left::Stopped].map(|left| scenario(row.name, left, &setup))
        })
        .collect();
    let (logged, unlogged) = (Setup::logged(4), Setup::named("parity-logging", 4));
    all.extend([Left::Created, Left::Stopped, Left::Unclean].map(|left| scenario("logged", left, &logged)));
    all.push(scenario("parity-logging", Left::Unclean, &unlogged));
    let journal = Setup { consistency: Consistency::Journal, ..Setup::named("raid6", 5) };
    all.extend([Left::Degraded, Left::Unclean].map(|left| scenario("raid6-journal", left, &journal)));
    all.extend(
        [Left::Degraded, Left::Unclean].map(|left| scenario("raid5", left, &Setup::named("raid5", 4))),
    );
    all
}

/// Short members, and segments that a few writes fill.
fn small(setup: Setup) -> Setup {
    // A few records reach the logs.
    let log_flush = Some(LogFlush::WhenFull);
    let tuning = Tuning { session_records: 1 << 38, log_flush, ..setup.tuning };
    Setup { member_length: 4 * 2_048, tuning, ..setup }
}

impl Scenario {
    /// Whether records are in its logs.
    pub(crate) fn has_live_logs(&self) -> bool {
        let logs = self.setup.geometry().layout().logs().is_some();
        logs && matches!(self.left, Left::Stopped | Left::Unclean)
    }

    /// The members as the current code leaves them.
    pub(crate) fn make(&self) -> Golden {
        let mut world = World::new(&self.setup, SEED);
        if self.left == Left::Created {
            // No data was written yet: the opening is still under way.
            return Golden { disks: world.disks, written: Vec::new() };
        }
        let mut written = Vec::new();
        for step in 0..16 {
            let (at, length) = ((step * 7 % 24) * (world.capacity() / 24) / 8 * 8, 8 + step % 2 * 8);
            world.write_now(at, &content(at, length)).expect("it is written");
            written.push((at, length));
            if step == 8 && self.left == Left::Degraded {
                world.array.fail(world.now, Slot::new(1)).expect("it can be done without");
                world.drain();
            }
        }
        if self.left == Left::Unclean {
            return Golden { disks: world.disks, written };
        }
        world.stop();
        Golden { disks: world.disks, written }
    }
}
