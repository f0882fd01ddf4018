//! What happens with a member that a thread examines, once the result is known.

use std::path::PathBuf;

use crate::control::ClientId;

/// What a joining member is to become.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// A spare; or the member that it was, if it may return.
    SpareOrReturned,
    /// The member of a slot.
    MemberOf(u16),
    /// One more journal device.
    Journal,
}

/// Who receives the result.
#[derive(Debug)]
pub(super) enum Waiting {
    /// A client waits for it.
    Client {
        client: ClientId,
        wanted: Wanted,
        /// Replace the old member even if no other member has some of its data.
        force: bool,
    },
    /// A watched path, at which a member may have returned.
    Return(PathBuf),
}
