//! Organizations: an organization is four choices (layout, code, update, read). The usual names are
//! rows of one table. A combination that makes no sense is refused with the reason.
//!
//! The choices are defined in their own modules, and only there they are compared by name. All
//! others ask in words: [`Organization::is_logged`], [`Organization::keeps_copies`]. `cargo xtask
//! lint` checks this.

mod refused;

use std::ops::RangeInclusive;

use parlour_units::words::{did_you_mean, meant};
use serde::{Deserialize, Serialize};

use crate::code::checks_of_grid;
use crate::layout::Rotation;

pub use crate::code::Code;
pub use crate::layout::LayoutChoice;
pub use crate::read::ReadChoice;
pub use crate::update::Update;
pub use refused::RefusedCombination;

/// The effect of a crash on data and parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consistency {
    /// Data is overwritten at once; records of updates, if these are logged, are buffered. After a
    /// crash, regions that were being written are resynced from their data (the papers' behaviour).
    #[default]
    #[serde(alias = "resync")]
    Bitmap,
    /// Nothing is overwritten before a record of the change is durable. After a crash records are
    /// redone, and no parity is computed anew.
    #[serde(alias = "logged")]
    Journal,
}

impl Consistency {
    /// All choices.
    pub const ALL: [Consistency; 2] = [Consistency::Bitmap, Consistency::Journal];

    /// Whether records are durable before the data that they describe.
    pub fn is_journal(self) -> bool {
        self == Consistency::Journal
    }

    /// Its name, as in commands and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Consistency::Bitmap => "bitmap",
            Consistency::Journal => "journal",
        }
    }
}

/// The four choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Organization {
    /// Where units are placed.
    pub layout: LayoutChoice,
    /// How check units are computed from data units.
    pub code: Code,
    /// When check units are updated.
    pub update: Update,
    /// Which copy answers a read.
    pub read: ReadChoice,
}

impl Organization {
    /// Checks that the four choices make sense together.
    ///
    /// # Errors
    /// The reason why they do not.
    pub fn check(self) -> Result<(), RefusedCombination> {
        self.code.check_on(self.layout.stripes())?;
        self.update.check_on(self.layout.room())?;
        self.read.check_on(self.code)
    }

    /// Whether updates of parity go to a log first.
    pub fn is_logged(self) -> bool {
        self.update.is_logged()
    }

    /// Whether arrays may have this consistency: a journal is for parity, in its place or logged.
    pub fn takes(self, consistency: Consistency) -> bool {
        !consistency.is_journal() || self.keeps_parity() && !self.floats()
    }

    /// The least and the greatest number of check units of a stripe.
    pub fn checks(self) -> RangeInclusive<u16> {
        self.code.checks()
    }

    /// Copies that a region's log needs to survive as many losses as units of a stripe with so many
    /// check units do. It is as many as losses: if all copies are lost, all data is there, and
    /// check units are computed from it.
    pub fn log_copies(self, checks: u16) -> u16 {
        if self.is_logged() { self.code.tolerance(checks).max(1) } else { 1 }
    }

    /// Whether units are written to a free position.
    pub fn floats(self) -> bool {
        self.update.floats()
    }

    /// Whether check units are copies, which can answer reads.
    pub fn keeps_copies(self) -> bool {
        self.code.is_copy()
    }

    /// Whether check units are parity.
    pub fn keeps_parity(self) -> bool {
        self.code.is_parity()
    }

    /// The usual name of these choices with this many `checks` in each stripe over so many
    /// `members`. How parity rotates and which copy is read are details without a name.
    pub fn name(self, checks: u16, members: u16) -> &'static str {
        let is_alike = |row: &&NamedOrganization| {
            let Organization { layout, code, update, read: _ } = row.organization;
            layout.is_alike(self.layout) && code == self.code && update == self.update
        };
        // Some names differ only in the number of check units: the row with the nearest one below.
        let rows = NAMED.iter().chain(&SIMULATED).filter(is_alike);
        let below = rows.filter(|row| row.checks.of(members) <= checks);
        let nearest = below.rev().max_by_key(|row| row.checks.of(members));
        nearest.map_or(UNNAMED, |row| row.name)
    }

    /// The row with this `name`, in upper or lower case.
    ///
    /// # Errors
    /// The name is not in the table; the error suggests a similar name, if there is one.
    pub fn named(name: &str) -> Result<&'static NamedOrganization, UnknownOrganization> {
        let lower = name.to_lowercase();
        let row = NAMED.iter().chain(&SIMULATED).chain(FOR_TESTS).find(|row| row.name == lower);
        row.ok_or_else(|| {
            let meant = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, ours)| *ours);
            let meant = meant.or_else(|| meant_by(&lower));
            // The name may come from a configuration file and contain any characters.
            UnknownOrganization { name: name.escape_debug().to_string(), meant }
        })
    }
}

