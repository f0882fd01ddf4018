//! From a script that fails to the shortest that still fails in the same way: events are taken out,
//! many at once and then fewer.

use crate::play;
use crate::run::Limits;
use crate::script::Script;
use crate::violation::Violation;

/// Takes out what is not needed, in at most `attempts` runs. Returns the script that is left, and
/// how it fails.
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
        // From the end: what comes after the violation goes first.
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
