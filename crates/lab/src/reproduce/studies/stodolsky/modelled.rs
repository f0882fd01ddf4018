//! Helpers for numbers that models alone give.

use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::study::{Finding, Study};
use crate::reproduce::value::Value;

/// Adds a number that a model alone gives.
pub(super) fn modelled<T: Into<Value> + 'static>(
    study: Study,
    id: &'static str,
    value: fn() -> Result<T, EvidenceError>,
) -> Study {
    study.number(id, move |_| Ok(Finding::model(value()?)))
}

/// Adds a number for which a model gives two values: by our reading, and by the printed one.
pub(super) fn misread(
    study: Study,
    id: &'static str,
    values: fn() -> Result<[f64; 2], EvidenceError>,
) -> Study {
    study.number(id, move |_| {
        let [ours, printed] = values()?;
        Ok(Finding::model(ours).printed_reading(printed))
    })
}
