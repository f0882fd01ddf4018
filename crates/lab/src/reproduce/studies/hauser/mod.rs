//! Hauser, Berman and Thoma: files on arrays, Bang, and Bang per Buck.
//!
//! What follows from printed numbers is in [`printed`]; what was measured is in [`measured`], and
//! drawn in [`figures`].

mod figures;
mod measured;
mod printed;

use crate::reproduce::paper::Paper;
use crate::reproduce::study::Study;

pub(super) fn study() -> Study {
    printed::numbers(figures::drawn(measured::measured(Study::of(Paper::Hauser))))
}
