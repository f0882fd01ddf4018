//! Organizations: an organization is four choices (layout, code, update, read). The usual names are
//! rows of one table. A combination that makes no sense is refused with the reason.

use parlour_units::words::{did_you_mean, meant};
use serde::{Deserialize, Serialize};

use crate::layout::Rotation;

/// Where units are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutChoice {
    /// One member after another.
    Concatenated,
    /// Striped over all members.
    Striped,
    /// Copies on neighbouring members.
    Neighbours,
    /// The second half (third, …) of the members repeats the first.
    Shadows,
    /// One check unit in each stripe.
    Parity(Rotation),
    /// Regions, each with parity and a log.
    Regions,
    /// Striped over all members; copies on the next member, in a later section of it.
    Far,
    /// One check unit in each stripe; there are cylinders of data and cylinders of parity, each
    /// with one track's worth of free positions.
    Cylinders,
}

impl LayoutChoice {
    /// All choices.
    pub const ALL: [LayoutChoice; 12] = [
        LayoutChoice::Concatenated,
        LayoutChoice::Striped,
        LayoutChoice::Neighbours,
        LayoutChoice::Shadows,
        LayoutChoice::Parity(Rotation::Dedicated),
        LayoutChoice::Parity(Rotation::LeftAsymmetric),
        LayoutChoice::Parity(Rotation::LeftSymmetric),
        LayoutChoice::Parity(Rotation::RightAsymmetric),
        LayoutChoice::Parity(Rotation::RightSymmetric),
        LayoutChoice::Regions,
        LayoutChoice::Far,
        LayoutChoice::Cylinders,
    ];

    /// Whether each stripe is one data unit and its copies.
    pub fn is_copied(self) -> bool {
        matches!(self, LayoutChoice::Neighbours | LayoutChoice::Shadows | LayoutChoice::Far)
    }
}

/// How check units are computed from data units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// There are no check units.
    None,
    /// Each check unit is a copy of the only data unit.
    Copy,
    /// There is one check unit, the exclusive or of all data units.
    Xor,
}

impl Code {
    /// All choices.
    pub const ALL: [Code; 3] = [Code::None, Code::Copy, Code::Xor];
}

/// When check units are updated after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// With the write.
    InPlace,
    /// Later, from a log of parity updates (Stodolsky §2).
    Logged,
    /// With the write; data and parity are written to the position of their cylinder that the heads
    /// reach first (Stodolsky §4). This needs drives that report where their heads are; only
    /// simulated ones do.
    Floating,
}

impl Update {
    /// All choices.
    pub const ALL: [Update; 3] = [Update::InPlace, Update::Logged, Update::Floating];
}

/// The effect of a crash if parity updates are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consistency {
    /// Records are buffered, and the data is overwritten at once. After a crash, regions that were
    /// being written are resynced from their data (the papers' behaviour).
    #[default]
    #[serde(alias = "resync")]
    Bitmap,
    /// No data is overwritten before its record is durable. After a crash records are redone, and
    /// no parity is computed anew.
    #[serde(alias = "logged")]
    Journal,
}

impl Consistency {
    /// All choices.
    pub const ALL: [Consistency; 2] = [Consistency::Bitmap, Consistency::Journal];

    /// Its name, as in commands and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Consistency::Bitmap => "bitmap",
            Consistency::Journal => "journal",
        }
    }
}

/// Which copy answers a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadChoice {
    /// There is one copy only.
    Direct,
    /// The first copy that can be read.
    Primary,
    /// The copies in turn.
    RoundRobin,
    /// The copy whose member has the fewest accesses outstanding; ties go to the nearest head.
    ShortestQueue,
    /// The copy whose member's head is nearest.
    NearestHead,
    /// A pseudo-random copy, determined by the request's number. The same requests read the same
    /// copies.
    Random,
}

