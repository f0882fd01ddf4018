//! Shortens a failing script to the shortest one that still fails in the same way: removes events,
//! many at a time and then fewer. What is left is the story of the failure.

use crate::limits::Limits;
use crate::report::play;
use crate::script::Script;
use crate::violation::Violation;

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

impl Story {
    /// How `script` fails, found in at most `attempts` runs. `None` if it does not fail.
    pub(crate) fn of(script: Script, limits: &Limits, attempts: u32) -> Option<Story> {
        let violation = play(&script, limits, false).violation?;
        let (script, violation) = shrink(script, violation, limits, attempts);
        Some(Story {
            seed: script.seed(),
            array: script.options().describe(),
            violation,
            events: script.events().iter().map(ToString::to_string).collect(),
            trace: play(&script, limits, true).trace,
        })
    }
}

/// Removes events that are not needed, in at most `attempts` runs. Returns the shortened script and
/// its violation.
fn shrink(script: Script, violation: Violation, limits: &Limits, attempts: u32) -> (Script, Violation) {
    let (mut best, mut found) = (script, violation);
    let mut left = attempts;
    let mut size = best.events().len() / 2;
    while size > 0 && left > 0 {
        let mut shorter = false;
        // From the end, because the events after the violation can be removed first.
        let mut end = best.events().len();
        while end > 0 && left > 0 {
            let start = end.saturating_sub(size);
            let candidate = best.without(start..end);
            left -= 1;
            match play(&candidate, limits, false).violation {
                Some(other) if other.kind() == found.kind() => {
                    (best, found) = (candidate, other);
                    shorter = true;
                }
                _ => {}
            }
            end = start.min(best.events().len());
        }
        if !shorter || size > 1 {
            size /= 2;
        }
    }
    (best, found)
}
