//! The settings of an organization: its name in the table of organizations, and the details that
//! may differ from the table.

use clap::{Args, ValueEnum};
use parlour_array::StoredGeometry;
use parlour_array::layout::Rotation;
use parlour_array::organization::{
    Checks, Consistency, NAMED, NamedOrganization, Organization, ReadChoice, RefusedCombination,
    UnknownOrganization,
};
use parlour_units::Sectors;
use serde::{Deserialize, Serialize};

use super::{RivalName, Size};
use crate::fill;

/// What defines an array, its members apart.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Organization")]
#[serde(rename_all = "kebab-case", default)]
pub struct OrganizationSettings {
    /// simple, raid0, raid1, raid01, raid10, raid1-far, raid10-far, raid4, raid5, raid6, raid-2d
    /// or parity-logging
    /// [default: parity-logging]
    #[arg(long, short = 'o', value_name = "NAME")]
    pub organization: Option<String>,
    /// How parity moves over the members (raid5, raid6, raid-2d) [default: left-symmetric]
    #[arg(long, value_name = "HOW")]
    pub rotation: Option<RotationName>,
    /// Which copy answers a read (raid1, raid01, raid10, …) [default: shortest-queue; primary where
    /// copies are far]
    #[arg(long, value_name = "WHICH")]
    pub read: Option<ReadName>,
    /// Copies of each unit (raid01, raid10, raid10-far) [default: 2]
    #[arg(long, value_name = "COUNT")]
    pub copies: Option<u16>,
    /// Members that may be lost without loss of data: raid10 keeps a copy more, raid4, raid5, raid6
    /// and parity-logging have so many parities (and so many copies of each log), at most 4
    /// [default: 2 for raid6 and raid-2d, 1 for others]
    #[arg(long, value_name = "COUNT", conflicts_with = "copies")]
    pub tolerance: Option<u16>,
    /// Parity groups side by side: 3 groups of 24 members are 3 × (7+1) [default: 1]
    #[arg(long, value_name = "COUNT")]
    pub groups: Option<u16>,
    /// Decluster the parity (raid5, raid6, raid-2d): units of a stripe, less than the members of a
    /// group. A failed member's work falls on all others, and its rebuild is faster [default: all
    /// members]
    #[arg(long, value_name = "UNITS", conflicts_with = "rotation")]
    pub width: Option<u16>,
    /// Failure domains (shelves, hosts), to which the members belong in turn: 6 members of 3
    /// domains are of 1, 2, 3, 1, 2, 3. No stripe has more units in a domain than may be lost, so a
    /// whole domain may fail [default: each member is one]
    #[arg(long, value_name = "COUNT")]
    pub domains: Option<u16>,
    /// Distributed spares: room for a failed member's units on all others, where they are rebuilt
    /// at once. With --width only; 1 is the most [default: 0]
    #[arg(long, value_name = "COUNT", requires = "width")]
    pub spares: Option<u16>,
    /// Stripe unit [default: 64KiB]
    #[arg(long, value_name = "SIZE")]
    pub unit: Option<Size>,
    /// Block size: 512 or 4KiB [default: the largest of the members' blocks]
    #[arg(long, value_name = "SIZE")]
    pub block: Option<Size>,
    /// What keeps data and parity consistent after a crash, for organizations with parity
    /// [default: journal for parity-logging and where several members may be lost, bitmap for
    /// others]
    #[arg(long, value_name = "HOW")]
    pub consistency: Option<ConsistencyName>,
}

/// How parity moves over the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RotationName {
    /// It moves left from the last member; data fills the others from the first.
    LeftAsymmetric,
    /// It moves left from the last member; data starts after it.
    LeftSymmetric,
    /// It moves right from the first member; data fills the others from the first.
    RightAsymmetric,
    /// It moves right from the first member; data starts after it.
    RightSymmetric,
}

/// Which copy answers a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadName {
    /// The first that can be read.
    Primary,
    /// The copies in turn.
    RoundRobin,
    /// The one whose member has the fewest accesses outstanding.
    ShortestQueue,
    /// The one whose member's head is nearest.
    NearestHead,
    /// One at random, but the same for the same requests.
    Random,
}

/// What a crash may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConsistencyName {
    /// A write-intent bitmap names the regions that were being written. After a crash their check
    /// units are recomputed; until then the loss of a member may lose data in these regions.
    Bitmap,
    /// A record of each write is durable before its data. After a crash nothing is recomputed, and
    /// a member may be lost at any time.
    Journal,
    /// The old spelling of `bitmap`.
    #[value(hide = true)]
    Resync,
    /// The old spelling of `journal`.
    #[value(hide = true)]
    Logged,
}

