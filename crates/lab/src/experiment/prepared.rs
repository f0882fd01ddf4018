//! A run that is ready to simulate: arrays on drives, the paths to the drives, and the hosts.

use std::path::PathBuf;

use parlour_array::{Geometry, Simulated, Tuning};
use parlour_drive::angle::Angle;
use parlour_drive::description::Description;
use parlour_drive::queue::Discipline;
use parlour_sim::control::ControlError;
use parlour_sim::member::Member;
use parlour_sim::opening::{self, New, OpeningError};
use parlour_sim::paths::{PathError, Paths};
use parlour_sim::report::Report;
use parlour_sim::run::{Measure, Progress, RunError, watched};
use parlour_sim::volume::Volume;
use parlour_sim::world::World;
use parlour_units::{Sectors, Slot};
use parlour_workload::random::Random;
use parlour_workload::source::Source;
use parlour_workload::space::Space;

use super::control::{Control, Found, Setting};
use super::health::{Followed, Happened, HealthSettings, rebuilt_slot};
use super::path::PathSettings;
use super::rival_plan::RivalPlan;
use super::workload::{WorkloadError, WorkloadSettings};

/// All that a run needs.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What turns requests into accesses.
    pub(super) design: Design,
    /// The number of arrays; hosts see them as one address space, one array after the other.
    pub arrays: u16,
    pub(super) length: Sectors,
    pub(super) tuning: Tuning,
    pub(super) simulated: Simulated,
    pub(super) description: Description,
    pub(super) discipline: Discipline,
    /// The drive of journal devices, and the order in which they serve accesses.
    pub(super) journal: (Description, Discipline),
    /// Entries on members go where the heads are.
    pub(super) journal_near_heads: bool,
    pub(super) synchronized: bool,
    pub(super) people_first: bool,
    pub(super) paths: Option<Paths>,
    pub(super) path_settings: PathSettings,
    pub(super) health: Vec<HealthSettings>,
    pub(super) workloads: Vec<WorkloadSettings>,
    /// The path of the experiment file; the files that it names are looked for relative to it.
    pub(super) file: PathBuf,
    pub(super) measure: Measure,
    pub(super) until_rebuilt: bool,
    pub(super) control: Control,
    pub(super) seed: u64,
    /// Whether the report includes histories.
    pub history: bool,
}

/// An array or a rival.
#[derive(Clone, Debug)]
pub(super) enum Design {
    /// Arrays with this geometry.
    Array(Box<Geometry>),
    /// Rivals of this plan.
    Rival(RivalPlan),
}

impl Design {
    pub(super) fn geometry(&self) -> Option<&Geometry> {
        match self {
            Design::Array(geometry) => Some(geometry),
            Design::Rival(_) => None,
        }
    }

    pub(super) fn members(&self) -> u16 {
        match self {
            Design::Array(geometry) => geometry.members(),
            Design::Rival(plan) => plan.members(),
        }
    }
}

/// Why a run gave no figures.
#[derive(Debug, thiserror::Error)]
pub enum PointError {
    /// An array could not be opened.
    #[error(transparent)]
    Opening(#[from] OpeningError),
    /// A drive is connected to no path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The workload is invalid.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// The results of a run, or of all runs of a search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The report of the run, or of the chosen run of a search.
    pub report: Report,
    /// The result of the search, if there was one.
    pub found: Option<Found>,
    /// The events and rebuilds of the run.
    pub happened: Happened,
}

impl Prepared {
    /// The geometry of each array; none if they are rivals.
    pub fn geometry(&self) -> Option<&Geometry> {
        self.design.geometry()
    }

    /// Simulates the run. The same setup gives exactly the same report.
    ///
    /// # Errors
    /// The run cannot be simulated.
    pub fn run(&self) -> Result<Outcome, ControlError<PointError>> {
        self.run_followed(&mut |_| true)
    }

