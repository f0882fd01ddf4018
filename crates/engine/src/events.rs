//! Messages about the array's events, one line each.

use parlour_array::{Event, FailureCause};
use parlour_units::{Member, Slot};

use crate::pace::Change;
use crate::roster::Roster;

/// The message for an event.
pub(crate) fn line(event: &Event, roster: &Roster) -> String {
    match event {
        Event::MemberFailed { slot, cause } => {
            format!("{} failed: {}", member_in(*slot, roster), why(*slot, *cause, roster))
        }
        Event::MemberKept { slot } => format!(
            "{} answers with errors ({}), and is kept because nothing can take over what it holds: what \
             cannot be read there, or computed from the rest of its stripe, is lost",
            member_in(*slot, roster),
            last_failure(*slot, roster)
        ),
        Event::MemberFailing { slot, errors } => format!(
            "{} is failing: it has had {errors} read errors, the last of them: {}. It goes on serving, and what it cannot read \
             is computed from the others; replace it soon",
            member_in(*slot, roster),
            last_failure(*slot, roster)
        ),
        Event::SlotTaken { slot, member, .. } if roster.is_for_journal(*slot) => {
            format!("{} becomes {}", path(*member, roster), named(*slot, roster))
        }
        Event::RebuildDone { slot } if roster.is_for_journal(*slot) => {
            format!("{} is ready for entries", member_in(*slot, roster))
        }
        Event::SlotTaken { slot, member, out_of_sync: None } => {
            format!("{} takes the place of {slot} and is being rebuilt", path(*member, roster))
        }
        Event::SlotTaken { slot, member, out_of_sync: Some(regions) } => format!(
            "{} is back as {slot}: what it has missed, in {regions} regions at the most, is being rebuilt",
            path(*member, roster)
        ),
        Event::RebuildDone { slot } => format!("{} is rebuilt", member_in(*slot, roster)),
        Event::SpareRoomTaken { slot } => {
            format!("what {slot} held is being rebuilt into spare room on the other members")
        }
        Event::SpareRoomFilled { slot } => format!(
            "what {slot} held is in spare room on the other members: the array survives further failures as before; put a \
             new member into {slot} to free that room"
        ),
        Event::RebuildStopped { slot, at } => format!(
            "the rebuild of {} stopped: the stripe at byte {} cannot be computed, because more than one of \
             its units is missing or unreadable; write that stripe anew, or restore it, and start the rebuild \
             again",
            member_in(*slot, roster),
            at.bytes()
        ),
        Event::BadBlocksRecorded { slot, at, length, stripe } => format!(
            "{} lacks {} at byte {}, which cannot be computed: it is on the bad-block log. What the array \
             stores in the stripe at byte {} cannot be read there until it is written anew",
            member_in(*slot, roster),
            length.bytes(),
            at.bytes(),
            stripe.bytes()
        ),
        Event::BlocksLost { slot, at, length, stripe } => format!(
            "{} held {} at byte {} of a stripe that was being written when the array stopped, and they are lost. What \
             the array stores in the stripe at byte {} cannot be read there until it is written anew",
            member_in(*slot, roster),
            length.bytes(),
            at.bytes(),
            stripe.bytes()
        ),
        Event::AcknowledgedLost { at, length } => format!(
            "{} at byte {} of the array were acknowledged and are lost: no member that is here can read them",
            length.bytes(),
            at.bytes()
        ),
        Event::CommitLogDamaged => {
            "the commit log has lost entries, or they have rotted on all members: the regions \
             that were in use are resynced from their data; scrub the array, and look after the devices"
                .to_owned()
        }
        Event::LogDamaged { region, slots } => format!(
            "the log of region {} ({}) has lost records, or they have rotted: the region is resynced from its \
             data; look after these devices",
            region.get(),
            slots.iter().map(|slot| member_in(*slot, roster)).collect::<Vec<_>>().join(", ")
        ),
        Event::BlockDamaged { slot, at, length } => format!(
            "what {} holds at byte {} ({}) is none of what was written there: it is computed from the rest of its \
             stripe",
            member_in(*slot, roster),
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
        Event::OutOfSpace { member } => format!(
            "{} has no space left, or the system lacks memory ({}): the array is read-only from here on and the member \
             is not failed; free some, then stop and serve the array again",
            path(*member, roster),
            failure_of(*member, roster)
        ),
        Event::Implausible { slot, what } => format!(
            "{} has a {what} with a number that no session of this array has reached: it is damaged or forged, and \
             does not count",
            member_in(*slot, roster)
        ),
        Event::Superseded { member, session } => format!(
            "{} names another server's session, {session}: the array is served elsewhere, and this server writes nothing more",
            path(*member, roster)
        ),
        Event::Halted { slot } => format!(
            "{} has no space left for the array's metadata, or the system lacks memory ({}): the array is left as after a crash \
             and the member is not failed; free some, then serve the array again",
            member_in(*slot, roster),
            last_failure(*slot, roster)
        ),
        Event::SpareDropped { member } => {
            format!("the spare {} is dropped: it does not answer", path(*member, roster))
        }
    }
}

/// The message for a member that has become slow, or is no longer slow.
pub(crate) fn pace(change: &Change, roster: &Roster) -> String {
    let (path, median, siblings) = (path(Member::new(change.member), roster), change.median, change.siblings);
    match change.slow {
        true => format!(
            "{path} is slow: half of its accesses take up to {median}, half of its siblings' up to {siblings}; look at \
             what is wrong with it, or replace it"
        ),
        false => format!("{path} is no longer slow: half of its accesses take up to {median}"),
    }
}

fn why(slot: Slot, cause: FailureCause, roster: &Roster) -> String {
    match cause {
        FailureCause::Gone => {
            format!("it does not answer or refuses to write ({})", last_failure(slot, roster))
        }
        FailureCause::Errors => {
            format!("it cannot read what was rebuilt on it ({})", last_failure(slot, roster))
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
fn member_in(slot: Slot, roster: &Roster) -> String {
    match roster.standing(slot).and_then(|number| roster.path(number)) {
        Some(path) => format!("{} ({})", named(slot, roster), path.display()),
        None => named(slot, roster),
    }
}

/// "member 2", "journal device 5".
fn named(slot: Slot, roster: &Roster) -> String {
    match roster.is_for_journal(slot) {
        true => format!("journal device {}", slot.get()),
        false => slot.to_string(),
    }
}

fn path(member: Member, roster: &Roster) -> String {
    roster.path(member.get()).map_or_else(|| member.to_string(), |path| path.display().to_string())
}

fn last_failure(slot: Slot, roster: &Roster) -> String {
    roster.standing(slot).map_or_else(closed, |number| failure_of(Member::new(number), roster))
}

fn failure_of(member: Member, roster: &Roster) -> String {
    roster.last_failure(member.get()).map_or_else(closed, |failure| failure.to_string())
}

fn closed() -> String {
    "it is closed".to_owned()
}
