//! Sizes of the structures before the data area, and their limits.

use parlour_units::Sectors;

use crate::format::bitmap;

/// Members of an array, spares apart: as many as a superblock has room for.
pub const MAXIMUM_MEMBERS: u16 = 64;

/// The length of a bad-block log, at least: 32 KiB.
pub(crate) const SHORTEST_BAD_BLOCK_LOG: Sectors = Sectors::new(64);
/// The same where members are long and there is a journal: 256 KiB.
pub(super) const LONG_BAD_BLOCK_LOG: Sectors = Sectors::new(512);
/// Members of this length have the longer one (128 MiB).
pub(super) const LEAST_WITH_LONG_LIST: Sectors = Sectors::new(1 << 18);

/// The alignment of metadata, and the space at a member's end: 1 MiB.
pub const ALIGNMENT: Sectors = Sectors::new(2_048);

/// A superblock: 4 KiB.
pub const SUPERBLOCK: Sectors = Sectors::new(8);

/// Where the write-intent bitmaps start.
pub(crate) const MAPS_AT: Sectors = Sectors::new(128);

/// Metadata is written in whole 4 KiB.
pub(super) const METADATA_BLOCK: Sectors = Sectors::new(8);

/// The largest log segment: 16 MiB.
pub(crate) const LARGEST_SEGMENT: Sectors = Sectors::new(32_768);

/// The greatest number of regions: with more, the write-intent bitmap and tables would cost more
/// than they save.
pub(crate) const MOST_REGIONS: u32 = 1 << 20;

/// The greatest length of a commit log (1 GiB): its length is kept in 32 bits, and it is read when
/// the array is opened.
pub(crate) const MOST_COMMIT_LOG: Sectors = Sectors::new(1 << 21);

/// A commit log is as long as the intents of a region's reintegration need, but not longer than
/// this (128 MiB). This bounds what is read when the array is opened. Intents that do not fit are
/// written part by part.
pub(super) const LARGEST_COMMIT_LOG: Sectors = Sectors::new(262_144);

/// The least length of a commit log (128 KiB).
pub(super) const SMALLEST_COMMIT_LOG: Sectors = Sectors::new(256);

/// The greatest number of distributed spares in a parity group.
pub(crate) const MOST_SPARES: u16 = 1;

/// The greatest number of lanes of a stream of the commit log.
pub(crate) const MOST_LANES: u16 = 16;

/// A lane of writes has at least this many blocks.
pub(super) const LEAST_BLOCKS: u64 = 16;

/// The least length of a stream of writes that creation makes (256 KiB).
pub(super) const SMALLEST_WRITE_LOG: Sectors = Sectors::new(512);

/// A commit log holds at least this many of the longest entries.
pub(super) const COMMITS: u64 = 8;

/// Whether streams of these lengths have room for so many lanes: each lane of records for the
/// longest entries, of which a stream of `least` holds a few, and each lane of writes for some
/// blocks.
pub(super) fn lanes_fit(
    lanes: u16,
    (records, least): (Sectors, Sectors),
    (writes, block): (Sectors, Sectors),
) -> bool {
    let lanes_of = |length: Sectors, each: Sectors| length / each;
    let writes = writes.is_zero() || lanes_of(writes, block * LEAST_BLOCKS) >= u64::from(lanes);
    (1..=MOST_LANES).contains(&lanes) && lanes_of(records, least) >= u64::from(lanes) && writes
}

pub(crate) fn bitmap_length(regions: u32) -> Sectors {
    Sectors::new(bitmap::bitmap_bytes(regions).div_ceil(512)).round_up(METADATA_BLOCK)
}

pub(crate) fn table_length(regions: u32) -> Sectors {
    Sectors::new(bitmap::table_bytes(regions).div_ceil(512)).round_up(METADATA_BLOCK)
}

/// The least number of data units in a stripe with logged parity.
pub(super) fn logged_data_units(members: u16, sublogs: u16) -> u64 {
    u64::from(members.saturating_sub(sublogs.saturating_add(u16::from(sublogs == 1)).max(1)).max(1))
}

/// The least length of the commit log: room for a few of the longest entries. `sublogs` is `None`
/// where parity is updated in place.
pub(super) fn least_commit_log(unit: Sectors, members: u16, sublogs: Option<u16>) -> Sectors {
    // Differences of all data of a stripe are recorded, or new content of all of its units. Old and
    // new checksums together take a thirty-second of the data that they describe.
    let units = sublogs.map_or(members.into(), |sublogs| logged_data_units(members, sublogs));
    let stripe = unit * units;
    (stripe + Sectors::new(stripe.get() / 16 + 16)) * COMMITS
}

/// The greatest length of a commit log that creation makes for such stripes.
pub(crate) fn longest_commit_log(unit: Sectors, members: u16, sublogs: Option<u16>) -> Sectors {
    least_commit_log(unit, members, sublogs).max(LARGEST_COMMIT_LOG).round_up(METADATA_BLOCK)
}

/// The part of a commit log for the intents of reintegrations: a quarter, in whole blocks. Where
/// nothing is reintegrated, the empty entries with which sessions begin need a few blocks.
pub(crate) fn intent_log(commit_log: Sectors, block: Sectors, logged: bool) -> Sectors {
    let quarter = Sectors::new(commit_log.get().div_ceil(4)).round_up(block);
    if logged { quarter } else { quarter.min(block * 16) }
}
