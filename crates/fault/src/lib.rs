//! The fault tester: runs the array that serves data on byte-accurate members in virtual time, with
//! all faults of disks and power, and an oracle that knows what each sector may hold.
//!
//! A *seed* determines a run: an array with random parameters, hosts' requests, and faults. The
//! same seed gives exactly the same run. [`run`] runs one seed; [`explain`] finds the shortest list
//! of events that still fails, and returns its trace.
//!
//! The files, in reading order: `script.rs` (the events), `disk.rs` (a member), `world.rs` (the
//! driver), `oracle.rs` (what each sector may hold), `hosts.rs` (requests and their answers),
//! `rig.rs` (all of these together; `rig/atlas.rs`: which faults the array must survive, and when),
//! `run.rs` (the events happen, and everything is checked at rest), `report.rs` (how a run ended),
//! `story.rs` (the shortest run that ends so), `exhaustive.rs` (every cut of small scripts).

mod area;
mod content;
mod corruption;
mod coverage;
mod damage;
mod defects;
mod disk;
pub mod exhaustive;
mod found;
mod hosts;
mod identity;
mod limits;
mod options;
mod oracle;
mod payload;
mod promises;
mod random;
mod report;
mod request;
mod rig;
mod run;
mod script;
mod shelf;
mod silent;
mod story;
mod trace;
mod violation;
mod world;

pub use coverage::{Coverage, Fault, State, is_promised};
pub use limits::Limits;
pub use report::Report;
pub use story::Story;
pub use violation::Violation;

/// Runs `seed`.
pub fn run(seed: u64, limits: &Limits) -> Report {
    report::play(&script::draw(seed, limits), limits, false)
}

/// The name of the organization that `seed` draws.
pub fn organization(seed: u64, limits: &Limits) -> &'static str {
    script::draw(seed, limits).options().row.name
}

/// Runs `seed` again with fewer and fewer events, in at most `attempts` runs. Returns `None` if it
/// does not fail.
pub fn explain(seed: u64, limits: &Limits, attempts: u32) -> Option<Story> {
    Story::of(script::draw(seed, limits), limits, attempts)
}
