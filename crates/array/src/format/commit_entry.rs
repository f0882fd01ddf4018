//! An entry of the commit log on a member: a header with its records, then their payload.
//!
//! An entry is one write. It is valid if its header fits its checksum and its payload fits the
//! checksums of old and new content in the header. These are linear: the checksum of a difference
//! is the difference of the checksums. So a torn entry is not valid. `docs/format.md` draws the
//! format.

use parlour_codec::sector::{SectorKey, digest};
use parlour_units::{Region, Sectors, Slot, Unit};

use crate::columns::Columns;
use crate::format::bytes::{Reader, Writer, seal_holds};
use crate::format::horizon::Horizon;
use crate::format::segment::{Record, RecordKind};
use crate::identity::Identity;

const MAGIC: [u8; 8] = *b"PRLRCMMT";
/// The same for an entry of writes.
const WRITES_MAGIC: [u8; 8] = *b"PRLRWRIT";
const CHECKSUM_AT: usize = 8;
const NUMBERS_AT: usize = 32;
const HEADER_BYTES: usize = 72;
const RECORD_BYTES: usize = 40;
const INTENT_BYTES: usize = 32;
const CHANGE_BYTES: usize = 16;
const WRITE_BYTES: usize = 16;
const SUM_BYTES: usize = 8;

/// The streams of the commit log. Each member has an area for each of them, which is circular.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitPart {
    /// Records, durable before their data is written.
    Records,
    /// Intents, durable before parity is rewritten.
    Intents,
    /// New data, durable before its write is acknowledged. Only with write-back.
    Writes,
}

impl CommitPart {
    /// All streams, in the order of their areas.
    pub const ALL: [CommitPart; 3] = [CommitPart::Records, CommitPart::Intents, CommitPart::Writes];
}

/// The checksums of a sector before and after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) old: u64,
    pub(crate) new: u64,
}

/// A record as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) region: Region,
    /// `start` counts from the start of the entry's payload.
    pub(crate) record: Record,
    /// For an update, and for content, whose old checksum is 0: one change for each sector of its
    /// columns. For a cancelled stripe: one for
    /// each sector of its columns in each unit, unit by unit, in which the old checksum has no
    /// meaning. For a stripe that became zeroes, and for a check unit on no member: none.
    pub(crate) changes: Vec<Change>,
}

/// Parity that a reintegration is about to rewrite in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) region: Region,
    /// The new parity contains all records of the region up to this sequence number.
    pub(crate) newest: u64,
    /// The slot that holds the parity.
    pub(crate) slot: Slot,
    /// The first sector, counted from the start of the data area.
    pub(crate) at: u64,
    /// One change for each sector from there.
    pub(crate) changes: Vec<Change>,
}

impl Change {
    /// Whether the content changes.
    pub(crate) fn is_one(self) -> bool {
        self.old != self.new
    }
}

impl Intent {
    /// The same intent without longer unchanged parts. The parts are whole blocks. Unchanged blocks
    /// between changed ones stay in if they take no more room than the header of another intent.
    pub(crate) fn changed_parts(&self, block: Sectors) -> Vec<Intent> {
        let block = block.get() as usize;
        let changed = |(index, changes): (usize, &[Change])| {
            changes.iter().any(|change| change.is_one()).then_some(index * block)
        };
        let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
        for from in self.changes.chunks(block).enumerate().filter_map(changed) {
            let to = (from + block).min(self.changes.len());
            match parts.last_mut() {
                Some(last) if (from - last.end) * CHANGE_BYTES <= INTENT_BYTES => last.end = to,
                _ => parts.push(from..to),
            }
        }
        let part = |range: std::ops::Range<usize>| Intent {
            at: self.at + range.start as u64,
            changes: self.changes[range].to_vec(),
            ..*self
        };
        parts.into_iter().map(part).collect()
    }

    /// The length of its parity.
    pub(crate) fn length(&self) -> Sectors {
        Sectors::new(self.changes.len() as u64)
    }

    /// The same, cut into an intent for each block.
    pub(crate) fn blocks(&self, block: usize) -> Vec<Intent> {
        let part = |(index, changes): (usize, &[Change])| Intent {
            at: self.at + (index * block) as u64,
            changes: changes.to_vec(),
            ..*self
        };
        self.changes.chunks(block).enumerate().map(part).collect()
    }
}

