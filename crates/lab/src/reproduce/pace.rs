//! How many requests the simulations run, and so how precise the results are.

/// How long simulations take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As the experiment files say.
    Full,
    /// With a twentieth of the requests; intervals are wider.
    Quick,
    /// With so few requests that the results mean nothing: for work on the form of the report.
    Glance,
}
