//! The write-intent bitmap (which regions may be inconsistent if the array dies now), and the table
//! of the regions' logs.
//!
//! Each region has three bits:
//! - *Dirty*: a write may be in flight, or the log holds parity updates. It is durable before the
//!   first write to a clean region, and is cleared lazily after everything in the region is
//!   durable.
//! - *Resync*: check units are known not to fit (after a crash, or because they were never
//!   computed). After an unclean stop, dirty regions become resync regions.
//! - *Out of sync*: an absent member may lack data that was written there.
//!
//! The table says up to which sequence number each region's log has been applied, and which records
//! the log still holds. With `journal` it is written while the array runs, otherwise when it stops.

use fixedbitset::FixedBitSet;
use parlour_units::Region;

use crate::format::bytes::{Reader, Writer, seal_holds};
use crate::identity::Identity;

const MAP_MAGIC: [u8; 8] = *b"PRLRDIRT";
const TABLE_MAGIC: [u8; 8] = *b"PRLRAPPL";
const CHECKSUM_AT: usize = 8;
const HEADER_BYTES: usize = 64;
const TABLE_ENTRY_BYTES: u64 = 32;

/// Bytes of an encoded bitmap of `regions` regions.
pub(crate) fn bitmap_bytes(regions: u32) -> u64 {
    HEADER_BYTES as u64 + 3 * u64::from(regions.div_ceil(8))
}

/// Bytes of an encoded table of `regions` regions.
pub(crate) fn table_bytes(regions: u32) -> u64 {
    HEADER_BYTES as u64 + TABLE_ENTRY_BYTES * u64::from(regions)
}

/// One bit for each region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    bits: FixedBitSet,
    /// The number of bits that are set.
    count: u32,
}

impl Bits {
    pub(crate) fn new(length: u32) -> Bits {
        Bits { bits: FixedBitSet::with_capacity(length as usize), count: 0 }
    }

    pub(crate) fn full(length: u32) -> Bits {
        let mut bits = FixedBitSet::with_capacity(length as usize);
        bits.insert_range(..);
        Bits { bits, count: length }
    }

    fn length(&self) -> u32 {
        self.bits.len() as u32
    }

    pub(crate) fn get(&self, region: Region) -> bool {
        self.bits[region.as_usize()]
    }

    pub(crate) fn set(&mut self, region: Region) {
        let was_set = self.bits.put(region.as_usize());
        self.count += u32::from(!was_set);
    }

    pub(crate) fn clear(&mut self, region: Region) {
        self.count -= u32::from(self.get(region));
        self.bits.remove(region.as_usize());
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The first set bit at `from` or later.
    pub(crate) fn next(&self, from: u32) -> Option<Region> {
        if self.count == 0 {
            return None;
        }
        let (block, bit) = (from / usize::BITS, from % usize::BITS);
        let blocks = self.bits.as_slice().get(block as usize..)?;
        let mut mask = usize::MAX << bit;
        for (number, bits) in (block..).zip(blocks) {
            let bits = bits & mask;
            if bits != 0 {
                return Some(Region::new(number * usize::BITS + bits.trailing_zeros()));
            }
            mask = usize::MAX;
        }
        None
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Region> + '_ {
        std::iter::successors(self.next(0), |region| self.next(region.get() + 1))
    }

    pub(crate) fn merge(&mut self, other: &Bits) {
        other.iter().for_each(|region| self.set(region));
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.bits.as_slice().iter().flat_map(|block| block.to_le_bytes()).collect();
        bytes.truncate(self.length().div_ceil(8) as usize);
        bytes
    }

    fn from_bytes(bytes: &[u8], length: u32) -> Bits {
        let mut bits = Bits::new(length);
        let is_set = |index: &u32| bytes[*index as usize / 8] >> (index % 8) & 1 == 1;
        (0..length).filter(is_set).for_each(|index| bits.set(Region::new(index)));
        bits
    }
}

/// A bitmap as it is stored on the members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredBitmap {
    pub(crate) sequence: u64,
    pub(crate) dirty: Bits,
    pub(crate) resync: Bits,
    pub(crate) out_of_sync: Bits,
}

