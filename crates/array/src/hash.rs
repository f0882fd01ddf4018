//! Maps with numbers of stripes as keys.
//!
//! The standard library's hasher resists keys that an attacker chooses, and needs randomness for
//! that. Here there are no more keys than jobs, or stripes of a region, and the order of a map is
//! never visible.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

/// A map by numbers of stripes.
pub(crate) type ByStripe<K, V> = HashMap<K, V, FxBuildHasher>;
