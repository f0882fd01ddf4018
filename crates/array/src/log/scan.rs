//! Reading the commit log when an array is opened. The bytes of each member's areas are taken piece
//! by piece, and only the entries that count are kept.
//!
//! An area is long, and most of it no longer counts. So the caller that opens an array passes the
//! bytes as they are read, and need not hold all of them. The memory needed is that of the records
//! that are to be redone, of the longest entry, and of one piece.

use std::fmt;
use std::ops::Range;

use parlour_codec::sector::SectorKey;
use parlour_units::Sectors;

use crate::assembly::Assembly;
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::{Decoded, EntryHeader};
use crate::format::horizon::Horizon;
use crate::geometry::Geometry;
use crate::identity::Identity;
use crate::log::found::{Area, Gaps};

/// What a member's areas of the commit log hold. The default value stands for areas that do not
/// exist or cannot be read.
#[derive(Clone, Debug, Default)]
pub struct CommitLogContent {
    /// Whether all of the log was read.
    pub(crate) read: bool,
    /// By lane.
    pub(crate) records: Vec<Area>,
    pub(crate) intents: Vec<Area>,
    pub(crate) writes: Vec<Area>,
    /// Whether there are entries with numbers that no session can have given.
    pub(crate) beyond: bool,
}

impl CommitLogContent {
    /// The content of a log with these `bytes`; empty `bytes` stand for a log that cannot be read.
    pub fn of(assembly: &Assembly, bytes: &[u8]) -> CommitLogContent {
        CommitLogContent::with_gaps(assembly, bytes, &[])
    }

    /// The same, where some parts of the log could not be read. `gaps` are these parts, in order:
    /// for each the first sector, counted from the log's start, and the number of sectors.
    pub fn with_gaps(assembly: &Assembly, bytes: &[u8], gaps: &[(u64, u64)]) -> CommitLogContent {
        let mut reader = CommitLogReader::new(assembly);
        let mut done = 0;
        for (first, sectors) in gaps {
            let from = (*first as usize).saturating_mul(512).clamp(done, bytes.len());
            let to = from.saturating_add((*sectors as usize).saturating_mul(512)).min(bytes.len());
            reader.take(&bytes[done..from]);
            reader.skip(to - from);
            done = to;
        }
        reader.take(&bytes[done..]);
        reader.finish()
    }
}

/// Takes in a member's areas of the commit log, from their start to their end.
pub struct CommitLogReader {
    array: Identity,
    key: SectorKey,
    geometry: Geometry,
    horizon: Horizon,
    /// In the order of their areas: the lanes of each stream.
    rings: Vec<(CommitPart, RingReader)>,
    beyond: bool,
}

impl CommitLogReader {
    /// A reader for the log of any member of this array.
    pub fn new(assembly: &Assembly) -> CommitLogReader {
        let geometry = assembly.geometry.clone();
        let lanes =
            |part: CommitPart| geometry.lane_lengths(part).into_iter().map(move |length| (part, length));
        let ring = |(part, length)| (part, RingReader::new(length, geometry.block()));
        let array = assembly.superblock.array;
        CommitLogReader {
            array,
            key: SectorKey::new(array.0),
            horizon: assembly.horizon(),
            rings: CommitPart::ALL.into_iter().flat_map(lanes).map(ring).collect(),
            beyond: false,
            geometry,
        }
    }

    /// Takes the next bytes of the log, in pieces of any size.
    pub fn take(&mut self, bytes: &[u8]) {
        let CommitLogReader { array, key, geometry, horizon, rings, beyond, .. } = self;
        let mut rest = bytes;
        for (part, ring) in rings {
            let (of_ring, behind) = rest.split_at(rest.len().min(ring.left()));
            rest = behind;
            ring.take(of_ring, |bytes| {
                let decoded = EntryHeader::decode_start(bytes, *array, key);
                if let Decoded::Entry(entry) = &decoded {
                    let within = entry.is_within(*horizon);
                    *beyond |= !within;
                    if !within || !entry.content.is_of(*part) || !entry.suits(geometry) {
                        return Decoded::Nothing;
                    }
                }
                decoded
            });
        }
    }

    /// The next `length` bytes, in whole blocks, could not be read. What other members hold of the
    /// entries there counts.
    pub fn skip(&mut self, length: usize) {
        let mut rest = length;
        for (_, ring) in &mut self.rings {
            let of_ring = rest.min(ring.left());
            rest -= of_ring;
            ring.skip(of_ring);
        }
        self.take(&vec![0; length]);
    }