impl StoredBitmap {
    pub(crate) fn encode(&self, array: Identity, padded: usize) -> Vec<u8> {
        let mut out = header(MAP_MAGIC, array, self.dirty.length(), self.sequence, padded);
        out.bytes(&self.dirty.bytes()).bytes(&self.resync.bytes()).bytes(&self.out_of_sync.bytes());
        out.sealed(CHECKSUM_AT)
    }

    /// The bitmap in `block`, if it belongs to `array` and has `regions` regions.
    pub(crate) fn decode(block: &[u8], array: Identity, regions: u32) -> Option<StoredBitmap> {
        let sequence = decode_header(block, MAP_MAGIC, array, regions, bitmap_bytes(regions))?;
        let bits = regions.div_ceil(8) as usize;
        let (dirty, rest) = block[HEADER_BYTES..].split_at(bits);
        Some(StoredBitmap {
            sequence,
            dirty: Bits::from_bytes(dirty, regions),
            resync: Bits::from_bytes(&rest[..bits], regions),
            out_of_sync: Bits::from_bytes(&rest[bits..][..bits], regions),
        })
    }
}

/// The content of a write-intent bitmap, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitmapContent {
    /// Rises with each write.
    pub sequence: u64,
    /// Regions that may be inconsistent.
    pub dirty: Vec<Region>,
    /// Regions whose check units are known not to fit.
    pub resync: Vec<Region>,
    /// Regions in which absent members may lack data that was written.
    pub out_of_sync: Vec<Region>,
}

impl BitmapContent {
    /// The bitmap in `block`, if it is intact, belongs to `array` and has `regions` regions.
    pub fn decode(block: &[u8], array: Identity, regions: u32) -> Option<BitmapContent> {
        let StoredBitmap { sequence, dirty, resync, out_of_sync } =
            StoredBitmap::decode(block, array, regions)?;
        let [dirty, resync, out_of_sync] = [dirty, resync, out_of_sync].map(|bits| bits.iter().collect());
        Some(BitmapContent { sequence, dirty, resync, out_of_sync })
    }
}

/// The entry of a region's log in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableEntry {
    /// Records up to this sequence number are in the parity.
    pub(crate) applied: u64,
    /// Records up to this sequence number need not be redone after a crash: what they say of data
    /// is on the members, and check units that were written with it fit it.
    pub(crate) landed: u64,
    /// The other records in segments up to `stored.stamp`.
    pub(crate) stored: Stored,
}

/// The live records that are stored in a region's log. When the log is read, none of them may be
/// missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The stamp of the newest segment that is counted.
    pub(crate) stamp: u64,
    pub(crate) records: u32,
    /// The sum of the values that [`Stored::add`] computes from each record.
    pub(crate) digest: u32,
}

impl Stored {
    pub(crate) fn up_to(stamp: u64) -> Stored {
        Stored { stamp, ..Stored::default() }
    }

    /// Counts a record by its sequence number and the digest of its payload, in any order.
    pub(crate) fn add(&mut self, sequence: u64, digest: u32) {
        let mixed = (sequence ^ u64::from(digest) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.records += 1;
        self.digest = self.digest.wrapping_add((mixed ^ mixed >> 29) as u32);
    }
}

/// The bytes of the table of all regions' logs.
pub(crate) fn encode_table(table: &[TableEntry], sequence: u64, array: Identity, padded: usize) -> Vec<u8> {
    let mut out = header(TABLE_MAGIC, array, table.len() as u32, sequence, padded);
    for TableEntry { applied, landed, stored } in table {
        out.u64(*applied).u64(*landed).u64(stored.stamp).u32(stored.records).u32(stored.digest);
    }
    out.sealed(CHECKSUM_AT)
}

/// The table in `block` and its sequence number, if it belongs to `array` and has `regions`
/// regions.
pub(crate) fn decode_table(block: &[u8], array: Identity, regions: u32) -> Option<(u64, Vec<TableEntry>)> {
    let sequence = decode_header(block, TABLE_MAGIC, array, regions, table_bytes(regions))?;
    let mut from = Reader::new(&block[HEADER_BYTES..]);
    let entry = |from: &mut Reader<'_>| TableEntry {
        applied: from.u64(),
        landed: from.u64(),
        stored: Stored { stamp: from.u64(), records: from.u32(), digest: from.u32() },
    };
    Some((sequence, (0..regions).map(|_| entry(&mut from)).collect()))
}

