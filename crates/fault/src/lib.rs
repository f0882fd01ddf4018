//! The fault tester: the same array that serves data, on byte-accurate members in virtual time,
//! with every fault that disks and power have, and an oracle that knows what each sector may hold.
//!
//! A *seed* stands for a run: an array of drawn shape, hosts' requests, and faults. The same seed
//! gives the same run, to the byte. [`run`] runs one; [`explain`] finds the shortest list of events
//! that still fails and tells its story.
//!
//! Read `script.rs` (what will happen), `disk.rs` (a member), `world.rs` (the driver), `oracle.rs`
//! (what may stand where), `atlas.rs` (which faults are to be survived when), `run/` (how they come
//! together), `check.rs` (what must hold at rest).

mod atlas;
mod check;
mod content;
mod coverage;
mod damage;
mod disk;
pub mod exhaustive;
mod identity;
mod options;
mod oracle;
mod payload;
mod promises;
mod random;
mod run;
mod script;
mod shrink;
mod silent;
mod violation;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use coverage::{Coverage, Fault, State, is_promised};
pub use run::Limits;
pub use violation::Violation;

use run::Run;
use script::Script;
use world::Trace;

/// What a run has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which run it was.
    pub seed: u64,
    /// The organization's name.
    pub organization: &'static str,
    /// What it promises after a crash.
    pub consistency: &'static str,
    /// Members, spares apart.
    pub members: u16,
    /// Hosts' requests.
    pub requests: u64,
    /// Accesses to members in the last session.
    pub accesses: u64,
    /// Faults, and the states that they met.
    pub coverage: Coverage,
    /// A digest of all answers with their times, and of all effects and events in their order.
    pub digest: u64,
    /// The promise that was broken, if one was.
    pub violation: Option<Violation>,
    /// What happened, a line each, where that was asked for.
    pub trace: Vec<String>,
}

/// How a run fails, as short as it can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// Which run it was.
    pub seed: u64,
    /// The array, in a line.
    pub array: String,
    /// The promise that was broken.
    pub violation: Violation,
    /// The events that suffice, a line each.
    pub events: Vec<String>,
    /// What happened, a line each.
    pub trace: Vec<String>,
}

/// Runs what `seed` stands for.
pub fn run(seed: u64, limits: &Limits) -> Report {
    play(&Script::draw(seed, limits), limits, false)
}

/// The name of the organization that `seed` draws.
pub fn organization(seed: u64, limits: &Limits) -> &'static str {
    Script::draw(seed, limits).options.row.name
}

/// Runs `seed` again, with fewer and fewer events, in at most `attempts` runs. None where it does
/// not fail.
pub fn explain(seed: u64, limits: &Limits, attempts: u32) -> Option<Story> {
    let script = Script::draw(seed, limits);
    let violation = play(&script, limits, false).violation?;
    let (script, violation) = shrink::shrink(script, violation, limits, attempts);
    let trace = play(&script, limits, true).trace;
    Some(Story {
        seed,
        array: script.options.describe(),
        violation,
        events: script.events.iter().map(ToString::to_string).collect(),
        trace,
    })
}

/// Runs a script; with `listen`, tells what happens.
fn play(script: &Script, limits: &Limits, listen: bool) -> Report {
    let trace = if listen { Trace::listening() } else { Trace::default() };
    let mut report = Report {
        seed: script.seed,
        organization: script.options.row.name,
        consistency: script.options.creation.consistency.name(),
        members: script.options.creation.members,
        requests: 0,
        accesses: 0,
        coverage: Coverage::default(),
        digest: 0,
        violation: None,
        trace: Vec::new(),
    };
    let mut run = match catch_unwind(AssertUnwindSafe(|| Run::new(script, limits, trace.clone()))) {
        Ok(Ok(run)) => run,
        Ok(Err(violation)) => {
            report.violation = Some(violation);
            return report;
        }
        Err(panic) => {
            report.violation = Some(Violation::Panic(message(panic.as_ref())));
            return report;
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| run.play()));
    report.violation = match result {
        Ok(result) => result.err().filter(|violation| counts(violation, limits)),
        Err(panic) => Some(Violation::Panic(message(panic.as_ref()))),
    };
    (report.requests, report.accesses) = (run.requests, run.world.accesses);
    (report.coverage, report.digest) = (run.coverage.clone(), run.digest ^ run.world.digest());
    report.trace = trace.lines();
    report
}

/// An array that has lost more than it survives may say so where it has, and stop; it may not read
/// wrong. (One that keeps a silent member waits for it at each access; and a member that is left
/// alone cannot know what it has missed.)
fn counts(violation: &Violation, limits: &Limits) -> bool {
    let wrong = matches!(violation, Violation::WrongContent { .. } | Violation::Error { .. });
    wrong || matches!(violation, Violation::Seam(_) | Violation::Panic(_)) || !limits.beyond
}

/// What an assertion said.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}
