//! The contract between array and driver: which accesses the array may ask for.

use parlour_array::{Action, Array, Class, Effect};
use parlour_units::{Sector, Sectors};

use crate::violation::Violation;

/// The member, the place and the length that an access names; none for a computation.
pub(super) fn place(effect: Effect) -> Result<Option<(u16, Sector, Sectors)>, Violation> {
    let action = effect.action;
    if let Action::ReadModifyWrite { member, .. } | Action::Float { member, .. } = action {
        let what = format!("{member} is to read and write in one access, and the array was not opened so");
        return Err(Violation::seam(what));
    }
    let (at, length) = action.range().unwrap_or((Sector::ZERO, Sectors::ZERO));
    Ok(action.member().map(|member| (member.get(), at, length)))
}

/// Checks that the array may ask for this access to a member of this length.
pub(super) fn check(
    array: &Array,
    member_length: Sectors,
    effect: Effect,
    at: Sector,
    length: Sectors,
) -> Result<(), Violation> {
    let broken = |what: &str| Err(Violation::seam(format!("{what}: {effect:?}")));
    if (at + length).get() > member_length.get() {
        return broken("an access beyond the member's end");
    }
    let (writes, payload) = match effect.action {
        Action::Read { .. } => (false, true),
        Action::Write { .. } => (true, true),
        Action::Zero { .. } => (true, false),
        _ => return Ok(()),
    };
    if payload && array.parts_length(effect.id) != length {
        return broken("parts are not as long as their access");
    }
    let start = array.geometry().data_start();
    let end = start + Sectors::new(array.geometry().stored().layout.length);
    // (A journal device ends where on members the data area starts, and a superblock stands there.)
    let has_data = member_length >= array.geometry().least_member_length();
    let in_data = has_data && at >= start && (at + length) <= end;
    let (commits, length_of_commits) = array.geometry().commit_log();
    let in_commits = at >= commits && (at + length) <= commits + length_of_commits;
    let fits = match effect.class {
        // A session begins each stream of the commit log with an entry.
        Class::Metadata => !in_data,
        Class::Log => in_data || in_commits,
        _ => in_data,
    };
    if writes && !fits {
        return broken("a write in a place that is not for its kind");
    }
    Ok(())
}