/// New data for some sectors of the array. The payloads of an entry's writes follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StagedWrite {
    /// The first sector in the array.
    pub(crate) at: u64,
    /// The checksum of each sector.
    pub(crate) sums: Vec<u64>,
}

impl StagedWrite {
    pub(crate) fn length(&self) -> Sectors {
        Sectors::new(self.sums.len() as u64)
    }
}

/// The content of an entry: records, intents or writes, by its stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryContent {
    pub(crate) records: Vec<Committed>,
    pub(crate) intents: Vec<Intent>,
    pub(crate) writes: Vec<StagedWrite>,
}

/// The result of decoding bytes of a ring.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// There is no entry.
    Nothing,
    /// There is a whole entry.
    Entry(EntryHeader),
    /// Undecided: this many bytes are needed.
    Needs(usize),
}

/// An entry's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryHeader {
    /// Rises by one with each entry of a ring.
    pub(crate) number: u64,
    /// The entry's start, counted in sectors since the ring was new.
    pub(crate) at: u64,
    /// Entries before this number no longer count.
    pub(crate) tail: u64,
    /// The number of the entry that was written before; 0 if there was none.
    pub(crate) previous: u64,
    pub(crate) content: EntryContent,
}

impl EntryContent {
    /// Sectors that the header takes, in whole blocks.
    pub(crate) fn header_length(&self, block: Sectors) -> Sectors {
        let changes = |count: usize| count * CHANGE_BYTES;
        let records: usize = self.records.iter().map(|r| RECORD_BYTES + changes(r.changes.len())).sum();
        let intents: usize = self.intents.iter().map(|i| INTENT_BYTES + changes(i.changes.len())).sum();
        let writes: usize = self.writes.iter().map(|write| WRITE_BYTES + write.sums.len() * SUM_BYTES).sum();
        Sectors::new(((HEADER_BYTES + records + intents + writes) as u64).div_ceil(512)).round_up(block)
    }

    /// Sectors of payload.
    pub(crate) fn payload(&self) -> Sectors {
        let payload = |committed: &Committed| committed.record.payload();
        let records = self.records.iter().map(payload);
        let lengths = records.chain(self.writes.iter().map(StagedWrite::length));
        lengths.fold(Sectors::ZERO, |sum, length| sum + length)
    }

    /// Whether only an entry of `part` can have this content.
    pub(crate) fn is_of(&self, part: CommitPart) -> bool {
        (self.records.is_empty() || part == CommitPart::Records)
            && (self.intents.is_empty() || part == CommitPart::Intents)
            && (self.writes.is_empty() || part == CommitPart::Writes)
    }
}

/// An upper bound for the length of an entry with `pieces` records, `changes` changes in all, and
/// this `payload`.
pub(crate) fn entry_length(pieces: u64, changes: Sectors, payload: Sectors, block: Sectors) -> Sectors {
    let bytes = HEADER_BYTES as u64 + pieces * RECORD_BYTES as u64 + changes.get() * CHANGE_BYTES as u64;
    Sectors::new(bytes.div_ceil(512)).round_up(block) + payload
}

/// What a write of `length` adds to the length of its entry, and a header for itself, at most.
pub(crate) fn write_length(length: Sectors, block: Sectors) -> Sectors {
    let bytes = HEADER_BYTES as u64 + WRITE_BYTES as u64 + length.get() * SUM_BYTES as u64;
    Sectors::new(bytes.div_ceil(512)).round_up(block) + length
}

/// The length of the header of an entry with `count` intents of `changes` changes in all.
pub(crate) fn intents_length(count: u64, changes: u64, block: Sectors) -> Sectors {
    let bytes = HEADER_BYTES as u64 + count * INTENT_BYTES as u64 + changes * CHANGE_BYTES as u64;
    Sectors::new(bytes.div_ceil(512)).round_up(block)
}

