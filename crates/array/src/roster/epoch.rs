//! Whose session a member's superblocks name.

use crate::format::superblock::Superblock;
use crate::identity::Identity;

/// What is known of a member's superblocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// Nothing: it came later, or could not be written.
    #[default]
    Unknown,
    /// What they said when the array was put together: nothing of this session was written to them.
    Found {
        /// The session.
        session: Identity,
        /// The sequence number.
        sequence: u64,
    },
    /// They name this session.
    Ours,
}

impl Epoch {
    /// Whether `superblock` is another server's, where `known` are this session and those before
    /// it. (One of an earlier session is an old image: what was written since is gone, but nobody
    /// else is there.)
    pub(crate) fn is_foreign(self, superblock: &Superblock, array: Identity, known: &[Identity]) -> bool {
        let session = superblock.session();
        match self {
            Epoch::Unknown => false,
            Epoch::Ours => superblock.array != array || !known.contains(&session),
            Epoch::Found { session: found, sequence } => {
                // (A writing of ours that broke has perhaps reached it.)
                let newer = superblock.sequence > sequence && !known.contains(&session);
                superblock.array != array || session != found && newer
            }
        }
    }
}
