//! A run: plays the events of a script one after another, and checks every answer.
//!
//! The files, from the ground up: `session.rs` (answers, and the array closed and opened again),
//! `members.rs` (members leave and come), `time.rs` (steps until something is done), `scrub.rs`,
//! `check.rs`, `rot.rs` and `rival.rs` (what is checked at rest), `play.rs` (the events), `cut.rs`
//! (what the exhaustive check does).

mod check;
mod clones;
mod cut;
mod members;
mod moment;
mod opening;
mod play;
mod rival;
mod rot;
mod scrub;
mod session;
mod stock;
mod time;
mod watch;

use parlour_units::Duration;

use crate::rig::Rig;
use crate::script::Return;
use clones::Clones;
pub(crate) use cut::Wreck;
pub(crate) use moment::Moment;
use stock::Stock;
pub(crate) use watch::Seen;
use watch::Watch;

/// A run, described in the module's documentation.
pub(crate) struct Run<'a> {
    rig: Rig<'a>,
    clones: Clones,
    stock: Stock,
    /// Records the moments at which the run may be cut off.
    watch: Watch,
    /// The array is being stopped: whether power is cut then, and the way in which it returns.
    stopping: Option<(bool, Return)>,
    /// A disk that is left out of this session.
    returning: Option<usize>,
    /// The array has reported that it lost more than its fault tolerance.
    lost: bool,
    /// How far the clock of events is behind virtual time.
    offset: Duration,
}

impl<'a> Run<'a> {
    /// A run with an array that was just opened.
    fn around(rig: Rig<'a>) -> Run<'a> {
        Run {
            rig,
            clones: Clones::default(),
            stock: Stock::default(),
            watch: Watch::default(),
            stopping: None,
            returning: None,
            lost: false,
            offset: Duration::ZERO,
        }
    }

    /// The array with everything around it.
    pub(crate) fn rig(&self) -> &Rig<'a> {
        &self.rig
    }
}
