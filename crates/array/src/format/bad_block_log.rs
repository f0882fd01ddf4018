//! The bad-block log: blocks that could not be recovered, by slot and sector.
//!
//! A listed block counts as unreadable, whatever its member returns for it. If it can be computed
//! from the rest of its stripe, it is repaired; otherwise reading it is an error. Writing to it
//! takes it off the list. So a rebuild can pass over lost blocks, and their old content is never
//! taken for data. A block is also listed if it could not be read when it was to be compared with
//! its records after a crash: if it becomes readable later, it is not known which version it holds.
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

/// Length of an encoded list; each member holds two.
pub(crate) const BAD_BLOCK_LOG_LENGTH: Sectors = Sectors::new(64);

/// Blocks, by slot and first sector on the member there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadBlockLog {
    block: Sectors,
    blocks: BTreeSet<(Slot, Sector)>,
}

impl BadBlockLog {
    /// The greatest number of blocks on a list: half of the room, so that two lists can be written
    /// as one.
    pub(crate) const LIMIT: usize = BadBlockLog::ROOM / 2;
    const ROOM: usize = (BAD_BLOCK_LOG_LENGTH.get() as usize * 512 - HEADER_BYTES) / BLOCK_BYTES;

    pub(crate) fn new(block: Sectors) -> BadBlockLog {
        BadBlockLog { block, blocks: BTreeSet::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = (Slot, Sector)> + '_ {
        self.blocks.iter().copied()
    }

    /// Sectors on the list.
    pub(crate) fn sectors(&self) -> Sectors {
        self.block * self.blocks.len() as u64
    }

    /// Sectors that may still be put on the list.
    pub(crate) fn room(&self) -> Sectors {
        self.block * BadBlockLog::LIMIT.saturating_sub(self.blocks.len()) as u64
    }

    /// Whether some of these sectors are on the list.
    pub(crate) fn overlaps(&self, slot: Slot, at: Sector, length: Sectors) -> bool {
        let first = Sector::ZERO + at.from_start().round_down(self.block);
        self.blocks.range((slot, first)..(slot, at + length)).next().is_some()
    }

    /// Puts blocks on the list. Returns whether any was new. Fails if there is no room.
    pub(crate) fn insert(&mut self, slot: Slot, at: Sector, length: Sectors) -> Result<bool, Full> {
        let new: Vec<(Slot, Sector)> =
            self.blocks_of(slot, at, length).filter(|block| !self.blocks.contains(block)).collect();
        if self.blocks.len() + new.len() > BadBlockLog::LIMIT {
            return Err(Full);
        }
        let any = !new.is_empty();
        self.blocks.extend(new);
        Ok(any)
    }

    /// Takes blocks off the list. Returns whether any was on it.
    pub(crate) fn remove(&mut self, slot: Slot, at: Sector, length: Sectors) -> bool {
        let before = self.blocks.len();
        for block in self.blocks_of(slot, at, length) {
            self.blocks.remove(&block);
        }
        self.blocks.len() < before
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(Slot, Sector) -> bool) {
        self.blocks.retain(|(slot, at)| keep(*slot, *at));
    }

    pub(crate) fn merge(&mut self, other: &BadBlockLog) {
        self.blocks.extend(&other.blocks);
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
        let mut out = Writer::new(BAD_BLOCK_LOG_LENGTH.bytes().as_usize());
        out.bytes(&MAGIC).u32(0).u32(self.blocks.len() as u32).bytes(&array.0).u64(sequence);
        out.seek(HEADER_BYTES);
        for (slot, at) in &self.blocks {
            out.u64(u64::from(slot.get()) << SECTOR_BITS | at.get());
        }
        out.sealed(CHECKSUM_AT)
    }

    /// The list in `bytes` and its sequence number, if it is intact and belongs to `array`.
    pub(crate) fn decode(bytes: &[u8], array: Identity, block: Sectors) -> Option<(u64, BadBlockLog)> {
        let mut from = Reader::new(bytes);
        if from.array() != MAGIC || !seal_holds(bytes, CHECKSUM_AT) {
            return None;
        }
        let (_checksum, count) = (from.u32(), from.u32() as usize);
        if from.array() != array.0
            || count > BadBlockLog::ROOM
            || bytes.len() as u64 != BAD_BLOCK_LOG_LENGTH.bytes().get()
        {
            return None;
        }
        let sequence = Some(from.u64()).filter(|sequence| *sequence < 1 << 63)?;
        from.seek(HEADER_BYTES);
        let blocks = (0..count).map(|_| {
            let word = from.u64();
            (Slot::new((word >> SECTOR_BITS) as u16), Sector::new(word & ((1 << SECTOR_BITS) - 1)))
        });
        Some((sequence, BadBlockLog { block, blocks: blocks.collect() }))
    }
}

/// The content of a list, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBlockLogContent {
    /// Rises with each write.
    pub sequence: u64,
    /// Blocks: the slot, and the first sector on the member there.
    pub blocks: Vec<(Slot, Sector)>,
}

