//! The geometry of an existing array or of one that options describe, for `layout` and `explain`.

use std::path::PathBuf;

use clap::Args;
use parlour_array::{Creation, CreationError, Geometry};
use parlour_units::Slot;

use super::{LogSettings, OrganizationSettings, SettingError, Size};
use crate::console::note;
use crate::members::{Looks, MembersError};

/// An array that need not exist.
#[derive(Args, Clone, Debug)]
pub(crate) struct ShapeOptions {
    /// How many members the array is to have [default: 5]
    #[arg(long, short = 'm', value_name = "COUNT")]
    pub(crate) members: Option<u16>,
    /// The size of its members [default: 1GiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) member_size: Option<Size>,
    #[command(flatten)]
    pub(crate) organization: OrganizationSettings,
    #[command(flatten)]
    pub(crate) log: LogSettings,
}

/// Why there is no geometry.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShapeError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Creation(#[from] CreationError),
    #[error(transparent)]
    Members(#[from] MembersError),
    #[error("give either the members of an array or options such as --organization, not both")]
    Both,
}

impl ShapeOptions {
    /// The geometry of the array with the members `existing`, or of the array that the options
    /// describe; and the slots in which it has no journal device.
    ///
    /// # Errors
    /// The array is impossible or does not exist.
    pub(crate) fn geometry(&self, existing: &[PathBuf]) -> Result<(Geometry, Vec<Slot>), ShapeError> {
        if existing.is_empty() {
            return Ok((self.imagined()?, Vec::new()));
        }
        if self.is_set() {
            return Err(ShapeError::Both);
        }
        let superblock = Looks::default().newest_superblock(existing)?;
        let vacant = superblock.vacant_slots().collect();
        Ok((Geometry::from_stored(superblock.geometry), vacant))
    }

    fn imagined(&self) -> Result<Geometry, ShapeError> {
        let members = self.members.unwrap_or(5);
        let size = |set: Option<Size>, default: &str| {
            set.unwrap_or_else(|| default.parse().expect("the default is a size")).sectors()
        };
        self.organization.note().iter().for_each(|line| note(line));
        let organization = self.organization.organization()?;
        Ok(Geometry::create(&Creation {
            organization,
            checks: self.organization.checks(members)?,
            members,
            groups: self.organization.groups(),
            width: self.organization.width,
            domains: self.organization.domains,
            spares: self.organization.spares(),
            unit: self.organization.unit().sectors(),
            block: size(self.organization.block, "4KiB"),
            member_length: size(self.member_size, "1GiB"),
            log: self.log.creation(organization.is_logged())?,
            consistency: self.organization.consistency()?,
        })?)
    }

    fn is_set(&self) -> bool {
        let organization = &self.organization;
        let log = &self.log;
        self.members.is_some()
            || self.member_size.is_some()
            || organization.organization.is_some()
            || organization.rotation.is_some()
            || organization.read.is_some()
            || organization.copies.is_some()
            || organization.tolerance.is_some()
            || organization.groups.is_some()
            || organization.width.is_some()
            || organization.domains.is_some()
            || organization.spares.is_some()
            || organization.unit.is_some()
            || organization.block.is_some()
            || organization.consistency.is_some()
            || log.creation(false).is_err()
    }
}
