//! Chen, Gibson, Katz and Patterson: RAID levels on an Amdahl 5890.

mod curves;
mod figures;
mod formulas;
mod machine;
mod measured;
mod shown;

use crate::reproduce::paper::Paper;
use crate::reproduce::study::Study;

/// Measured numbers of software that the paper does not describe. Our machine takes them as given.
const GIVEN: [&str; 4] = ["ch.ovh.ind", "ch.ovh.busy", "ch.iocpu", "ch.r1.ovh"];

pub(super) fn study() -> Study {
    let experiments =
        [shown::LOAD, shown::EQUAL, shown::SIZES, shown::SIZES_EQUAL, shown::MIXED, shown::SCALING];
    let study = experiments.into_iter().fold(Study::of(Paper::Chen), Study::experiment);
    let study = GIVEN.into_iter().fold(study, |study, id| {
        study.not_derivable(
            id,
            "what the system's software takes of its processors is measured, not described",
        )
    });
    curves::of(figures::of(measured::of(formulas::of(study))))
}
