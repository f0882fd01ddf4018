//! The fault tester: runs the array that serves data on byte-accurate members in virtual time, with
//! all faults of disks and power, and an oracle that knows what each sector may hold.
//!
//! A *seed* determines a run: an array with random parameters, hosts' requests, and faults. The
//! same seed gives exactly the same run. [`run`] runs one seed; [`explain`] finds the shortest list
//! of events that still fails, and returns its trace.
//!
//! The files, in reading order: `script.rs` (the events), `disk.rs` (a member), `world.rs` (the
//! driver), `oracle.rs` (what each sector may hold), `atlas.rs` (which faults the array must
//! survive, and when), `run/` (puts these together), `check.rs` (the checks at rest).

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
mod trace;
mod violation;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use coverage::{Coverage, Fault, State, is_promised};
pub use run::Limits;
pub use violation::Violation;

use run::Run;
use script::Script;
use trace::Trace;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The seed of the run.
    pub seed: u64,
    /// The organization's name.
    pub organization: &'static str,
    /// The name of its consistency.
    pub consistency: &'static str,
    /// The number of members, without spares.
    pub members: u16,
    /// The number of hosts' requests.
    pub requests: u64,
    /// The number of accesses to members in the last session.
    pub accesses: u64,
    /// The faults, and the states in which they were injected.
    pub coverage: Coverage,
    /// A digest of all answers with their times, and, if the limits ask for it, of all effects and
    /// events in their order.
    pub digest: u64,
    /// The promise that was broken, if one was.
    pub violation: Option<Violation>,
    /// The trace, one line per event, if it was requested.
    pub trace: Vec<String>,
}

/// The shortest description of how a run fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// The seed of the run.
    pub seed: u64,
    /// The array, in one line.
    pub array: String,
    /// The promise that was broken.
    pub violation: Violation,
    /// The events that are enough for the failure, one line each.
    pub events: Vec<String>,
    /// The trace, one line per event.
    pub trace: Vec<String>,
}

/// Runs `seed`.
pub fn run(seed: u64, limits: &Limits) -> Report {
    play(&Script::draw(seed, limits), limits, false)
}

/// The name of the organization that `seed` draws.
pub fn organization(seed: u64, limits: &Limits) -> &'static str {
    Script::draw(seed, limits).options.row.name
}

/// Runs `seed` again with fewer and fewer events, in at most `attempts` runs. Returns `None` if it
/// does not fail.
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

/// Runs a script. Records a trace if `listen`.
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

/// Whether a violation counts. An array that has lost more than its fault tolerance may report the
/// loss and stop, but it must not return wrong data. (An array that keeps a member that does not
/// answer waits for it at each access; and a single member that is left cannot know what it has
/// missed.)
fn counts(violation: &Violation, limits: &Limits) -> bool {
    let wrong = matches!(violation, Violation::WrongContent { .. } | Violation::Error { .. });
    wrong || matches!(violation, Violation::Seam(_) | Violation::Panic(_)) || !limits.beyond
}

/// The message of a failed assertion.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}
