//! A log segment on a member: a header, the payload of its records, and the header again.
//!
//! The header has blocks of its own, so that a tear in the payload cannot damage it. It is stored
//! twice, so that one bad block does not lose the segment. `docs/format.md` draws it.

use parlour_units::{Region, Sectors, Unit};
use serde::Serialize;

use crate::columns::Columns;
use crate::format::bytes::{Reader, Writer, seal_holds};
use crate::format::horizon::Horizon;
use crate::identity::Identity;

const MAGIC: [u8; 8] = *b"PRLRSEGM";
const CHECKSUM_AT: usize = 8;
const HEADER_BYTES: usize = 64;
const RECORD_BYTES: usize = 32;

/// The kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// Old data ⊕ new data: to be xored into the parity.
    Update,
    /// New parity: replaces the parity and all that was logged before.
    Overwrite,
    /// Parity was written in place: earlier records of the stripe no longer count.
    Cancel,
    /// All units became zeroes, including the parity: earlier records of the stripe no longer
    /// count.
    Zero,
    /// The new content of a unit, data or check, that is updated in place. Only in a commit log, as
    /// the next.
    Content,
    /// A check unit changed that was on no member: earlier records of it no longer count.
    Void,
}

impl RecordKind {
    pub(crate) fn decode(number: u16) -> Option<RecordKind> {
        Some(match number {
            0 => RecordKind::Update,
            1 => RecordKind::Overwrite,
            2 => RecordKind::Cancel,
            3 => RecordKind::Zero,
            4 => RecordKind::Content,
            5 => RecordKind::Void,
            _ => return None,
        })
    }

    /// Whether a record of this kind has a payload.
    pub(crate) fn has_payload(self) -> bool {
        matches!(self, RecordKind::Update | RecordKind::Overwrite | RecordKind::Content)
    }

    /// Whether its redo after a crash would undo what was written since without a record. (A
    /// difference is added only to content that fits its checksums.)
    pub(crate) fn overrules(self) -> bool {
        self != RecordKind::Update
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Rises over all records of the array.
    pub(crate) sequence: u64,
    /// Number of the stripe in its region.
    pub(crate) stripe: u32,
    /// The unit that was written; the check unit for new parity.
    pub(crate) unit: Unit,
    pub(crate) kind: RecordKind,
    pub(crate) columns: Columns,
    /// Where the record's payload starts in the segment's payload.
    pub(crate) start: Sectors,
    /// The digest of its payload; 0 without payload.
    pub(crate) digest: u32,
}

impl Record {
    /// Sectors of payload.
    pub(crate) fn payload(&self) -> Sectors {
        if self.kind.has_payload() { self.columns.length() } else { Sectors::ZERO }
    }
}

/// A header, as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) region: Region,
    /// Its position in the region's log. `None` in headers of former versions.
    pub(crate) position: Option<u32>,
    /// Rises with each appended segment: of two segments with the same record the later one counts.
    pub(crate) stamp: u64,
    pub(crate) records: Vec<Record>,
}

/// A summary of a log segment's header, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentSummary {
    /// The region whose log it belongs to.
    pub region: u32,
    /// Records that are to be xored into the parity.
    pub updates: u32,
    /// Records that hold new parity.
    pub overwrites: u32,
    /// Records that cancel earlier records.
    pub cancels: u32,
    /// The lowest sequence number.
    pub first: u64,
    /// The highest sequence number.
    pub last: u64,
}

impl SegmentSummary {
    /// The summary of the header in `block`, if it is one of `array`.
    pub fn decode(block: &[u8], array: Identity) -> Option<SegmentSummary> {
        let Header { region, records, .. } = Header::decode(block, array)?;
        let count = |kind| records.iter().filter(|record| record.kind == kind).count() as u32;
        let sequences = records.iter().map(|record| record.sequence);
        Some(SegmentSummary {
            region: region.get(),
            updates: count(RecordKind::Update),
            overwrites: count(RecordKind::Overwrite),
            cancels: count(RecordKind::Cancel) + count(RecordKind::Zero),
            first: sequences.clone().min().unwrap_or(0),
            last: sequences.max().unwrap_or(0),
        })
    }
}

/// Sectors of a header in segments of `segment`: 1/64 of it, in whole blocks.
pub(crate) fn header_length(segment: Sectors, block: Sectors) -> Sectors {
    Sectors::new(segment.get().div_ceil(64)).round_up(block)
}

/// Records that a header of `length` has room for.
pub(crate) fn header_records(length: Sectors) -> usize {
    (length.bytes().as_usize() - HEADER_BYTES) / RECORD_BYTES
}

impl Header {
    /// Whether the header belongs to this position of this region's log. (What a member wrote in a
    /// wrong place may lie over the header of another position, and be newer.)
    pub(crate) fn belongs_to(&self, region: Region, position: u32) -> bool {
        self.region == region && self.position.is_none_or(|own| own == position)
    }

    /// Whether the sessions so far can have given its stamp and the numbers of its records.
    pub(crate) fn is_within(&self, horizon: Horizon) -> bool {
        horizon.has(self.stamp) && self.records.iter().all(|record| horizon.has(record.sequence))
    }

