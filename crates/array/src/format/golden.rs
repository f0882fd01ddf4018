//! The bytes of each structure, kept in `tests/golden/`. A change of these bytes takes a new
//! version of the format.
//!
//! `cargo xtask golden` writes the files anew.

#![allow(clippy::disallowed_methods, reason = "the test, not the array, reads and writes golden files")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use parlour_units::{Region, Sector, Sectors, Slot, Unit};

use crate::columns::Columns;
use crate::format::bad_block_log::{BadBlockLog, Cause};
use crate::format::bitmap::{Bits, Stored, StoredBitmap, TableEntry, encode_table};
use crate::format::commit_entry::{Change, Committed, EntryContent, EntryHeader, Intent, StagedWrite};
use crate::format::segment::{Header, Record, RecordKind};
use crate::format::superblock::{Entry, EntryState, FORMAT_VERSION, Moved, Recorded, Stage, Superblock};
use crate::geometry::{Creation, Geometry, LogCreation, StoredGeometry};
use crate::identity::Identity;
use crate::layout::LayoutRequest;
use crate::organization::{Consistency, Organization};

const ARRAY: Identity = Identity(*b"the golden array");
const BLOCK: Sectors = Sectors::new(8);

/// Each structure with something in each of its fields.
fn structures() -> [(&'static str, Vec<u8>); 15] {
    [
        ("superblock", superblock().encode()),
        ("write-intent bitmap", map().encode(ARRAY, 4_096)),
        ("table of the regions' logs", encode_table(&table(), 2 << 32 | 5, ARRAY, 4_096)),
        ("bad-block log", list().encode(ARRAY, 3 << 32 | 1)),
        ("log segment header", header(None).encode(ARRAY, BLOCK)),
        ("commit log entry header", entry().encode(ARRAY, BLOCK)),
        ("superblock of an array that writes back", writes_back().encode()),
        ("header of an entry of writes", entry_of_writes().encode(ARRAY, BLOCK)),
        ("superblock of an array with journal devices", with_journals().encode()),
        ("superblock of an array with lanes", with_lanes().encode()),
        ("superblock of an array with a longer bad-block log", with_a_longer_list().encode()),
        ("superblock of an array with several parities", with_several_parities().encode()),
        ("superblock of a declustered array", declustered().encode()),
        ("superblock of an array with distributed spares", with_spares().encode()),
        ("log segment header with its position", header(Some(5)).encode(ARRAY, BLOCK)),
    ]
}

fn superblock() -> Superblock {
    let creation = Creation {
        organization: Organization::named("parity-logging").expect("it is known").organization,
        checks: 1,
        members: 7,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(16),
        block: BLOCK,
        member_length: Sectors::new(1 << 17),
        log: LogCreation {
            segment: Some(Sectors::new(128)),
            sublogs: Some(2),
            writes: Some(Sectors::ZERO),
            lanes: Some(1),
            ..LogCreation::default()
        },
        consistency: Consistency::Journal,
    };
    let states = [
        EntryState::Active,
        EntryState::Rebuilding { frontier: 77, returning: false },
        EntryState::Rebuilding { frontier: 78, returning: true },
        EntryState::Failed { entries: 0 },
        EntryState::MayReturn { session: 0x0807_0605_0403_0201, sequence: 99, bitmaps: 0x0c_0ffe },
        EntryState::Vacant,
        EntryState::Active,
        EntryState::Spare,
    ];
    let entry = |(index, state): (usize, &EntryState)| Entry {
        member: Identity([0x10 + index as u8; 16]),
        state: *state,
    };
    Superblock {
        array: ARRAY,
        member: Identity([0x16; 16]),
        entry: 6,
        member_length: Sectors::new((1 << 17) + 24),
        sequence: 1_000_001,
        session_number: 513,
        sessions: (1..=32).map(|number| Identity([number; 16])).collect(),
        clean: true,
        stage: Stage::Opening,
        writable: true,
        copy: 0,
        geometry: *Geometry::create(&creation).expect("a possible array").stored(),
        name: "ein Märchen".into(),
        created: 1_700_000_000,
        table: states.iter().enumerate().map(entry).collect(),
        moves: Vec::new(),
        recorded: Recorded { map: 2 << 32 | 4, table: 2 << 32 | 5, list: 3 << 32 | 1, opened: 512 },
    }
}

fn map() -> StoredBitmap {
    let bits = |regions: &[u32]| {
        let mut bits = Bits::new(21);
        regions.iter().for_each(|region| bits.set(Region::new(*region)));
        bits
    };
    StoredBitmap {
        sequence: 2 << 32 | 4,
        dirty: bits(&[0, 9, 20]),
        resync: bits(&[1]),
        out_of_sync: bits(&[9, 19]),
    }
}

fn table() -> [TableEntry; 4] {
    [0, 1 << 41, 7, u64::from(u32::MAX)].map(|applied| {
        let mut stored = Stored::up_to(applied + 90);
        (0..applied % 5).for_each(|record| stored.add(applied + record, 0x9999_0000));
        TableEntry { applied, landed: applied + 33, stored }
    })
}

fn list() -> BadBlockLog {
    let mut list = BadBlockLog::new(BLOCK, Sectors::new(64));
    for (slot, at) in [(0, 4_096), (3, 1 << 40)] {
        list.insert(Cause::Unreadable, Slot::new(slot), Sector::new(at), BLOCK).expect("there is room");
    }
    list.insert(Cause::Lost, Slot::new(2), Sector::new(8_192), BLOCK).expect("there is room");
    list
}

fn record(sequence: u64, kind: RecordKind) -> Record {
    Record {
        sequence,
        stripe: 300,
        unit: Unit::new(2),
        kind,
        columns: Columns::new(BLOCK, BLOCK * 2),
        start: Sectors::new(16),
        digest: if kind == RecordKind::Cancel { 0 } else { 0x7755_3311 },
    }
}

fn header(position: Option<u32>) -> Header {
    let records = [(5, RecordKind::Update), (6, RecordKind::Overwrite), (7, RecordKind::Cancel)];
    let records = records.map(|(number, kind)| record(2 << 40 | number, kind));
    Header { region: Region::new(11), position, stamp: 2 << 40 | 9, records: records.to_vec() }
}

fn entry() -> EntryHeader {
    let changes = |count: u64| (0..count).map(|index| Change { old: index, new: !index }).collect();
    let region = Region::new(11);
    let records = [(RecordKind::Update, 8), (RecordKind::Cancel, 32)].map(|(kind, count)| Committed {
        region,
        record: record(2 << 40 | count, kind),
        changes: changes(count),
    });
    let intent = Intent { region, newest: 2 << 40 | 32, slot: Slot::new(3), at: 640, changes: changes(8) };
    let content =
        EntryContent { records: records.to_vec(), intents: vec![intent], ..EntryContent::default() };
    let (number, previous) = (2 << 40 | 3, 2 << 40 | 2);
    EntryHeader { number, at: 72, tail: 2 << 40 | 1, previous, content }
}

fn writes_back() -> Superblock {
    let superblock = superblock();
    let geometry = StoredGeometry { write_log: 0x0001_2340, ..superblock.geometry };
    Superblock { geometry, ..superblock }
}

fn with_a_longer_list() -> Superblock {
    let superblock = superblock();
    let geometry = StoredGeometry { bad_block_log: 512, ..superblock.geometry };
    Superblock { geometry, ..superblock }
}

fn with_several_parities() -> Superblock {
    let geometry = *Geometry::create(&several_parities()).expect("a possible array").stored();
    Superblock { geometry, ..superblock() }
}

fn declustered() -> Superblock {
    let several = several_parities();
    let layout = several.organization.layout.declustered().expect("its parity moves");
    let organization = Organization { layout, ..several.organization };
    let creation = Creation { organization, width: Some(6), ..several };
    let geometry = *Geometry::create(&creation).expect("a possible array").stored();
    Superblock { geometry, ..superblock() }
}

fn with_spares() -> Superblock {
    let superblock = declustered();
    let layout = LayoutRequest { width: Some(5), spares: 1, ..superblock.geometry.layout };
    let geometry = StoredGeometry { layout, ..superblock.geometry };
    let moves = vec![Moved { slot: Slot::new(4), frontier: Some(0x0123_4567) }];
    Superblock { geometry, moves, ..superblock }
}

/// (The table of members is that of the other arrays.)
fn several_parities() -> Creation {
    Creation {
        organization: Organization::named("raid6").expect("it is known").organization,
        checks: 3,
        members: 7,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(16),
        block: BLOCK,
        member_length: Sectors::new(1 << 17),
        log: LogCreation { writes: Some(Sectors::ZERO), lanes: Some(1), ..LogCreation::default() },
        consistency: Consistency::Journal,
    }
}

fn with_lanes() -> Superblock {
    let superblock = superblock();
    let geometry = StoredGeometry { lanes: 5, ..superblock.geometry };
    Superblock { geometry, ..superblock }
}

fn with_journals() -> Superblock {
    let mut superblock = superblock();
    superblock.geometry.journal_slots = 3;
    let left = [
        EntryState::Active,
        EntryState::Failed { entries: 2 << 40 | 9 },
        EntryState::Rebuilding { frontier: 2 << 40 | 10, returning: false },
    ];
    let spare = superblock.table.pop();
    let entry = |state| Entry { member: Identity([0x77; 16]), state };
    superblock.table.extend(left.map(entry).into_iter().chain(spare));
    superblock
}

fn entry_of_writes() -> EntryHeader {
    let write = |(at, count)| StagedWrite { at, sums: (0..count).map(|index: u64| !index).collect() };
    let writes = [(640, 8), (1 << 40, 16)].map(write).to_vec();
    EntryHeader { content: EntryContent { writes, ..EntryContent::default() }, ..entry() }
}

/// The structures in lines of 32 bytes; lines of zeroes are left out.
fn text() -> String {
    let mut text = String::new();
    for (name, bytes) in structures() {
        writeln!(text, "# {name}, {} bytes", bytes.len()).expect("a string takes all");
        let lines = bytes.chunks(32).enumerate().filter(|(_, line)| line.iter().any(|byte| *byte != 0));
        for (index, line) in lines {
            let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "{:5}: {hex}", index * 32).expect("a string takes all");
        }
    }
    text
}

#[test]
fn structures_have_the_bytes_that_their_version_says() {
    let version = format!("tests/golden/v{FORMAT_VERSION}");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(version);
    let path = folder.join("structures.txt");
    if env::var_os("PARLOUR_GOLDEN").is_some_and(|value| value == "write") {
        fs::create_dir_all(&folder).expect("the folder can be made");
        fs::write(&path, text()).expect("the file can be written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let (ours, golden) = (text(), golden);
    let differs = ours.lines().zip(golden.lines()).find(|(ours, golden)| ours != golden);
    assert!(
        ours == golden,
        "the bytes of the format have changed, and its version ({FORMAT_VERSION}) has not: raise FORMAT_VERSION in \
         crates/array/src/format/superblock.rs, or add a feature bit, and describe the change in docs/format.md; then \
         `cargo xtask golden` writes {} anew. The first difference (now, before): {differs:?}",
        path.display()
    );
}
