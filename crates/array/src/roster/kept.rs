//! The facts by which a returning member is recognized.

use crate::format::banks::Banks;
use crate::format::horizon::SESSION_WRITES_BITS;
use crate::format::superblock::{EntryState, MOST_MAPS, Superblock};
use crate::identity::Identity;
use crate::older::newest_bitmap;

/// The facts that are remembered of a member that was whole when it was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The first eight bytes of the identity of the last session whose beginning it recorded.
    session: u64,
    /// The highest sequence number of its own superblocks: with a higher one, it was used
    /// separately.
    sequence: u32,
    /// The least number of the session's bitmaps that it holds: with fewer, it is a copy that was
    /// taken earlier.
    bitmaps: u32,
}

impl Kept {
    /// From an entry of a member table.
    pub(crate) fn from_entry(session: u64, sequence: u32, bitmaps: u32) -> Kept {
        Kept { session, sequence, bitmaps }
    }

    /// `map` is the sequence number of the newest bitmap that it holds, written in the session
    /// `session_number` or before.
    pub(crate) fn new(
        session: Option<Identity>,
        sequence: u64,
        session_number: u64,
        map: u64,
    ) -> Option<Kept> {
        let bitmaps = map.saturating_sub(session_number << SESSION_WRITES_BITS);
        Some(Kept {
            session: session?.short(),
            sequence: u32::try_from(sequence).ok()?,
            bitmaps: u32::try_from(bitmaps).unwrap_or(MOST_MAPS).min(MOST_MAPS),
        })
    }

    pub(crate) fn entry(self) -> EntryState {
        EntryState::MayReturn { session: self.session, sequence: self.sequence, bitmaps: self.bitmaps }
    }

    /// Whether a member with this superblock is the remembered one, in the state in which it was
    /// last seen. If the member was excluded at the very beginning of a session, its superblock may
    /// not yet record the end of the opening.
    pub(crate) fn is(self, superblock: &Superblock) -> bool {
        let seen = [Some(superblock.session()), superblock.last_completed()];
        let same = seen.map(|seen| seen.map(Identity::short)).contains(&Some(self.session));
        same && superblock.sequence <= u64::from(self.sequence)
    }

    /// Whether a member with this superblock and these bitmaps lacks a bitmap that the remembered
    /// one had.
    pub(crate) fn is_newer(self, superblock: &Superblock, bitmaps: &Banks, regions: u32) -> bool {
        let least = (superblock.session_number << SESSION_WRITES_BITS) + u64::from(self.bitmaps);
        self.bitmaps > 0
            && newest_bitmap(bitmaps, superblock.array, regions).is_some_and(|newest| newest < least)
    }
}