/// Settings that contradict each other.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// The name is not in the table.
    #[error(transparent)]
    Unknown(#[from] UnknownOrganization),
    /// The organization is a rival.
    #[error(
        "{0} is simulated only, to compare it with others: 'parlour simulate' takes it as array.organization of a file"
    )]
    SimulatedOnly(&'static str),
    /// The organization's parity does not rotate.
    #[error("--rotation is for raid5, raid6 and raid-2d; {0} has one place for its parity, or none")]
    Rotation(&'static str),
    /// The organization's parity is not declustered.
    #[error(
        "--width is for raid5, raid6 and raid-2d; {0} has stripes as wide as they can be, or none with parity"
    )]
    Width(&'static str),
    /// Declustered parity does not rotate.
    #[error("rotation and width say in two ways how parity moves over the members; give one of them")]
    RotationAndWidth,
    /// The organization determines the number of copies itself.
    #[error("--copies is for raid01, raid10 and raid10-far, and not for {0}; --tolerance is for parity")]
    Copies(&'static str),
    /// There is not even one copy.
    #[error("0 copies of each unit are too few: keep at least 2")]
    NoCopy,
    /// The organization determines the number of members that may be lost.
    #[error(
        "--tolerance is for organizations that may have more copies or parities: raid01, raid10, raid10-far, raid4, raid5, \
         raid6 and parity-logging; {0} says itself how many members may be lost"
    )]
    Tolerance(&'static str),
    /// Both say how many members may be lost.
    #[error("copies and tolerance say the same in two ways; give one of them")]
    CopiesAndTolerance,
    /// The policy for reads does not suit the organization.
    #[error("--read {read} is not for {organization}: {reason}")]
    Read {
        /// The policy.
        read: &'static str,
        /// The organization.
        organization: &'static str,
        /// The reason.
        reason: RefusedCombination,
    },
    /// The organization has no log.
    #[error("--{0} is for organizations with a parity log; use --organization parity-logging")]
    NoLog(&'static str),
    /// The organization has no parity in a place of its own, so it cannot have a journal.
    #[error(
        "--consistency journal is for organizations with parity, and {0} has none that stays in its place; use raid4, raid5, raid6 or \
         parity-logging, or leave the option away"
    )]
    Consistency(&'static str),
}

/// The default stripe unit.
const DEFAULT_UNIT: &str = "64KiB";

impl OrganizationSettings {
    /// Fills in what these settings leave open from those of a file.
    #[must_use]
    pub fn or(self, file: Self) -> Self {
        // The command line says one of these two, or the file does.
        let either = self.copies.or(self.tolerance).is_some();
        let file = if either { Self { copies: None, tolerance: None, ..file } } else { file };
        // The same with these two.
        let either = self.rotation.is_some() || self.width.is_some();
        let file = if either { Self { rotation: None, width: None, ..file } } else { file };
        fill!(
            self,
            file,
            [
                organization,
                rotation,
                read,
                copies,
                tolerance,
                groups,
                width,
                domains,
                spares,
                unit,
                block,
                consistency
            ]
        )
    }

    /// Returns the organization: the row of the table, with the settings that differ from it.
    ///
    /// # Errors
    /// The name is unknown, or a setting does not suit the organization.
    pub fn organization(&self) -> Result<Organization, SettingError> {
        let row = self.row()?;
        let mut organization = row.organization;
        if let Some(rotation) = self.rotation {
            let rotated = organization.layout.rotated(rotation.into());
            organization.layout = rotated.ok_or(SettingError::Rotation(row.name))?;
        }
        if self.width.is_some() {
            if self.rotation.is_some() {
                return Err(SettingError::RotationAndWidth);
            }
            let declustered = organization.layout.declustered();
            organization.layout = declustered.ok_or(SettingError::Width(row.name))?;
        }
        if let Some(read) = self.read {
            organization.read = read.into();
            organization.check().map_err(|reason| SettingError::Read {
                read: read.word(),
                organization: row.name,
                reason,
            })?;
        }
        Ok(organization)
    }

    /// Returns the number of check units of each stripe of an array of `members`: copies beside the
    /// first, or parities.
    ///
    /// # Errors
    /// The number is set, but the organization determines it itself.
    pub fn checks(&self, members: u16) -> Result<u16, SettingError> {
        let row = self.row()?;
        let fixed = !matches!(row.checks, Checks::Number(1..));
        let stripe = self.width.unwrap_or(members / self.groups().max(1));
        match (self.copies, self.tolerance) {
            (None, None) => Ok(row.checks.of(stripe)),
            (Some(_), Some(_)) => Err(SettingError::CopiesAndTolerance),
            (Some(_), None) if fixed || !row.organization.keeps_copies() => {
                Err(SettingError::Copies(row.name))
            }
            (Some(copies), None) => copies.checked_sub(1).ok_or(SettingError::NoCopy),
            (None, Some(_)) if fixed => Err(SettingError::Tolerance(row.name)),
            (None, Some(tolerance)) => Ok(tolerance),
        }
    }

    /// The number of parity groups.
    pub fn groups(&self) -> u16 {
        self.groups.unwrap_or(1)
    }

    /// The number of distributed spares in each group.
    pub fn spares(&self) -> u16 {
        self.spares.unwrap_or(0)
    }

    /// The stripe unit.
    pub fn unit(&self) -> Size {
        self.unit.unwrap_or_else(|| DEFAULT_UNIT.parse().expect("the default is a size"))
    }

