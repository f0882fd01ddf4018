//! A case of the exhaustive check, and the name by which it can be tried alone.

use std::fmt;
use std::str::FromStr;

use parlour_array::organization::{Checks, Consistency, NamedOrganization, Organization};

use super::{Kept, SCENARIOS, Scenario, Subject};
use crate::coverage::Fault;
use crate::script::What;

/// Power is cut, or the process is killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The number of the moment.
    pub(super) moment: usize,
    /// Content of caches may be lost.
    pub(super) power: bool,
    /// What is found of the writes that were not durable.
    pub(super) kept: Kept,
    /// The disks that are lost in the same cut.
    pub(super) lost: Vec<usize>,
    /// A disk that was lost in the cut before, and is present again.
    pub(super) back: Option<usize>,
}

/// What may happen to a member while the array runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    Dies,
    Replaced,
}

impl Interruption {
    pub(super) const ALL: [Interruption; 2] = [Interruption::Dies, Interruption::Replaced];

    pub(super) fn what(self, slot: u16) -> What {
        match self {
            Interruption::Dies => What::Lose(Fault::Death, slot),
            Interruption::Replaced => What::Replace(slot),
        }
    }
}

/// An interruption of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interrupted {
    pub(super) how: Interruption,
    pub(super) slot: u16,
    /// The number of steps before it.
    pub(super) steps: u64,
}

/// The faults in a script, or in the recoveries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) cuts: Vec<Cut>,
    /// The interruption after the last cut.
    pub(super) interrupted: Option<Interrupted>,
}

/// Follows the name of the consistency where small writes are acknowledged when they are in the
/// journal.
const WRITE_BACK: &str = "+write-back";

/// Where there are not as many check units as usual, this stands before their number.
const CHECKS: char = '/';

/// Where stripes are narrower than the array, this stands before their width; and this before the
/// number of distributed spares, if there are some.
const WIDTH: char = 'w';
const SPARES: char = 's';

/// A case of a scenario on an array.
#[derive(Clone, Debug)]
pub struct Trial {
    pub(super) scenario: &'static Scenario,
    pub(super) subject: Subject,
    pub(super) seed: u64,
    pub(super) case: Case,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.power { "cut" } else { "kill" };
        write!(f, "{what}@{}({})", self.moment, self.kept)?;
        self.lost.iter().try_for_each(|lost| write!(f, "~{lost}"))?;
        self.back.map_or(Ok(()), |back| write!(f, "^{back}"))
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            Interruption::Dies => "dies",
            Interruption::Replaced => "replaced",
        };
        write!(f, "{how}@{}~{}", self.steps, self.slot)
    }
}

/// Organization, members, consistency (with or without write-back), seed, scenario and faults, as
/// in `ORGANIZATION:4:journal+write-back:0:durable writes:cut@7(+-[01])~2`.
impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { organization, members, consistency, write_back, width, spares } = &self.subject;
        let consistency = consistency.name();
        let write_back = if *write_back { WRITE_BACK } else { "" };
        let usual = Organization::named(organization.name).map(|row| row.checks);
        write!(f, "{}", organization.name)?;
        if usual != Ok(organization.checks) {
            write!(f, "{CHECKS}{}", organization.checks.of(*members))?;
        }
        write!(f, ":{members}")?;
        width.map_or(Ok(()), |width| write!(f, "{WIDTH}{width}"))?;
        if *spares > 0 {
            write!(f, "{SPARES}{spares}")?;
        }
        write!(f, ":{consistency}{write_back}:")?;
        write!(f, "{}:{}:", self.seed, self.scenario.name)?;
        let cuts = self.case.cuts.iter().map(ToString::to_string);
        let interrupted = self.case.interrupted.iter().map(ToString::to_string);
        f.write_str(&cuts.chain(interrupted).collect::<Vec<_>>().join(","))
    }
}

/// The text is not the name of a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no part of a case's name; one is like 'ORGANIZATION:4:journal:0:durable writes:cut@7(+-[01])~2,dies@3~1'"
)]
pub struct NoTrial(String);

impl NoTrial {
    pub(super) fn of(part: &impl fmt::Display) -> NoTrial {
        NoTrial(part.to_string())
    }
}

impl FromStr for Trial {
    type Err = NoTrial;

