//! Members that fail, come and are rebuilt while an array runs, now or at a time that was planned.

use std::collections::VecDeque;

use parlour_array::{AdminError, Event, Mode, Repair};
use parlour_units::{Duration, Instant, Slot};

use crate::member::Member;
use crate::opening::{OpeningError, TooShort, assemble};
use crate::world::World;

/// Something that people or drives do.
#[derive(Debug)]
pub enum Deed {
    /// A member is excluded by hand. Refused where that would lose data.
    Fail(Slot),
    /// The drive in a place dies: it answers nothing but errors from then on, whatever that loses.
    Die(Slot),
    /// Another drive comes into a place, and is rebuilt. Without a string of its own it hangs on that of the first drive of the place.
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

    pub(crate) fn note(&mut self, incident: Incident) {
        self.incidents.push(incident);
    }
}

impl World {
    /// Something is to be done to a volume at a time. If it cannot be then, [`World::incidents`] tell so.
    pub fn plan(&mut self, at: Instant, volume: usize, deed: Deed) {
        let planned = &mut self.health.planned;
        let index = planned.partition_point(|(before, ..)| *before <= at);
        planned.insert(index, (at, volume, deed));
    }

    /// What has happened to the arrays, in order.
    pub fn incidents(&self) -> &[Incident] {
        &self.health.incidents
    }

    /// Rebuilds that are done or under way, in the order in which they began.
    pub fn rebuilds(&self) -> Vec<Rebuild> {
        let mut rebuilds: Vec<Rebuild> = Vec::new();
        for Incident { at, volume, what } in &self.health.incidents {
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

    /// Does something to a volume now.
    ///
    /// # Errors
    /// The array refuses, or the drive does not fit.
    pub fn carry_out(&mut self, volume: usize, deed: Deed) -> Result<(), HealthError> {
        if volume >= self.volumes.len() {
            return Err(HealthError::NoVolume { volume, volumes: self.volumes.len() });
        }
        let now = self.now();
        let done = match deed {
            Deed::Die(slot) => return self.die(volume, slot),
            Deed::Replace(slot, drive) => return self.add(volume, Some(slot), *drive),
            Deed::Spare(drive) => return self.add(volume, None, *drive),
            Deed::Fail(slot) => self.volumes[volume].array.fail(now, slot),
            Deed::Scrub(repair) => self.volumes[volume].array.scrub(now, repair),
        };
        self.drain(volume);
        done.map_err(|source| self.refused(volume, source))
    }

    /// The next deed that was planned.
    pub(crate) fn carry_out_planned(&mut self) {
        let Some((_, volume, deed)) = self.health.planned.pop_front() else { return };
        if let Err(error) = self.carry_out(volume, deed) {
            self.health.note(Incident { at: self.now(), volume, what: What::NotDone(error) });
        }
    }

    fn refused(&self, volume: usize, source: AdminError) -> HealthError {
        HealthError::Refused { array: self.volumes[volume].name.clone(), source }
    }

    /// The number of the drive that stands in a slot.
    fn drive_in(&self, volume: usize, slot: Slot) -> Option<usize> {
        let members = self.volumes[volume].array().status().members;
        members.get(slot.as_usize())?.member.map(usize::from)
    }

    fn die(&mut self, volume: usize, slot: Slot) -> Result<(), HealthError> {
        let Some(number) = self.drive_in(volume, slot) else {
            return Err(HealthError::NoDrive { array: self.volumes[volume].name.clone(), slot });
        };
        self.volumes[volume].members[number].die();
        Ok(())
    }

    /// A drive comes, into a place or as a spare.
    fn add(&mut self, volume: usize, slot: Option<Slot>, mut drive: Member) -> Result<(), HealthError> {
        let now = self.now();
        let own = &mut self.volumes[volume];
        let number = own.members.len();
        let first = slot.and_then(|slot| own.members.get(slot.as_usize()));
        if let Some(string) = first.and_then(Member::string).filter(|_| drive.string().is_none()) {
            drive = drive.on_string(string);
        }
        let length = own.members.iter().map(|member| member.info().length).max().unwrap_or_default();
        drive.join(&own.name, own.joined, length)?;
        own.joined += 1;
        let named = match slot {
            Some(slot) => own.array.replace(now, slot, drive.info()),
            None => own.array.add_spare(now, drive.info()),
        };
        match named {
            Ok(named) => {
                assert_eq!(named.as_usize(), number, "members are numbered in the order in which they come");
                own.members.push(drive);
                self.drain(volume);
                Ok(())
            }
            Err(source) => {
                self.drain(volume);
                Err(self.refused(volume, source))
            }
        }
    }

    /// Stops an array as people do, and opens it again from what its members hold. Time goes on for the others meanwhile.
    ///
    /// # Errors
    /// It cannot be stopped, or not be opened again.
    pub fn restart(&mut self, volume: usize) -> Result<(), OpeningError> {
        let now = self.now();
        self.volumes[volume].array.stop(now);
        self.drain(volume);
        while self.volumes[volume].array().mode() != Mode::Stopped {
            let Some(next) = self.next_time() else {
                return Err(OpeningError::Stuck(self.volumes[volume].name.clone()));
            };
            self.step(next);
        }
        let own = &mut self.volumes[volume];
        let status = own.array().status();
        let standing = status.members.iter().filter_map(|member| member.member).chain(status.spares);
        let mut members: Vec<Option<Member>> =
            std::mem::take(&mut own.members).into_iter().map(Some).collect();
        let drives = standing.filter_map(|number| members[usize::from(number)].take()).collect();
        own.sessions += 1;
        (own.array, own.members) = assemble(&own.name, drives, own.sessions, own.settings, None)?;
        self.drain(volume);
        Ok(())
    }
}
