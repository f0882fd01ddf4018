//! Shortens a failing script to the shortest one that still fails in the same way: removes events,
//! many at a time and then fewer.

use crate::play;
use crate::run::Limits;
use crate::script::Script;
use crate::violation::Violation;

/// Removes events that are not needed, in at most `attempts` runs. Returns the shortened script and
/// its violation.
pub(crate) fn shrink(
    script: Script,
    violation: Violation,
    limits: &Limits,
    attempts: u32,
) -> (Script, Violation) {
    let (mut best, mut found) = (script, violation);
    let mut left = attempts;
    let mut size = best.events.len() / 2;
    while size > 0 && left > 0 {
        let mut shorter = false;
        // From the end, because the events after the violation can be removed first.
        let mut end = best.events.len();
        while end > 0 && left > 0 {
            let start = end.saturating_sub(size);
            let mut candidate = best.clone();
            candidate.events.drain(start..end);
            left -= 1;
            match play(&candidate, limits, false).violation {
                Some(other) if other.kind() == found.kind() => {
                    (best, found) = (candidate, other);
                    shorter = true;
                }
                _ => {}
            }
            end = start.min(best.events.len());
        }
        if !shorter || size > 1 {
            size /= 2;
        }
    }
    (best, found)
}
