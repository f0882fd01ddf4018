//! Hauser, Berman and Thoma: files on arrays, Bang, and Bang per Buck.
//!
//! Numbers that follow from printed numbers are in [`printed`], measured ones in [`measured`], and
//! drawings in [`figures`].

mod figures;
mod measured;
mod printed;

use crate::reproduce::paper::Paper;
use crate::reproduce::study::Study;

pub(super) fn study() -> Study {
    printed::numbers(figures::drawn(measured::measured(Study::of(Paper::Hauser))))
}
