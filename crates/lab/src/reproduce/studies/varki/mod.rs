//! Varki and Wang: a closed model of disk arrays.
//!
//! Numbers of the [`hardware`] (§3.1), the [`grid`] on which model and simulated array are compared
//! (§4), a direct simulation of the [`network`] of figure 1, and the [`figures`].

mod figures;
mod grid;
mod hardware;
mod network;

use crate::reproduce::paper::Paper;
use crate::reproduce::study::Study;

pub(super) fn study() -> Study {
    let parts = [hardware::numbers, grid::numbers, network::numbers, figures::figures];
    parts.into_iter().fold(Study::of(Paper::Varki), |study, part| part(study))
}
