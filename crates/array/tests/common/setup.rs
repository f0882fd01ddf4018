//! The parameters of an array under test.

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Creation, Cylinder, Geometry, LogCreation, Simulated, StoredGeometry, Tuning};
use parlour_units::Sectors;

/// The parameters of an array under test.
#[derive(Clone, Debug)]
pub struct Setup {
    pub organization: Organization,
    pub checks: u16,
    pub members: u16,
    pub groups: u16,
    pub width: Option<u16>,
    pub domains: Option<u16>,
    pub spares: u16,
    pub unit: u64,
    pub block: u64,
    pub member_length: u64,
    pub log: LogCreation,
    pub cylinder: Cylinder,
    pub tuning: Tuning,
    pub simulated: Simulated,
    /// Whether it is opened like an array on real members.
    pub real: bool,
    pub zeroed: bool,
    pub consistency: Consistency,
    /// The length of the commit log, if not the default.
    pub commit_log: Option<Sectors>,
}

impl Setup {
    pub fn named(name: &str, members: u16) -> Setup {
        let row = Organization::named(name).expect("a known organization");
        let checks = row.checks.of(members);
        Setup {
            organization: row.organization,
            checks,
            members,
            groups: 1,
            width: None,
            domains: None,
            spares: 0,
            unit: 16,
            block: 1,
            member_length: 10 * 2_048,
            log: LogCreation {
                segment: Some(Sectors::new(32)),
                sublogs: None,
                ratio: None,
                regions: Some(u32::from(members)),
                track: None,
                writes: None,
                lanes: None,
                journals: 0,
                journal_slots: None,
                journal_copies: None,
            },
            cylinder: Cylinder { track: 48, tracks: 4 },
            tuning: Tuning { slice: Sectors::new(16), ..Tuning::default() },
            simulated: Simulated::default(),
            real: false,
            zeroed: true,
            consistency: Consistency::Bitmap,
            commit_log: None,
        }
    }

    /// Parity logging with `journal`.
    pub fn logged(members: u16) -> Setup {
        Setup { consistency: Consistency::Journal, ..Setup::named("parity-logging", members) }
    }

    pub fn creation(&self) -> Creation {
        Creation {
            organization: self.organization,
            checks: self.checks,
            members: self.members,
            groups: self.groups,
            width: self.width,
            domains: self.domains,
            spares: self.spares,
            unit: Sectors::new(self.unit),
            block: Sectors::new(self.block),
            member_length: Sectors::new(self.member_length),
            log: self.log,
            consistency: self.consistency,
        }
    }

    pub fn geometry(&self) -> Geometry {
        let geometry = Geometry::create_on(&self.creation(), self.cylinder).expect("a possible array");
        let stored = *geometry.stored();
        let commit_log = self.commit_log.map_or(stored.commit_log, Sectors::get);
        let intent_log = self.commit_log.map_or(stored.intent_log, |length| length.get() / 4);
        // (Not even one lane of so short a log need hold the longest entries.)
        let lanes = if self.commit_log.is_some() { 1 } else { stored.lanes };
        Geometry::from_stored(StoredGeometry { commit_log, intent_log, lanes, ..stored })
    }
}