fn header(magic: [u8; 8], array: Identity, regions: u32, sequence: u64, padded: usize) -> Writer {
    let mut out = Writer::new(padded);
    out.bytes(&magic).u32(0).u32(regions).bytes(&array.0).u64(sequence);
    out.seek(HEADER_BYTES);
    out
}

fn decode_header(block: &[u8], magic: [u8; 8], array: Identity, regions: u32, length: u64) -> Option<u64> {
    let mut from = Reader::new(block);
    if from.array() != magic || !seal_holds(block, CHECKSUM_AT) {
        return None;
    }
    let (_checksum, counted) = (from.u32(), from.u32());
    let fits = counted == regions && from.array() == array.0 && block.len() as u64 >= length;
    // The number rises by one with each write, so a number near the end of its range was never
    // written.
    fits.then(|| from.u64()).filter(|sequence| *sequence < 1 << 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_survives_encoding_and_a_damaged_one_is_not_believed() {
        let out_of_sync = Bits::new(70);
        let mut map = StoredBitmap { sequence: 7, dirty: Bits::new(70), resync: Bits::full(70), out_of_sync };
        map.out_of_sync.set(Region::new(3));
        map.dirty.set(Region::new(69));
        let array = Identity([3; 16]);
        let mut block = map.encode(array, 4_096);
        assert_eq!(StoredBitmap::decode(&block, array, 70), Some(map));
        assert_eq!(StoredBitmap::decode(&block, Identity([4; 16]), 70), None);
        block[100] ^= 1;
        assert_eq!(StoredBitmap::decode(&block, array, 70), None);
    }

    #[test]
    fn the_next_bit_is_found_from_anywhere() {
        let set = [0, 63, 64, 130];
        let mut bits = Bits::new(131);
        set.iter().for_each(|index| bits.set(Region::new(*index)));
        for from in 0..=200 {
            let next = set.iter().find(|index| **index >= from);
            assert_eq!(bits.next(from), next.map(|index| Region::new(*index)), "from {from}");
        }
        assert_eq!((bits.count(), Bits::full(131).count()), (4, 131));
        set.iter().for_each(|index| bits.clear(Region::new(*index)));
        assert_eq!((bits.count(), bits.next(0)), (0, None));
    }

    #[test]
    fn a_table_survives_encoding_and_a_damaged_one_is_not_believed() {
        let array = Identity([3; 16]);
        let entry = |number: u64| {
            let mut stored = Stored::up_to(70 + number);
            stored.add(number, 8);
            TableEntry { applied: number, landed: number, stored }
        };
        let table: Vec<TableEntry> = (1..4).map(entry).collect();
        let mut block = encode_table(&table, 9, array, 4_096);
        assert_eq!(decode_table(&block, array, 3), Some((9, table)));
        assert_eq!(decode_table(&block, array, 4), None);
        block[70] ^= 1;
        assert_eq!(decode_table(&block, array, 3), None);
    }

    #[test]
    fn stored_records_are_counted_in_any_order() {
        let of = |records: &[(u64, u32)]| {
            let mut stored = Stored::default();
            records.iter().for_each(|(sequence, digest)| stored.add(*sequence, *digest));
            stored
        };
        let all = of(&[(1, 5), (2, 6), (3, 7)]);
        assert_eq!(all, of(&[(3, 7), (1, 5), (2, 6)]));
        for other in [of(&[(1, 5), (2, 6)]), of(&[(1, 5), (2, 6), (4, 7)]), of(&[(1, 5), (2, 6), (3, 8)])] {
            assert_ne!(all, other);
        }
    }
}
