//! The promises of each consistency. No other file distinguishes them.

use parlour_array::organization::Consistency;

/// The promises, as the oracle and the fault atlas need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promises {
    /// An array that was not shut down cleanly opens even if a member is missing (G3).
    pub(crate) opens_unclean_and_degraded: bool,
    /// Content that was read after a power cut stays, even if a member is lost and power is cut
    /// again (G3).
    pub(crate) read_outlasts_members: bool,
}

impl Promises {
    pub(crate) fn of(consistency: Consistency) -> Promises {
        let logged = consistency.is_journal();
        Promises { opens_unclean_and_degraded: logged, read_outlasts_members: logged }
    }
}
