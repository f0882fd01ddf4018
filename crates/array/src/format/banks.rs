//! Metadata that every member keeps in two banks, written in turn; finds the newest version among
//! all that were read.
//!
//! A write counts when it is durable on all believed members. So the newest version on any one of
//! them is new enough, if both its banks could be read. If a bank could not be read, the newest
//! version may have been in that bank. A member that fails is kept where data would be lost without
//! it. Then a write counts though only members that are being rebuilt took it.

/// Both banks of a member as read; `None` for a bank that cannot be read.
pub type Banks = [Option<Vec<u8>>; 2];

/// The newest version in the banks of some members.
pub(crate) struct Newest<T> {
    /// The newest readable version, with its sequence number.
    found: Option<(u64, T)>,
    /// Whether it is certain that there is no newer one.
    pub(crate) is_sure: bool,
}

impl<T> Newest<T> {
    /// The newest version of those that `whole` members hold, and `others`, which may lack
    /// versions. `decode` returns the sequence number and the content of a bank, if it is intact.
    pub(crate) fn of<'a>(
        whole: impl Iterator<Item = &'a Banks>,
        others: impl Iterator<Item = &'a Banks>,
        decode: impl Fn(&[u8]) -> Option<(u64, T)>,
    ) -> Newest<T> {
        let mut newest = Newest { found: None, is_sure: false };
        let members = whole.map(|banks| (banks, true)).chain(others.map(|banks| (banks, false)));
        for (banks, is_whole) in members {
            let all_read = banks.iter().all(Option::is_some);
            let mut holds_one = false;
            for (sequence, content) in banks.iter().flatten().filter_map(|bytes| decode(bytes)) {
                holds_one = true;
                if newest.sequence() < sequence || newest.found.is_none() {
                    newest.found = Some((sequence, content));
                }
            }
            newest.is_sure |= is_whole && all_read && holds_one;
        }
        newest
    }

    /// The sequence number of the newest readable version; 0 if there is none.
    pub(crate) fn sequence(&self) -> u64 {
        self.found.as_ref().map_or(0, |(sequence, _)| *sequence)
    }

    /// The newest version, if it is certain.
    pub(crate) fn sure(self) -> Option<T> {
        self.found.filter(|_| self.is_sure).map(|(_, content)| content)
    }

    /// The newest readable version.
    pub(crate) fn found(self) -> Option<T> {
        self.found.map(|(_, content)| content)
    }
}

/// The sequence number from which a session counts on, if it found `newest`. Its first write goes
/// to the other bank, and is newer than all writes of earlier sessions, even those that cannot be
/// read now.
pub(crate) fn sequence_of_session(session_number: u64, newest: u64) -> u64 {
    newest.max(session_number << 32 | newest & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(members: &[Banks]) -> Newest<u8> {
        newest_of(members, &[])
    }

    fn newest_of(whole: &[Banks], others: &[Banks]) -> Newest<u8> {
        let decode = |bytes: &[u8]| (bytes[0] > 0).then(|| (u64::from(bytes[0]), bytes[1]));
        Newest::of(whole.iter(), others.iter(), decode)
    }

    fn bank(sequence: u8, content: u8) -> Option<Vec<u8>> {
        Some(vec![sequence, content])
    }

    #[test]
    fn the_newest_is_known_where_one_member_reads_both_banks() {
        let whole = [bank(6, 60), bank(7, 70)];
        let torn = [bank(0, 0), bank(7, 70)];
        assert_eq!(newest(std::slice::from_ref(&whole)).sure(), Some(70));
        assert_eq!(newest(&[torn]).sure(), Some(70));
        // No member needs it, but it is there.
        assert_eq!(newest(&[whole, [None, bank(8, 80)]]).sure(), Some(80));
    }

    #[test]
    fn what_a_member_that_is_being_rebuilt_holds_counts_if_it_is_newer_and_makes_nothing_certain() {
        let (whole, half) = ([[bank(6, 60), bank(7, 70)]], [[bank(6, 60), None]]);
        let (older, newer) = ([[bank(4, 40), bank(5, 50)]], [[bank(8, 80), bank(0, 0)]]);
        assert_eq!(newest_of(&whole, &older).sure(), Some(70));
        assert_eq!(newest_of(&whole, &newer).sure(), Some(80));
        assert_eq!(newest_of(&half, &older).sure(), None);
        assert_eq!(newest_of(&[], &older).sure(), None);
    }

    #[test]
    fn an_older_bank_is_not_taken_for_the_newest_that_cannot_be_read() {
        let unread = newest(&[[bank(6, 60), None]]);
        assert!(!unread.is_sure);
        assert_eq!((unread.sequence(), unread.sure()), (6, None));
        assert_eq!(newest(&[[bank(6, 60), None]]).found(), Some(60));
        // A member that never had a bank written has no effect.
        assert_eq!(newest(&[[bank(6, 60), None], [bank(0, 0), bank(0, 0)]]).sure(), None);
        assert_eq!(newest(&[]).sure(), None);
    }

    #[test]
    fn a_session_goes_on_in_the_other_bank_and_above_all_before() {
        for newest in [0, 1, 7, 2 << 32 | 5, 3 << 32 | 4] {
            let next = sequence_of_session(3, newest) + 1;
            assert_ne!(next % 2, newest % 2);
            assert!(next > newest && next > 3 << 32);
        }
    }
}
