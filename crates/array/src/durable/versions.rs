//! The versions of metadata that each member keeps in two banks, written in turn, and which of them
//! members hold.
//!
//! At an opening perhaps only one member has the newest version. All members get one of this
//! session before superblocks record that its opening has ended. Until then no exclusion is
//! durable: a member that misses writes of both banks would be called older after a crash, although
//! it has missed nothing. Therefore only one of the banks is written at that time, and only once.
//!
//! A new member that is to be rebuilt has none, or very old ones. It gets both banks before it is
//! believed: as long as one bank has its former content, the age of a copy of this member cannot be
//! determined. Both banks are written once the session has begun and while no exclusion is waiting
//! to become durable.

use crate::format::banks::sequence_of_session;

/// See the module.
#[derive(Debug)]
pub(crate) struct Versions {
    /// The sequence number of the newest version. It is being written, or was written last.
    sequence: u64,
    writing: bool,
    /// All members have a version of this session from this sequence number on.
    informed_from: u64,
    /// Both banks of a member that is being rebuilt are written from this sequence number on.
    both_from: u64,
}

impl Versions {
    /// The versions that come after `sequence`.
    pub(super) fn new(sequence: u64) -> Versions {
        Versions { sequence, writing: false, informed_from: 0, both_from: 0 }
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Begins to write the next version. Returns its sequence number, and its bank.
    pub(super) fn begin(&mut self) -> (u64, usize) {
        assert!(!self.writing, "one version is written after the other");
        self.writing = true;
        self.sequence += 1;
        (self.sequence, (self.sequence % 2) as usize)
    }

    /// The write of the newest version has ended, perhaps with failures.
    pub(super) fn end(&mut self) {
        assert!(self.writing, "a write has begun before it ends");
        self.writing = false;
    }

    /// The newest version was not written at all.
    pub(super) fn withdraw(&mut self) {
        self.end();
        self.sequence -= 1;
        self.informed_from = self.informed_from.min(self.sequence + 1);
        self.both_from = self.both_from.min(self.sequence + 2);
    }

    pub(super) fn is_writing(&self) -> bool {
        self.writing
    }

    /// Another version is to be written to all members.
    pub(super) fn inform_members(&mut self) {
        self.informed_from = self.sequence + 1;
    }

    /// A member is to be rebuilt: two more versions are to be written, one to each bank.
    pub(super) fn inform_joining_member(&mut self) {
        self.both_from = self.sequence + 2;
    }

    /// The version that was written last is to be written once more, to the other bank, so that a
    /// member that cannot read one bank has it.
    pub(super) fn repeat(&mut self) {
        self.both_from = self.both_from.max(self.sequence + 1);
    }

    /// Whether the first version of this session was not begun yet.
    pub(super) fn is_before_first(&self) -> bool {
        self.sequence < self.informed_from
    }

    /// Whether a version that a member to be rebuilt needs was not begun yet.
    pub(super) fn is_before_both(&self) -> bool {
        self.sequence < self.both_from
    }

    /// Whether all members have a version of this session.
    pub(super) fn members_are_informed(&self) -> bool {
        self.written() >= self.informed_from
    }

    /// Whether a member that is being rebuilt has both banks.
    pub(super) fn joining_member_is_informed(&self) -> bool {
        self.written() >= self.both_from
    }

    fn written(&self) -> u64 {
        self.sequence - u64::from(self.writing)
    }

    /// Goes on with the sequence numbers of another session.
    pub(super) fn number_on(&mut self, session_number: u64) {
        let step = sequence_of_session(session_number, self.sequence) - self.sequence;
        self.sequence += step;
        self.informed_from += step;
        self.both_from += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_under_way_informs_nobody_yet() {
        let mut versions = Versions::new(7);
        versions.inform_members();
        versions.inform_joining_member();
        assert!(versions.is_before_first() && !versions.members_are_informed());
        assert_eq!(versions.begin(), (8, 0));
        assert!(!versions.is_before_first() && !versions.members_are_informed());
        versions.end();
        assert!(versions.members_are_informed() && !versions.joining_member_is_informed());
        assert!(versions.is_before_both());
        versions.begin();
        versions.end();
        assert!(versions.joining_member_is_informed());
    }

    #[test]
    fn a_version_that_was_not_written_is_written_under_the_same_number() {
        let mut versions = Versions::new(7);
        versions.inform_members();
        versions.begin();
        versions.withdraw();
        assert_eq!(versions.begin(), (8, 0));
        versions.end();
        assert!(versions.members_are_informed());
    }

    #[test]
    fn another_session_leaves_what_is_missing_missing() {
        let mut versions = Versions::new(7);
        versions.inform_members();
        versions.number_on(3);
        assert!(versions.sequence() >= 3 << 32 && versions.is_before_first());
        versions.begin();
        versions.end();
        assert!(versions.members_are_informed());
    }
}
