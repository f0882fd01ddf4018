//! The names of lanes, of which the streams of the commit log consist.

use crate::format::commit_entry::CommitPart;

/// The number of a lane in its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane(pub(crate) u8);

impl Lane {
    /// The first one, which every stream has.
    pub(crate) const FIRST: Lane = Lane(0);

    pub(crate) fn as_usize(self) -> usize {
        usize::from(self.0)
    }
}

/// Intents have one lane.
pub(in crate::log) const INTENTS: (CommitPart, Lane) = (CommitPart::Intents, Lane::FIRST);
