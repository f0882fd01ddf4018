//! How many regions a new array has, and how long their logs and segments are.

use parlour_units::Sectors;

use crate::geometry::sizes::MOST_REGIONS;
use crate::geometry::wishes::{Creation, CreationError};
use crate::layout::{RegionShape, ShapeRequest};

/// The greatest part of a member that a region takes, about (1 GiB), so that a reintegration does
/// not occupy the member for long.
const LARGEST_REGION: Sectors = Sectors::new(1 << 21);

/// Members of this size (64 GiB) or more are large: appends of 1 MiB, shorter logs.
const LARGE_MEMBER: Sectors = Sectors::new(1 << 27);

/// Members of this size (64 MiB) or more have appends of 128 KiB.
const MEDIUM_MEMBER: Sectors = Sectors::new(1 << 17);

/// With a journal an append is of several segments, so many of the usual length at most: the
/// journal's length decides when a region's records are appended, and what they leave free of
/// their last segment is lost.
const SEGMENTS_OF_AN_APPEND: u64 = 8;

/// Segments are at least this long (32 KiB), unless shorter ones are asked for.
const SMALLEST_USUAL_SEGMENT: Sectors = Sectors::new(64);

/// Chooses the regions by the wishes of [`Creation::log`], with defaults: `docs/format.md`,
/// "Sizes".
pub(super) fn choose_regions(
    creation: &Creation,
    members: u16,
    room: Sectors,
) -> Result<RegionShape, CreationError> {
    let large = room >= LARGE_MEMBER;
    let append = creation.log.segment.unwrap_or_else(|| usual_append(room));
    let segment = creation.log.segment.unwrap_or_else(|| match creation.consistency.is_journal() {
        true => Sectors::new(append.get() / SEGMENTS_OF_AN_APPEND).max(SMALLEST_USUAL_SEGMENT),
        false => append,
    });
    let checks = creation.checks;
    let sublogs = sublogs(creation, members);
    let log_copies = creation.organization.log_copies(checks);
    let most = most_sublogs(members, checks, log_copies);
    if sublogs == 0 || sublogs > most {
        return Err(CreationError::TooManySublogs { sublogs, members, most });
    }
    let log_ratio = creation.log.ratio.unwrap_or(if large { 1.0 / 16.0 } else { 0.5 });
    if !(log_ratio > 0.0 && log_ratio <= 16.0) {
        return Err(CreationError::BadRatio(log_ratio));
    }
    let request = ShapeRequest {
        members,
        checks,
        log_copies,
        unit: creation.unit,
        length: room,
        sublogs,
        segment,
        log_ratio,
        regions: creation.log.regions.map_or_else(|| default_regions(room, append), bounded_regions),
        grain: creation.log.track.unwrap_or(creation.block),
    };
    RegionShape::choose(&request)
        .ok_or(CreationError::NoRegionFits { segment: segment.bytes(), room: room.bytes() })
}

/// The number of sublogs that is wished for. L ≈ 0.16 N balances the load if only one region is
/// written and its data is cached (Stodolsky §6, as corrected); copies count as sublogs do.
pub(super) fn sublogs(creation: &Creation, members: u16) -> u16 {
    let log_copies = creation.organization.log_copies(creation.checks);
    let balanced = (u32::from(members) * 16).div_ceil(100 * u32::from(log_copies)) as u16;
    let most = most_sublogs(members, creation.checks, log_copies);
    creation.log.sublogs.unwrap_or(balanced.clamp(1, most.max(1)))
}

/// The greatest number of sublogs: a stripe keeps a data unit and its check units.
fn most_sublogs(members: u16, checks: u16, log_copies: u16) -> u16 {
    members.saturating_sub(checks + 1) / log_copies
}

/// The number of regions that is wished for, within limits.
pub(super) fn bounded_regions(wish: u32) -> u32 {
    wish.clamp(1, MOST_REGIONS)
}

/// The length of an append to a log (K tracks), about.
fn usual_append(room: Sectors) -> Sectors {
    if room >= LARGE_MEMBER {
        Sectors::new(2_048)
    } else if room >= MEDIUM_MEMBER {
        Sectors::new(256)
    } else {
        SMALLEST_USUAL_SEGMENT
    }
}

/// B ≈ √(TV/K) (Stodolsky §2.4), but no region takes more than [`LARGEST_REGION`] of a member.
pub(super) fn default_regions(room: Sectors, append: Sectors) -> u32 {
    let by_memory = (room / append).isqrt();
    let by_latency = room / LARGEST_REGION;
    by_memory.max(by_latency).clamp(1, u64::from(MOST_REGIONS)) as u32
}