impl EntryHeader {
    pub(crate) fn encode(&self, array: Identity, block: Sectors) -> Vec<u8> {
        let length = self.content.header_length(block);
        let mut out = Writer::new(length.bytes().as_usize());
        let EntryContent { records, intents, writes } = &self.content;
        let (magic, counts) = match writes.len() {
            0 => (MAGIC, [records.len(), intents.len()]),
            count => (WRITES_MAGIC, [count, 0]),
        };
        out.bytes(&magic).u32(0).u32(length.get() as u32).bytes(&array.0);
        out.u64(self.number).u64(self.at).u64(self.tail).u64(self.previous);
        for count in counts {
            out.u32(count as u32);
        }
        for Committed { region, record, changes } in records {
            out.u64(record.sequence).u32(region.get()).u32(record.stripe).u16(record.unit.get());
            out.u16(record.kind as u16).u32(record.columns.from.get() as u32);
            out.u32(record.columns.length().get() as u32).u32(record.start.get() as u32);
            out.u32(changes.len() as u32).u32(0);
            encode_changes(&mut out, changes);
        }
        for Intent { region, newest, slot, at, changes } in intents {
            out.u64(*newest).u32(region.get()).u16(slot.get()).u16(0).u64(*at);
            out.u32(changes.len() as u32).u32(0);
            encode_changes(&mut out, changes);
        }
        for StagedWrite { at, sums } in writes {
            out.u64(*at).u32(sums.len() as u32).u32(0);
            for sum in sums {
                out.u64(*sum);
            }
        }
        out.sealed(CHECKSUM_AT)
    }

    /// Decodes the start of `bytes`, which are at least one block of a ring, and what follows in
    /// the ring.
    pub(crate) fn decode_start(bytes: &[u8], array: Identity, key: &SectorKey) -> Decoded {
        let mut from = Reader::new(bytes);
        if ![MAGIC, WRITES_MAGIC].contains(&from.array()) {
            return Decoded::Nothing;
        }
        let (_checksum, length) = (from.u32(), from.u32() as usize * 512);
        if from.array() != array.0 {
            return Decoded::Nothing;
        }
        let Some(header) = bytes.get(..length) else { return Decoded::Needs(length) };
        match EntryHeader::decode_header(header) {
            None => Decoded::Nothing,
            Some(entry) => {
                let whole = length + entry.content.payload().bytes().as_usize();
                match bytes.get(length..whole) {
                    None => Decoded::Needs(whole),
                    Some(payload) if payload_fits(&entry.content, payload, key) => Decoded::Entry(entry),
                    Some(_) => Decoded::Nothing,
                }
            }
        }
    }

    fn decode_header(header: &[u8]) -> Option<EntryHeader> {
        if !seal_holds(header, CHECKSUM_AT) {
            return None;
        }
        let mut from = Reader::new(header);
        let holds_writes = from.array() == WRITES_MAGIC;
        from.seek(NUMBERS_AT);
        let (number, at) = (from.u64(), from.u64());
        let (tail, previous) = (from.u64(), from.u64());
        let (records, intents) = (from.u32() as usize, from.u32() as usize);
        // Each takes room in the header: a count that would not fit is invalid.
        if holds_writes {
            if records * WRITE_BYTES > header.len() || intents > 0 {
                return None;
            }
            let writes =
                (0..records).map(|_| decode_write(&mut from, header.len())).collect::<Option<_>>()?;
            let content = EntryContent { writes, ..EntryContent::default() };
            return Some(EntryHeader { number, at, tail, previous, content }).filter(|it| it.fills(header));
        }
        if records * RECORD_BYTES + intents * INTENT_BYTES > header.len() {
            return None;
        }
        let records = (0..records).map(|_| decode_record(&mut from, header.len())).collect::<Option<_>>()?;
        let intents = (0..intents).map(|_| decode_intent(&mut from, header.len())).collect::<Option<_>>()?;
        let content = EntryContent { records, intents, writes: Vec::new() };
        Some(EntryHeader { number, at, tail, previous, content }).filter(|it| it.fills(header))
    }

    /// Whether the content takes as many blocks, of either size, as the header has.
    fn fills(&self, header: &[u8]) -> bool {
        let length = Sectors::new(header.len() as u64 / 512);
        [1, 8].into_iter().any(|block| self.content.header_length(Sectors::new(block)) == length)
    }

    pub(crate) fn length(&self, block: Sectors) -> Sectors {
        self.content.header_length(block) + self.content.payload()
    }

    /// Whether its number, and all numbers in it, can have been given by the sessions so far.
    pub(crate) fn is_within(&self, horizon: Horizon) -> bool {
        horizon.has(self.number)
            && self.content.records.iter().all(|committed| horizon.has(committed.record.sequence))
            && self.content.intents.iter().all(|intent| horizon.has(intent.newest))
    }
}