    /// Ends the reading and returns the content. A log that was taken only in part counts as
    /// unreadable.
    pub fn finish(self) -> CommitLogContent {
        if self.rings.iter().any(|(_, ring)| ring.left() > 0) || !self.geometry.is_journaled() {
            return CommitLogContent::default();
        }
        let mut content = CommitLogContent { read: true, beyond: self.beyond, ..CommitLogContent::default() };
        for (part, ring) in self.rings {
            let areas = match part {
                CommitPart::Records => &mut content.records,
                CommitPart::Intents => &mut content.intents,
                CommitPart::Writes => &mut content.writes,
            };
            areas.push(ring.finish());
        }
        content
    }
}

impl fmt::Debug for CommitLogReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.rings.iter().map(|(_, ring)| ring.entries.len()).collect::<Vec<_>>();
        f.debug_struct("CommitLogReader").field("entries", &entries).finish_non_exhaustive()
    }
}

/// A reader for one of the rings.
#[derive(Debug)]
pub(super) struct RingReader {
    length: usize,
    step: usize,
    /// Bytes that are not yet decoded; in the ring they start at `at`.
    pending: Vec<u8>,
    at: usize,
    /// Entries that the newest one so far still counts.
    entries: Vec<EntryHeader>,
    newest: u64,
    tail: u64,
    /// The bytes of the newest one.
    last: Vec<u8>,
    /// When there are this many entries, those that no longer count are dropped.
    many: usize,
    /// Parts that cannot be read, in sectors from the ring's start.
    gaps: Vec<Range<u64>>,
}

impl RingReader {
    const MANY: usize = 256;

    pub(super) fn new(length: Sectors, block: Sectors) -> RingReader {
        RingReader {
            length: length.bytes().as_usize(),
            step: block.bytes().as_usize(),
            pending: Vec::new(),
            at: 0,
            entries: Vec::new(),
            newest: 0,
            tail: 0,
            last: Vec::new(),
            many: Self::MANY,
            gaps: Vec::new(),
        }
    }

    /// The next bytes, which are zeroes instead, cannot be read.
    fn skip(&mut self, length: usize) {
        let from = (self.at + self.pending.len()) as u64 / 512;
        if length > 0 {
            self.gaps.push(from..from + length as u64 / 512);
        }
    }

    /// The number of bytes that are still to come.
    fn left(&self) -> usize {
        self.length - self.at - self.pending.len()
    }

    /// Takes the next bytes, at most as many as are left. `decode` decodes an entry at the start of
    /// given bytes.
    pub(super) fn take(&mut self, bytes: &[u8], mut decode: impl FnMut(&[u8]) -> Decoded) {
        self.pending.extend_from_slice(bytes);
        let mut done = 0;
        while done + self.step <= self.pending.len() {
            match decode(&self.pending[done..]) {
                Decoded::Needs(bytes) if self.at + done + bytes <= self.length => break,
                Decoded::Entry(entry) => self.keep(entry, done),
                Decoded::Needs(_) | Decoded::Nothing => {}
            }
            done += self.step;
        }
        self.pending.drain(..done);
        self.at += done;
    }

    /// Keeps an entry, unless it no longer counts or does not belong where it was found: the
    /// payload of a record may contain a copy of an entry.
    fn keep(&mut self, entry: EntryHeader, done: usize) {
        let at = self.at + done;
        if entry.at % (self.length as u64 / 512) != at as u64 / 512 || entry.number < self.tail {
            return;
        }
        if entry.number >= self.newest {
            (self.newest, self.tail) = (entry.number, entry.tail);
            let length = entry.length(Sectors::new(self.step as u64 / 512)).bytes().as_usize();
            self.last.clear();
            self.last.extend_from_slice(&self.pending[done..done + length]);
        }
        self.entries.push(entry);
        if self.entries.len() >= self.many {
            let tail = self.tail;
            self.entries.retain(|entry| entry.number >= tail);
            self.many = (self.entries.len() * 2).max(Self::MANY);
        }
    }

