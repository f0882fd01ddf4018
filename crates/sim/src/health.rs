//! Failures, replacements and spares while an array runs, now or at a planned time.

use std::collections::VecDeque;

use parlour_array::record::Recorded;
use parlour_array::{AdminError, Array, Event, Repair};
use parlour_units::{Duration, Instant, Slot};

use crate::member::{Member, TooShort};
use crate::volume::Volume;

/// An action of an administrator, or the failure of a drive.
#[derive(Debug)]
pub enum Deed {
    /// An administrator fails a member. Refused if that would lose data.
    Fail(Slot),
    /// The drive in a slot dies: all later accesses fail, whatever data that loses.
    Die(Slot),
    /// A new drive takes a slot and is rebuilt. If it is on no string, it is put on the string of
    /// the slot's first drive.
    Replace(Slot, Box<Member>),
    /// A spare is added. It takes the slot of a failed member at once, if there is one.
    Spare(Box<Member>),
    /// A scrub compares all units.
    Scrub(Repair),
}

/// Why an action was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HealthError {
    /// The volume does not exist.
    #[error("there is no volume {volume}; there are {volumes}, counted from 0")]
    NoVolume {
        /// The volume.
        volume: usize,
        /// The number of volumes.
        volumes: usize,
    },
    /// The array refused.
    #[error("array '{array}': {source}")]
    Refused {
        /// The array's name.
        array: String,
        /// The reason.
        source: AdminError,
    },
    /// A slot has no drive that could die.
    #[error("array '{array}': no drive stands in the place of {slot}")]
    NoDrive {
        /// The array's name.
        array: String,
        /// The slot.
        slot: Slot,
    },
    /// The drive is too short for its member.
    #[error(transparent)]
    TooShort(#[from] TooShort),
    /// Members of rivals do not fail.
    #[error("'{0}' is simulated only while all its members are there")]
    Rival(String),
}

/// An event to be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// The time.
    pub at: Instant,
    /// The volume.
    pub volume: usize,
    /// The event.
    pub what: What,
}

/// The kind of an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An event of the array. Blocks that it adds to its bad-block log are counted, but not
    /// reported singly.
    Told(Event),
    /// A planned action could not be carried out.
    NotDone(HealthError),
}

impl From<Event> for What {
    fn from(event: Event) -> What {
        What::Told(event)
    }
}

/// A rebuild, which begins when a drive takes a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuild {
    /// The volume.
    pub volume: usize,
    /// The slot.
    pub slot: Slot,
    /// When it began.
    pub began: Instant,
    /// How long it took, if it is done.
    pub took: Option<Duration>,
}

/// Planned actions, and past incidents.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// By time; actions with equal times keep the order in which they were planned.
    planned: VecDeque<(Instant, usize, Deed)>,
    incidents: Vec<Incident>,
}

impl Health {
    pub(crate) fn next_time(&self) -> Option<Instant> {
        self.planned.front().map(|(at, ..)| *at)
    }

    pub(crate) fn plan(&mut self, at: Instant, volume: usize, deed: Deed) {
        let index = self.planned.partition_point(|(before, ..)| *before <= at);
        self.planned.insert(index, (at, volume, deed));
    }

    /// Removes the next planned action and returns it with its volume.
    pub(crate) fn take_planned(&mut self) -> Option<(usize, Deed)> {
        self.planned.pop_front().map(|(_, volume, deed)| (volume, deed))
    }

    pub(crate) fn note(&mut self, incident: Incident) {
        self.incidents.push(incident);
    }

    pub(crate) fn incidents(&self) -> &[Incident] {
        &self.incidents
    }

    /// Rebuilds that are done or running, in the order in which they began.
    pub(crate) fn rebuilds(&self) -> Vec<Rebuild> {
        let mut rebuilds: Vec<Rebuild> = Vec::new();
        for Incident { at, volume, what } in &self.incidents {
            match what {
                What::Told(Event::SlotTaken { slot, .. } | Event::SpareRoomTaken { slot }) => {
                    rebuilds.push(Rebuild { volume: *volume, slot: *slot, began: *at, took: None });
                }
                What::Told(Event::RebuildDone { slot } | Event::SpareRoomFilled { slot }) => {
                    let own = |rebuild: &&mut Rebuild| rebuild.volume == *volume && rebuild.slot == *slot;
                    if let Some(rebuild) = rebuilds.iter_mut().rev().find(own) {
                        rebuild.took = Some(at.since(rebuild.began));
                    }
                }
                _ => {}
            }
        }
        rebuilds
    }
}

impl Deed {
    /// Carries out the action on a volume. The caller must then poll the array's events.
    pub(crate) fn carry_out(self, volume: &mut Volume, now: Instant) -> Result<(), HealthError> {
        let done = match self {
            Deed::Die(slot) => return die(volume, slot),
            Deed::Replace(slot, drive) => return add(volume, now, Some(slot), *drive),
            Deed::Spare(drive) => return add(volume, now, None, *drive),
            Deed::Fail(slot) => array(volume)?.fail(now, slot),
            Deed::Scrub(repair) => array(volume)?.scrub(now, repair),
        };
        done.map_err(|source| refused(volume, source))
    }
}

fn array(volume: &mut Volume) -> Result<&mut Recorded, HealthError> {
    let Volume { name, controller, .. } = volume;
    controller.recorded_mut().ok_or_else(|| HealthError::Rival(name.clone()))
}

fn refused(volume: &Volume, source: AdminError) -> HealthError {
    HealthError::Refused { array: volume.name.clone(), source }
}

/// The number of the drive in a slot.
fn drive_in(array: &Array, slot: Slot) -> Option<usize> {
    let members = array.status().members;
    members.get(slot.as_usize())?.member.map(usize::from)
}

fn die(volume: &mut Volume, slot: Slot) -> Result<(), HealthError> {
    let Some(number) = drive_in(array(volume)?.get(), slot) else {
        return Err(HealthError::NoDrive { array: volume.name.clone(), slot });
    };
    volume.members[number].die();
    Ok(())
}

/// Adds a drive, to a slot or as a spare.
fn add(volume: &mut Volume, now: Instant, slot: Option<Slot>, mut drive: Member) -> Result<(), HealthError> {
    array(volume)?;
    let number = volume.members.len();
    let first = slot.and_then(|slot| volume.members.get(slot.as_usize()));
    if let Some(string) = first.and_then(Member::string).filter(|_| drive.string().is_none()) {
        drive = drive.on_string(string);
    }
    let length = volume.members.iter().map(|member| member.info().length).max().unwrap_or_default();
    drive.join(&volume.name, volume.joined, length)?;
    volume.joined += 1;
    let named = match slot {
        Some(slot) => array(volume)?.replace(now, slot, drive.info()),
        None => array(volume)?.add_spare(now, drive.info()),
    };
    match named {
        Ok(named) => {
            assert_eq!(named.as_usize(), number, "members are numbered in the order in which they come");
            volume.members.push(drive);
            Ok(())
        }
        Err(source) => Err(refused(volume, source)),
    }
}
