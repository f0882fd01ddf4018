//! What a server finds on members before it opens the array.

use parlour_array::{Assembly, AssemblyError, Banks, BitmapContent, Candidate, EntryState, Geometry};
use parlour_codec::xor::is_zero;
use parlour_units::{Region, Sector, Sectors};

use crate::disk::Disk;

/// Disks that are not dead.
pub(crate) fn alive(disks: &[Disk]) -> Vec<usize> {
    (0..disks.len()).filter(|disk| !disks[*disk].is_dead()).collect()
}

/// Assembles the array from `disks` in this order.
pub(crate) fn assemble(disks: &[Disk], order: &[usize]) -> Result<Assembly, AssemblyError> {
    let candidates: Vec<Candidate> = order.iter().map(|index| candidate(disks, *index)).collect();
    Assembly::new(&candidates)
}

/// All disks, as candidates for members.
pub(crate) fn candidates(disks: &[Disk]) -> Vec<Candidate> {
    (0..disks.len()).map(|index| candidate(disks, index)).collect()
}

fn candidate(disks: &[Disk], index: usize) -> Candidate {
    let disk = &disks[index];
    Candidate { name: format!("disk {index}"), length: disk.length(), superblock: disk.superblock() }
}

/// Assembles the array from those of all candidates that are in `order`.
pub(crate) fn assemble_from(all: &[Candidate], order: &[usize]) -> Result<Assembly, AssemblyError> {
    let candidates: Vec<Candidate> = order.iter().map(|index| all[*index].clone()).collect();
    Assembly::new(&candidates)
}

/// The disk that stands in each slot, if one does.
pub(crate) fn members(assembly: &Assembly, order: &[usize]) -> Vec<Option<usize>> {
    assembly.slots.iter().map(|slot| slot.map(|candidate| order[candidate])).collect()
}

/// The number of slots whose member is missing, or not yet rebuilt.
pub(crate) fn missing(assembly: &Assembly) -> usize {
    let whole = |slot: &usize| assembly.slots[*slot].is_some() && is_active(assembly, *slot);
    (0..assembly.slots.len()).filter(|slot| !whole(slot)).count()
}

/// The number of those whose units are not all in spare room.
pub(crate) fn lacking(assembly: &Assembly) -> usize {
    let moves = &assembly.superblock.moves;
    let is_moved = |slot: usize| moves.iter().any(|moved| moved.slot.as_usize() == slot && moved.is_whole());
    let whole = |slot: usize| assembly.slots[slot].is_some() && is_active(assembly, slot);
    (0..assembly.slots.len()).filter(|slot| !whole(*slot) && !is_moved(*slot)).count()
}

fn is_active(assembly: &Assembly, slot: usize) -> bool {
    assembly.superblock.table[slot].state == EntryState::Active
}

/// The newest write-intent bitmap on the members, if it is known for certain: some active member
/// can read both of its banks.
pub(crate) fn newest_bitmap(disks: &[Disk], assembly: &Assembly, order: &[usize]) -> Option<BitmapContent> {
    let count = assembly.geometry.layout().region_count();
    let members = members(assembly, order);
    let active = (0..members.len()).filter(|slot| is_active(assembly, *slot));
    let active: Vec<Option<usize>> = active.map(|slot| members[slot]).collect();
    let read = bitmaps(disks, &active, &assembly.geometry);
    let decode = |block: &Vec<u8>| BitmapContent::decode(block, assembly.superblock.array, count);
    let sure =
        |own: &Banks| own.iter().all(Option::is_some) && own.iter().flatten().any(|b| decode(b).is_some());
    let bitmaps = read.iter().flatten().flatten().filter_map(decode);
    bitmaps.max_by_key(|map| map.sequence).filter(|_| read.iter().any(sure))
}

/// Regions that are dirty or must be resynced in the newest write-intent bitmap on the members; all
/// regions if there is no bitmap.
pub(crate) fn unsure_regions(disks: &[Disk], assembly: &Assembly, order: &[usize]) -> Vec<Region> {
    match newest_bitmap(disks, assembly, order) {
        Some(map) => map.dirty.into_iter().chain(map.resync).collect(),
        None => (0..assembly.geometry.layout().region_count()).map(Region::new).collect(),
    }
}

/// The write-intent bitmaps of these members.
pub(crate) fn bitmaps(disks: &[Disk], members: &[Option<usize>], geometry: &Geometry) -> Vec<Banks> {
    banks(disks, members, |bank| geometry.bitmap_at(bank), geometry.bitmap_length())
}

/// The tables of these members; none if the array records no updates.
pub(crate) fn tables(disks: &[Disk], members: &[Option<usize>], geometry: &Geometry) -> Vec<Banks> {
    match geometry.records_updates() {
        true => banks(disks, members, |bank| geometry.table_at(bank), geometry.table_length()),
        false => Vec::new(),
    }
}

/// The bad-block logs of these members; none if the array has none.
pub(crate) fn bad_block_logs(disks: &[Disk], members: &[Option<usize>], geometry: &Geometry) -> Vec<Banks> {
    let Some((first, length)) = geometry.bad_block_log_at(0) else { return Vec::new() };
    let at = |bank| first + length * bank as u64;
    // Most bad-block logs have never been written.
    let written = |disk: &usize| (0..2).any(|bank| !is_zero(disks[*disk].sector(at(bank).get()).bytes()));
    let members: Vec<Option<usize>> = members.iter().map(|disk| disk.filter(written)).collect();
    banks(disks, &members, at, length)
}

/// A member's commit log, as [`CommitLogContent::with_gaps`] takes it.
///
/// [`CommitLogContent::with_gaps`]: parlour_array::CommitLogContent::with_gaps
#[derive(Debug, Default)]
pub(crate) struct CommitLogBytes {
    pub(crate) bytes: Vec<u8>,
    /// The blocks that are unreadable.
    pub(crate) gaps: Vec<(u64, u64)>,
}

/// The commit log of each of these members; empty if there is no member or no commit log.
pub(crate) fn commit_logs(
    disks: &[Disk],
    members: &[Option<usize>],
    geometry: &Geometry,
) -> Vec<CommitLogBytes> {
    let (at, length) = geometry.commit_log();
    let block = geometry.block();
    let read = |disk: &Option<usize>| {
        let disk = disk.filter(|_| !length.is_zero()).map(|disk| &disks[disk])?;
        let mut bytes = vec![0; length.bytes().as_usize()];
        disk.read(at, &mut bytes);
        let blocks = (0..length.get()).step_by(block.get() as usize);
        let gaps = blocks.filter(|first| !disk.can_read(at + Sectors::new(*first), block));
        Some(CommitLogBytes { bytes, gaps: gaps.map(|first| (first, block.get())).collect() })
    };
    members.iter().map(|disk| read(disk).unwrap_or_default()).collect()
}

/// Both banks of a kind of metadata on each of `members`, as far as they are readable.
fn banks(
    disks: &[Disk],
    members: &[Option<usize>],
    at: impl Fn(usize) -> Sector,
    length: Sectors,
) -> Vec<Banks> {
    let read = |disk: &Option<usize>| [0, 1].map(|bank| disks[(*disk)?].try_read(at(bank), length));
    members.iter().map(read).collect()
}
