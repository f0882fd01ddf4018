//! The modes of an array: whether it serves requests, and which.

/// Whether the array serves requests, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It reads and writes.
    Serving,
    /// It reads only, because it was opened read-only, or because a member has no space left.
    ReadOnly,
    /// It finishes running work and accepts no new requests.
    Stopping,
    /// It is stopped: nothing is in flight, and its metadata is written.
    Stopped,
    /// Another server has opened it: nothing is read or written any more, and all requests fail.
    Superseded,
    /// There was no space or memory for its metadata: nothing is read or written any more, and all
    /// requests fail.
    Halted,
}

impl Mode {
    /// Whether the array was abandoned: no more effects are handed out.
    pub fn is_abandoned(self) -> bool {
        matches!(self, Mode::Superseded | Mode::Halted)
    }
}