impl ReadChoice {
    /// All choices.
    pub const ALL: [ReadChoice; 6] = [
        ReadChoice::Direct,
        ReadChoice::Primary,
        ReadChoice::RoundRobin,
        ReadChoice::ShortestQueue,
        ReadChoice::NearestHead,
        ReadChoice::Random,
    ];
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

/// Why a combination of choices makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedCombination {
    /// A layout without check units has nothing to encode.
    #[error("a layout without check units takes no code; use code = none")]
    NoCheckUnits,
    /// A layout with check units needs a rule for them.
    #[error("this layout has check units; name the code that fills them")]
    NoCode,
    /// The xor of one data unit is its copy.
    #[error("the xor of a single data unit is its copy; use code = copy")]
    XorOfOne,
    /// A copy of several data units does not fit into one check unit.
    #[error("one check unit cannot hold copies of several data units; use code = xor")]
    CopyOfMany,
    /// Only the layout in regions has logs.
    #[error("this layout has no room for a parity log; use layout = regions to log updates")]
    NoLog,
    /// Regions without logging waste the log's space.
    #[error("with parity updated in place the regions' logs would be wasted space; use a parity layout")]
    UnusedLog,
    /// Only the layout in cylinders has free positions.
    #[error("this layout has no free room for units to float in; use layout = cylinders")]
    NoRoom,
    /// Free positions without floating units are wasted.
    #[error("with units that stay in place the cylinders' free room would be wasted; use a parity layout")]
    UnusedRoom,
    /// There is no choice of copies.
    #[error("there is one copy of each unit to read; use read = direct")]
    OneCopy,
    /// There is a choice of copies.
    #[error("there are several copies of each unit; say which one answers (primary, round-robin, …)")]
    ManyCopies,
}

impl Organization {
    /// Checks that the four choices make sense together.
    ///
    /// # Errors
    /// The reason why they do not.
    pub fn check(self) -> Result<(), RefusedCombination> {
        use RefusedCombination as Refused;
        match (self.layout, self.code) {
            (LayoutChoice::Concatenated | LayoutChoice::Striped, Code::None) => {}
            (LayoutChoice::Concatenated | LayoutChoice::Striped, _) => return Err(Refused::NoCheckUnits),
            (_, Code::None) => return Err(Refused::NoCode),
            (layout, Code::Xor) if layout.is_copied() => return Err(Refused::XorOfOne),
            (LayoutChoice::Parity(_) | LayoutChoice::Regions | LayoutChoice::Cylinders, Code::Copy) => {
                return Err(Refused::CopyOfMany);
            }
            _ => {}
        }
        match (self.layout, self.update) {
            (LayoutChoice::Regions, Update::InPlace) => return Err(Refused::UnusedLog),
            (LayoutChoice::Cylinders, Update::InPlace) => return Err(Refused::UnusedRoom),
            (LayoutChoice::Regions, Update::Logged)
            | (LayoutChoice::Cylinders, Update::Floating)
            | (_, Update::InPlace) => {}
            (_, Update::Logged) => return Err(Refused::NoLog),
            (_, Update::Floating) => return Err(Refused::NoRoom),
        }
        match (self.code, self.read) {
            (Code::Copy, ReadChoice::Direct) => Err(Refused::ManyCopies),
            (Code::Copy, _) | (_, ReadChoice::Direct) => Ok(()),
            _ => Err(Refused::OneCopy),
        }
    }

    /// Whether parity updates are logged, so that there is a choice of [`Consistency`].
    pub fn logs_parity(self) -> bool {
        self.update == Update::Logged
    }

    /// The row with this `name`, in upper or lower case.
    ///
    /// # Errors
    /// The name is not in the table; the error suggests a similar name, if there is one.
    pub fn named(name: &str) -> Result<&'static NamedOrganization, UnknownOrganization> {
        let lower = name.to_lowercase();
        NAMED.iter().chain(&SIMULATED).find(|row| row.name == lower).ok_or_else(|| {
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