    /// Returns what a crash may cost.
    ///
    /// # Errors
    /// The organization cannot have this consistency.
    pub fn consistency(&self) -> Result<Consistency, SettingError> {
        let row = self.row()?;
        let several = row.organization.keeps_parity() && self.checks(0)? > 1;
        let journaled =
            row.organization.is_logged() || (several && row.organization.takes(Consistency::Journal));
        let usual = if journaled { Consistency::Journal } else { Consistency::Bitmap };
        let consistency = self.consistency.map_or(usual, Consistency::from);
        match row.organization.takes(consistency) {
            true => Ok(consistency),
            false => Err(SettingError::Consistency(row.name)),
        }
    }

    /// A note for the user if the settings use an old spelling.
    pub fn note(&self) -> Option<&'static str> {
        match self.consistency? {
            ConsistencyName::Bitmap | ConsistencyName::Journal => None,
            ConsistencyName::Resync => Some("consistency 'resync' is called 'bitmap' now"),
            ConsistencyName::Logged => Some("consistency 'logged' is called 'journal' now"),
        }
    }

    /// The rival that is named, if it is one.
    pub fn rival(&self) -> Option<RivalName> {
        self.organization.as_deref().and_then(RivalName::named)
    }

    fn row(&self) -> Result<&'static NamedOrganization, SettingError> {
        if let Some(rival) = self.rival() {
            return Err(SettingError::SimulatedOnly(rival.name()));
        }
        let name = self.organization.as_deref().unwrap_or("parity-logging");
        Ok(Organization::named(name)?)
    }
}

impl From<RotationName> for Rotation {
    fn from(name: RotationName) -> Rotation {
        match name {
            RotationName::LeftAsymmetric => Rotation::LeftAsymmetric,
            RotationName::LeftSymmetric => Rotation::LeftSymmetric,
            RotationName::RightAsymmetric => Rotation::RightAsymmetric,
            RotationName::RightSymmetric => Rotation::RightSymmetric,
        }
    }
}

impl From<ReadName> for ReadChoice {
    fn from(name: ReadName) -> ReadChoice {
        match name {
            ReadName::Primary => ReadChoice::Primary,
            ReadName::RoundRobin => ReadChoice::RoundRobin,
            ReadName::ShortestQueue => ReadChoice::ShortestQueue,
            ReadName::NearestHead => ReadChoice::NearestHead,
            ReadName::Random => ReadChoice::Random,
        }
    }
}

impl From<ConsistencyName> for Consistency {
    fn from(name: ConsistencyName) -> Consistency {
        match name {
            ConsistencyName::Bitmap | ConsistencyName::Resync => Consistency::Bitmap,
            ConsistencyName::Journal | ConsistencyName::Logged => Consistency::Journal,
        }
    }
}

impl ReadName {
    fn word(self) -> &'static str {
        match self {
            ReadName::Primary => "primary",
            ReadName::RoundRobin => "round-robin",
            ReadName::ShortestQueue => "shortest-queue",
            ReadName::NearestHead => "nearest-head",
            ReadName::Random => "random",
        }
    }
}

/// Describes an array's organization in the words of the table: its name, its details, and its
/// consistency if there was a choice.
pub fn describe(stored: &StoredGeometry) -> String {
    let name = stored.organization_name();
    let about = match stored.organization.layout.rotation() {
        Some(Rotation::LeftAsymmetric) => Some("left-asymmetric"),
        Some(Rotation::LeftSymmetric) => Some("left-symmetric"),
        Some(Rotation::RightAsymmetric) => Some("right-asymmetric"),
        Some(Rotation::RightSymmetric) => Some("right-symmetric"),
        Some(Rotation::Dedicated) | None => NAMED.iter().find(|row| row.name == name).map(|row| row.about),
    };
    let about = match stored.layout.width {
        Some(width) => {
            let domains = stored.layout.domains.map_or_else(String::new, |domains| {
                format!(", members of {domains} failure domains in turn")
            });
            let spares = match stored.layout.spares {
                0 => String::new(),
                spares => format!(", {spares} distributed spare"),
            };
            format!(" (declustered: stripes of {width} units{domains}{spares})")
        }
        None => about.map_or(String::new(), |about| format!(" ({about})")),
    };
    let stripe = stored.layout.width.unwrap_or(stored.layout.group_members);
    let usual = NAMED.iter().find(|row| row.name == name).map(|row| row.checks.of(stripe));
    let checks = match (stored.organization.keeps_parity(), stored.checks) {
        (true, checks) if Some(checks) != usual => format!(", {checks} parities"),
        _ => String::new(),
    };
    let consistency = match stored.organization.is_logged() || stored.consistency.is_journal() {
        true => format!(", consistency {}", stored.consistency.name()),
        false => String::new(),
    };
    let write_back = match stored.write_log {
        0 => String::new(),
        length => format!(", write-back from {}", Sectors::new(length).bytes()),
    };
    format!("{name}{about}{checks}{consistency}{write_back}")
}