    /// What it holds, once all of it was taken.
    pub(super) fn finish(self) -> Area {
        let gaps = Gaps { length: Sectors::new(self.length as u64 / 512), parts: self.gaps };
        Area { entries: self.entries, last: self.last, gaps }
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::{Region, Slot, Unit};

    use super::*;
    use crate::columns::Columns;
    use crate::format::commit_entry::tests::something;
    use crate::format::commit_entry::{Change, Committed, EntryContent};
    use crate::format::segment::{Record, RecordKind};
    use crate::log::found::{Found, FoundLane};

    const ARRAY: Identity = Identity([7; 16]);
    const BLOCK: Sectors = Sectors::new(8);

    #[test]
    fn what_no_longer_counts_is_not_kept_however_long_a_log_is() {
        let key = SectorKey::new(ARRAY.0);
        let blocks = 20_000;
        let mut ring = RingReader::new(BLOCK * blocks, BLOCK);
        let (mut most, mut pending) = (0, 0);
        for number in 1..=blocks {
            // Of the earlier entries, only the last three count.
            let (at, tail, previous) = ((number - 1) * 8, number.saturating_sub(3).max(1), number - 1);
            let entry = EntryHeader { number, at, tail, previous, content: something() };
            ring.take(&entry.encode(ARRAY, BLOCK), |bytes| EntryHeader::decode_start(bytes, ARRAY, &key));
            most = most.max(ring.entries.len());
            pending = pending.max(ring.pending.len());
        }
        assert!(most <= RingReader::MANY, "{most} entries were kept");
        assert_eq!(pending, 0, "bytes are kept only while more is needed");
        let found = Found::of([(Slot::new(0), vec![ring.finish()])], BLOCK);
        assert_eq!((numbers(&found), found.whole), (vec![19_997, 19_998, 19_999, 20_000], true));
    }

    /// The bytes of a log of `length` sectors with entries of one block each, given by number,
    /// place, tail and number of the entry before.
    fn log(length: u64, entries: &[(u64, u64, u64, u64)]) -> Vec<u8> {
        let mut bytes = vec![0; length as usize * 512];
        for &(number, at, tail, previous) in entries {
            let encoded = EntryHeader { number, at, tail, previous, content: EntryContent::default() }
                .encode(ARRAY, BLOCK);
            let offset = (at % length) as usize * 512;
            bytes[offset..offset + encoded.len()].copy_from_slice(&encoded);
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Decoded {
        EntryHeader::decode_start(bytes, ARRAY, &SectorKey::new(ARRAY.0))
    }

    /// What a reader finds in these bytes, if the block at `sector` cannot be read.
    fn area_without(bytes: &[u8], sector: usize) -> Area {
        let mut ring = RingReader::new(Sectors::new(bytes.len() as u64 / 512), BLOCK);
        ring.take(&bytes[..sector * 512], decode);
        ring.skip(4_096);
        ring.take(&[0; 4_096], decode);
        ring.take(&bytes[sector * 512 + 4_096..], decode);
        ring.finish()
    }

    /// The content of a ring with these bytes; it must not depend on the size of the pieces.
    fn read(bytes: &[u8]) -> Found {
        let read = |piece: usize| {
            let mut ring = RingReader::new(Sectors::new(bytes.len() as u64 / 512), BLOCK);
            for piece in bytes.chunks(piece) {
                ring.take(piece, decode);
            }
            Found::of([(Slot::new(0), vec![ring.finish()])], BLOCK)
        };
        let found = read(bytes.len().max(1));
        assert_eq!(read(512), found);
        assert_eq!(read(3 * 4_096), found);
        found
    }

    fn numbers(found: &Found) -> Vec<u64> {
        found.entries().iter().map(|entry| entry.header.number).collect()
    }

    #[test]
    fn entries_that_count_are_found_in_order_around_the_end() {
        let found = read(&log(32, &[(4, 24, 2, 3), (5, 32, 4, 4), (6, 40, 4, 5), (3, 16, 1, 2)]));
        assert_eq!(
            (numbers(&found), found.newest(), found.lanes[0].head, found.whole),
            (vec![4, 5, 6], 6, 48, true)
        );
    }

    #[test]
    fn an_entry_of_several_blocks_is_read_however_it_is_cut() {
        let columns = Columns::new(Sectors::ZERO, Sectors::new(8));
        let (unit, kind, start) = (Unit::new(0), RecordKind::Cancel, Sectors::ZERO);
        let record = Record { sequence: 1, stripe: 0, unit, kind, columns, start, digest: 0 };
        let changes = vec![Change { old: 0, new: 7 }; 600];
        let records = vec![Committed { region: Region::new(0), record, changes }];
        let content = EntryContent { records, ..EntryContent::default() };
        let entry = EntryHeader { number: 5, at: 8, tail: 5, previous: 0, content };
        let encoded = entry.encode(ARRAY, BLOCK);
        assert!(encoded.len() > 2 * 4_096);
        let mut bytes = vec![0; 64 * 512];
        bytes[8 * 512..][..encoded.len()].copy_from_slice(&encoded);
        assert_eq!(numbers(&read(&bytes)), [5]);
    }

    #[test]
    fn an_entry_that_is_missing_between_others_is_noticed() {
        let entries = [(4, 0, 4, 3), (5, 8, 4, 4), (7, 16, 4, 5), (9, 24, 4, 7)];
        let found = read(&log(40, &entries));
        assert_eq!((numbers(&found), found.whole), (vec![4, 5, 7, 9], true), "numbers may be left out");
        for missing in 0..3 {
            let mut left = entries.to_vec();
            left.remove(missing);
            let found = read(&log(40, &left));
            assert_eq!((numbers(&found), found.newest(), found.whole), (vec![], 9, false), "{missing}");
        }
        let found = read(&log(40, &entries[..3]));
        assert_eq!((numbers(&found), found.whole), (vec![4, 5, 7], true), "the newest may have been cut off");
        let found = read(&log(40, &[(5, 8, 4, 4), (7, 16, 6, 5), (9, 24, 7, 7)]));
        assert_eq!((numbers(&found), found.whole), (vec![7, 9], true), "what no longer counts is not missed");
    }

    #[test]
    fn a_block_that_cannot_be_read_costs_its_entry_and_hides_what_may_stand_there_alone() {
        let bytes = log(160, &[(4, 24, 4, 3), (5, 32, 4, 4), (6, 40, 4, 5)]);
        let found = |sector: usize| Found::of([(Slot::new(3), vec![area_without(&bytes, sector)])], BLOCK);
        for far in [96, 120, 152] {
            assert_eq!((numbers(&found(far)), found(far).hidden), (vec![4, 5, 6], vec![]), "{far}");
        }
        for near in [0, 8, 48, 80] {
            let (entries, hidden) = (numbers(&found(near)), found(near).hidden);
            assert_eq!((entries, hidden), (vec![4, 5, 6], vec![Slot::new(3)]), "{near}");
        }
        assert!(!found(32).whole, "an entry that counts is missing");
        assert_eq!(numbers(&found(40)), [4, 5]);
        assert_eq!(found(40).hidden, [Slot::new(3)], "the newest entry may be there");
    }

    #[test]
    fn a_block_that_cannot_be_read_hides_an_entry_that_took_the_place_of_the_newest_found() {
        let entries = [(4, 88, 4, 3), (5, 96, 4, 4), (6, 104, 4, 5)];
        let found = |sector: usize| {
            let mut one = RingReader::new(Sectors::new(160), BLOCK);
            one.take(&log(160, &entries), decode);
            let other = area_without(&log(160, &entries[..2]), sector);
            Found::of([(Slot::new(1), vec![one.finish()]), (Slot::new(2), vec![other])], BLOCK)
        };
        assert_eq!(found(104).hidden, [Slot::new(2)], "6 was perhaps given up, and 7 took its place");
        assert_eq!(found(96).hidden, [], "5 counted when 6 was begun");
    }

    #[test]
    fn an_entry_that_was_given_up_does_not_count() {
        let found = read(&log(40, &[(4, 0, 4, 0), (5, 8, 4, 4), (6, 16, 4, 4), (7, 24, 4, 6)]));
        assert_eq!((numbers(&found), found.whole), (vec![4, 6, 7], true));
    }

    #[test]
    fn the_place_of_an_entry_that_was_given_up_is_free() {
        // (The oldest entry that counts, 5, is in another lane.)
        let found = read(&log(32, &[(6, 16, 5, 4), (7, 32, 5, 4), (8, 40, 5, 7)]));
        assert_eq!((numbers(&found), found.whole, found.lanes[0].floor), (vec![7, 8], true, 32));
    }

    #[test]
    fn an_entry_that_stands_elsewhere_is_content_of_another() {
        let mut bytes = log(32, &[(4, 24, 4, 0)]);
        let copy = EntryHeader { number: 9, at: 8, tail: 9, previous: 0, content: EntryContent::default() }
            .encode(ARRAY, BLOCK);
        bytes[..copy.len()].copy_from_slice(&copy);
        let found = read(&bytes);
        assert_eq!((found.entries().len(), found.newest(), found.lanes[0].head), (1, 4, 32));
    }

    #[test]
    fn nothing_is_found_where_nothing_was_written() {
        assert_eq!(read(&[]), Found { lanes: vec![FoundLane::default()], ..Found::default() });
        assert_eq!(read(&log(32, &[])), Found { lanes: vec![FoundLane::default()], ..Found::default() });
    }
}
