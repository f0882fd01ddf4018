//! Builds a run from the settings of an experiment file. Errors name the invalid key.

use std::path::Path;

use parlour_array::{Creation, CreationError, Geometry, LogCreation, Simulated};
use parlour_drive::angle::Angle;
use parlour_drive::description::{Description, DescriptionError};
use parlour_sim::opening::{self, UnlikeCylinders};
use parlour_sim::run::{Measure, WarmUp};
use parlour_units::{Bytes, Duration, Sectors};
use parlour_workload::random::Random;

use super::control::{Control, SettingsError};
use super::drive::DriveError;
use super::health::HealthSettingsError;
use super::path::PathSettingsError;
use super::prepared::{Design, Prepared};
use super::rival_plan::{RivalError, RivalPlan};
use super::setup::{MeasureSettings, SemanticsError, Setup};
use super::workload::WorkloadError;
use crate::settings::{SettingError, Size, TuningError};

/// Why the array cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The number of members is missing.
    #[error("members: say how many drives the array has")]
    NoMembers,
    /// Settings of the array contradict each other.
    #[error("array: {0}")]
    Setting(#[from] SettingError),
    /// The array's settings are invalid.
    #[error("array: {0}")]
    Creation(#[from] CreationError),
    /// The tuning is invalid, for example with too little memory.
    #[error("tuning: {0}")]
    Tuning(#[from] TuningError),
    /// There is no such drive.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The drive's description is invalid.
    #[error("drive.model: {0}")]
    Description(#[from] DescriptionError),
    /// The rival cannot be simulated.
    #[error(transparent)]
    Rival(#[from] RivalError),
    /// A key is for rivals.
    #[error(
        "{0}: it is for organizations that are simulated only, as array.organization = \"log-structured\"; leave it out"
    )]
    NoRival(&'static str),
    /// The drive's cylinders do not allow floating data.
    #[error("drive.model: {0}")]
    Floating(#[from] UnlikeCylinders),
    /// The array needs a longer member than the drive.
    #[error("member-size: {wanted} are more than the drive has ({has}); leave the key away to use all of it")]
    TooLarge {
        /// The requested member size.
        wanted: Bytes,
        /// The drive's size.
        has: Bytes,
    },
    /// The `[semantics]` are impossible.
    #[error(transparent)]
    Semantics(#[from] SemanticsError),
    /// There are no records to compress.
    #[error("semantics.compressed-to: the array has no parity log; leave it out")]
    NothingToCompress,
    /// There are no entries, or no heads, for `journal.near-heads`.
    #[error("journal.near-heads: {0}")]
    NearHeads(&'static str),
    /// There is no workload.
    #[error("workload: say what hosts ask for")]
    NoWorkload,
    /// A workload is invalid.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The number of arrays is invalid.
    #[error("arrays: there must be one at least, and at most {MOST_ARRAYS}")]
    Arrays,
    /// The path between hosts and drives is invalid.
    #[error(transparent)]
    Path(#[from] PathSettingsError),
    /// A `[[health]]` table is invalid.
    #[error(transparent)]
    Health(#[from] HealthSettingsError),
    /// The `[control]` table is invalid.
    #[error(transparent)]
    Control(#[from] SettingsError),
    /// A number of `[measure]` is invalid.
    #[error("measure.{key}: {value} is not possible; use {possible}")]
    Measure {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        possible: &'static str,
    },
}

/// A member's length is a multiple of this.
const PIECE: Sectors = Sectors::new(2_048);
/// The block size of drives with 512-byte sectors.
const BLOCK: Sectors = Sectors::new(1);
/// The largest number of arrays.
const MOST_ARRAYS: u16 = 1_024;
/// The default seed of the random numbers.
const SEED: u64 = 1;
/// The defaults: requests of the warm-up, the fewest counted requests, the most counted requests.
const WARM_UP: u64 = 2_000;
const LEAST: u64 = 20_000;
const MOST: u64 = 1_000_000;
/// The default precision: the half width of the mean's interval, as a fraction of the mean.
const PRECISION: f64 = 0.02;
/// The default backlog: with more requests under way than this, an open load is unstable.
const BACKLOG: usize = 10_000;

impl MeasureSettings {
    /// Returns these settings with the numbers of requests, in the warm-up and afterwards, divided
    /// by `times`.
    pub fn shortened(&self, times: u64) -> MeasureSettings {
        let fewer = |requests: u64| Some((requests / times).max(1));
        MeasureSettings {
            warm_up: fewer(self.warm_up.unwrap_or(WARM_UP)),
            warm_up_reintegrations: self.warm_up_reintegrations.map(|passes| passes.min(1)),
            warm_up_at_most: self.warm_up_at_most.and_then(fewer),
            requests: fewer(self.requests.unwrap_or(LEAST)),
            // The length of a rebuild does not depend on the number of requests.
            at_most: match self.until_rebuilt {
                Some(true) => self.at_most,
                _ => fewer(self.at_most.unwrap_or(MOST)),
            },
            ..self.clone()
        }
    }
}

impl Setup {
    /// Fills in the defaults of everything that the file leaves open, and checks it.
    ///
    /// # Errors
    /// A setting is invalid. The error names its key.
    pub fn prepare(&self, path: &Path) -> Result<Prepared, BuildError> {
        let (design, description, length) = self.design(path)?;
        let members = design.members();
        if self.workload.is_empty() {
            return Err(BuildError::NoWorkload);
        }
        let arrays = self.arrays.unwrap_or(1);
        if !(1..=MOST_ARRAYS).contains(&arrays) {
            return Err(BuildError::Arrays);
        }
        for (index, health) in self.health.iter().enumerate() {
            health.check(index + 1, arrays, members)?;
        }
        let control = self.control.control(&self.workload)?;
        if control != Control::Once && !self.health.is_empty() {
            return Err(SettingsError::Health.into());
        }
        let journal_near_heads = self.journal.near_heads.unwrap_or(false);
        if journal_near_heads && !design.geometry().is_some_and(Geometry::is_journaled) {
            return Err(BuildError::NearHeads(
                "the array has no journal; set array.consistency = \"journal\"",
            ));
        }
        if journal_near_heads && description.solid()?.is_some() {
            return Err(BuildError::NearHeads("drive.model has no heads; choose a drive that turns"));
        }
        let drives = arrays.saturating_mul(members);
        let of_journal = match self.journal.drive.model {
            Some(_) => &self.journal.drive,
            None => &self.drive,
        };
        let prepared = Prepared {
            journal: (of_journal.description(path)?, of_journal.discipline()?),
            journal_near_heads,
            length,
            tuning: self.semantics.tuning(self.tuning.tuning()?),
            simulated: self.simulated(&design)?,
            description,
            discipline: self.drive.discipline()?,
            synchronized: self.drive.synchronized.unwrap_or(false),
            people_first: self.drive.people_first.unwrap_or(false),
            workloads: self.workload.clone(),
            file: path.to_owned(),
            measure: self.measure()?,
            control,
            arrays,
            paths: self.path.paths(drives)?,
            path_settings: self.path.clone(),
            health: self.health.clone(),
            until_rebuilt: self.measure.until_rebuilt.unwrap_or(false),
            seed: self.seed(),
            history: self.measure.history.unwrap_or(false),
            design,
        };
        // Errors in a workload are reported before the first run.
        prepared.sources(None, &mut Random::new(prepared.seed))?;
        Ok(prepared)
    }

    /// What only simulated arrays do.
    fn simulated(&self, design: &Design) -> Result<Simulated, BuildError> {
        let simulated = self.semantics.simulated()?;
        let is_logged = design.geometry().is_some_and(|geometry| geometry.layout().logs().is_some());
        match simulated.compression.is_none() || is_logged {
            true => Ok(simulated),
            false => Err(BuildError::NothingToCompress),
        }
    }

    /// The array or the rival, its drives, and how much of each is used.
    fn design(&self, path: &Path) -> Result<(Design, Description, Sectors), BuildError> {
        let Some(name) = self.array.rival() else {
            if let Some(key) = self.rival.first_set() {
                return Err(BuildError::NoRival(key));
            }
            let (geometry, description, length) = self.geometry(path)?;
            return Ok((Design::Array(Box::new(geometry)), description, length));
        };
        let members = self.members.ok_or(BuildError::NoMembers)?;
        let description = self.drive.description(path)?;
        let length = self.length(&description)?;
        let plan = RivalPlan::of(self, name, members, (&description, length))?;
        Ok((Design::Rival(plan), description, length))
    }

    /// The geometry of each array, its drives, and how much of each is used.
    ///
    /// # Errors
    /// A setting of the array or of its drives is invalid. The error names its key.
    pub fn geometry(&self, path: &Path) -> Result<(Geometry, Description, Sectors), BuildError> {
        let members = self.members.ok_or(BuildError::NoMembers)?;
        let description = self.drive.description(path)?;
        let length = self.length(&description)?;
        let organization = self.array.organization()?;
        let block = self.array.block.map_or(BLOCK, Size::sectors);
        let creation = Creation {
            organization,
            checks: self.array.checks(members)?,
            members,
            groups: self.array.groups(),
            width: self.array.width,
            domains: self.array.domains,
            spares: self.array.spares(),
            unit: self.array.unit().sectors(),
            block,
            member_length: length,
            log: LogCreation {
                journals: self.journal.devices.unwrap_or(0),
                ..self.log.creation(organization.is_logged())?
            },
            consistency: self.array.consistency()?,
        };
        let geometry = if organization.layout.is_in_cylinders() {
            let cylinder = opening::cylinder(&description.mechanics(Angle::default())?)?;
            Geometry::create_on(&creation, cylinder)?
        } else {
            Geometry::create(&creation)?
        };
        Ok((geometry, description, length))
    }

    /// The seed of the random numbers.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(SEED)
    }

    fn length(&self, description: &Description) -> Result<Sectors, BuildError> {
        let has = Sectors::new(description.blocks()?);
        let wanted = self.member_size.map_or(has, Size::sectors);
        match wanted <= has {
            true => Ok(wanted.round_down(PIECE)),
            false => Err(BuildError::TooLarge { wanted: wanted.bytes(), has: has.bytes() }),
        }
    }

    fn measure(&self) -> Result<Measure, BuildError> {
        let measure = &self.measure;
        let precision = measure.precision.unwrap_or(PRECISION);
        if !(0.0..1.0).contains(&precision) {
            return Err(BuildError::Measure { key: "precision", value: precision, possible: "0 to 1" });
        }
        let least = measure.requests.unwrap_or(LEAST);
        // Until the rebuild is done, whatever the number of requests and the precision of the
        // figures.
        let endless = measure.until_rebuilt == Some(true);
        let most = measure.at_most.unwrap_or(if endless { u64::MAX } else { MOST });
        Ok(Measure {
            warm_up: WarmUp {
                requests: measure.warm_up.unwrap_or(WARM_UP),
                time: measure.warm_up_time.map_or(Duration::ZERO, |time| time.0),
                reintegrations: measure.warm_up_reintegrations.unwrap_or(0),
                most: measure.warm_up_at_most.unwrap_or(u64::MAX),
            },
            least,
            most: most.max(least),
            precision: if endless { 0.0 } else { precision },
            backlog: measure.backlog.unwrap_or(BACKLOG),
            longest: measure.time.map(|time| time.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_measures_look_at_fewer_requests_but_see_rebuilds_to_their_end() {
        let short = MeasureSettings::default().shortened(20);
        assert_eq!((short.warm_up, short.requests, short.at_most), (Some(100), Some(1_000), Some(50_000)));
        let said = MeasureSettings {
            requests: Some(10),
            warm_up_reintegrations: Some(3),
            until_rebuilt: Some(true),
            ..MeasureSettings::default()
        };
        let short = said.shortened(20);
        assert_eq!((short.requests, short.warm_up_reintegrations, short.at_most), (Some(1), Some(1), None));
    }
}