impl BadBlockLogContent {
    /// The list in `bytes`, if it is intact and belongs to `array`.
    pub fn decode(bytes: &[u8], array: Identity) -> Option<BadBlockLogContent> {
        let (sequence, list) = BadBlockLog::decode(bytes, array, Sectors::new(1))?;
        Some(BadBlockLogContent { sequence, blocks: list.blocks().collect() })
    }
}

/// The list has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_survives_encoding_and_a_damaged_one_is_not_believed() {
        let (slot, at, block) = (Slot::new(3), Sector::new(2_048), Sectors::new(8));
        let mut list = BadBlockLog::new(block);
        assert_eq!(list.insert(slot, at, block * 3), Ok(true));
        assert_eq!(list.insert(slot, at + block, block), Ok(false), "it is on the list");
        assert!(list.remove(slot, at + block, block));
        assert!(list.overlaps(slot, at + Sectors::new(7), Sectors::new(1)));
        assert!(!list.overlaps(slot, at + block, block), "it was taken off");
        assert!(!list.overlaps(Slot::new(2), at, block * 3), "another place's");
        assert_eq!(list.sectors(), block * 2);
        let array = Identity([3; 16]);
        let mut bytes = list.encode(array, 9);
        assert_eq!(BadBlockLog::decode(&bytes, array, block), Some((9, list)));
        assert_eq!(BadBlockLog::decode(&bytes, Identity([4; 16]), block), None);
        bytes[100] ^= 1;
        assert_eq!(BadBlockLog::decode(&bytes, array, block), None);
    }

    #[test]
    fn a_list_that_fills_its_place_on_a_member_is_read_back() {
        let mut list = BadBlockLog::new(Sectors::new(1));
        (0..BadBlockLog::ROOM as u64).for_each(|at| {
            list.blocks.insert((Slot::new(1), Sector::new(at)));
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
        assert!(of(BAD_BLOCK_LOG_LENGTH, BadBlockLog::ROOM, (1 << 63) - 1).is_some());
        assert_eq!(of(BAD_BLOCK_LOG_LENGTH, BadBlockLog::ROOM + 1, 9), None);
        assert_eq!(of(BAD_BLOCK_LOG_LENGTH, 0, 1 << 63), None, "the next number would be none");
        assert_eq!(of(BAD_BLOCK_LOG_LENGTH - Sectors::new(1), 0, 9), None);
    }

    #[test]
    fn a_full_list_takes_no_more_and_stays_as_it_was() {
        let block = Sectors::new(1);
        let mut list = BadBlockLog::new(block);
        let most = Sectors::new(BadBlockLog::LIMIT as u64);
        assert_eq!(list.insert(Slot::new(0), Sector::new(0), most), Ok(true));
        assert_eq!(list.insert(Slot::new(1), Sector::new(0), block), Err(Full));
        assert_eq!(list.sectors(), most);
        assert_eq!(list.insert(Slot::new(0), Sector::new(5), block), Ok(false));
    }
}
