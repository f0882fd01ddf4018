//! The time that a drive needs for the accesses of a phase. Each service time is computed once and
//! kept.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use parlour_drive::angle::Angle;
use parlour_drive::description::Description;
use parlour_drive::electronics::Electronics;
use parlour_drive::mechanics::Mechanics;
use parlour_model::fork_join::Phase;
use parlour_model::journal::Drive;
use parlour_model::service::{Access, Pattern, Service, Work, service};
use parlour_model::writes::Accesses;
use parlour_units::{Sector, Sectors};

use super::refused::{Unmodelled, geometry};
use super::stage::{AccessTime, Doing, Stage};
use crate::experiment::prepared::Prepared;

/// The drives seen so far, and their service times.
#[derive(Debug, Default)]
pub struct Clocks {
    known: Vec<Times>,
}

/// A drive, up to the length that an array uses.
#[derive(Debug)]
struct Times {
    description: Description,
    length: Sectors,
    mechanics: Mechanics,
    electronics: Electronics,
    pattern: Pattern,
    services: BTreeMap<(Work, u64), Service>,
}

/// The number of steps between places of which seeks to the journal are computed.
const STEPS: u64 = 40;

/// Computes the duration of phases on an array.
pub(super) struct Clock<'a> {
    times: &'a mut Times,
    disks: u32,
    synchronized: bool,
}

impl Clocks {
    /// Returns the clock for an array.
    pub(super) fn of(&mut self, prepared: &Prepared) -> Result<Clock<'_>, Unmodelled> {
        let (description, length) = (&prepared.description, prepared.length);
        let known = self.known.iter().position(|one| one.length == length && one.description == *description);
        let index = match known {
            Some(index) => index,
            None => {
                self.known.push(Times::new(description, length)?);
                self.known.len() - 1
            }
        };
        Ok(Clock {
            times: &mut self.known[index],
            disks: geometry(prepared).members().into(),
            synchronized: prepared.synchronized,
        })
    }
}

impl Times {
    fn new(description: &Description, length: Sectors) -> Result<Times, Unmodelled> {
        let (mechanics, electronics) = (description.mechanics(Angle::default())?, description.electronics()?);
        let last = mechanics.surface.place(length.get() - 1).cylinder;
        let (pattern, services) = (Pattern::Within(0, last), BTreeMap::new());
        Ok(Times { description: description.clone(), length, mechanics, electronics, pattern, services })
    }

    fn service(&mut self, work: Work, blocks: u64) -> Result<Service, Unmodelled> {
        if let Some(known) = self.services.get(&(work, blocks)) {
            return Ok(known.clone());
        }
        let access = Access { work, blocks, pattern: self.pattern };
        let told = service(&self.mechanics, &self.electronics, access)?;
        self.services.insert((work, blocks), told.clone());
        Ok(told)
    }
}