    pub(crate) fn encode(&self, array: Identity, length: Sectors) -> Vec<u8> {
        assert!(self.records.len() <= header_records(length), "a segment closes when its header is full");
        let mut out = Writer::new(length.bytes().as_usize());
        out.bytes(&MAGIC).u32(0).u32(self.region.get()).bytes(&array.0).u32(self.records.len() as u32);
        out.u32(self.position.map_or(0, |position| position + 1)).u64(self.stamp);
        out.seek(HEADER_BYTES);
        for record in &self.records {
            out.u64(record.sequence).u32(record.stripe).u16(record.unit.get());
            out.u16(record.kind as u16);
            out.u32(record.columns.from.get() as u32).u32(record.columns.length().get() as u32);
            out.u32(record.start.get() as u32).u32(record.digest);
        }
        out.sealed(CHECKSUM_AT)
    }

    /// The header in `block`, if it belongs to `array`.
    pub(crate) fn decode(block: &[u8], array: Identity) -> Option<Header> {
        let mut from = Reader::new(block);
        if from.array() != MAGIC || !seal_holds(block, CHECKSUM_AT) {
            return None;
        }
        let (_checksum, region) = (from.u32(), Region::new(from.u32()));
        if from.array() != array.0 {
            return None;
        }
        let (count, position, stamp) = (from.u32() as usize, from.u32().checked_sub(1), from.u64());
        if HEADER_BYTES + count * RECORD_BYTES > block.len() {
            return None;
        }
        from.seek(HEADER_BYTES);
        let records = (0..count).map(|_| decode_record(&mut from)).collect::<Option<_>>()?;
        Some(Header { region, position, stamp, records })
    }
}

fn decode_record(from: &mut Reader<'_>) -> Option<Record> {
    let (sequence, stripe, unit) = (from.u64(), from.u32(), Unit::new(from.u16()));
    let kind = RecordKind::decode(from.u16())?;
    let (first, length, start) = (from.u32(), from.u32(), Sectors::new(from.u32().into()));
    let digest = from.u32();
    let first = Sectors::new(first.into());
    let columns = Columns::new(first, first + Sectors::new(length.into()));
    Some(Record { sequence, stripe, unit, kind, columns, start, digest })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: Identity = Identity([1; 16]);

    /// A header of `count` records, one of each kind after the other.
    fn header(count: u16) -> Header {
        let record = |number: u16| Record {
            sequence: 500 - u64::from(number),
            stripe: 5 + u32::from(number),
            unit: Unit::new(2 + number),
            kind: RecordKind::decode(number % 4).expect("there are four"),
            columns: Columns::new(
                Sectors::new(8 + u64::from(number)),
                Sectors::new(16 + 2 * u64::from(number)),
            ),
            start: Sectors::new(24 + u64::from(number)),
            digest: 7 * u32::from(number),
        };
        let records = (0..count).map(record).collect();
        Header { region: Region::new(3), position: Some(6), stamp: 4, records }
    }

    #[test]
    fn a_header_survives_encoding_and_a_damaged_one_is_not_believed() {
        let length = Sectors::new(8);
        let full = header_records(length) as u16;
        for header in [header(0), header(2), header(full)] {
            let mut block = header.encode(ARRAY, length);
            assert_eq!(block.len() as u64, length.bytes().get());
            assert_eq!(Header::decode(&block, ARRAY), Some(header));
            assert_eq!(Header::decode(&block, Identity([2; 16])), None);
            block[70] ^= 1;
            assert_eq!(Header::decode(&block, ARRAY), None);
        }
    }

    #[test]
    fn a_header_belongs_to_one_position_of_one_region() {
        let (region, header) = (Region::new(3), header(1));
        let read = Header::decode(&header.encode(ARRAY, Sectors::new(8)), ARRAY).expect("it is one");
        assert!(read.belongs_to(region, 6));
        assert!(!read.belongs_to(region, 5) && !read.belongs_to(Region::new(2), 6));
        let former = Header { position: None, ..header };
        let read = Header::decode(&former.encode(ARRAY, Sectors::new(8)), ARRAY).expect("it is one");
        assert!(read.belongs_to(region, 5) && !read.belongs_to(Region::new(2), 5));
    }

    #[test]
    fn a_header_takes_a_64th_of_its_segment_in_whole_blocks() {
        let header = |segment| header_length(Sectors::new(segment), Sectors::new(8)).get();
        assert_eq!([8, 512, 513, 1_024, 1_025].map(header), [8, 8, 16, 16, 24]);
    }

    #[test]
    fn a_summary_counts_each_kind() {
        let block = header(5).encode(ARRAY, Sectors::new(8));
        let summary = SegmentSummary::decode(&block, ARRAY);
        let counted =
            SegmentSummary { region: 3, updates: 2, overwrites: 1, cancels: 2, first: 496, last: 500 };
        assert_eq!(summary, Some(counted));
        assert_eq!(SegmentSummary::decode(&block, Identity([2; 16])), None);
    }

    #[test]
    fn only_what_is_not_cancelled_has_payload() {
        let payload: Vec<u64> = header(4).records.iter().map(|record| record.payload().get()).collect();
        assert_eq!(payload, [8, 9, 0, 0]);
    }
}