/// What is said of choices that go together, but have no usual name.
const UNNAMED: &str = "unnamed";

/// What others call our organizations.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("raid-6", "raid6"),
    ("raidz2", "raid6"),
    ("raid-dp", "raid6"),
    ("p+q", "raid6"),
    ("raid2d", "raid-2d"),
    ("2d-parity", "raid-2d"),
];

/// A name like this one.
fn meant_by(name: &str) -> Option<&'static str> {
    meant(name, NAMED.iter().map(|row| row.name))
}

/// A name that is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{name}' is no organization{} (known: {})",
    .meant.map_or(String::new(), |meant| format!("; {}", did_you_mean(meant))),
    known()
)]
pub struct UnknownOrganization {
    /// The name that was requested.
    pub name: String,
    /// A similar name, or ours for the same.
    pub meant: Option<&'static str>,
}

/// All names, for error messages.
fn known() -> String {
    let served: Vec<&str> = NAMED.iter().map(|row| row.name).collect();
    let simulated: Vec<&str> = SIMULATED.iter().map(|row| row.name).collect();
    format!("{}; in simulations, {}", served.join(", "), simulated.join(", "))
}

/// An organization with its usual name.
#[derive(Clone, Copy, Debug)]
pub struct NamedOrganization {
    /// The name, as in commands and configuration.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The four choices.
    pub organization: Organization,
    /// Check units of a stripe, unless another number is wished for.
    pub checks: Checks,
}

/// How many check units a stripe usually has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// So many.
    Number(u16),
    /// A copy on every further member.
    Others,
    /// As many as the rows and columns of the grid that the others fill.
    Grid,
}

impl Checks {
    /// Their number in stripes over so many `members`.
    pub fn of(self, members: u16) -> u16 {
        match self {
            Checks::Number(number) => number,
            Checks::Others => members.saturating_sub(1),
            Checks::Grid => checks_of_grid(members),
        }
    }
}

impl NamedOrganization {
    /// The least number of members.
    pub fn least_members(&self) -> u16 {
        let Organization { layout, code, .. } = self.organization;
        let checks = self.checks.of(2);
        layout.least_members(checks, *code.data(checks).start(), self.organization.log_copies(checks))
    }
}

const fn row(
    name: &'static str,
    about: &'static str,
    layout: LayoutChoice,
    code: Code,
    update: Update,
    read: ReadChoice,
    checks: Checks,
) -> NamedOrganization {
    NamedOrganization { name, about, organization: Organization { layout, code, update, read }, checks }
}

/// The table. New rows are added at its end.
pub const NAMED: [NamedOrganization; 12] = {
    use {Checks::*, Code::*, LayoutChoice::*, ReadChoice::*, Update::*};
    [
        row(
            "simple",
            "one member after another, no redundancy",
            Concatenated,
            Code::None,
            InPlace,
            Direct,
            Number(0),
        ),
        row("raid0", "striped, no redundancy", Striped, Code::None, InPlace, Direct, Number(0)),
        row("raid1", "every member a copy", Neighbours, Copy, InPlace, ShortestQueue, Others),
        row("raid01", "one stripe set and its shadow", Shadows, Copy, InPlace, ShortestQueue, Number(1)),
        row("raid10", "striped over pairs of copies", Neighbours, Copy, InPlace, ShortestQueue, Number(1)),
        row(
            "raid4",
            "striped, parity on the last member",
            Parity(Rotation::Dedicated),
            ReedSolomon,
            InPlace,
            Direct,
            Number(1),
        ),
        row(
            "raid5",
            "striped, parity rotated",
            Parity(Rotation::LeftSymmetric),
            ReedSolomon,
            InPlace,
            Direct,
            Number(1),
        ),
        row(
            "parity-logging",
            "striped, parity rotated, parity updates logged",
            Regions,
            ReedSolomon,
            Logged,
            Direct,
            Number(1),
        ),
        // First copies are nearest to the members' beginnings; only they are contiguous.
        row(
            "raid1-far",
            "every member a copy, of which each begins with another part",
            Far,
            Copy,
            InPlace,
            Primary,
            Others,
        ),
        row("raid10-far", "striped, copies far behind", Far, Copy, InPlace, Primary, Number(1)),
        row(
            "raid6",
            "striped, two parities rotated, survives the loss of any two members",
            Parity(Rotation::LeftSymmetric),
            ReedSolomon,
            InPlace,
            Direct,
            Number(2),
        ),
        row(
            "raid-2d",
            "striped, parity of rows and columns, rotated, survives the loss of any two members",
            Parity(Rotation::LeftSymmetric),
            TwoDimensional,
            InPlace,
            Direct,
            Grid,
        ),
    ]
};

