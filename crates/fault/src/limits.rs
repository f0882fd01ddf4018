//! What the caller of a run decides; the seed draws everything else.

use parlour_array::organization::{Consistency, NamedOrganization};

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The organization. It is drawn if none is given.
    pub organization: Option<NamedOrganization>,
    /// The consistency of arrays with parity. It is drawn if none is given.
    pub consistency: Option<Consistency>,
    /// The approximate number of hosts' requests.
    pub requests: u64,
    /// Inject more faults than the fault tolerance allows. The array may then report lost data, but
    /// it must not return wrong data.
    pub beyond: bool,
    /// Include all effects and events in the digest: a run takes half as long again.
    pub digest_effects: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { organization: None, consistency: None, requests: 240, beyond: false, digest_effects: false }
    }
}
