//! The superblock: the description of a member and of its array. `docs/format.md` draws it.
//!
//! Each member has two copies, one at each end. They are written one after the other, each durable
//! before the next, with a rising sequence number. Whatever write is torn, one whole copy is left;
//! the one with the higher number counts.

use parlour_units::{Sectors, Slot};

use crate::format::bytes::{Reader, Writer, seal_holds};
use crate::format::horizon::{SESSION_END, SUPERBLOCK_END};
use crate::geometry::{Cylinder, SHORTEST_BAD_BLOCK_LOG, StoredGeometry};
use crate::identity::Identity;
use crate::layout::{LayoutRequest, RegionShape, Rotation};
use crate::organization::{Code, Consistency, LayoutChoice, Organization, ReadChoice, Update};

/// Bytes of a superblock.
pub const SUPERBLOCK_BYTES: usize = 4_096;
/// The first eight bytes of a superblock.
pub(crate) const MAGIC: [u8; 8] = *b"PARLOUR\0";
/// The version of the format: any change of the bytes that are written raises it, or adds a feature
/// bit.
pub const FORMAT_VERSION: u32 = 5;
/// The number of sessions that a superblock remembers. A member that missed more sessions cannot be
/// distinguished from one that was used separately.
pub(crate) const REMEMBERED_SESSIONS: usize = 32;
/// Entries of the member table: members first, then spares.
pub(crate) const MEMBER_ENTRIES: usize = 96;

const CHECKSUM_AT: usize = 12;
const ARRAY_AT: usize = 40;
const GEOMETRY_AT: usize = 128;
const CYLINDER_AT: usize = 208;
const INTENT_LOG_AT: usize = 220;
const RECORDED_AT: usize = 224;
const NAME_AT: usize = 256;
const NAME_BYTES: usize = 64;
const WRITE_LOG_AT: usize = 320;
const JOURNALS_AT: usize = 324;
const MOVES_AT: usize = 338;
const MOVE_BYTES: usize = 10;
/// The frontier of a move that has ended.
const ALL_MOVED: u64 = u64::MAX;
/// The number of slots whose units can be in spare room: one of each parity group.
const MOST_MOVES: usize = 16;
const SESSIONS_AT: usize = 512;
const TABLE_AT: usize = 1_024;
const ENTRY_BYTES: usize = 32;
/// The greatest count of a session's bitmaps in an entry: three bytes.
pub(crate) const MOST_MAPS: u32 = (1 << 24) - 1;
/// Feature: a commit log, which must be read before the array's data is used.
const COMMIT_LOG: u64 = 1;
/// Feature: far copies.
const FAR_COPIES: u64 = 2;
/// Feature: floating units.
const FLOATING: u64 = 4;
/// Feature: a stream of writes, which must be read before the array's data is used.
const WRITE_BACK: u64 = 8;
/// Feature: slots of journal devices, behind those of members.
const JOURNALS: u64 = 16;
/// Feature: streams of the commit log with several lanes.
const LANES: u64 = 32;
/// Feature: entries stand on fewer journal devices than on members.
const JOURNAL_COPIES: u64 = 64;
/// Feature: bad-block logs longer than 32 KiB.
const LONG_BAD_BLOCK_LOG: u64 = 128;
/// Flag: shut down cleanly.
const CLEAN: u64 = 1;
/// Flag: [`Stage::Opening`].
const OPENING: u64 = 2;
/// Flag: [`Stage::Beginning`].
const BEGINNING: u64 = 4;
/// Feature: several check units of a stripe that are computed from several data units.
const SEVERAL_CHECKS: u64 = 256;
/// Feature: stripes narrower than a parity group.
const DECLUSTERED: u64 = 512;
/// Feature: several members belong to one failure domain.
const DOMAINS: u64 = 1024;
/// Feature: distributed spares.
const SPARES: u64 = 2048;
/// Feature: check units of rows and columns.
const TWO_DIMENSIONAL: u64 = 4096;
/// Feature bits of this version that a reader must know.
const KNOWN_INCOMPATIBLE: u64 = COMMIT_LOG
    | FAR_COPIES
    | FLOATING
    | WRITE_BACK
    | JOURNALS
    | LANES
    | JOURNAL_COPIES
    | LONG_BAD_BLOCK_LOG
    | SEVERAL_CHECKS
    | DECLUSTERED
    | DOMAINS
    | SPARES
    | TWO_DIMENSIONAL;