impl Clock<'_> {
    fn service(&mut self, work: Work, blocks: u64) -> Result<Service, Unmodelled> {
        self.times.service(work, blocks)
    }

    /// The times of a journal's entries on members: of the drive, and of writes of these lengths.
    pub(super) fn journal(
        &mut self,
        (at, held): (Sector, Sectors),
        lengths: [u64; 2],
    ) -> Result<(Drive, [f64; 2]), Unmodelled> {
        let [short, long] = [self.service(Work::Write, lengths[0])?, self.service(Work::Write, lengths[1])?];
        let Times { mechanics, length, .. } = &*self.times;
        let cylinder = |block: u64| mechanics.surface.place(block.min(length.get() - 1)).cylinder;
        let journal = cylinder(at.get());
        let seek = |beyond: u64| {
            let distance = cylinder(at.get() + beyond).abs_diff(journal);
            mechanics.seek.time(distance).as_secs_f64() * 1e3
        };
        let data = (length.get() - at.get()) as f64;
        let step = |step: u64| seek(((step as f64 / STEPS as f64).powi(2) * data) as u64);
        let drive = Drive {
            seeks: (0..=STEPS).map(step).collect(),
            within: seek(held.get() / 3),
            seek: short.seek.mean,
            switch: mechanics.head_switch.as_secs_f64() * 1e3,
            revolution: short.revolution,
        };
        let time = |service: &Service| service.transfer.mean + service.overhead;
        Ok((drive, [time(&short), time(&long)]))
    }

    /// Returns the time of a phase, and the components of the time of each of its accesses.
    /// `in_step` disks always do the same work: together they are one queue, in which each disk
    /// works on its own.
    pub(super) fn phase(&mut self, stage: Stage, in_step: u32) -> Result<(Phase, AccessTime), Unmodelled> {
        if in_step == 1 {
            return self.alone(stage, f64::from(stage.siblings) / f64::from(self.disks));
        }
        let (phase, time) = self.alone(stage, 1.0)?;
        // The arms start from the same cylinder; the platters start from the same angle only if the
        // spindles are synchronized.
        let last = |service: f64, last: f64| if self.synchronized { service } else { last };
        let undisturbed = phase.undisturbed.map(|mut times| {
            times.last = last(times.service, times.last);
            times
        });
        let siblings = (stage.siblings / in_step).max(1);
        Ok((Phase { siblings, last: last(phase.service, phase.last), undisturbed, ..phase }, time))
    }

    fn alone(
        &mut self,
        Stage { doing, siblings, blocks }: Stage,
        together: f64,
    ) -> Result<(Phase, AccessTime), Unmodelled> {
        let all = positive(siblings);
        let write = match doing {
            Doing::Read => None,
            _ => Some(self.service(Work::Write, blocks)?),
        };
        Ok(match (doing, write) {
            (Doing::Modify, _) => {
                let modify = self.service(Work::Modify, blocks)?;
                (modify.phase(all, together), of(&modify))
            }
            (Doing::Mixed(part), Some(write)) => {
                let modify = self.service(Work::Modify, blocks)?;
                mixed(&write, &modify, (all, together), f64::from(part) / 100.0)
            }
            (Doing::Rewrite | Doing::RewriteLater | Doing::PartlyRewriteLater(_), Some(write)) => {
                let read = self.service(Work::Read, blocks)?;
                let accesses = Accesses { read: &read, write: &write, disks: positive(self.disks) };
                let phase = match doing {
                    Doing::Rewrite => accesses.rewrite(all, together)[1],
                    Doing::PartlyRewriteLater(part) => {
                        accesses.partly_rewritten_later(all, together, f64::from(part) / 100.0)
                    }
                    _ => accesses.rewrite_later(all, together)[1],
                };
                let rest = phase.undisturbed.map_or(phase.service, |times| times.service);
                let told = of(&write);
                let rotation = (rest - told.transfer - told.overhead).max(0.0);
                (phase, AccessTime { seek: 0.0, rotation, ..told })
            }
            (_, Some(write)) => (write.phase(all, together), of(&write)),
            (_, None) => {
                let read = self.service(Work::Read, blocks)?;
                (read.phase(all, together), of(&read))
            }
        })
    }
}

/// The time of a phase in which some disks write, and others read and write in one access. The
/// latter finish last, a revolution later.
fn mixed(
    write: &Service,
    modify: &Service,
    (all, together): (NonZeroU32, f64),
    part: f64,
) -> (Phase, AccessTime) {
    let (one, other) = (write.phase(all, together), modify.phase(all, together));
    let modified = positive((f64::from(all.get()) * part).round() as u32);
    let mean = |one: f64, other: f64| (1.0 - part) * one + part * other;
    let phase = Phase {
        service: mean(one.service, other.service),
        deviation: mean(one.deviation, other.deviation),
        last: modify.last_of(modified, together),
        ..other
    };
    let (one, other) = (of(write), of(modify));
    let time = AccessTime {
        seek: mean(one.seek, other.seek),
        rotation: mean(one.rotation, other.rotation),
        transfer: mean(one.transfer, other.transfer),
        overhead: mean(one.overhead, other.overhead),
    };
    (phase, time)
}

fn of(service: &Service) -> AccessTime {
    AccessTime {
        seek: service.seek.mean,
        rotation: service.rotation.mean,
        transfer: service.transfer.mean,
        overhead: service.overhead,
    }
}

fn positive(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}
