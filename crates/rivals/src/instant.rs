//! A driver without time: what is asked for is done at once. It ages rivals, and tests them.

use parlour_units::Sector;

use crate::seam::{Access, Act, Rival, Tag};

/// Completes all accesses, and those that follow from them, in order. `choose` is given the places
/// of an access that chooses its place, and returns one of them.
pub fn settle(
    rival: &mut dyn Rival,
    choose: &mut dyn FnMut(&Access, Vec<Sector>) -> Sector,
    seen: &mut dyn FnMut(&Access),
) -> Vec<Tag> {
    let mut answers = Vec::new();
    loop {
        answers.extend(std::iter::from_fn(|| rival.poll_answer()));
        let Some(access) = rival.poll_access() else { return answers };
        seen(&access);
        let placed = match access.act {
            Act::Place { .. } => Some(choose(&access, rival.places(access.id, 0))),
            _ => None,
        };
        rival.complete(access.id, placed);
    }
}
