//! The bad-block log: blocks that could not be recovered, by slot and sector.
//!
//! A listed block counts as unreadable, whatever its member returns for it. If it can be computed
//! from the rest of its stripe, it is repaired; otherwise reading it is an error. Writing to it
//! takes it off the list. So a rebuild can pass over lost blocks, and their old content is never
//! taken for data. A block is also listed if it could not be read when it was to be compared with
//! its records after a crash: if it becomes readable later, it is not known which version it holds.
//!
//! A block of data is *lost* if its content is gone for good, but what stands in its place fits the
//! check units of its stripe. Hosts get an error until they write to it; the array itself uses the
//! place as any other. So the rest of the stripe keeps its redundancy, and a rebuild or a repair
//! leaves the block on the list.
//!
//! The list is stored on all members. Invariants:
//! - A block's addition to the list is durable before any superblock contains a statement that
//!   would be wrong without it (the progress of a rebuild), and before a write that makes parity
//!   unrecoverable.
//! - A block's removal from the list is durable after the data that was written there, and before
//!   the job that wrote it goes on.

use std::collections::BTreeSet;

use parlour_units::{Sector, Sectors, Slot};

use crate::format::bytes::{Reader, Writer, seal_holds};
use crate::identity::Identity;

const MAGIC: [u8; 8] = *b"PRLRLIST";
const CHECKSUM_AT: usize = 8;
const HEADER_BYTES: usize = 64;
const BLOCK_BYTES: usize = 8;
/// Bits for the sector of a block.
const SECTOR_BITS: u32 = 48;
/// Marks a block that is lost. No member has so many sectors.
const LOST: u64 = 1 << (SECTOR_BITS - 1);

/// Blocks, by slot and first sector on the member there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadBlockLog {
    block: Sectors,
    /// The length of the encoded list.
    place: Sectors,
    unreadable: BTreeSet<(Slot, Sector)>,
    lost: BTreeSet<(Slot, Sector)>,
}

/// Why a block is on the list: see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Unreadable,
    Lost,
}

impl BadBlockLog {
    /// A list that is stored in places of this length.
    pub(crate) fn new(block: Sectors, place: Sectors) -> BadBlockLog {
        BadBlockLog { block, place, unreadable: BTreeSet::new(), lost: BTreeSet::new() }
    }

    /// The greatest number of blocks on a list: half of those that its place has room for, so that
    /// two lists can be written as one.
    fn limit(&self) -> usize {
        holds(self.place) / 2
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.unreadable.is_empty() && self.lost.is_empty()
    }

