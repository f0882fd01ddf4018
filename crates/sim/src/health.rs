//! Members that fail, come and are rebuilt while an array runs, now or at a time that was planned.

use std::collections::VecDeque;

use parlour_array::{AdminError, Event, Repair};
use parlour_units::{Duration, Instant, Slot};

use crate::member::{Member, TooShort};
use crate::volume::Volume;

/// Something that people or drives do.
#[derive(Debug)]
pub enum Deed {
    /// A member is excluded by hand. Refused where that would lose data.
    Fail(Slot),
    /// The drive in a place dies: it answers nothing but errors from then on, whatever that loses.
    Die(Slot),
    /// Another drive comes into a place, and is rebuilt. Without a string of its own it hangs on
    /// that of the first drive of the place.
    Replace(Slot, Box<Member>),
    /// A spare comes. It takes the place of a failed member at once, if there is one.
    Spare(Box<Member>),
    /// All redundancy is compared.
    Scrub(Repair),
}

/// Why a deed was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HealthError {
    /// There is no such volume.
    #[error("there is no volume {volume}; there are {volumes}, counted from 0")]
    NoVolume {
        /// Which one.
        volume: usize,
        /// How many there are.
        volumes: usize,
    },
    /// The array refused.
    #[error("array '{array}': {source}")]
    Refused {
        /// Which array.
        array: String,
        /// Why.
        source: AdminError,
    },
    /// A place has no drive that could die.
    #[error("array '{array}': no drive stands in the place of {slot}")]
    NoDrive {
        /// Which array.
        array: String,
        /// Which place.
        slot: Slot,
    },
    /// The drive ends before its member would.
    #[error(transparent)]
    TooShort(#[from] TooShort),
}

/// Something to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// When.
    pub at: Instant,
    /// In which volume.
    pub volume: usize,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The array said so. (Blocks that it lists as lost are counted, and not told one by one.)
    Told(Event),
    /// A deed that was planned was not done.
    NotDone(HealthError),
}

impl From<Event> for What {
    fn from(event: Event) -> What {
        What::Told(event)
    }
}

/// A rebuild, from when a drive took a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuild {
    /// In which volume.
    pub volume: usize,
    /// Of which place.
    pub slot: Slot,
    /// Since when.
    pub began: Instant,
    /// How long it took, if it is done.
    pub took: Option<Duration>,
}

/// What is planned, and what has happened.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// By time; of equal times in the order in which they were planned.
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

    /// Takes the next deed that was planned, and the volume that it is to be done to.
    pub(crate) fn take_planned(&mut self) -> Option<(usize, Deed)> {
        self.planned.pop_front().map(|(_, volume, deed)| (volume, deed))
    }

    pub(crate) fn note(&mut self, incident: Incident) {
        self.incidents.push(incident);
    }

    pub(crate) fn incidents(&self) -> &[Incident] {
        &self.incidents
    }

    /// Rebuilds that are done or under way, in the order in which they began.
    pub(crate) fn rebuilds(&self) -> Vec<Rebuild> {
        let mut rebuilds: Vec<Rebuild> = Vec::new();
        for Incident { at, volume, what } in &self.incidents {
            match what {
                What::Told(Event::SlotTaken { slot, .. }) => {
                    rebuilds.push(Rebuild { volume: *volume, slot: *slot, began: *at, took: None });
                }
                What::Told(Event::RebuildDone { slot }) => {
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
    /// Does it to a volume. What the array has to say of it is still to be heard.
    pub(crate) fn carry_out(self, volume: &mut Volume, now: Instant) -> Result<(), HealthError> {
        let done = match self {
            Deed::Die(slot) => return die(volume, slot),
            Deed::Replace(slot, drive) => return add(volume, now, Some(slot), *drive),
            Deed::Spare(drive) => return add(volume, now, None, *drive),
            Deed::Fail(slot) => volume.array.fail(now, slot),
            Deed::Scrub(repair) => volume.array.scrub(now, repair),
        };
        done.map_err(|source| refused(volume, source))
    }
}

fn refused(volume: &Volume, source: AdminError) -> HealthError {
    HealthError::Refused { array: volume.name.clone(), source }
}

/// The number of the drive that stands in a slot.
fn drive_in(volume: &Volume, slot: Slot) -> Option<usize> {
    let members = volume.array().status().members;
    members.get(slot.as_usize())?.member.map(usize::from)
}

fn die(volume: &mut Volume, slot: Slot) -> Result<(), HealthError> {
    let Some(number) = drive_in(volume, slot) else {
        return Err(HealthError::NoDrive { array: volume.name.clone(), slot });
    };
    volume.members[number].die();
    Ok(())
}

/// A drive comes, into a place or as a spare.
fn add(volume: &mut Volume, now: Instant, slot: Option<Slot>, mut drive: Member) -> Result<(), HealthError> {
    let number = volume.members.len();
    let first = slot.and_then(|slot| volume.members.get(slot.as_usize()));
    if let Some(string) = first.and_then(Member::string).filter(|_| drive.string().is_none()) {
        drive = drive.on_string(string);
    }
    let length = volume.members.iter().map(|member| member.info().length).max().unwrap_or_default();
    drive.join(&volume.name, volume.joined, length)?;
    volume.joined += 1;
    let named = match slot {
        Some(slot) => volume.array.replace(now, slot, drive.info()),
        None => volume.array.add_spare(now, drive.info()),
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
