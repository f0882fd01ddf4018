//! What superblocks of different members say of one another: which sessions each knows, and which
//! has gone on without the other. Assembly decides by this whom to believe.

use crate::format::superblock::{EntryState, Stage, Superblock};
use crate::identity::Identity;

impl Superblock {
    /// The session before this one.
    fn session_before(&self) -> Option<Identity> {
        self.sessions.get(1).copied()
    }

    /// The last session whose opening came to its end, as far as this superblock knows.
    pub(crate) fn last_completed(&self) -> Option<Identity> {
        if self.stage == Stage::Opening { self.session_before() } else { Some(self.session()) }
    }

    /// The last session that may have written data, as far as this superblock knows.
    pub(crate) fn last_begun(&self) -> Option<Identity> {
        if self.stage == Stage::Begun { Some(self.session()) } else { self.session_before() }
    }

    /// Whether `other` remembers a session after the last one that this superblock knows to have
    /// begun. Openings since then that wrote nothing make no difference: this member has missed
    /// that session.
    pub(crate) fn is_behind(&self, other: &Superblock) -> bool {
        let last = self.last_begun();
        let earlier = other.sessions.iter().skip(usize::from(other.stage != Stage::Begun) + 1);
        earlier.map(|session| Some(*session)).any(|session| session == last)
    }

    /// Whether this member excluded `other` and went on in a session, out of which `other` was
    /// opened later without knowing of this.
    pub(crate) fn went_on_without(&self, other: &Superblock) -> bool {
        let state = |of: &Superblock, member: Identity| {
            of.table.iter().find(|entry| entry.member == member).map(|entry| entry.state)
        };
        let excluded = match state(self, other.member) {
            Some(EntryState::Failed { .. } | EntryState::MayReturn { .. }) | None => true,
            Some(_) => false,
        };
        let unknown = match state(other, self.member) {
            // (An old copy of this member has a lower number.)
            Some(EntryState::Active) => other.stage == Stage::Opening && self.sequence >= other.sequence,
            Some(EntryState::MayReturn { session, sequence, .. }) => {
                session == self.session().short() && u64::from(sequence) < self.sequence
            }
            _ => false,
        };
        excluded && unknown && other.sessions.iter().skip(1).any(|session| *session == self.session())
    }

    /// Whether this superblock is of the session after that of `other`, and nothing was written in
    /// it.
    pub(crate) fn wrote_nothing_since(&self, other: &Superblock) -> bool {
        self.stage != Stage::Begun && self.session_before() == Some(other.session())
    }
}