    pub(crate) fn blocks(&self, cause: Cause) -> impl Iterator<Item = (Slot, Sector)> + '_ {
        self.of(cause).iter().copied()
    }

    /// Entries of the list. (A block that is lost may be unreadable as well.)
    fn length(&self) -> usize {
        self.unreadable.len() + self.lost.len()
    }

    /// Sectors on the list.
    pub(crate) fn sectors(&self) -> Sectors {
        self.block * self.length() as u64
    }

    /// Sectors that may still be put on the list.
    pub(crate) fn room(&self) -> Sectors {
        self.block * self.limit().saturating_sub(self.length()) as u64
    }

    /// The blocks in these sectors that are on the list for `cause`.
    pub(crate) fn among(
        &self,
        cause: Cause,
        slot: Slot,
        at: Sector,
        length: Sectors,
    ) -> impl Iterator<Item = Sector> + '_ {
        let first = Sector::ZERO + at.from_start().round_down(self.block);
        self.of(cause).range((slot, first)..(slot, at + length)).map(|(_, at)| *at)
    }

    /// Puts blocks on the list. Returns whether any was new. Fails if there is no room.
    pub(crate) fn insert(
        &mut self,
        cause: Cause,
        slot: Slot,
        at: Sector,
        length: Sectors,
    ) -> Result<bool, Full> {
        let listed = self.of(cause);
        let new: Vec<(Slot, Sector)> =
            self.blocks_of(slot, at, length).filter(|block| !listed.contains(block)).collect();
        if self.length() + new.len() > self.limit() {
            return Err(Full);
        }
        let any = !new.is_empty();
        self.of_mut(cause).extend(new);
        Ok(any)
    }

    /// Takes blocks off the list that are on it for `cause`. Returns whether any was.
    pub(crate) fn remove(&mut self, cause: Cause, slot: Slot, at: Sector, length: Sectors) -> bool {
        let blocks = self.blocks_of(slot, at, length);
        let listed = self.of_mut(cause);
        let before = listed.len();
        blocks.for_each(|block| _ = listed.remove(&block));
        listed.len() < before
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(Slot, Sector) -> bool) {
        self.unreadable.retain(|(slot, at)| keep(*slot, *at));
        self.lost.retain(|(slot, at)| keep(*slot, *at));
    }

    pub(crate) fn merge(&mut self, other: &BadBlockLog) {
        self.unreadable.extend(&other.unreadable);
        self.lost.extend(&other.lost);
    }

    fn of(&self, cause: Cause) -> &BTreeSet<(Slot, Sector)> {
        match cause {
            Cause::Unreadable => &self.unreadable,
            Cause::Lost => &self.lost,
        }
    }

    fn of_mut(&mut self, cause: Cause) -> &mut BTreeSet<(Slot, Sector)> {
        match cause {
            Cause::Unreadable => &mut self.unreadable,
            Cause::Lost => &mut self.lost,
        }
    }

    fn blocks_of(
        &self,
        slot: Slot,
        at: Sector,
        length: Sectors,
    ) -> impl Iterator<Item = (Slot, Sector)> + use<> {
        let block = self.block;
        assert!(
            at.from_start().is_multiple_of(block) && length.is_multiple_of(block),
            "units are of whole blocks"
        );
        (0..length / block).map(move |index| (slot, at + block * index))
    }

    /// The bytes of the list as they are stored on members.
    pub(crate) fn encode(&self, array: Identity, sequence: u64) -> Vec<u8> {
        let mut out = Writer::new(self.place.bytes().as_usize());
        out.bytes(&MAGIC).u32(0).u32(self.length() as u32).bytes(&array.0).u64(sequence);
        out.seek(HEADER_BYTES);
        let word = |(slot, at): &(Slot, Sector)| u64::from(slot.get()) << SECTOR_BITS | at.get();
        self.unreadable.iter().for_each(|block| _ = out.u64(word(block)));
        self.lost.iter().for_each(|block| _ = out.u64(word(block) | LOST));
        out.sealed(CHECKSUM_AT)
    }

    /// The list in `bytes` and its sequence number, if it is intact and belongs to `array`.
    pub(crate) fn decode(bytes: &[u8], array: Identity, block: Sectors) -> Option<(u64, BadBlockLog)> {
        let mut from = Reader::new(bytes);
        if from.array() != MAGIC || !seal_holds(bytes, CHECKSUM_AT) {
            return None;
        }
        let (_checksum, count) = (from.u32(), from.u32() as usize);
        let place = Sectors::new(bytes.len() as u64 / 512);
        if from.array() != array.0 || count > holds(place) {
            return None;
        }
        let sequence = Some(from.u64()).filter(|sequence| *sequence < 1 << 63)?;
        from.seek(HEADER_BYTES);
        let mut list = BadBlockLog::new(block, place);
        for word in (0..count).map(|_| from.u64()) {
            let cause = if word & LOST == 0 { Cause::Unreadable } else { Cause::Lost };
            let block = (Slot::new((word >> SECTOR_BITS) as u16), Sector::new(word & (LOST - 1)));
            list.of_mut(cause).insert(block);
        }
        Some((sequence, list))
    }
}

/// The number of blocks for which there is room in a place of this length.
fn holds(place: Sectors) -> usize {
    place.bytes().as_usize().saturating_sub(HEADER_BYTES) / BLOCK_BYTES
}

/// The content of a list, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBlockLogContent {
    /// Rises with each write.
    pub sequence: u64,
    /// Blocks that count as unreadable: the slot, and the first sector on the member there.
    pub blocks: Vec<(Slot, Sector)>,
    /// Blocks whose content is lost, in the same way. What stands there fits the check units.
    pub lost: Vec<(Slot, Sector)>,
}