/// Rows that only simulated drives can carry out.
pub const SIMULATED: [NamedOrganization; 1] = [row(
    "floating",
    "striped, parity rotated, data and parity written where the heads come first",
    LayoutChoice::Cylinders,
    Code::ReedSolomon,
    Update::Floating,
    ReadChoice::Direct,
    Checks::Number(1),
)];

/// Rows for tests of what a layout and a code alone decide.
#[cfg(feature = "test-choices")]
const FOR_TESTS: &[NamedOrganization] = &[
    row(
        "halves",
        "two parities, each of half of the data",
        LayoutChoice::Parity(Rotation::Dedicated),
        Code::Halves,
        Update::InPlace,
        ReadChoice::Direct,
        Checks::Number(2),
    ),
    row(
        "halves-logging",
        "two parities, each of half of the data, parity updates logged",
        LayoutChoice::Regions,
        Code::Halves,
        Update::Logged,
        ReadChoice::Direct,
        Checks::Number(2),
    ),
];
#[cfg(not(feature = "test-choices"))]
const FOR_TESTS: &[NamedOrganization] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_row_makes_sense() {
        for row in NAMED.iter().chain(&SIMULATED) {
            assert_eq!(row.organization.check(), Ok(()), "{}", row.name);
        }
    }

    #[test]
    fn an_organization_has_the_name_of_its_row_whatever_its_details_are() {
        let members = 4;
        for row in NAMED.iter().chain(&SIMULATED) {
            let checks = row.checks.of(members);
            assert_eq!(row.organization.name(checks, members), row.name);
            for read in ReadChoice::ALL {
                assert_eq!(Organization { read, ..row.organization }.name(checks, members), row.name);
            }
        }
        let raid5 = Organization::named("raid5").unwrap().organization;
        for layout in LayoutChoice::ALL.iter().filter(|layout| layout.rotation().is_some()) {
            let of = |checks: u16| Organization { layout: *layout, ..raid5 }.name(checks, members);
            assert_eq!([1, 2, 3].map(of), ["raid5", "raid6", "raid6"]);
        }
        // Two members with two copies are a mirror, and three sets of copies are not.
        let pairs = Organization::named("raid10").unwrap().organization;
        assert_eq!((pairs.name(1, 2), pairs.name(2, 9)), ("raid1", "raid10"));
        let shadows = Organization::named("raid01").unwrap().organization;
        assert_eq!(shadows.name(1, 2), "raid01");
        assert_eq!(Organization { layout: LayoutChoice::Regions, ..raid5 }.name(1, 5), UNNAMED);
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_one_that_was_meant() {
        let error = Organization::named("parity-loging").unwrap_err();
        assert!(error.to_string().contains("did you mean 'parity-logging'?"), "{error}");
        let error = Organization::named("zfs").unwrap_err();
        assert!(!error.to_string().contains("did you mean"), "{error}");
        assert_eq!(Organization::named("RAID5").map(|row| row.name), Ok("raid5"));
    }

    #[test]
    fn what_others_call_it_is_answered_with_our_name() {
        for name in ["raid-6", "RAIDZ2", "p+q"] {
            let error = Organization::named(name).unwrap_err().to_string();
            assert!(error.contains("did you mean 'raid6'?"), "{error}");
        }
    }
}
