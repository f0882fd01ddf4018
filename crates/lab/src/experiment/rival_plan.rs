//! From the settings of an experiment file to an organization that is simulated only.

use parlour_drive::angle::Angle;
use parlour_drive::description::Description;
use parlour_rivals::mirrors::{self, Cylinders, Mirrors};
use parlour_rivals::structured::{self, LogStructured};
use parlour_rivals::{Refused, Rival, lraid};
use parlour_sim::opening;
use parlour_units::Sectors;
use parlour_workload::random::Random;

use super::setup::Setup;
use crate::settings::{LogSettings, OrganizationSettings, RivalName, Size};

/// Why a rival cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum RivalError {
    /// A key is not for it.
    #[error("{key}: {of} has no such setting; leave it out")]
    NotForIt {
        /// The key.
        key: &'static str,
        /// The organization.
        of: &'static str,
    },
    /// Its members do not fail.
    #[error("health: {0} is simulated only while all its members are there; leave [[health]] out")]
    Health(&'static str),
    /// The drive has no heads, or its cylinders are not alike.
    #[error(
        "drive.model: {0} chooses places near the heads, and takes cylinders that are all alike; use a drive that turns and has \
         one zone, as ibm-0661"
    )]
    Cylinders(&'static str),
    /// It cannot be made of these members.
    #[error("array.organization: {0}")]
    Refused(#[from] Refused),
}

/// A rival that can be made.
#[derive(Clone, Debug)]
pub struct RivalPlan {
    settings: Settings,
    members: u16,
    length: Sectors,
    unit: Sectors,
    capacity: Sectors,
}

#[derive(Clone, Copy, Debug)]
enum Settings {
    Lraid(lraid::Settings),
    Structured(structured::Settings),
    Mirrors(mirrors::Settings),
}

/// The default memory for hosts' writes: 4 MiB.
const MEMORY: Sectors = Sectors::new(8_192);
/// The default memory of LRAID-X4: a fiftieth of a member, as Stodolsky et al. take it in section
/// 10.
const FIFTIETH: u64 = 50;
/// The default part of a segment on each member: 48 KiB.
const SEGMENT: Sectors = Sectors::new(96);
/// The default utilization.
const UTILIZATION: f64 = 0.75;

impl RivalPlan {
    /// The rival of a file.
    ///
    /// # Errors
    /// A setting is not for it, or it cannot be made of these members.
    pub(super) fn of(
        setup: &Setup,
        name: RivalName,
        members: u16,
        (description, length): (&Description, Sectors),
    ) -> Result<RivalPlan, RivalError> {
        check(setup, name)?;
        let unit = setup.array.unit().sectors();
        let own = &setup.rival;
        let memory = own.memory.map(Size::sectors);
        let settings = match name {
            RivalName::LraidX4 => Settings::Lraid(lraid::Settings {
                members,
                length,
                unit,
                memory: memory.unwrap_or(Sectors::new(length.get() / FIFTIETH)),
                old_data_known: setup.semantics.old_data_known.unwrap_or(false),
                combined: setup.semantics.combined.unwrap_or(false),
            }),
            RivalName::LogStructured => Settings::Structured(structured::Settings {
                members,
                length,
                unit,
                segment: own.segment.map_or(SEGMENT, Size::sectors),
                utilization: own.utilization.unwrap_or(UTILIZATION),
                memory: memory.unwrap_or(MEMORY),
                volatile: own.volatile.unwrap_or(false),
            }),
            RivalName::DistortedMirrors | RivalName::DoublyDistortedMirrors => {
                let cylinders = cylinders(description).ok_or(RivalError::Cylinders(name.name()))?;
                let doubly = name == RivalName::DoublyDistortedMirrors;
                Settings::Mirrors(mirrors::Settings {
                    members,
                    length,
                    unit,
                    cylinders,
                    // As many for slaves, and the one or two that are left are free.
                    master_tracks: own.master_tracks.unwrap_or(cylinders.tracks.saturating_sub(1) / 2),
                    doubly: doubly.then(|| memory.unwrap_or(MEMORY)),
                })
            }
        };
        let rival = settings.make()?;
        Ok(RivalPlan { settings, members, length, unit: rival.unit(), capacity: rival.capacity() })
    }

    /// Makes it, in the state that it has after long use.
    pub(super) fn make(&self, random: &mut Random) -> Box<dyn Rival> {
        let mut rival = self.settings.make().expect("it was made when the file was read");
        rival.age(&mut |below| random.below(below));
        rival
    }

    /// The number of its members.
    pub fn members(&self) -> u16 {
        self.members
    }

    /// How much of each member is used.
    pub(super) fn length(&self) -> Sectors {
        self.length
    }

    /// What requests are whole numbers of.
    pub fn unit(&self) -> Sectors {
        self.unit
    }

    /// The room for hosts' data.
    pub fn capacity(&self) -> Sectors {
        self.capacity
    }
}

impl Settings {
    fn make(&self) -> Result<Box<dyn Rival>, Refused> {
        Ok(match self {
            Settings::Lraid(settings) => Box::new(lraid::LraidX4::new(settings)?),
            Settings::Structured(settings) => Box::new(LogStructured::new(settings)?),
            Settings::Mirrors(settings) => Box::new(Mirrors::new(settings)?),
        })
    }
}

/// The cylinders of a drive that has heads, and all of whose cylinders are alike.
fn cylinders(description: &Description) -> Option<Cylinders> {
    let mechanics = description.mechanics(Angle::default()).ok()?;
    let cylinder = opening::cylinder(&mechanics).ok()?;
    Some(Cylinders { track: Sectors::new(cylinder.track), tracks: cylinder.tracks })
}

/// Refuses keys that a rival does not have.
fn check(setup: &Setup, name: RivalName) -> Result<(), RivalError> {
    let of = name.name();
    if !setup.health.is_empty() {
        return Err(RivalError::Health(of));
    }
    let OrganizationSettings {
        organization: _,
        unit: _,
        rotation,
        read,
        copies,
        tolerance,
        groups,
        width,
        domains,
        spares,
        block,
        consistency,
    } = &setup.array;
    let arrays_own = [
        (rotation.is_some(), "array.rotation"),
        (read.is_some(), "array.read"),
        (copies.is_some(), "array.copies"),
        (tolerance.is_some(), "array.tolerance"),
        (groups.is_some(), "array.groups"),
        (width.is_some(), "array.width"),
        (domains.is_some(), "array.domains"),
        (spares.is_some(), "array.spares"),
        (block.is_some(), "array.block"),
        (consistency.is_some(), "array.consistency"),
        (setup.log != LogSettings::default(), "log"),
        (setup.journal.devices.is_some_and(|devices| devices > 0), "journal.devices"),
        (setup.journal.near_heads == Some(true), "journal.near-heads"),
        (setup.measure.until_rebuilt == Some(true), "measure.until-rebuilt"),
    ];
    let arrays_own = arrays_own.into_iter().filter(|(is_set, _)| *is_set).map(|(_, key)| key);
    let others = setup.rival.set().filter(|(_, of)| !of.contains(&name)).map(|(key, _)| key);
    match arrays_own.chain(others).next() {
        Some(key) => Err(RivalError::NotForIt { key, of }),
        None => Ok(()),
    }
}
