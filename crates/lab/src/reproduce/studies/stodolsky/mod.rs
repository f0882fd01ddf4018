//! Stodolsky, Holland, Courtright and Gibson: parity logging.
//!
//! Numbers, in the order of the paper: the [`disk`] and the rough estimates of §2, the costs of
//! [`logging`], the costs of the [`others`], and mean times to data loss ([`lifetimes`]). Figures:
//! [`curves`] from formulas, [`layouts`], [`tables`], and from simulations [`peaks`] and
//! [`failures`].

mod curves;
mod disk;
mod example;
mod failures;
mod layouts;
mod lifetimes;
mod logging;
mod modelled;
mod others;
mod peaks;
mod runs;
mod tables;

use crate::reproduce::paper::Paper;
use crate::reproduce::study::Study;

pub(super) fn study() -> Study {
    let study = Study::of(Paper::Stodolsky);
    let parts = [
        disk::numbers,
        logging::numbers,
        others::numbers,
        lifetimes::numbers,
        peaks::numbers,
        curves::figures,
        layouts::figures,
        failures::figures,
        tables::figures,
        peaks::figures,
    ];
    parts.into_iter().fold(study, |study, numbers| numbers(study))
}