/// Feature bits of this version that a writer must know (none yet).
const KNOWN_READ_ONLY_COMPATIBLE: u64 = 0;

/// The description of a member and of its array.
#[derive(Clone, Debug, PartialEq)]
pub struct Superblock {
    /// The array's identity.
    pub array: Identity,
    /// The member's identity.
    pub member: Identity,
    /// The index of this member's entry in the member table.
    pub entry: u16,
    /// This member's length.
    pub member_length: Sectors,
    /// Rises with each write.
    pub sequence: u64,
    /// Rises with each opening of the array.
    pub session_number: u64,
    /// This opening's identity first, then those before it.
    pub sessions: Vec<Identity>,
    /// Whether the array was shut down cleanly: nothing in flight, logs complete.
    pub clean: bool,
    /// How far its session had come.
    pub stage: Stage,
    /// Whether its features allow writing (set by [`Superblock::decode`], not stored).
    pub writable: bool,
    /// Which of the two copies this is, 0 or 1 (set by [`Superblock::decode_copies`], not stored).
    /// The other copy is worse, and is to be written first.
    pub copy: usize,
    /// The array's shape.
    pub geometry: StoredGeometry,
    /// The array's name, for display.
    pub name: String,
    /// Seconds since 1970 when the array was created, for display.
    pub created: u64,
    /// Members, then spares.
    pub table: Vec<Entry>,
    /// The slots whose units are in spare room.
    pub moves: Vec<Moved>,
    /// The metadata that was durable on all members when the superblock was written.
    pub recorded: Recorded,
}

/// How far a session had come when a superblock was written. Each stage is durable on all members
/// before the next one begins, and data is written only in the last. So a member that is at one of
/// the others knows that nothing was written in this session before it was excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The session is being opened. Members may still be in the session before.
    Opening,
    /// All members know of the session; some may not know that its opening has ended.
    Beginning,
    /// All members know that its opening has ended: data may be written.
    Begun,
}

impl Stage {
    /// The flags of a superblock in this stage.
    fn flags(self) -> u64 {
        match self {
            Stage::Opening => OPENING,
            Stage::Beginning => BEGINNING,
            Stage::Begun => 0,
        }
    }

    fn of_flags(flags: u64) -> Stage {
        match flags {
            _ if flags & OPENING != 0 => Stage::Opening,
            _ if flags & BEGINNING != 0 => Stage::Beginning,
            _ => Stage::Begun,
        }
    }
}

/// Sequence numbers of metadata that all members hold. A member whose metadata has lower numbers is
/// older.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The number of the bitmap.
    pub map: u64,
    /// The number of the table of the regions' logs.
    pub table: u64,
    /// The number of the bad-block log.
    pub list: u64,
    /// The number of the last session whose opening came to its end: each stream of the commit log
    /// has an entry of it. (A long session takes additional numbers.)
    pub opened: u64,
}

/// A slot whose units are in spare room, or are being rebuilt there, because its member failed and
/// no other one holds them all yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The slot.
    pub slot: Slot,
    /// The units of the first `frontier` stripes are there; `None` if all are.
    pub frontier: Option<u64>,
}

impl Moved {
    /// Whether all units of the slot are in spare room.
    pub fn is_whole(&self) -> bool {
        self.frontier.is_none()
    }
}

/// An entry of the member table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The member's identity.
    pub member: Identity,
    /// The member's state.
    pub state: EntryState,
}

impl Entry {
    /// The slot of a journal device in which there never was one.
    pub(crate) const VACANT: Entry =
        Entry { member: Identity::NONE, state: EntryState::Failed { entries: 0 } };

    /// Whether there is no member in this slot, and none is missed.
    pub fn is_vacant(&self) -> bool {
        self.member == Identity::NONE && matches!(self.state, EntryState::Failed { .. })
    }
}

