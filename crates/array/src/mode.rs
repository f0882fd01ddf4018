//! Whether and how an array serves.

/// Whether and how the array serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It reads and writes.
    Serving,
    /// It reads only: it was opened so, or a member has no space left.
    ReadOnly,
    /// It finishes what it began and takes nothing new.
    Stopping,
    /// It is stopped: nothing is in flight and all is recorded.
    Stopped,
    /// Another server has opened it: nothing is read or written any more, and all requests fail.
    Superseded,
    /// There was no space or memory for its metadata: nothing is read or written any more, and all
    /// requests fail.
    Halted,
}

impl Mode {
    /// Whether the array was left as it is: nothing is handed out any more.
    pub(crate) fn is_abandoned(self) -> bool {
        matches!(self, Mode::Superseded | Mode::Halted)
    }
}
