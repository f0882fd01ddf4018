//! What is remembered of a member that may return.

use crate::format::banks::Banks;
use crate::format::horizon::SESSION_WRITES_BITS;
use crate::format::superblock::{EntryState, MOST_MAPS, Superblock};
use crate::identity::Identity;
use crate::older::newest_bitmap;
use crate::planted::{Bug, is_planted};

/// What is remembered of a member that was whole when it was seen last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The first eight bytes of the last session that it saw begin.
    session: u64,
    /// No superblock of its own has a higher sequence number: else it was used apart.
    sequence: u32,
    /// It holds at least so many of the session's bitmaps: else it is a copy that was taken
    /// earlier.
    bitmaps: u32,
}

impl Kept {
    /// As a member table has it.
    pub(crate) fn from_entry(session: u64, sequence: u32, bitmaps: u32) -> Kept {
        Kept { session, sequence, bitmaps }
    }

    /// `map` is the newest map that it holds, of those of the session with this number and those
    /// before.
    pub(crate) fn new(
        session: Option<Identity>,
        sequence: u64,
        session_number: u64,
        map: u64,
    ) -> Option<Kept> {
        let bitmaps = map.saturating_sub(session_number << SESSION_WRITES_BITS);
        Some(Kept {
            session: short(session?),
            sequence: u32::try_from(sequence).ok()?,
            bitmaps: u32::try_from(bitmaps).unwrap_or(MOST_MAPS).min(MOST_MAPS),
        })
    }

    pub(crate) fn entry(self) -> EntryState {
        EntryState::MayReturn { session: self.session, sequence: self.sequence, bitmaps: self.bitmaps }
    }

    /// Whether a member with this superblock is the one, as it was when it was seen last. When it
    /// was excluded as soon as a session had begun, its superblock perhaps does not yet say that
    /// this opening came to its end.
    pub(crate) fn is(self, superblock: &Superblock) -> bool {
        let seen = [Some(superblock.session()), superblock.last_completed()];
        let same = seen.map(|seen| seen.map(short)).contains(&Some(self.session));
        let same = same || is_planted(Bug::AnySessionReturns);
        same && superblock.sequence <= u64::from(self.sequence)
    }

    /// Whether a member with this superblock and these bitmaps lacks one that it had.
    pub(crate) fn is_newer(self, superblock: &Superblock, bitmaps: &Banks, regions: u32) -> bool {
        let least = (superblock.session_number << SESSION_WRITES_BITS) + u64::from(self.bitmaps);
        self.bitmaps > 0
            && newest_bitmap(bitmaps, superblock.array, regions).is_some_and(|newest| newest < least)
            && !is_planted(Bug::OlderMemberBelieved)
    }
}

/// How a session is called in a member table.
fn short(session: Identity) -> u64 {
    let (first, _) = session.0.split_at(8);
    u64::from_le_bytes(first.try_into().expect("an identity has sixteen bytes"))
}