/// The state of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// There is no member.
    Vacant,
    /// It is whole: it holds all data of its slot.
    Active,
    /// It holds the data of the first `frontier` stripes.
    Rebuilding {
        /// The number of stripes that are durably rebuilt. A journal device has none; there it is
        /// what `Failed` has as `entries`.
        frontier: u64,
        /// It was absent: behind the frontier it holds the data of regions that the bitmap does not
        /// mark out of sync.
        returning: bool,
    },
    /// Excluded: its data is not believed.
    Failed {
        /// In the slot of a journal device: entries of the commit log up to this number may stand
        /// on it.
        entries: u64,
    },
    /// Excluded, and whole until then: it still holds the data of regions that the bitmap does not
    /// mark out of sync.
    MayReturn {
        /// The first eight bytes of the identity of the last session whose beginning it recorded.
        session: u64,
        /// The highest sequence number of its own superblocks.
        sequence: u32,
        /// It holds at least this many of the bitmaps that this session wrote (at most
        /// `MOST_MAPS`).
        bitmaps: u32,
    },
    /// Ready to take a failed member's slot.
    Spare,
}

/// Why a block is not a usable superblock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuperblockError {
    /// No superblock was ever written there.
    #[error("no superblock")]
    Absent,
    /// It does not fit its checksum.
    #[error("superblock damaged (its checksum does not fit)")]
    Damaged,
    /// It fits its checksum but has an impossible field.
    #[error("superblock with an impossible field ({0})")]
    Nonsense(&'static str),
    /// It has another format version.
    #[error("superblock of format version {0}; this program knows version {FORMAT_VERSION} only")]
    Version(u32),
    /// It uses features that this version lacks.
    #[error("superblock uses features that this program lacks (bits {0:#x})")]
    Features(u64),
}

