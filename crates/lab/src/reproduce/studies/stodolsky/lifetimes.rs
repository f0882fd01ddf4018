//! Mean times to data loss and survival probabilities (§7, figure 20).

use parlour_model::reliability::{
    HOURS_PER_YEAR, Lifetimes, Redundancy, ReliabilityError, SparedArray, Spares, mttdl, survival,
};

use super::example::DISKS;
use super::modelled::modelled;
use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::study::{Finding, Study};

/// The mean lifetime of a disk, and the time of its rebuild onto a spare, in hours.
const LIFETIMES: Lifetimes = Lifetimes { failure: 300_000.0, repair: 1.0 };
/// Figure 20(b): one spare, and the hours until it is replaced.
const SINGLE: Spares = Spares::Kept { spares: 1, replacement: 72.0 };
/// The assumption of figure 20(b): one group is degraded at a time.
const DEGRADED_AT_ONCE: u32 = 1;
/// The numbers of years after which survival is computed.
const YEARS: [(u32, &str); 2] = [(5, "5"), (10, "10")];

/// Makes the redundancy groups of an array.
type Groups = fn() -> Result<Redundancy, ReliabilityError>;

/// The groups that the paper compares: pairs, one group of all disks, and no redundancy.
const MIRRORED: (&str, Groups) = ("mirror", || Redundancy::mirrored(DISKS, 2));
const LOGGED: (&str, Groups) = ("pl", || Redundancy::checked(DISKS, 1));
const NONREDUNDANT: (&str, Groups) = ("nr", || Redundancy::nonredundant(DISKS));

pub(super) fn numbers(study: Study) -> Study {
    let study = modelled(study, "st.life", || Ok(LIFETIMES.failure / HOURS_PER_YEAR));
    let study = modelled(study, "st.mttdl.nr", || Ok(mttdl_years(NONREDUNDANT.1)? * HOURS_PER_YEAR));
    let study = [MIRRORED, LOGGED].into_iter().fold(study, |study, (name, groups)| {
        study.number(format!("st.mttdl.{name}"), move |_| Ok(Finding::model(mttdl_years(groups)?))).number(
            format!("st.mttdl1.{name}"),
            move |_| {
                let hours = with_single_spare(groups)?.mttdl().map_err(EvidenceError::model)?;
                Ok(Finding::model(hours / HOURS_PER_YEAR))
            },
        )
    });
    YEARS.into_iter().fold(study, survivals)
}

fn survivals(study: Study, (years, name): (u32, &'static str)) -> Study {
    let years = f64::from(years);
    let study = study.number(format!("st.rel.nr.{name}"), move |_| {
        Ok(Finding::model(100.0 * survival(years, mttdl_years(NONREDUNDANT.1)?)))
    });
    [MIRRORED, LOGGED].into_iter().fold(study, |study, (array, groups)| {
        study
            .number(format!("st.rela.{array}.{name}"), move |_| {
                Ok(Finding::model(100.0 * survival(years, mttdl_years(groups)?)))
            })
            .number(format!("st.relb.{array}.{name}"), move |_| {
                let spared = with_single_spare(groups)?;
                let survival = spared.survival(years * HOURS_PER_YEAR).map_err(EvidenceError::model)?;
                Ok(Finding::model(100.0 * survival))
            })
    })
}

/// The mean time to data loss with a large pool of spares, in years.
fn mttdl_years(groups: Groups) -> Result<f64, EvidenceError> {
    let groups = groups().map_err(EvidenceError::model)?;
    Ok(mttdl(groups, LIFETIMES).map_err(EvidenceError::model)? / HOURS_PER_YEAR)
}

fn with_single_spare(groups: Groups) -> Result<SparedArray, EvidenceError> {
    let groups = groups().map_err(EvidenceError::model)?;
    SparedArray::new(groups, LIFETIMES, SINGLE, DEGRADED_AT_ONCE).map_err(EvidenceError::model)
}
