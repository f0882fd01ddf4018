//! Organizations: an organization is four choices (layout, code, update, read). The usual names are
//! rows of one table. A combination that makes no sense is refused with the reason.
//!
//! The choices are defined in their own modules, and only there they are compared by name. All
//! others ask in words: [`Organization::is_logged`], [`Organization::keeps_copies`]. `cargo xtask
//! lint` checks this.

mod refused;

use parlour_units::words::{did_you_mean, meant};
use serde::{Deserialize, Serialize};

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

    /// The usual name of these choices with this many `copies` of each unit, in groups of so many
    /// `members`. How parity rotates and which copy is read are details without a name.
    pub fn name(self, copies: u16, members: u16) -> &'static str {
        let is_alike = |row: &&NamedOrganization| {
            let Organization { layout, code, update, read: _ } = row.organization;
            layout.is_alike(self.layout) && code == self.code && update == self.update
        };
        // Some names differ only in the number of copies. With as many as members it is a mirror.
        let is_mirror = copies == members;
        let mut rows = NAMED.iter().chain(&SIMULATED).filter(is_alike);
        let row = rows.clone().find(|row| (row.copies == Copies::Members) == is_mirror);
        row.or_else(|| rows.next()).map_or(UNNAMED, |row| row.name)
    }

    /// The row with this `name`, in upper or lower case.
    ///
    /// # Errors
    /// The name is not in the table; the error suggests a similar name, if there is one.
    pub fn named(name: &str) -> Result<&'static NamedOrganization, UnknownOrganization> {
        let lower = name.to_lowercase();
        NAMED.iter().chain(&SIMULATED).chain(FOR_TESTS).find(|row| row.name == lower).ok_or_else(|| {
            // The name may come from a configuration file and contain any characters.
            let name = name.escape_debug().to_string();
            match UNBUILT.contains(&lower.as_str()) {
                true => UnknownOrganization::TwoParities { name },
                false => {
                    let meant = meant(&lower, NAMED.iter().map(|row| row.name));
                    UnknownOrganization::Name { name, meant }
                }
            }
        })
    }
}

/// What is said of choices that go together, but have no usual name.
const UNNAMED: &str = "unnamed";

/// Usual names of organizations with two or more parities. None is implemented yet.
const UNBUILT: [&str; 9] =
    ["raid6", "raid-6", "raid60", "raid-60", "raidz2", "raidz3", "raid-dp", "p+q", "rs"];

/// A name that is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownOrganization {
    /// No row has this name.
    #[error(
        "'{name}' is no organization{} (known: {})",
        .meant.map_or(String::new(), |meant| format!("; {}", did_you_mean(meant))),
        known()
    )]
    Name {
        /// The name that was requested.
        name: String,
        /// A similar name.
        meant: Option<&'static str>,
    },
    /// It needs a second parity.
    #[error(
        "'{name}' does not exist yet: no organization with parity survives two failures. raid1 with three members does, and \
         raid10 with --copies 3 (known: {})",
        known()
    )]
    TwoParities {
        /// The name that was requested.
        name: String,
    },
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
    /// Copies of each unit: a number, all members, or (without copies) 1.
    pub copies: Copies,
}

/// How many copies of each unit an organization keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Units are not copied.
    One,
    /// Two by default.
    Two,
    /// As many as there are members.
    Members,
}

const fn row(
    name: &'static str,
    about: &'static str,
    layout: LayoutChoice,
    code: Code,
    update: Update,
    read: ReadChoice,
    copies: Copies,
) -> NamedOrganization {
    NamedOrganization { name, about, organization: Organization { layout, code, update, read }, copies }
}

/// The table. New rows are added at its end.
pub const NAMED: [NamedOrganization; 10] = {
    use {Code::*, LayoutChoice::*, ReadChoice::*, Update::*};
    [
        row(
            "simple",
            "one member after another, no redundancy",
            Concatenated,
            Code::None,
            InPlace,
            Direct,
            Copies::One,
        ),
        row("raid0", "striped, no redundancy", Striped, Code::None, InPlace, Direct, Copies::One),
        row("raid1", "every member a copy", Neighbours, Copy, InPlace, ShortestQueue, Copies::Members),
        row("raid01", "one stripe set and its shadow", Shadows, Copy, InPlace, ShortestQueue, Copies::Two),
        row("raid10", "striped over pairs of copies", Neighbours, Copy, InPlace, ShortestQueue, Copies::Two),
        row(
            "raid4",
            "striped, parity on the last member",
            Parity(Rotation::Dedicated),
            Xor,
            InPlace,
            Direct,
            Copies::One,
        ),
        row(
            "raid5",
            "striped, parity rotated",
            Parity(Rotation::LeftSymmetric),
            Xor,
            InPlace,
            Direct,
            Copies::One,
        ),
        row(
            "parity-logging",
            "striped, parity rotated, parity updates logged",
            Regions,
            Xor,
            Logged,
            Direct,
            Copies::One,
        ),
        // First copies are nearest to the members' beginnings; only they are contiguous.
        row(
            "raid1-far",
            "every member a copy, of which each begins with another part",
            Far,
            Copy,
            InPlace,
            Primary,
            Copies::Members,
        ),
        row("raid10-far", "striped, copies far behind", Far, Copy, InPlace, Primary, Copies::Two),
    ]
};

/// Rows that only simulated drives can carry out.
pub const SIMULATED: [NamedOrganization; 1] = [row(
    "floating",
    "striped, parity rotated, data and parity written where the heads come first",
    LayoutChoice::Cylinders,
    Code::Xor,
    Update::Floating,
    ReadChoice::Direct,
    Copies::One,
)];

/// Rows for tests of what a layout and a code alone decide.
#[cfg(feature = "test-choices")]
const FOR_TESTS: &[NamedOrganization] = &[
    row(
        "halves",
        "two parities, each of half of the data",
        LayoutChoice::Mirrored,
        Code::Halves,
        Update::InPlace,
        ReadChoice::Direct,
        Copies::One,
    ),
    row(
        "halves-logging",
        "two parities, each of half of the data, parity updates logged",
        LayoutChoice::TwoChecks,
        Code::Halves,
        Update::Logged,
        ReadChoice::Direct,
        Copies::One,
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
            let copies = match row.copies {
                Copies::One => 1,
                Copies::Two => 2,
                Copies::Members => members,
            };
            assert_eq!(row.organization.name(copies, members), row.name);
            for read in ReadChoice::ALL {
                assert_eq!(Organization { read, ..row.organization }.name(copies, members), row.name);
            }
        }
        let raid5 = Organization::named("raid5").unwrap().organization;
        for layout in LayoutChoice::ALL.iter().filter(|layout| layout.rotation().is_some()) {
            // Copies are of no consequence where there are none.
            assert_eq!(Organization { layout: *layout, ..raid5 }.name(members, members), "raid5");
        }
        // Two members with two copies are a mirror, and three sets of copies are not.
        let pairs = Organization::named("raid10").unwrap().organization;
        assert_eq!((pairs.name(2, 2), pairs.name(3, 9)), ("raid1", "raid10"));
        let shadows = Organization::named("raid01").unwrap().organization;
        assert_eq!(shadows.name(2, 2), "raid01");
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

    /// Regression test. `raid6` was answered with "did you mean 'raid0'?".
    #[test]
    fn two_parities_are_said_not_to_exist_and_what_survives_two_failures_is_named() {
        for name in ["raid6", "RAID6", "raidz2"] {
            let error = Organization::named(name).unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{name}' does not exist yet")), "{error}");
            assert!(error.contains("raid1 with three members") && !error.contains("did you"), "{error}");
        }
    }
}