impl BadBlockLogContent {
    /// The list in `bytes`, if it is intact and belongs to `array`.
    pub fn decode(bytes: &[u8], array: Identity) -> Option<BadBlockLogContent> {
        let (sequence, list) = BadBlockLog::decode(bytes, array, Sectors::new(1))?;
        let blocks = |cause| list.blocks(cause).collect();
        Some(BadBlockLogContent { sequence, blocks: blocks(Cause::Unreadable), lost: blocks(Cause::Lost) })
    }
}

/// The list has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Sectors = Sectors::new(64);

    #[test]
    fn a_list_survives_encoding_and_a_damaged_one_is_not_believed() {
        let (slot, at, block) = (Slot::new(3), Sector::new(2_048), Sectors::new(8));
        let mut list = BadBlockLog::new(block, PLACE);
        assert_eq!(list.insert(Cause::Unreadable, slot, at, block * 3), Ok(true));
        assert_eq!(list.insert(Cause::Unreadable, slot, at + block, block), Ok(false), "it is on the list");
        assert!(list.remove(Cause::Unreadable, slot, at + block, block));
        let among = |list: &BadBlockLog, cause, slot, at, length| {
            list.among(cause, slot, at, length).collect::<Vec<Sector>>()
        };
        let unreadable = Cause::Unreadable;
        assert_eq!(among(&list, unreadable, slot, at + Sectors::new(7), Sectors::new(1)), [at]);
        assert_eq!(among(&list, unreadable, slot, at + block, block), [], "it was taken off");
        assert_eq!(among(&list, unreadable, Slot::new(2), at, block * 3), [], "another place's");
        assert_eq!(list.sectors(), block * 2);
        assert_eq!(list.insert(Cause::Lost, slot, at + block, block), Ok(true));
        assert_eq!(among(&list, unreadable, slot, at + block, block), [], "it is lost only");
        assert_eq!(among(&list, Cause::Lost, slot, at, block * 3), [at + block]);
        let array = Identity([3; 16]);
        let mut bytes = list.encode(array, 9);
        assert_eq!(BadBlockLog::decode(&bytes, array, block), Some((9, list)));
        assert_eq!(BadBlockLog::decode(&bytes, Identity([4; 16]), block), None);
        bytes[100] ^= 1;
        assert_eq!(BadBlockLog::decode(&bytes, array, block), None);
    }

    #[test]
    fn a_list_that_fills_its_place_on_a_member_is_read_back() {
        let mut list = BadBlockLog::new(Sectors::new(1), PLACE);
        (0..holds(PLACE) as u64).for_each(|at| {
            list.unreadable.insert((Slot::new(1), Sector::new(at)));
        });
        let bytes = list.encode(Identity([3; 16]), 9);
        assert_eq!(BadBlockLog::decode(&bytes, Identity([3; 16]), list.block), Some((9, list)));
    }

    #[test]
    fn a_list_that_says_what_no_list_can_is_not_believed() {
        let (array, block) = (Identity([3; 16]), Sectors::new(1));
        let of = |length: Sectors, count: usize, sequence: u64| {
            let mut out = Writer::new(length.bytes().as_usize());
            out.bytes(&MAGIC).u32(0).u32(count as u32).bytes(&array.0).u64(sequence);
            BadBlockLog::decode(&out.sealed(CHECKSUM_AT), array, block)
        };
        assert!(of(PLACE, holds(PLACE), (1 << 63) - 1).is_some());
        assert_eq!(of(PLACE, holds(PLACE) + 1, 9), None);
        assert_eq!(of(PLACE, 0, 1 << 63), None, "the next number would be none");
        assert_eq!(of(Sectors::new(1), holds(Sectors::new(1)) + 1, 9), None);
    }

    #[test]
    fn a_full_list_takes_no_more_and_stays_as_it_was() {
        let block = Sectors::new(1);
        let mut list = BadBlockLog::new(block, PLACE);
        let most = Sectors::new(list.limit() as u64);
        assert_eq!(list.insert(Cause::Unreadable, Slot::new(0), Sector::new(0), most), Ok(true));
        assert_eq!(list.insert(Cause::Unreadable, Slot::new(1), Sector::new(0), block), Err(Full));
        assert_eq!(list.sectors(), most);
        assert_eq!(list.insert(Cause::Unreadable, Slot::new(0), Sector::new(5), block), Ok(false));
    }
}
