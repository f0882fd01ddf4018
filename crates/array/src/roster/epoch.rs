//! The session that a member's superblocks name.

use crate::format::superblock::Superblock;
use crate::identity::Identity;

/// What is known about a member's superblocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// Nothing is known: the member came later, or could not be written.
    #[default]
    Unknown,
    /// The content at the time when the array was put together; nothing of this session was
    /// written.
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
    /// Whether another server wrote `superblock`; `known` are this session and those before it. (A
    /// superblock of an earlier session comes from an old image: later writes are lost, but there
    /// is no other server.)
    pub(crate) fn is_foreign(self, superblock: &Superblock, array: Identity, known: &[Identity]) -> bool {
        let session = superblock.session();
        match self {
            Epoch::Unknown => false,
            Epoch::Ours => superblock.array != array || !known.contains(&session),
            Epoch::Found { session: found, sequence } => {
                // (A write of ours that failed may have reached the member.)
                let newer = superblock.sequence > sequence && !known.contains(&session);
                superblock.array != array || session != found && newer
            }
        }
    }
}
