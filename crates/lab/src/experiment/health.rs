//! `[[health]]`: drives that die, replacements, spares and scrubs, each at its simulated time.

use parlour_array::{Event, FailureCause, Repair};
use parlour_sim::health::{Deed, Incident, What};
use parlour_sim::member::Member;
use parlour_sim::run::{Progress, Watch};
use parlour_sim::world::World;
use parlour_units::{Duration, Instant, Slot};
use serde::{Deserialize, Serialize};

use crate::settings::Time;

/// A `[[health]]` table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct HealthSettings {
    /// When it happens, in simulated time. The default is the beginning.
    pub at: Option<Time>,
    /// The array, counted from 0. The default is the first.
    pub array: Option<u16>,
    /// The drive in this slot dies.
    pub die: Option<u16>,
    /// A new drive replaces the one in this slot, and is rebuilt.
    pub replace: Option<u16>,
    /// A spare is added.
    pub spare: Option<bool>,
    /// A scrub starts: it compares all redundancy.
    pub scrub: Option<bool>,
}

/// Why a `[[health]]` table is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HealthSettingsError {
    /// It names no event, or several.
    #[error("health {0}: say one thing that happens: die, replace (each with a slot), spare or scrub")]
    NotOne(usize),
    /// There is no such array or slot.
    #[error("health {number}: there is no {what} {given}; there are {count}, counted from 0")]
    Nobody {
        /// The number of the table, from 1.
        number: usize,
        /// Array or slot.
        what: &'static str,
        /// The number in the file.
        given: u16,
        /// How many there are.
        count: u16,
    },
}

impl HealthSettings {
    /// Checks this table against the number of arrays and of members of each.
    pub(super) fn check(&self, number: usize, arrays: u16, members: u16) -> Result<(), HealthSettingsError> {
        let set =
            [self.die.is_some(), self.replace.is_some(), self.spare == Some(true), self.scrub == Some(true)];
        if set.iter().filter(|is_set| **is_set).count() != 1 {
            return Err(HealthSettingsError::NotOne(number));
        }
        let within = |what, given: Option<u16>, count| match given {
            Some(given) if given >= count => Err(HealthSettingsError::Nobody { number, what, given, count }),
            _ => Ok(()),
        };
        within("array", self.array, arrays)?;
        within("slot", self.die.or(self.replace), members)
    }

    /// The slot of a drive that is dead from the beginning on.
    pub(super) fn dead_at_once(&self) -> Option<Slot> {
        let at_once = self.at.is_none_or(|at| at.0 == Duration::ZERO) && self.array.unwrap_or(0) == 0;
        self.die.filter(|_| at_once).map(Slot::new)
    }

    /// Schedules the event.
    pub(super) fn plan(&self, world: &mut World, drive: impl FnOnce() -> Member) {
        let at = Instant::ZERO + self.at.map_or(Duration::ZERO, |time| time.0);
        let deed = match (self.die, self.replace, self.spare) {
            (Some(slot), ..) => Deed::Die(Slot::new(slot)),
            (_, Some(slot), _) => Deed::Replace(Slot::new(slot), Box::new(drive())),
            (.., Some(true)) => Deed::Spare(Box::new(drive())),
            _ => Deed::Scrub(Repair::Nothing),
        };
        world.plan(at, usize::from(self.array.unwrap_or(0)), deed);
    }
}

/// The slot whose drive dies and is rebuilt at once: on a replacement or spare or, if it goes
/// `into_room`, into spare room. `None` if that is not all that happens after the beginning.
pub(super) fn rebuilt_slot(health: &[HealthSettings], into_room: bool) -> Option<Slot> {
    let of_first = |health: &&HealthSettings| health.array.unwrap_or(0) == 0;
    let mut later = health.iter().filter(|health| health.dead_at_once().is_none());
    if later.clone().any(|health| !of_first(&health)) {
        return None;
    }
    let dies = later.next()?;
    let slot = dies.die?;
    let is_replacement = |next: &HealthSettings| {
        next.at == dies.at && (next.spare == Some(true) || next.replace == Some(slot))
    };
    let is_all = match (later.next(), into_room) {
        (None, into_room) => into_room,
        (Some(next), false) => is_replacement(next) && later.next().is_none(),
        (Some(_), true) => false,
    };
    is_all.then(|| Slot::new(slot))
}

