//! What is promised, by consistency: the one place where they differ.

/// What holds after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// A dirty map says what is to be resynced after a crash; until that is done, the loss of a member may lose blocks.
    Resync,
    /// Every write is told by a durable record first: a crash and the loss of a member together lose nothing.
    Logged,
}

/// The promises, as the oracle and the fault atlas need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promises {
    /// Check units may stand in for data right after a crash (G2 and G3 with a crash before).
    pub(crate) redundant_after_crash: bool,
    /// An array that was not stopped opens though a member is missing (G3).
    pub(crate) opens_unclean_and_degraded: bool,
    /// What was read after a power cut stays though a member is lost and power is cut again (G3).
    pub(crate) read_outlasts_members: bool,
}

impl Promises {
    pub(crate) fn of(consistency: Consistency) -> Promises {
        let logged = consistency == Consistency::Logged;
        Promises {
            redundant_after_crash: logged,
            opens_unclean_and_degraded: logged,
            read_outlasts_members: logged,
        }
    }
}
