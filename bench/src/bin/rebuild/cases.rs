//! What is rebuilt, and what its members allow.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parlour_array::Tuning;
use parlour_engine::{CreateRequest, Member, Operation};
use parlour_lab::settings::{LogSettings, OrganizationSettings, Size};
use parlour_units::Bytes;
use rustix::time::{ClockId, clock_gettime};

use crate::served::Served;
use crate::stand_in::{Devices, Speed, Traffic};
use crate::stream;

/// Where lost units go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// New members, computed from the others.
    Replacements,
    /// Spare room on the others.
    SpareRoom,
    /// A new member, copied from spare room.
    Home,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    organization: Option<&'static str>,
    members: u16,
    width: Option<u16>,
    spares: Option<u16>,
    lost: &'static [u16],
    goal: Goal,
}

const ROTATED: Case = Case {
    name: "RAID 5, 4+1, a replacement",
    organization: Some("raid5"),
    members: 5,
    width: None,
    spares: None,
    lost: &[1],
    goal: Goal::Replacements,
};
const DECLUSTERED: Case = Case {
    name: "RAID 5, 4+1 over 12, into spare room",
    members: 12,
    width: Some(5),
    spares: Some(1),
    goal: Goal::SpareRoom,
    ..ROTATED
};

pub(crate) const CASES: [Case; 5] = [
    Case { name: "parity logging (the default), 5, a replacement", organization: None, ..ROTATED },
    ROTATED,
    Case {
        name: "RAID 6, 6+2, two replacements at once",
        organization: Some("raid6"),
        members: 8,
        lost: &[1, 4],
        ..ROTATED
    },
    DECLUSTERED,
    Case { name: "the same, from spare room to a replacement", goal: Goal::Home, ..DECLUSTERED },
];

/// How the cases are measured.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) speed: Speed,
    pub(crate) member: Bytes,
    /// Short writes of hosts before the rebuild.
    pub(crate) short: u64,
    pub(crate) unit: Option<Size>,
    pub(crate) tuning: Tuning,
}

/// A rebuild as measured. Rates are of rebuilt bytes a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) rate: f64,
    pub(crate) bound: f64,
    /// Bytes that were read from members for each rebuilt one.
    pub(crate) reads: f64,
    /// The mean length of accesses, in bytes.
    pub(crate) length: f64,
    /// Processors that were busy.
    pub(crate) busy: f64,
}

impl Case {
    /// Measures it on new members in `directory`.
    pub(crate) fn measure(&self, directory: &Path, settings: &Settings) -> Measured {
        let devices = Devices::new(settings.speed);
        let request = self.request(directory, settings);
        let served = Served::start(&request, settings.tuning, settings.short, &devices);
        let new: Vec<PathBuf> = self.lost.iter().map(|slot| directory.join(format!("new{slot}"))).collect();
        for path in &new {
            drop(Member::create_file(path, settings.member).expect("there is room"));
        }
        let bound = self.bound(&served, &new, &devices);
        let measured = self.rebuild(&served, &new, &devices, bound);
        if self.goal != Goal::SpareRoom {
            served.check();
        }
        served.stop();
        measured
    }

    fn request(&self, directory: &Path, Settings { member, unit, .. }: &Settings) -> CreateRequest {
        let settings = OrganizationSettings {
            unit: *unit,
            organization: self.organization.map(String::from),
            width: self.width,
            spares: self.spares,
            ..OrganizationSettings::default()
        };
        let organization = settings.organization().expect("it is in the table");
        CreateRequest {
            members: (0..self.members).map(|slot| directory.join(format!("member{slot}"))).collect(),
            journals: Vec::new(),
            organization,
            checks: settings.checks(self.members).expect("the settings go together"),
            groups: settings.groups(),
            width: self.width,
            domains: None,
            spares: settings.spares(),
            unit: settings.unit().bytes(),
            block: None,
            log: LogSettings::default().creation(organization.is_logged()).expect("no settings"),
            consistency: settings.consistency().expect("the settings go together"),
            name: "bench".into(),
            size: Some(*member),
            force: false,
        }
    }

    /// The rate at which members that do nothing else can be rebuilt: all survivors read what is
    /// needed of them, in a row, while what is rebuilt is written.
    fn bound(&self, served: &Served, new: &[PathBuf], devices: &Arc<Devices>) -> f64 {
        let lost = |slot: usize| self.lost.contains(&(slot as u16));
        let members = served.members.iter().enumerate();
        let survivors: Vec<PathBuf> =
            members.filter(|(slot, _)| !lost(*slot)).map(|(_, path)| path.clone()).collect();
        devices.pace(true);
        let reading = stream::rate(devices, &survivors, Operation::Read) * survivors.len() as f64;
        let writing = stream::rate(devices, new, Operation::Write { durable: false });
        devices.pace(false);
        let reads = match self.goal {
            // One pass over each stripe gives the units of all that are lost.
            Goal::Replacements | Goal::SpareRoom => f64::from(served.data) / self.lost.len() as f64,
            Goal::Home => 1.0,
        };
        match self.goal {
            Goal::Replacements | Goal::Home => (reading / reads).min(writing * new.len() as f64),
            Goal::SpareRoom => 1.0 / (reads / reading + 1.0 / (writing * survivors.len() as f64)),
        }
    }

    fn rebuild(&self, served: &Served, new: &[PathBuf], devices: &Arc<Devices>, bound: f64) -> Measured {
        if self.goal != Goal::SpareRoom {
            self.lost.iter().for_each(|slot| served.fail(*slot));
        }
        if self.goal == Goal::Home {
            self.lost.iter().for_each(|slot| served.until_moved(*slot));
        }
        served.settle();
        let of = |paths: &[PathBuf]| {
            paths.iter().map(|path| devices.traffic(path)).fold(Traffic::default(), Traffic::plus)
        };
        let traffic = || (of(&served.members), of(new));
        devices.pace(true);
        let (before, busy, began) = (traffic(), processor_time(), Instant::now());
        if self.goal == Goal::SpareRoom {
            self.lost.iter().for_each(|slot| served.fail(*slot));
            self.lost.iter().for_each(|slot| served.until_moved(*slot));
        } else {
            self.lost.iter().zip(new).for_each(|(slot, path)| served.replace(*slot, path));
            served.until_whole();
        }
        let seconds = began.elapsed().as_secs_f64();
        devices.pace(false);
        let after = traffic();
        let (old, new) = (after.0.since(before.0), after.1.since(before.1));
        // All that is written there is what was lost, but for little metadata.
        let rebuilt = if self.goal == Goal::SpareRoom { old.written } else { new.written } as f64;
        let moved = old.plus(new);
        Measured {
            rate: rebuilt / seconds,
            bound,
            reads: moved.read as f64 / rebuilt,
            length: (moved.read + moved.written) as f64 / moved.accesses as f64,
            busy: (processor_time() - busy) / seconds,
        }
    }
}

/// Seconds that this process has used.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
