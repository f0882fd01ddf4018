//! Sizes of what stands before the data area, and their limits.

use parlour_units::Sectors;

use crate::format::bitmap;

/// Members of an array, spares apart: as many as a superblock has room for.
pub const MAXIMUM_MEMBERS: u16 = 64;

/// What metadata is aligned to, and the space at a member's end: 1 MiB.
pub const ALIGNMENT: Sectors = Sectors::new(2_048);

/// A superblock: 4 KiB.
pub const SUPERBLOCK: Sectors = Sectors::new(8);

/// Where the write-intent bitmaps start.
pub(crate) const MAPS_AT: Sectors = Sectors::new(128);

/// Metadata is written in whole 4 KiB.
pub(super) const METADATA_BLOCK: Sectors = Sectors::new(8);

/// The largest log segment: 16 MiB.
pub(crate) const LARGEST_SEGMENT: Sectors = Sectors::new(32_768);

/// Regions are never more than this: their write-intent bitmap and tables would take more than they
/// save.
pub(crate) const MOST_REGIONS: u32 = 1 << 20;

/// … never more than this (1 GiB): its length is kept in 32 bits, and it is read into memory; …
pub(crate) const MOST_COMMIT_LOG: Sectors = Sectors::new(1 << 21);

/// … or as a reintegration has to tell of the parity of a region, at most this (32 MiB), which
/// bounds what is read when the array is opened (what does not fit is told of part by part); …
pub(super) const LARGEST_COMMIT_LOG: Sectors = Sectors::new(65_536);

/// … at least this (128 KiB), …
pub(super) const SMALLEST_COMMIT_LOG: Sectors = Sectors::new(256);

/// … and holds at least so many of the longest entries.
pub(super) const COMMITS: u64 = 8;

pub(crate) fn bitmap_length(regions: u32) -> Sectors {
    Sectors::new(bitmap::bitmap_bytes(regions).div_ceil(512)).round_up(METADATA_BLOCK)
}

pub(crate) fn table_length(regions: u32) -> Sectors {
    Sectors::new(bitmap::table_bytes(regions).div_ceil(512)).round_up(METADATA_BLOCK)
}

/// Data units of a stripe where parity is logged; at least so many.
pub(super) fn logged_data_units(members: u16, sublogs: u16) -> u64 {
    u64::from(members.saturating_sub(sublogs.saturating_add(u16::from(sublogs == 1)).max(1)).max(1))
}

/// The least commit log: room for a few of the longest entries.
pub(super) fn least_commit_log(unit: Sectors, members: u16, sublogs: u16) -> Sectors {
    // Old and new checksums are a thirty-second of what they describe.
    let stripe = unit * logged_data_units(members, sublogs);
    (stripe + Sectors::new(stripe.get() / 16 + 16)) * COMMITS
}

/// The longest commit log that creation makes for such stripes.
pub(crate) fn longest_commit_log(unit: Sectors, members: u16, sublogs: u16) -> Sectors {
    least_commit_log(unit, members, sublogs).max(LARGEST_COMMIT_LOG).round_up(METADATA_BLOCK)
}

/// The part of a commit log that tells of reintegrations: a quarter, in whole blocks.
pub(crate) fn intent_log(commit_log: Sectors, block: Sectors) -> Sectors {
    Sectors::new(commit_log.get().div_ceil(4)).round_up(block)
}
