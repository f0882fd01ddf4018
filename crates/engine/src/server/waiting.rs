//! What happens with a member that a thread examines, once the result is known.

use std::path::PathBuf;

use crate::control::ClientId;

/// Who receives the result.
#[derive(Debug)]
pub(super) enum Waiting {
    /// A client waits for it.
    Client {
        client: ClientId,
        /// The slot that it is to take; none for a spare.
        slot: Option<u16>,
        /// Replace the old member even if no other member has some of its data.
        force: bool,
    },
    /// A watched path, at which a member may have returned.
    Return(PathBuf),
}
