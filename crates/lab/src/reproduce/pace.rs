//! How much is simulated, and so how much is known afterwards.

/// How long simulations take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As the experiments' files say.
    Full,
    /// With a twentieth of the requests, so that intervals are wider.
    Quick,
    /// With so few that nothing is known afterwards: for who looks at the report, not at what it
    /// says.
    Glance,
}