fn encode_changes(out: &mut Writer, changes: &[Change]) {
    for Change { old, new } in changes {
        out.u64(*old).u64(*new);
    }
}

fn decode_changes(from: &mut Reader<'_>, count: usize, header: usize) -> Option<Vec<Change>> {
    let change = |from: &mut Reader<'_>| Change { old: from.u64(), new: from.u64() };
    (count * CHANGE_BYTES <= header).then(|| (0..count).map(|_| change(from)).collect())
}

fn decode_record(from: &mut Reader<'_>, header: usize) -> Option<Committed> {
    let (sequence, region, stripe) = (from.u64(), Region::new(from.u32()), from.u32());
    let (unit, kind) = (Unit::new(from.u16()), RecordKind::decode(from.u16())?);
    let (first, length) = (Sectors::new(from.u32().into()), Sectors::new(from.u32().into()));
    let (start, count, _) = (Sectors::new(from.u32().into()), from.u32() as usize, from.u32());
    let columns = Columns::new(first, first + length);
    let changes = decode_changes(from, count, header)?;
    let sound = match kind {
        RecordKind::Cancel => (count as u64).is_multiple_of(length.get().max(1)),
        RecordKind::Zero | RecordKind::Void => count == 0,
        RecordKind::Update | RecordKind::Overwrite | RecordKind::Content => count as u64 == length.get(),
    };
    let digest = payload_digest(kind, &changes);
    let record = Record { sequence, stripe, unit, kind, columns, start, digest };
    sound.then_some(Committed { region, record, changes })
}

fn decode_intent(from: &mut Reader<'_>, header: usize) -> Option<Intent> {
    let (newest, region, slot, _) = (from.u64(), Region::new(from.u32()), Slot::new(from.u16()), from.u16());
    let (at, count, _) = (from.u64(), from.u32() as usize, from.u32());
    let changes = decode_changes(from, count, header)?;
    Some(Intent { region, newest, slot, at, changes })
}

fn decode_write(from: &mut Reader<'_>, header: usize) -> Option<StagedWrite> {
    let (at, count, _) = (from.u64(), from.u32() as usize, from.u32());
    let sums = || (0..count).map(|_| from.u64()).collect();
    (count * SUM_BYTES <= header).then(sums).map(|sums| StagedWrite { at, sums })
}

/// The digest of a record's payload. The payload is the difference of old and new content in
/// `changes`; of content, whose old checksums are 0, that is the content.
pub(crate) fn payload_digest(kind: RecordKind, changes: &[Change]) -> u32 {
    match kind {
        RecordKind::Cancel | RecordKind::Zero | RecordKind::Void => 0,
        RecordKind::Update | RecordKind::Overwrite | RecordKind::Content => {
            digest(changes.iter().map(|change| change.old ^ change.new))
        }
    }
}