impl Superblock {
    /// The bytes of the superblock.
    ///
    /// # Panics
    /// If the table or the name is too long; creation limits both.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.table.len() <= MEMBER_ENTRIES && self.name.len() <= NAME_BYTES, "bounded at creation");
        assert!(self.moves.len() <= MOST_MOVES, "there are fewer parity groups with spare room");
        let mut out = Writer::new(SUPERBLOCK_BYTES);
        out.bytes(&MAGIC).u32(FORMAT_VERSION).u32(0).u64(0).u64(0).u64(incompatible(&self.geometry));
        out.bytes(&self.array.0).bytes(&self.member.0);
        out.u16(self.entry).u16(self.table.len() as u16).u32(self.name.len() as u32);
        out.u64(self.member_length.get()).u64(self.sequence).u64(self.session_number);
        let clean = if self.clean { CLEAN } else { 0 };
        out.u64(clean | self.stage.flags()).u64(self.created);
        encode_geometry(out.seek(GEOMETRY_AT), &self.geometry);
        let Recorded { map, table, list, opened } = self.recorded;
        out.seek(RECORDED_AT).u64(map).u64(table).u64(list).u64(opened);
        out.seek(NAME_AT).bytes(self.name.as_bytes());
        for (index, moved) in self.moves.iter().enumerate() {
            out.seek(MOVES_AT + index * MOVE_BYTES).u16(moved.slot.get() + 1);
            out.u64(moved.frontier.unwrap_or(ALL_MOVED));
        }
        out.seek(SESSIONS_AT);
        for session in self.sessions.iter().take(REMEMBERED_SESSIONS) {
            out.bytes(&session.0);
        }
        for (index, entry) in self.table.iter().enumerate() {
            let (state, bitmaps, sequence, frontier) = entry.state.encode();
            out.seek(TABLE_AT + index * ENTRY_BYTES).bytes(&entry.member.0);
            out.u32(u32::from(state) | bitmaps << 8).u32(sequence).u64(frontier);
        }
        out.sealed(CHECKSUM_AT)
    }

    /// The superblock in `block`.
    ///
    /// # Errors
    /// There is none, or none that this version can use.
    pub fn decode(block: &[u8]) -> Result<Superblock, SuperblockError> {
        let mut from = unseal(block)?;
        let (_checksum, _compatible) = (from.u32(), from.u64());
        let (read_only_compatible, incompatible) = (from.u64(), from.u64());
        if incompatible & !KNOWN_INCOMPATIBLE != 0 {
            return Err(SuperblockError::Features(incompatible));
        }
        let (array, member) = (Identity(from.array()), Identity(from.array()));
        let (entry, entries, name_length) = (from.u16(), usize::from(from.u16()), from.u32() as usize);
        let (member_length, sequence, session_number) = (from.u64(), from.u64(), from.u64());
        let (flags, created) = (from.u64(), from.u64());
        if sequence >= SUPERBLOCK_END {
            return Err(SuperblockError::Nonsense("sequence"));
        }
        if session_number >= SESSION_END {
            return Err(SuperblockError::Nonsense("session number"));
        }
        let geometry =
            decode_geometry(from.seek(GEOMETRY_AT), (Slot::new(entry), Sectors::new(member_length)))?;
        from.seek(RECORDED_AT);
        let recorded = Recorded { map: from.u64(), table: from.u64(), list: from.u64(), opened: from.u64() };
        if entries > MEMBER_ENTRIES || usize::from(entry) >= entries {
            return Err(SuperblockError::Nonsense("member table"));
        }
        let name = block[NAME_AT..NAME_AT + NAME_BYTES]
            .get(..name_length)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .ok_or(SuperblockError::Nonsense("name"))?;
        let table = decode_table(&mut from, entries)?;
        let sessions = decode_sessions(from.seek(SESSIONS_AT));
        if sessions.is_empty() {
            return Err(SuperblockError::Nonsense("sessions"));
        }
        if table.len() < usize::from(geometry.members() + geometry.journal_slots) {
            return Err(SuperblockError::Nonsense("member table"));
        }
        let moves = decode_moves(&mut from, &geometry, &table)?;
        Ok(Superblock {
            array,
            member,
            entry,
            member_length: Sectors::new(member_length),
            sequence,
            session_number,
            sessions,
            clean: flags & CLEAN != 0,
            stage: Stage::of_flags(flags),
            writable: read_only_compatible & !KNOWN_READ_ONLY_COMPATIBLE == 0,
            copy: 0,
            geometry,
            name: name.into(),
            created,
            table,
            moves,
            recorded,
        })
    }

    /// The better of a member's two copies.
    ///
    /// # Errors
    /// Neither can be used. The error is that of the first copy, unless only the second exists.
    pub fn decode_copies(first: &[u8], second: &[u8]) -> Result<Superblock, SuperblockError> {
        match (Superblock::decode(first), Superblock::decode(second)) {
            (Ok(a), Ok(b)) if b.array == a.array && b.sequence >= a.sequence => {
                Ok(Superblock { copy: 1, ..b })
            }
            (Ok(a), _) => Ok(a),
            (Err(_), Ok(only)) => Ok(Superblock { copy: 1, ..only }),
            (Err(SuperblockError::Absent), Err(error)) | (Err(error), Err(_)) => Err(error),
        }
    }

    /// Whether the bytes in `block` contain the identities of this array and session. It is not
    /// checked whether the superblock is sound.
    pub(crate) fn names(block: &[u8], array: Identity, session: Identity) -> bool {
        let mut from = Reader::new(block);
        Identity(from.seek(ARRAY_AT).array()) == array && Identity(from.seek(SESSIONS_AT).array()) == session
    }

    /// The slots of journal devices in which the array has none.
    pub fn vacant_slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let slots = (0..).map(Slot::new).zip(&self.table);
        let journals = slots.take(usize::from(self.geometry.members() + self.geometry.journal_slots));
        let journals = journals.skip(usize::from(self.geometry.members()));
        journals.filter(|(_, entry)| entry.is_vacant()).map(|(slot, _)| slot)
    }

    /// The identity of this opening.
    pub fn session(&self) -> Identity {
        self.sessions.first().copied().unwrap_or(Identity::NONE)
    }
}

impl EntryState {
    /// The bytes of an entry's state: its number, the count of bitmaps, a sequence number, and the
    /// frontier or session.
    fn encode(self) -> (u8, u32, u32, u64) {
        match self {
            EntryState::Vacant => (0, 0, 0, 0),
            EntryState::Active => (1, 0, 0, 0),
            EntryState::Rebuilding { frontier, returning: false } => (2, 0, 0, frontier),
            EntryState::Failed { entries } => (3, 0, 0, entries),
            EntryState::Spare => (4, 0, 0, 0),
            EntryState::MayReturn { session, sequence, bitmaps } => (5, bitmaps, sequence, session),
            EntryState::Rebuilding { frontier, returning: true } => (6, 0, 0, frontier),
        }
    }

