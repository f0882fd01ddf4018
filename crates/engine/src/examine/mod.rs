//! Examines a file or device: its superblocks and other metadata, without opening its array.

use std::path::{Path, PathBuf};

use parlour_array::organization::Consistency;
use parlour_array::{
    BadBlockLogContent, BitmapContent, EntryState, Geometry, SegmentSummary, StoredGeometry, Superblock,
    SuperblockError,
};
use parlour_units::{Bytes, Sector, Sectors, Slot};
use serde::Serialize;

use crate::member::{Member, MemberError, Mode};
use crate::opening::superblock_copies;

/// Why a member cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    /// The file or device cannot be opened or read.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// The file or device is not a member.
    #[error("{path}: {error}{foreign}", path = .path.display())]
    NoSuperblock {
        /// The path.
        path: PathBuf,
        /// What is wrong with the better of the two superblocks.
        error: SuperblockError,
        /// What the file or device holds instead, in words; empty if nothing was recognised.
        foreign: String,
    },
}

/// The metadata of one member.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// Its path.
    pub path: PathBuf,
    /// Its length.
    pub length: Bytes,
    /// Its block size.
    pub block: Bytes,
    /// Both copies of its superblock. The valid copy with the higher sequence number counts.
    pub superblocks: [SuperblockSummary; 2],
    /// The array's geometry as it is stored.
    pub geometry: StoredGeometry,
    /// The array's capacity for hosts' data.
    pub capacity: Bytes,
    /// The organization's name, if it has one.
    pub organization: &'static str,
    /// The consistency: what a crash may cost.
    pub consistency: Consistency,
    /// Its write-intent bitmaps, if they can be read.
    pub bitmaps: Vec<BitmapSummary>,
    /// Its bad-block logs, if they were ever written and can be read.
    pub bad_block_logs: Vec<BadBlockLogSummary>,
    /// The log segments on it that hold records, in the regions that are dirty in its newest
    /// bitmap.
    pub log: Vec<SegmentSummary>,
}

/// One copy of a superblock.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SuperblockSummary {
    /// The first byte of the copy; none if the member is too short.
    pub at: Option<u64>,
    /// What is wrong with the copy. The other fields are empty in this case.
    pub error: Option<String>,
    /// The array's identity.
    pub array: String,
    /// The array's name.
    pub name: String,
    /// The member's identity.
    pub member: String,
    /// The member's entry in the table of members.
    pub entry: u16,
    /// Incremented with each write of the superblock.
    pub sequence: u64,
    /// Incremented each time the array is opened for writing.
    pub session_number: u64,
    /// The identities of the sessions: the current one first, then earlier ones.
    pub sessions: Vec<String>,
    /// Whether the array was shut down cleanly.
    pub clean: bool,
    /// Seconds since 1970 when the array was created.
    pub created: u64,
    /// Members, then spares: identity and state.
    pub table: Vec<(String, String)>,
}

/// One copy of a write-intent bitmap.
#[derive(Clone, Debug, Serialize)]
pub struct BitmapSummary {
    /// The first byte of the copy.
    pub at: u64,
    /// Incremented with each write of the bitmap.
    pub sequence: u64,
    /// The number of regions in the array.
    pub regions: u32,
    /// The number of regions that are dirty.
    pub dirty: u32,
    /// The number of regions whose check units are known not to fit.
    pub resync: u32,
    /// The number of regions that are out of sync: a member that may return lacks writes there.
    pub out_of_sync: u32,
}

/// One copy of the bad-block log.
#[derive(Clone, Debug, Serialize)]
pub struct BadBlockLogSummary {
    /// The first byte of the copy.
    pub at: u64,
    /// Incremented with each write of the log.
    pub sequence: u64,
    /// Blocks that count as unreadable: the slot, and the first byte on the member in that slot.
    pub blocks: Vec<(u16, u64)>,
    /// Blocks whose content is lost, in the same way. What stands there fits the check units.
    pub lost: Vec<(u16, u64)>,
}

/// Examines the member at `path`, which may be in use.
///
/// # Errors
/// If it cannot be opened, or has no valid superblock.
pub fn examine(path: &Path) -> Result<Examination, ExamineError> {
    let member = Member::open(path, Mode::Looking)?;
    let [first, second] = superblock_copies(&member).map(Result::unwrap_or_default);
    let superblock = match Superblock::decode_copies(&first, &second) {
        Ok(superblock) => superblock,
        Err(error) => return Err(no_superblock(&member, error)),
    };
    let geometry = Geometry::from_stored(superblock.geometry);
    let copies = long_places(member.length());
    // If the member is truncated, the lengths in its superblock cannot be used to read more.
    let whole = member.length() >= geometry.least_length(Slot::new(superblock.entry));
    let bitmaps = if whole { bitmaps(&member, &superblock, &geometry) } else { Vec::new() };
    let newest = bitmaps.iter().max_by_key(|(_, map)| map.sequence);
    let dirty = newest.map_or(&[][..], |(_, map)| &map.dirty);
    Ok(Examination {
        path: path.into(),
        length: member.length().bytes(),
        block: member.block(),
        superblocks: [summary(copies[0], &first), summary(copies[1], &second)],
        geometry: superblock.geometry,
        capacity: geometry.capacity().bytes(),
        organization: geometry.stored().organization_name(),
        consistency: geometry.consistency(),
        bitmaps: bitmaps.iter().map(|map| bitmap_summary(map, &geometry)).collect(),
        bad_block_logs: if whole { bad_block_logs(&member, &superblock, &geometry) } else { Vec::new() },
        log: log(&member, &superblock, &geometry, dirty),
    })
}

