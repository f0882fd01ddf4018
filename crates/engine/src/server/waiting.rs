//! What is done with a member that is looked at in a thread, once it is known.

use std::path::PathBuf;

use crate::control::ClientId;

/// Who waits for it.
#[derive(Debug)]
pub(super) enum Waiting {
    /// A client waits for it.
    Client {
        client: ClientId,
        /// What it is to become: a spare, if there is no slot.
        slot: Option<u16>,
        /// What cannot be had without the member that is there may be lost.
        force: bool,
    },
    /// It was away, perhaps, and is back at a path that is watched.
    Return(PathBuf),
}
