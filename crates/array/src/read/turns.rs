//! Copies in turn, and copies that look chosen at random.

use parlour_units::Unit;

/// Counts the reads of copies that are chosen in turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns(u64);

impl Turns {
    pub(super) fn next(&mut self, copies: impl Iterator<Item = Unit>) -> Option<Unit> {
        let turn = self.0;
        self.take(copies, turn)
    }

    /// A copy that looks unrelated to the one before, by the finalizer of SplitMix64.
    pub(super) fn random(&mut self, copies: impl Iterator<Item = Unit>) -> Option<Unit> {
        let turn = mixed(self.0);
        self.take(copies, turn)
    }

    fn take(&mut self, copies: impl Iterator<Item = Unit>, number: u64) -> Option<Unit> {
        let copies: Vec<Unit> = copies.collect();
        let index = number.checked_rem(copies.len() as u64)?;
        self.0 += 1;
        Some(copies[index as usize])
    }
}

fn mixed(count: u64) -> u64 {
    let mut z = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::mixed;

    /// The first outputs of SplitMix64 from state 0, as its authors' implementation gives them.
    #[test]
    fn copies_are_chosen_by_splitmix64() {
        assert_eq!(
            [0, 1, 2].map(mixed),
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]
        );
    }
}