fn no_superblock(member: &Member, error: SuperblockError) -> ExamineError {
    let found = member.probe_foreign().unwrap_or_default();
    let told = match (found.first(), &error) {
        (Some(foreign), _) => format!("; it holds {foreign}"),
        (None, SuperblockError::Absent) => "; it is no member of an array; check the path".to_owned(),
        (None, _) => String::new(),
    };
    ExamineError::NoSuperblock { path: member.path().into(), error, foreign: told }
}

fn long_places(length: Sectors) -> [Option<u64>; 2] {
    match parlour_array::is_long_enough(length) {
        true => Geometry::superblocks_at(length).map(|at| Some(at.bytes())),
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
    let line = |entry: &parlour_array::Entry| match entry.is_vacant() {
        true => (entry.member.to_string(), "vacant".to_owned()),
        false => (entry.member.to_string(), state(entry.state)),
    };
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
        EntryState::Rebuilding { frontier, returning: false } => {
            format!("rebuilding, {frontier} stripes done")
        }
        EntryState::Rebuilding { frontier, returning: true } => {
            format!("rebuilding what it missed, {frontier} stripes done")
        }
        EntryState::MayReturn { .. } => "may return".into(),
        EntryState::Failed { .. } => "failed".into(),
        EntryState::Spare => "spare".into(),
    }
}

/// The headers of the log segments that this member holds.
fn log(
    member: &Member,
    superblock: &Superblock,
    geometry: &Geometry,
    dirty: &[parlour_units::Region],
) -> Vec<SegmentSummary> {
    let layout = geometry.layout();
    let (Some(logs), Some(header)) = (layout.logs(), geometry.log_header_length()) else { return Vec::new() };
    let slot = parlour_units::Slot::new(superblock.entry);
    let mut block = vec![0; header.bytes().as_usize()];
    let mut found = Vec::new();
    for region in dirty.iter().copied() {
        for position in 0..logs.segments() {
            let Some(there) = geometry.log_segment_on(region, position, slot) else { continue };
            let at = geometry.data_start() + there.at.from_start();
            let read = member.read_at(at, &mut block).is_ok();
            let summary = SegmentSummary::decode(&block, superblock.array).filter(|_| read);
            found.extend(summary.filter(|summary| summary.region == region.get()));
        }
    }
    found
}

/// The write-intent bitmaps that can be read, and their first bytes.
fn bitmaps(member: &Member, superblock: &Superblock, geometry: &Geometry) -> Vec<(u64, BitmapContent)> {
    let copies = (0..2).filter_map(|bank| {
        let at = geometry.bitmap_at(bank);
        let mut block = vec![0; geometry.bitmap_length().bytes().as_usize()];
        member.read_at(at, &mut block).ok()?;
        let content = BitmapContent::decode(&block, superblock.array, geometry.layout().region_count())?;
        Some((at.bytes(), content))
    });
    copies.collect()
}

/// The bad-block logs that can be read.
fn bad_block_logs(member: &Member, superblock: &Superblock, geometry: &Geometry) -> Vec<BadBlockLogSummary> {
    let copies = (0..2).filter_map(|bank| {
        let (at, length) = geometry.bad_block_log_at(bank)?;
        let mut bytes = vec![0; length.bytes().as_usize()];
        member.read_at(at, &mut bytes).ok()?;
        let content = BadBlockLogContent::decode(&bytes, superblock.array)?;
        let places = |blocks: Vec<(Slot, Sector)>| {
            blocks.into_iter().map(|(slot, at)| (slot.get(), at.bytes())).collect()
        };
        let (blocks, lost) = (places(content.blocks), places(content.lost));
        Some(BadBlockLogSummary { at: at.bytes(), sequence: content.sequence, blocks, lost })
    });
    copies.collect()
}

fn bitmap_summary((at, map): &(u64, BitmapContent), geometry: &Geometry) -> BitmapSummary {
    BitmapSummary {
        at: *at,
        sequence: map.sequence,
        regions: geometry.layout().region_count(),
        dirty: map.dirty.len() as u32,
        resync: map.resync.len() as u32,
        out_of_sync: map.out_of_sync.len() as u32,
    }
}