    fn decode(state: u8, bitmaps: u32, sequence: u32, frontier: u64) -> Option<EntryState> {
        Some(match state {
            0 => EntryState::Vacant,
            1 => EntryState::Active,
            2 => EntryState::Rebuilding { frontier, returning: false },
            3 => EntryState::Failed { entries: frontier },
            4 => EntryState::Spare,
            5 => EntryState::MayReturn { session: frontier, sequence, bitmaps },
            6 => EntryState::Rebuilding { frontier, returning: true },
            _ => return None,
        })
    }
}

/// Checks that this is a whole superblock of this version. Returns a reader behind the version.
fn unseal(block: &[u8]) -> Result<Reader<'_>, SuperblockError> {
    let mut from = Reader::new(block);
    if from.array() != MAGIC {
        return Err(SuperblockError::Absent);
    }
    let version = from.u32();
    if block.len() != SUPERBLOCK_BYTES || !seal_holds(block, CHECKSUM_AT) {
        return Err(SuperblockError::Damaged);
    }
    if version != FORMAT_VERSION {
        return Err(SuperblockError::Version(version));
    }
    Ok(from)
}

/// The features that a reader of an array of this geometry must know.
fn incompatible(geometry: &StoredGeometry) -> u64 {
    let bit = |used: bool, bit: u64| if used { bit } else { 0 };
    bit(geometry.consistency.is_journal(), COMMIT_LOG)
        | bit(geometry.organization.layout.copies_are_far(), FAR_COPIES)
        | bit(geometry.organization.floats(), FLOATING)
        | bit(geometry.write_log > 0, WRITE_BACK)
        | bit(geometry.journal_slots > 0, JOURNALS)
        | bit(geometry.lanes > 1, LANES)
        | bit(geometry.journal_copies > 0, JOURNAL_COPIES)
        | bit(geometry.bad_block_log > SHORTEST_BAD_BLOCK_LOG.get(), LONG_BAD_BLOCK_LOG)
        | bit(geometry.organization.keeps_parity() && geometry.checks > 1, SEVERAL_CHECKS)
        | bit(geometry.layout.width.is_some(), DECLUSTERED)
        | bit(geometry.layout.domains.is_some(), DOMAINS)
        | bit(geometry.layout.spares > 0, SPARES)
        | bit(geometry.organization.code.is_two_dimensional(), TWO_DIMENSIONAL)
}

fn decode_table(from: &mut Reader<'_>, entries: usize) -> Result<Vec<Entry>, SuperblockError> {
    let entry = |index: usize| {
        let member = Identity(from.seek(TABLE_AT + index * ENTRY_BYTES).array());
        let (word, sequence, frontier) = (from.u32(), from.u32(), from.u64());
        let state = EntryState::decode(word as u8, word >> 8, sequence, frontier)
            .ok_or(SuperblockError::Nonsense("member states"))?;
        Ok(Entry { member, state })
    };
    (0..entries).map(entry).collect()
}

/// The moved slots of an array with spare room: one of each parity group at most, whose members are
/// not whole.
fn decode_moves(
    from: &mut Reader<'_>,
    geometry: &StoredGeometry,
    table: &[Entry],
) -> Result<Vec<Moved>, SuperblockError> {
    let mut moves: Vec<Moved> = Vec::new();
    let group = |slot: Slot| slot.get() / geometry.layout.group_members;
    let count = if geometry.layout.spares > 0 { MOST_MOVES } else { 0 };
    for index in 0..count {
        let (slot, frontier) = (from.seek(MOVES_AT + index * MOVE_BYTES).u16(), from.u64());
        let Some(slot) = slot.checked_sub(1).map(Slot::new) else { break };
        let whole = |entry: &Entry| matches!(entry.state, EntryState::Active | EntryState::Spare);
        let possible = slot.get() < geometry.members() && !whole(&table[slot.as_usize()]);
        let first = moves.iter().all(|moved| group(moved.slot) != group(slot));
        if !possible || !first {
            return Err(SuperblockError::Nonsense("moved members"));
        }
        moves.push(Moved { slot, frontier: (frontier != ALL_MOVED).then_some(frontier) });
    }
    Ok(moves)
}