    /// Simulates the run like [`run`](Self::run). `goes_on` is called with the progress from time
    /// to time; the run stops when it returns false.
    ///
    /// # Errors
    /// The run cannot be simulated.
    pub fn run_followed(
        &self,
        goes_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Outcome, ControlError<PointError>> {
        let mut happened = Happened::default();
        let (report, found) = self.control.find(|setting| self.run_once(setting, &mut happened, goes_on))?;
        Ok(Outcome { report, found, happened })
    }

    /// Whether the length of the run is known beforehand. It is not known for a search, or for a
    /// run that ends with a rebuild.
    pub fn is_foreseeable(&self) -> bool {
        self.control == Control::Once && !self.until_rebuilt
    }

    /// The slots whose drives are dead from the beginning on.
    pub(super) fn dead(&self) -> Vec<Slot> {
        let mut dead: Vec<Slot> = self.health.iter().filter_map(HealthSettings::dead_at_once).collect();
        dead.sort_unstable();
        dead.dedup();
        dead
    }

    /// The slot whose drive is rebuilt, if the run lasts until then and nothing else happens.
    pub(super) fn rebuilt(&self) -> Option<Slot> {
        let into_room = self.geometry()?.layout().spares() > 0;
        rebuilt_slot(&self.health, into_room).filter(|_| self.until_rebuilt)
    }

    fn run_once(
        &self,
        setting: Option<Setting>,
        happened: &mut Happened,
        goes_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Report, PointError> {
        let mut random = Random::new(self.seed);
        let mut world = self.world(&mut random)?;
        let mut sources = self.sources(setting, &mut random)?;
        let mut followed = Followed { until_rebuilt: self.until_rebuilt, goes_on };
        let report = watched(&mut world, &mut sources, &self.measure, &random, &mut followed);
        *happened = Happened::of(&world);
        Ok(report?)
    }

    fn world(&self, random: &mut Random) -> Result<World, PointError> {
        let mut volumes = Vec::new();
        for number in 0..self.arrays {
            let name = if self.arrays == 1 { "array".to_owned() } else { format!("array {number}") };
            let first = number * self.design.members();
            let drives = first..first + self.design.members();
            let drives = drives.map(|drive| self.drive(Some(drive), random)).collect();
            volumes.push(self.volume(&name, drives, random)?);
        }
        let world = World::new(volumes);
        let mut world = match &self.paths {
            Some(paths) => world.on_paths(paths)?,
            None => world,
        };
        self.health.iter().for_each(|health| health.plan(&mut world, || self.drive(None, random)));
        Ok(world)
    }

    /// An array or a rival on these drives, and on journal devices.
    fn volume(
        &self,
        name: &str,
        mut drives: Vec<Member>,
        random: &mut Random,
    ) -> Result<Volume, OpeningError> {
        let Prepared { length, tuning, simulated, .. } = *self;
        match &self.design {
            Design::Rival(plan) => opening::rival(name, plan.make(random), plan.length(), drives),
            Design::Array(geometry) => {
                drives.extend((0..geometry.journal_slots()).map(|_| self.journal_drive(random)));
                opening::open(&New { name, geometry, length, tuning, simulated }, drives)
            }
        }
    }

    /// The sources of requests; the first has the given setting, if there is one.
    pub(super) fn sources(
        &self,
        setting: Option<Setting>,
        random: &mut Random,
    ) -> Result<Vec<Source>, WorkloadError> {
        let space = self.space()?;
        let workloads = self.workloads.iter().enumerate();
        workloads
            .map(|(number, workload)| match setting.filter(|_| number == 0) {
                Some(setting) => workload.set(setting).source(number, &space, &self.file, random),
                None => workload.source(number, &space, &self.file, random),
            })
            .collect()
    }

    /// The address space that hosts see: all arrays, one after the other.
    fn space(&self) -> Result<Space, WorkloadError> {
        let (capacity, block) = match &self.design {
            Design::Array(geometry) => (geometry.capacity(), geometry.block()),
            Design::Rival(plan) => (plan.capacity(), plan.unit()),
        };
        Ok(match self.arrays {
            1 => Space::new(capacity, block)?,
            arrays => Space::volumes(&vec![capacity; usize::from(arrays)], block)?,
        })
    }

    /// Returns the drive of a journal device, which is on no bus.
    fn journal_drive(&self, random: &mut Random) -> Member {
        let (description, discipline) = &self.journal;
        let phase = Angle::from_revolutions(random.part_of_one());
        Member::described(description, phase, *discipline).expect("it was looked at when it was found")
    }

    /// Returns a drive, connected to its bus if it has a number and there are buses.
    fn drive(&self, number: Option<u16>, random: &mut Random) -> Member {
        let phase =
            if self.synchronized { Angle::default() } else { Angle::from_revolutions(random.part_of_one()) };
        let member = Member::described(&self.description, phase, self.discipline);
        let member = member.expect("it was looked at when it was found");
        let member = if self.people_first { member.people_first() } else { member };
        let member = match self.geometry().filter(|_| self.journal_near_heads) {
            Some(geometry) => member.journal_near_heads(geometry),
            None => member,
        };
        match number.and_then(|number| self.path_settings.string_of(number)) {
            Some(string) => member.on_string(string),
            None => member,
        }
    }
}
