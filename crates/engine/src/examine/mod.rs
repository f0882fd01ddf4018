//! What a file or device says of itself, without opening its array.

mod map;

use std::path::{Path, PathBuf};

use parlour_array::{EntryState, Geometry, StoredGeometry, Superblock, SuperblockError};
use parlour_units::{Bytes, Sectors};
use serde::Serialize;

use crate::member::{Member, MemberError, Mode};
use crate::opening::superblock_copies;

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    /// It cannot be opened or read.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// It is no member.
    #[error("{path}: {error}{foreign}", path = .path.display())]
    NoSuperblock {
        /// The path.
        path: PathBuf,
        /// What is wrong with the better of both superblocks.
        error: SuperblockError,
        /// What it holds instead, in words; empty if that cannot be told.
        foreign: String,
    },
}

/// What a member says.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// Its path.
    pub path: PathBuf,
    /// Its length.
    pub length: Bytes,
    /// Its block size.
    pub block: Bytes,
    /// Both copies of its superblock; the one that counts is the sound one with the higher sequence.
    pub superblocks: [SuperblockSummary; 2],
    /// The array's shape as it is kept.
    pub geometry: StoredGeometry,
    /// What hosts can store in the array.
    pub capacity: Bytes,
    /// The organization's name, if it has one.
    pub organization: &'static str,
    /// Its dirty maps, if they can be read.
    pub maps: Vec<MapSummary>,
}

/// One copy of a superblock.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SuperblockSummary {
    /// The byte at which it lies; none where the member is too short.
    pub at: Option<u64>,
    /// What is wrong with it; the rest is empty then.
    pub error: Option<String>,
    /// The array's identity.
    pub array: String,
    /// The array's name.
    pub name: String,
    /// The member's identity.
    pub member: String,
    /// The member's line in the table.
    pub entry: u16,
    /// Rises with each writing.
    pub sequence: u64,
    /// Rises with each opening of the array.
    pub session_number: u64,
    /// This opening's identity first, then those before it.
    pub sessions: Vec<String>,
    /// Whether the array was stopped properly.
    pub clean: bool,
    /// Seconds since 1970 when the array was created.
    pub created: u64,
    /// Members, then spares: identity and state.
    pub table: Vec<(String, String)>,
}

/// One copy of a dirty map.
#[derive(Clone, Debug, Serialize)]
pub struct MapSummary {
    /// The byte at which it lies.
    pub at: u64,
    /// Rises with each writing.
    pub sequence: u64,
    /// Regions in the array.
    pub regions: u32,
    /// Regions that may be inconsistent.
    pub dirty: u32,
    /// Regions whose check units are known not to fit.
    pub resync: u32,
}

/// Examines the member at `path`; it may be in use by those who only look.
///
/// # Errors
/// If it cannot be opened, or has no superblock that can be used.
pub fn examine(path: &Path) -> Result<Examination, ExamineError> {
    let member = Member::open(path, Mode::ReadOnly)?;
    let [first, second] = superblock_copies(&member).map(Result::unwrap_or_default);
    let superblock = match Superblock::decode_copies(&first, &second) {
        Ok(superblock) => superblock,
        Err(error) => return Err(no_superblock(&member, error)),
    };
    let geometry = Geometry::from_stored(superblock.geometry);
    let places = long_places(member.length());
    Ok(Examination {
        path: path.into(),
        length: member.length().bytes(),
        block: member.block(),
        superblocks: [summary(places[0], &first), summary(places[1], &second)],
        geometry: superblock.geometry,
        capacity: geometry.capacity().bytes(),
        organization: geometry.stored().organization_name(),
        maps: maps(&member, &superblock, &geometry),
    })
}

fn no_superblock(member: &Member, error: SuperblockError) -> ExamineError {
    let found = member.probe_foreign().unwrap_or_default();
    let foreign = found.first().map(|foreign| format!("; it holds {foreign}")).unwrap_or_default();
    ExamineError::NoSuperblock { path: member.path().into(), error, foreign }
}

fn long_places(length: Sectors) -> [Option<u64>; 2] {
    match parlour_array::is_long_enough(length) {
        true => Geometry::superblock_places(length).map(|at| Some(at.bytes())),
        false => [Some(0), None],
    }
}

fn summary(at: Option<u64>, block: &[u8]) -> SuperblockSummary {
    let superblock = match Superblock::decode(block) {
        Ok(superblock) => superblock,
        Err(error) => {
            return SuperblockSummary { at, error: Some(error.to_string()), ..Default::default() };
        }
    };
    let line = |entry: &parlour_array::Entry| (entry.member.to_string(), state(entry.state));
    SuperblockSummary {
        at,
        error: None,
        array: superblock.array.to_string(),
        name: superblock.name,
        member: superblock.member.to_string(),
        entry: superblock.entry,
        sequence: superblock.sequence,
        session_number: superblock.session_number,
        sessions: superblock.sessions.iter().map(ToString::to_string).collect(),
        clean: superblock.clean,
        created: superblock.created,
        table: superblock.table.iter().map(line).collect(),
    }
}

fn state(state: EntryState) -> String {
    match state {
        EntryState::Vacant => "vacant".into(),
        EntryState::Active => "active".into(),
        EntryState::Rebuilding { frontier } => format!("rebuilding, {frontier} stripes done"),
        EntryState::Failed => "failed".into(),
        EntryState::Spare => "spare".into(),
    }
}

fn maps(member: &Member, superblock: &Superblock, geometry: &Geometry) -> Vec<MapSummary> {
    let copies = (0..2).filter_map(|slot| {
        let at = geometry.map_place(slot);
        let mut block = vec![0; geometry.map_length().bytes().as_usize()];
        member.read_at(at, &mut block).ok()?;
        map::summary(at.bytes(), &block, superblock.array, geometry.layout().region_count())
    });
    copies.collect()
}
