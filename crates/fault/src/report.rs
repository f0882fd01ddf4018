//! Plays a script, and reports how the run ended.

use crate::coverage::Coverage;
use crate::limits::Limits;
use crate::run::Run;
use crate::script::Script;
use crate::trace::Trace;
use crate::violation::Violation;

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

/// Plays a script. Records a trace if `listen`.
pub(crate) fn play(script: &Script, limits: &Limits, listen: bool) -> Report {
    let trace = if listen { Trace::listening() } else { Trace::default() };
    let options = script.options();
    let mut report = Report {
        seed: script.seed(),
        organization: options.row.name,
        consistency: options.creation.consistency.name(),
        members: options.creation.members,
        requests: 0,
        accesses: 0,
        coverage: Coverage::default(),
        digest: 0,
        violation: None,
        trace: Vec::new(),
    };
    let mut run = match Violation::catch(|| Run::new(script, limits, trace.clone())) {
        Ok(run) => run,
        Err(violation) => {
            report.violation = Some(violation);
            return report;
        }
    };
    let result = Violation::catch(|| run.play());
    report.violation = result.err().filter(|violation| counts(violation, limits));
    let rig = run.rig();
    (report.requests, report.accesses) = (rig.hosts.requests(), rig.world.accesses());
    report.coverage = rig.coverage().clone();
    report.digest = rig.hosts.digest() ^ rig.world.digest();
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