fn decode_sessions(from: &mut Reader<'_>) -> Vec<Identity> {
    (0..REMEMBERED_SESSIONS)
        .map(|_| Identity(from.array()))
        .take_while(|session| *session != Identity::NONE)
        .collect()
}

fn encode_geometry(out: &mut Writer, geometry: &StoredGeometry) {
    let Organization { layout, code, update, read } = geometry.organization;
    let position = |index: Option<usize>| index.expect("each choice is listed") as u8;
    out.u8(position(LayoutChoice::ALL.iter().position(|choice| *choice == layout)));
    out.u8(position(Code::ALL.iter().position(|choice| *choice == code)));
    out.u8(position(Update::ALL.iter().position(|choice| *choice == update)));
    out.u8(position(ReadChoice::ALL.iter().position(|choice| *choice == read)));
    out.u16(code.stored_checks(geometry.checks))
        .u16(geometry.layout.group_members)
        .u16(geometry.layout.groups);
    out.u16(geometry.consistency as u16).u32(geometry.commit_log as u32);
    out.u64(geometry.block).u64(geometry.layout.unit).u64(geometry.layout.length).u64(geometry.data_start);
    if let Some(shape) = geometry.regions {
        out.u32(shape.regions).u32(shape.stripes).u16(shape.sublogs).u16(0).u32(shape.sublog_segments);
        out.u64(shape.segment).u64(shape.grain);
    }
    if let Some(cylinder) = geometry.cylinder {
        out.seek(CYLINDER_AT).u64(cylinder.track).u16(cylinder.tracks);
    }
    out.seek(INTENT_LOG_AT).u32(geometry.intent_log as u32);
    out.seek(WRITE_LOG_AT).u32(geometry.write_log as u32);
    // (Without further lanes, what stood there before there were lanes.)
    out.seek(JOURNALS_AT).u16(geometry.journal_slots).u16(geometry.lanes.saturating_sub(1));
    out.u16(geometry.journal_copies);
    // (What stood there before the list could be longer.)
    let longer = geometry.bad_block_log > SHORTEST_BAD_BLOCK_LOG.get();
    out.u16(if longer { geometry.bad_block_log as u16 } else { 0 });
    out.u16(geometry.layout.width.unwrap_or(0)).u16(geometry.layout.domains.unwrap_or(0));
    out.u16(geometry.layout.spares);
}

/// The geometry, if it is possible on a device of this length in `slot`.
fn decode_geometry(
    from: &mut Reader<'_>,
    (slot, member): (Slot, Sectors),
) -> Result<StoredGeometry, SuperblockError> {
    let nonsense = SuperblockError::Nonsense;
    let layout = LayoutChoice::ALL.get(usize::from(from.u8())).ok_or(nonsense("layout"))?;
    let code = Code::ALL.get(usize::from(from.u8())).ok_or(nonsense("code"))?;
    let update = Update::ALL.get(usize::from(from.u8())).ok_or(nonsense("update policy"))?;
    let read = ReadChoice::ALL.get(usize::from(from.u8())).ok_or(nonsense("read policy"))?;
    let (checks, group_members, groups) = (code.checks_stored(from.u16()), from.u16(), from.u16());
    let (consistency, commit_log) = (from.u16(), from.u32());
    let consistency = Consistency::ALL.get(usize::from(consistency)).ok_or(nonsense("consistency"))?;
    let (block, unit, length, data_start) = (from.u64(), from.u64(), from.u64(), from.u64());
    let (regions, stripes, sublogs, _) = (from.u32(), from.u32(), from.u16(), from.u16());
    let (sublog_segments, segment, grain) = (from.u32(), from.u64(), from.u64());
    let cylinder = Cylinder { track: from.seek(CYLINDER_AT).u64(), tracks: from.u16() };
    let intent_log = from.seek(INTENT_LOG_AT).u32();
    let write_log = from.seek(WRITE_LOG_AT).u32();
    let (journal_slots, further_lanes) = (from.seek(JOURNALS_AT).u16(), from.u16());
    let journal_copies = from.u16();
    let bad_block_log = match from.u16() {
        0 => SHORTEST_BAD_BLOCK_LOG.get(),
        longer => longer.into(),
    };
    let width = Some(from.u16()).filter(|width| *width > 0);
    let domains = Some(from.u16()).filter(|domains| *domains > 0);
    let spares = from.u16();
    let shape = RegionShape { regions, stripes, sublogs, sublog_segments, segment, grain };
    let geometry = StoredGeometry {
        organization: Organization { layout: *layout, code: *code, update: *update, read: *read },
        checks,
        layout: LayoutRequest { group_members, groups, unit, length, width, domains, spares },
        block,
        data_start,
        regions: layout.is_in_regions().then_some(shape),
        consistency: *consistency,
        commit_log: commit_log.into(),
        intent_log: intent_log.into(),
        write_log: write_log.into(),
        lanes: further_lanes.saturating_add(1),
        journal_slots,
        journal_copies,
        bad_block_log,
        cylinder: layout.is_in_cylinders().then_some(cylinder),
    };
    geometry.check_on(slot, member).map_err(nonsense)?;
    Ok(geometry)
}