    fn from_str(name: &str) -> Result<Trial, NoTrial> {
        let no = |part: &str| NoTrial::of(&part);
        let parts: Vec<&str> = name.splitn(6, ':').collect();
        let [organization, members, consistency, seed, scenario, case] = parts[..] else {
            return Err(no(name));
        };
        let written_back = consistency.strip_suffix(WRITE_BACK);
        let (consistency, write_back) = (written_back.unwrap_or(consistency), written_back.is_some());
        let (members, width, spares) = shape(members).ok_or(no(members))?;
        let subject = Subject {
            write_back,
            organization: row(organization).ok_or(no(organization))?,
            members,
            width,
            spares,
            consistency: *Consistency::ALL.iter().find(|c| c.name() == consistency).ok_or(no(consistency))?,
        };
        let scenario = SCENARIOS.iter().find(|known| known.name == scenario).ok_or(no(scenario))?;
        let seed = seed.parse().map_err(|_| no(seed))?;
        Ok(Trial { scenario, subject, seed, case: case.parse()? })
    }
}

/// The row of the table with this name, perhaps with another number of check units.
fn row(name: &str) -> Option<NamedOrganization> {
    let (name, checks) = name.split_once(CHECKS).map_or((name, None), |(name, checks)| (name, Some(checks)));
    let row = *Organization::named(name).ok()?;
    let checks = checks.map_or(Some(row.checks), |checks| checks.parse().ok().map(Checks::Number));
    Some(NamedOrganization { checks: checks?, ..row })
}

/// Members, the width of stripes if they are narrower, and distributed spares.
fn shape(text: &str) -> Option<(u16, Option<u16>, u16)> {
    let (text, spares) = text.split_once(SPARES).map_or((text, None), |(text, number)| (text, Some(number)));
    let (members, width) = text.split_once(WIDTH).map_or((text, None), |(text, number)| (text, Some(number)));
    let number = |text: &str| text.parse::<u16>().ok();
    let width = width.map_or(Some(None), |width| number(width).map(Some))?;
    Some((number(members)?, width, spares.map_or(Some(0), number)?))
}

impl FromStr for Case {
    type Err = NoTrial;

    fn from_str(text: &str) -> Result<Case, NoTrial> {
        let mut case = Case::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let no = || NoTrial::of(&part);
            // An interruption is the last part.
            if case.interrupted.is_some() {
                return Err(no());
            }
            let (what, rest) = part.split_once('@').ok_or_else(no)?;
            let (rest, whom) = rest.split_once('~').map_or((rest, None), |(rest, whom)| (rest, Some(whom)));
            match what {
                "cut" | "kill" => {
                    let (rest, back) =
                        rest.split_once('^').map_or((rest, None), |(rest, back)| (rest, Some(back)));
                    let number = |text: &str| text.parse::<usize>().map_err(|_| no());
                    let lost = whom.into_iter().flat_map(|whom| whom.split('~')).map(number);
                    let lost = lost.collect::<Result<Vec<usize>, NoTrial>>()?;
                    let back = back.map(number).transpose()?;
                    let (moment, kept) = rest.split_once('(').ok_or_else(no)?;
                    case.cuts.push(Cut {
                        moment: moment.parse().map_err(|_| no())?,
                        power: what == "cut",
                        kept: kept.strip_suffix(')').and_then(|kept| kept.parse().ok()).ok_or_else(no)?,
                        lost,
                        back,
                    });
                }
                _ => {
                    let how = if what == "dies" { Interruption::Dies } else { Interruption::Replaced };
                    let slot = whom.and_then(|whom| whom.parse().ok()).ok_or_else(no)?;
                    let steps = rest.parse().map_err(|_| no())?;
                    if !matches!(what, "dies" | "replaced") {
                        return Err(no());
                    }
                    case.interrupted = Some(Interrupted { how, slot, steps });
                }
            }
        }
        Ok(case)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_known_by_its_name() {
        let (name, members) = (parlour_array::organization::NAMED[2].name, 3);
        let array = format!("{name}:{members}:bitmap:0:durable writes:");
        for case in [
            "",
            "cut@7(+-[01])~2",
            "kill@0()",
            "cut@3(-)~0~2",
            "cut@1(+)~1,cut@12(--)^1",
            "dies@3~1",
            "cut@1()~0,replaced@5~2",
        ] {
            let trial: Trial = format!("{array}{case}").parse().expect("a name");
            assert_eq!(trial.to_string(), format!("{array}{case}"));
        }
        let narrow = format!("{name}:5w3s1:bitmap:0:durable writes:");
        assert_eq!(narrow.parse::<Trial>().expect("a name").to_string(), narrow);
        for wrong in ["5w", "5ws1", "5s", "w3", "5w3s1s1"] {
            let name = format!("{name}:{wrong}:bitmap:0:durable writes:");
            assert!(name.parse::<Trial>().is_err(), "{wrong}");
        }
        for case in ["cut", "cut@x()", "cut@1(?)", "leaves@3~1", "dies@3", "dies@1~1,dies@2~1", "cut@1(+"] {
            assert!(format!("{array}{case}").parse::<Trial>().is_err(), "{case}");
        }
    }
}