/// The events and rebuilds of a run, and what rivals have counted.
#[derive(Clone, Debug, Default)]
pub struct Happened {
    /// Time in seconds, array, and text of each event.
    pub incidents: Vec<(f64, usize, String)>,
    /// Array, slot, and duration in seconds of each rebuild; `None` if it did not finish.
    pub rebuilds: Vec<(usize, u16, Option<f64>)>,
    /// Array, name and value of each measurement of a rival.
    pub measured: Vec<(usize, &'static str, f64)>,
}

impl Happened {
    pub(super) fn of(world: &World) -> Happened {
        let incident = |Incident { at, volume, what }: &Incident| {
            (at.since(Instant::ZERO).as_secs_f64(), *volume, text(what))
        };
        let rebuild = |rebuild: &parlour_sim::health::Rebuild| {
            (rebuild.volume, rebuild.slot.get(), rebuild.took.map(|took| took.as_secs_f64()))
        };
        Happened {
            incidents: world.incidents().iter().map(incident).collect(),
            rebuilds: world.rebuilds().iter().map(rebuild).collect(),
            measured: world.measured().collect(),
        }
    }
}

fn text(what: &What) -> String {
    match what {
        What::NotDone(error) => format!("not done: {error}"),
        What::Told(event) => match event {
            Event::MemberFailed { slot, cause } => format!("{slot} failed: {}", why(*cause)),
            Event::MemberKept { slot } => format!("{slot} answers with errors and has to be kept"),
            Event::MemberFailing { slot, errors } => {
                format!("{slot} is failing after {errors} read errors")
            }
            Event::SlotTaken { slot, .. } => format!("a drive takes the place of {slot}"),
            Event::RebuildDone { slot } => format!("{slot} is rebuilt"),
            Event::SpareRoomTaken { slot } => format!("{slot} is being rebuilt into spare room"),
            Event::SpareRoomFilled { slot } => format!("{slot} is in spare room"),
            Event::RebuildStopped { slot, .. } => {
                format!("the rebuild of {slot} stopped: something cannot be read")
            }
            Event::BadBlocksRecorded { slot, .. } | Event::BlocksLost { slot, .. } => {
                format!("blocks of {slot} are lost")
            }
            Event::AcknowledgedLost { at, .. } => format!("acknowledged writes at {at} are lost"),
            Event::CommitLogDamaged => "the commit log is damaged".to_owned(),
            Event::LogDamaged { region, .. } => format!("the log of region {} is damaged", region.get()),
            Event::BlockDamaged { slot, .. } => format!("a block of {slot} is none of what was written"),
            Event::ResyncDone => "all regions are in sync".to_owned(),
            Event::ResyncIncomplete => "some redundancy could not be recomputed".to_owned(),
            Event::ScrubDone(report) => format!("scrubbed: {} mismatches", report.mismatches),
            Event::OutOfSpace { member } => format!("{member} is out of space"),
            Event::Implausible { slot, what } => format!("{slot} has an implausible {what}"),
            Event::Superseded { .. } => "another server has the array".to_owned(),
            Event::Halted { .. } => "no space for metadata".to_owned(),
            Event::SpareDropped { .. } => "a spare cannot be used".to_owned(),
        },
    }
}

fn why(cause: FailureCause) -> &'static str {
    match cause {
        FailureCause::Gone => "it does not answer",
        FailureCause::Errors => "it cannot read what was rebuilt on it",
        FailureCause::Unfaithful => "what was written does not read back",
        FailureCause::Truncated => "it is shorter than it was",
        FailureCause::Older => "its metadata is older than the others'",
        FailureCause::Asked => "as was asked",
    }
}

/// Watches a run: reports its progress to `goes_on`, which can stop it, and, if `until_rebuilt` is
/// set, lets it continue until all rebuilds are done.
pub(super) struct Followed<'a> {
    pub(super) until_rebuilt: bool,
    pub(super) goes_on: &'a mut dyn FnMut(&Progress) -> bool,
}

impl Watch for Followed<'_> {
    fn begins(&mut self, world: &mut World) {
        world.measure_rivals();
    }

    fn is_over(&mut self, world: &mut World) -> bool {
        let rebuilds = world.rebuilds();
        self.until_rebuilt && !rebuilds.is_empty() && rebuilds.iter().all(|rebuild| rebuild.took.is_some())
    }

    fn goes_on(&mut self, progress: &Progress) -> bool {
        (self.goes_on)(progress)
    }
}