// The layout number includes the rotation: the order of `LayoutChoice::ALL` is part of the format.
const _: () = assert!(matches!(LayoutChoice::ALL[6], LayoutChoice::Parity(Rotation::LeftSymmetric)));
const _: () = assert!(matches!(LayoutChoice::ALL[9], LayoutChoice::Regions));
const _: () = assert!(matches!(LayoutChoice::ALL[10], LayoutChoice::Far));
const _: () = assert!(matches!(LayoutChoice::ALL[11], LayoutChoice::Cylinders));
const _: () = assert!(matches!(LayoutChoice::ALL[12], LayoutChoice::Declustered));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Creation, Geometry, LogCreation};
    use crate::opening::{NewArray, create};

    fn new_superblock() -> Superblock {
        let geometry = Geometry::create(&Creation {
            organization: Organization::named("raid5").expect("a known organization").organization,
            checks: 1,
            members: 3,
            groups: 1,
            width: None,
            domains: None,
            spares: 0,
            unit: Sectors::new(8),
            block: Sectors::new(1),
            member_length: Sectors::new(8_192),
            log: LogCreation::default(),
            consistency: Consistency::Bitmap,
        })
        .expect("a possible array");
        let new = NewArray {
            array: Identity([1; 16]),
            session: Identity([2; 16]),
            members: (3..6).map(|member| (Identity([member; 16]), Sectors::new(8_192))).collect(),
            name: "new".into(),
            created: 0,
            zeroed: true,
        };
        let images = create(&geometry, &new);
        let (_, block) = images[0].last().expect("the first copy is written last");
        Superblock::decode(block).expect("a new superblock is sound")
    }

    #[test]
    fn what_a_block_names_is_what_its_superblock_says() {
        let superblock = new_superblock();
        let names = |array, session| Superblock::names(&superblock.encode(), array, session);
        assert!(names(superblock.array, superblock.session()));
        assert!(!names(superblock.member, superblock.session()));
        assert!(!names(superblock.array, superblock.member));
    }

    /// Regression test. A superblock without sessions was called diverged from itself, and numbers
    /// at the end of their range could not rise.
    #[test]
    fn sessions_and_numbers_that_were_never_written_are_nonsense() {
        let good = new_superblock();
        let refused =
            |superblock: Superblock| Superblock::decode(&superblock.encode()).expect_err("nonsense");
        let sessions = SuperblockError::Nonsense("sessions");
        assert_eq!(refused(Superblock { sessions: Vec::new(), ..good.clone() }), sessions);
        let sequence = SuperblockError::Nonsense("sequence");
        assert_eq!(refused(Superblock { sequence: u64::MAX, ..good.clone() }), sequence);
        let session = SuperblockError::Nonsense("session number");
        assert_eq!(refused(Superblock { session_number: u64::MAX, ..good }), session);
    }
}
