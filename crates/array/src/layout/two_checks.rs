//! A layout for tests: regions with two check units in each stripe.

use super::regions;
use super::rule::{Facts, Stripes};

/// Regions with two check units in each stripe.
pub(super) const TWO_CHECKS: Facts =
    Facts { stripes: Stripes::ManyDataUnits { checks: 2 }, ..regions::REGIONS };
