//! What happens, in one clear line each.

use parlour_array::{Event, FailureCause};
use parlour_units::Member;

use crate::pace::Change;
use crate::roster::Roster;

/// The line that people read.
pub(crate) fn line(event: &Event, roster: &Roster) -> String {
    match event {
        Event::MemberFailed { place, cause } => {
            format!("{} failed: {}", in_place(*place, roster), why(*place, *cause, roster))
        }
        Event::MemberKept { place } => format!(
            "{} answers with errors ({}), and is kept because nothing can take over what it holds: what \
             cannot be read there is lost",
            in_place(*place, roster),
            last_failure(*place, roster)
        ),
        Event::MemberFailing { place, errors } => format!(
            "{} is failing: it has had {errors} read errors, the last of them: {}. It goes on serving, and what it cannot read \
             is computed from the others; replace it soon",
            in_place(*place, roster),
            last_failure(*place, roster)
        ),
        Event::PlaceTaken { place, member, missed: None } => {
            format!("{} takes the place of {place} and is being rebuilt", path(member.get(), roster))
        }
        Event::PlaceTaken { place, member, missed: Some(regions) } => format!(
            "{} is back as {place}: what it has missed, in {regions} regions at the most, is being rebuilt",
            path(member.get(), roster)
        ),
        Event::RebuildDone { place } => format!("{} is rebuilt", in_place(*place, roster)),
        Event::RebuildStopped { place, at } => format!(
            "the rebuild of {} stopped: the stripe at byte {} cannot be computed, because more than one of \
             its units is missing or unreadable; write that stripe anew, or restore it, and start the rebuild \
             again",
            in_place(*place, roster),
            at.bytes()
        ),
        Event::BlocksListed { place, at, length, stripe } => format!(
            "{} lacks {} at byte {}, which cannot be computed: it is on the list of unreadable blocks. What the array \
             stores in the stripe at byte {} cannot be read there until it is written anew",
            in_place(*place, roster),
            length.bytes(),
            at.bytes(),
            stripe.bytes()
        ),
        Event::CommitLogDamaged { place } => format!(
            "the commit log of {} has lost entries, or they have rotted: the regions whose records it holds are \
             resynced from their data; scrub the array, and look after that device",
            in_place(*place, roster)
        ),
        Event::LogDamaged { region, places } => format!(
            "the log of region {} ({}) has lost records, or they have rotted: the region is resynced from its \
             data; look after these devices",
            region.get(),
            places.iter().map(|place| in_place(*place, roster)).collect::<Vec<_>>().join(", ")
        ),
        Event::BlockDamaged { place, at, length } => format!(
            "what {} holds at byte {} ({}) is none of what was written there: it is computed from the rest of its \
             stripe",
            in_place(*place, roster),
            at.bytes(),
            length.bytes()
        ),
        Event::ResyncDone => "resync is complete: all check units fit their data".into(),
        Event::ResyncIncomplete => {
            "some stripes could not be resynced, because a member is missing or unreadable there".into()
        }
        Event::ScrubDone(report) => format!(
            "scrub {}: {} stripes compared, {} skipped, {} mismatches ({} repaired), {} unreadable",
            match (report.complete, report.cancelled) {
                (true, _) if report.stripes == 0 => "has compared nothing",
                (true, _) => "is complete",
                (false, true) => "was cancelled",
                (false, false) => "was broken off, because the array can only be read",
            },
            report.stripes,
            report.skipped,
            report.mismatches,
            report.repaired,
            report.unreadable
        ),
        Event::OutOfSpace { place } => format!(
            "{} has no space left, or the system lacks memory ({}): the array is read-only from here on and the member \
             is not failed; free some, then stop and serve the array again",
            in_place(*place, roster),
            last_failure(*place, roster)
        ),
        Event::Implausible { place, what } => format!(
            "{} has a {what} with a number that no session of this array has reached: it is damaged or forged, and \
             does not count",
            in_place(*place, roster)
        ),
        Event::Superseded { member, session } => format!(
            "{} names another server's session, {session}: the array is served elsewhere, and this server writes nothing more",
            path(member.get(), roster)
        ),
        Event::Halted { place } => format!(
            "{} has no space left for the array's metadata, or the system lacks memory ({}): the array is left as after a crash \
             and the member is not failed; free some, then serve the array again",
            in_place(*place, roster),
            last_failure(*place, roster)
        ),
        Event::SpareDropped { member } => {
            format!("spare {} ({}) is dropped: it does not answer", member.get(), path(member.get(), roster))
        }
    }
}

/// The line that says that a member is slow, or not any more.
pub(crate) fn pace(change: &Change, roster: &Roster) -> String {
    let (path, median, siblings) = (path(change.member, roster), change.median, change.siblings);
    match change.slow {
        true => format!(
            "{path} is slow: half of its accesses take up to {median}, half of its siblings' up to {siblings}; look at \
             what is wrong with it, or replace it"
        ),
        false => format!("{path} is no longer slow: half of its accesses take up to {median}"),
    }
}

fn why(place: Member, cause: FailureCause, roster: &Roster) -> String {
    match cause {
        FailureCause::Gone => {
            format!("it does not answer or refuses to write ({})", last_failure(place, roster))
        }
        FailureCause::Errors => {
            format!("it cannot read what was rebuilt on it ({})", last_failure(place, roster))
        }
        FailureCause::Truncated => "it ends before its end; was it truncated?".into(),
        FailureCause::Unfaithful => "what was written to it does not read back".into(),
        FailureCause::Older => "its metadata is older than that of the other members: it is a copy that was made \
                                earlier, or it has lost what it had called durable; replace it, or add it again to \
                                have it rebuilt"
            .into(),
        FailureCause::Asked => "as was asked".into(),
    }
}

/// "member 2 (/path)"
fn in_place(place: Member, roster: &Roster) -> String {
    match roster.in_place(place.get()).and_then(|number| roster.path(number)) {
        Some(path) => format!("{place} ({})", path.display()),
        None => place.to_string(),
    }
}

fn path(number: u16, roster: &Roster) -> String {
    roster.path(number).map_or_else(|| format!("member number {number}"), |path| path.display().to_string())
}

fn last_failure(place: Member, roster: &Roster) -> String {
    let failure = roster.in_place(place.get()).and_then(|number| roster.last_failure(number));
    failure.map_or_else(|| "it is closed".into(), |failure| failure.to_string())
}