/// Whether each record's payload is the difference that its checksums describe, and the writes'
/// payload has their checksums.
fn payload_fits(content: &EntryContent, payload: &[u8], key: &SectorKey) -> bool {
    if !content.writes.is_empty() {
        return key.checksums(payload).eq(content.writes.iter().flat_map(|write| write.sums.iter().copied()));
    }
    content.records.iter().filter(|committed| !committed.record.payload().is_zero()).all(|committed| {
        let from = committed.record.start.bytes().as_usize();
        let length = committed.record.payload().bytes().as_usize();
        let Some(difference) = payload.get(from..from + length) else { return false };
        key.checksums(difference).zip(&committed.changes).all(|(sum, change)| sum == change.old ^ change.new)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const ARRAY: Identity = Identity([7; 16]);
    const BLOCK: Sectors = Sectors::new(8);

    fn key() -> SectorKey {
        SectorKey::new(ARRAY.0)
    }

    /// The numbers from which a record or an intent is made.
    type Drawn = (u64, u32, u16, u8, u64, u64);

    fn drawn() -> impl Strategy<Value = Drawn> {
        (any::<u64>(), any::<u32>(), any::<u16>(), 0..6_u8, 1..20_u64, 0..50_u64)
    }

    fn kind(number: u8) -> RecordKind {
        RecordKind::decode(number.into()).expect("there are six")
    }

    /// An entry with these records and intents, and its payload.
    fn entry(records: &[Drawn], intents: &[Drawn]) -> (EntryHeader, Vec<u8>) {
        let mut payload: Vec<u8> = Vec::new();
        let change = |index: u64| Change { old: index.wrapping_mul(0x9e37_79b9), new: !index };
        let record = |&(sequence, number, unit, of_kind, length, from): &Drawn| {
            let start = Sectors::new(payload.len() as u64 / 512);
            let columns = Columns::new(Sectors::new(from), Sectors::new(from + length));
            let (unit, kind) = (Unit::new(unit), kind(of_kind));
            let changes: Vec<Change> = match kind {
                RecordKind::Cancel => (0..2 * length).map(change).collect(),
                RecordKind::Zero | RecordKind::Void => Vec::new(),
                RecordKind::Update | RecordKind::Overwrite | RecordKind::Content => {
                    let content: Vec<u8> = (0..length * 512).map(|byte| (byte ^ sequence) as u8).collect();
                    let sums: Vec<u64> = key().checksums(&content).collect();
                    payload.extend(content);
                    sums.into_iter().map(|sum| Change { old: sequence, new: sequence ^ sum }).collect()
                }
            };
            let digest = payload_digest(kind, &changes);
            let record = Record { sequence, stripe: number, unit, kind, columns, start, digest };
            Committed { region: Region::new(number / 2), record, changes }
        };
        let records = records.iter().map(record).collect();
        let intent = |&(newest, number, slot, _, length, at): &Drawn| Intent {
            region: Region::new(number),
            newest,
            slot: Slot::new(slot),
            at,
            changes: (0..length).map(change).collect(),
        };
        let content = EntryContent {
            records,
            intents: intents.iter().map(intent).collect(),
            ..EntryContent::default()
        };
        (EntryHeader { number: 5, at: 24, tail: 3, previous: 4, content }, payload)
    }

    /// An entry with writes of these lengths, and its payload.
    fn writes(lengths: &[u64]) -> (EntryHeader, Vec<u8>) {
        let mut payload: Vec<u8> = Vec::new();
        let write = |(index, length): (usize, &u64)| {
            let content: Vec<u8> = (0..length * 512).map(|byte| (byte as usize ^ index) as u8).collect();
            let sums = key().checksums(&content).collect();
            payload.extend(content);
            StagedWrite { at: index as u64 * 100, sums }
        };
        let writes = lengths.iter().enumerate().map(write).collect();
        let content = EntryContent { writes, ..EntryContent::default() };
        (EntryHeader { number: 9, at: 80, tail: 3, previous: 8, content }, payload)
    }

    fn decoded(header: &EntryHeader, payload: &[u8]) -> Decoded {
        EntryHeader::decode_start(&[header.encode(ARRAY, BLOCK), payload.to_vec()].concat(), ARRAY, &key())
    }

    #[test]
    fn a_header_that_is_longer_than_its_content_is_none() {
        let (header, payload) = writes(&[3, 8]);
        let whole = header.encode(ARRAY, BLOCK);
        let mut longer = Writer::new(whole.len() + 4_096);
        longer.bytes(&WRITES_MAGIC).u32(0).u32((whole.len() as u32 + 4_096) / 512).bytes(&whole[16..]);
        let longer = longer.sealed(CHECKSUM_AT);
        assert_eq!(EntryHeader::decode_start(&longer, ARRAY, &key()), Decoded::Nothing);
        assert_eq!(decoded(&header, &payload), Decoded::Entry(header));
    }

    proptest! {
        #[test]
        fn writes_are_found_as_they_were_and_torn_ones_are_not(
            lengths in vec(1..40_u64, 1..20),
            torn in any::<proptest::sample::Index>(),
        ) {
            let (header, mut payload) = writes(&lengths);
            prop_assert_eq!(decoded(&header, &payload), Decoded::Entry(header.clone()));
            let most: u64 = lengths.iter().map(|length| write_length(Sectors::new(*length), BLOCK).get()).sum();
            prop_assert!(header.length(BLOCK).get() <= most, "space is reserved for each by itself");
            payload[torn.index(lengths.iter().sum::<u64>() as usize * 512)] ^= 1;
            prop_assert_eq!(decoded(&header, &payload), Decoded::Nothing);
        }

        #[test]
        fn an_entry_survives_encoding_and_a_damaged_one_is_not_believed(
            records in vec(drawn(), 0..6),
            intents in vec(drawn(), 0..3),
            damaged in any::<prop::sample::Index>(),
        ) {
            let (entry, payload) = entry(&records, &intents);
            let mut bytes = entry.encode(ARRAY, BLOCK);
            prop_assert_eq!(bytes.len() as u64, entry.content.header_length(BLOCK).bytes().get());
            bytes.extend(payload);
            prop_assert_eq!(bytes.len() as u64, entry.length(BLOCK).bytes().get());
            prop_assert_eq!(decode(&bytes, ARRAY), Some(entry));
            prop_assert_eq!(decode(&bytes, Identity([8; 16])), None);
            let last = bytes.len() - 1;
            prop_assert_eq!(decode(&bytes[..last], ARRAY), None, "it is cut off");
            bytes[damaged.index(last + 1)] ^= 0x10;
            prop_assert_eq!(decode(&bytes, ARRAY), None);
        }

        #[test]
        fn the_space_that_is_asked_for_intents_is_what_they_take(intents in vec(drawn(), 0..200)) {
            let (entry, _) = entry(&[], &intents);
            let changes = entry.content.intents.iter().map(|intent| intent.changes.len() as u64).sum();
            prop_assert_eq!(intents_length(intents.len() as u64, changes, BLOCK), entry.length(BLOCK));
        }

        #[test]
        fn the_space_that_is_reserved_suffices(records in vec(drawn(), 1..6)) {
            let (entry, _) = entry(&records, &[]);
            let changes: usize = entry.content.records.iter().map(|record| record.changes.len()).sum();
            let (pieces, changes) = (records.len() as u64, Sectors::new(changes as u64));
            prop_assert_eq!(entry_length(pieces, changes, entry.content.payload(), BLOCK), entry.length(BLOCK));
        }
    }

    #[test]
    fn an_intent_leaves_out_what_does_not_change() {
        let changes =
            |marks: &[u8]| marks.iter().map(|it| Change { old: 1, new: 1 + u64::from(*it) }).collect();
        let intent = |at, marks: &[u8]| Intent {
            region: Region::new(3),
            newest: 9,
            slot: Slot::new(2),
            at,
            changes: changes(marks),
        };
        let whole = intent(40, &[0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0]);
        let parts = whole.changed_parts(Sectors::new(1));
        assert_eq!(parts, [intent(41, &[1, 0, 0, 1]), intent(48, &[1, 1])], "short gaps are included");
        let parts = whole.changed_parts(Sectors::new(4));
        assert_eq!(parts, [intent(40, &[0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0])], "and so is the rest of a block");
        let parts = intent(40, &[0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).changed_parts(Sectors::new(4));
        assert_eq!(parts, [intent(44, &[0, 1, 0, 0])]);
        assert!(intent(40, &[0; 6]).changed_parts(Sectors::new(1)).is_empty());
    }

    #[test]
    fn blocks_of_an_intent_follow_one_another() {
        let (entry, _) = entry(&[], &[(9, 4, 2, 0, 19, 40)]);
        let whole = &entry.content.intents[0];
        let blocks = whole.blocks(8);
        assert_eq!(
            blocks.iter().map(|block| (block.at, block.changes.len())).collect::<Vec<_>>(),
            [(40, 8), (48, 8), (56, 3)]
        );
        assert_eq!(blocks.iter().flat_map(|block| block.changes.clone()).collect::<Vec<_>>(), whole.changes);
        assert!(blocks.iter().all(|block| (block.region, block.newest) == (whole.region, whole.newest)));
    }

    fn decode(bytes: &[u8], array: Identity) -> Option<EntryHeader> {
        match EntryHeader::decode_start(bytes, array, &key()) {
            Decoded::Entry(entry) => Some(entry),
            Decoded::Nothing | Decoded::Needs(_) => None,
        }
    }

    /// The content of an entry of one block.
    pub(crate) fn something() -> EntryContent {
        let (region, slot) = (Region::new(0), Slot::new(0));
        let intent = Intent { region, newest: 0, slot, at: 0, changes: Vec::new() };
        EntryContent { intents: vec![intent], ..EntryContent::default() }
    }
}
