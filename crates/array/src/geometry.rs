//! An array's shape: its organization, its sizes, and where on a member everything lies. Fixed at
//! creation and kept in every superblock; all that may change from one opening to the next is in
//! [`Tuning`](crate::Tuning).
//!
//! ```text
//! member   0          1 MiB·k                                  end − 1 MiB
//!          ├ metadata ┼ data area: stripe units, parity, logs ──┼ tail ┤
//!          superblock, bitmaps, bad-block logs, tables           superblock's second copy
//! ```

use parlour_units::{Bytes, Sector, Sectors, Slot};
use serde::{Deserialize, Serialize};

use crate::format::bad_block_log::BAD_BLOCK_LOG_LENGTH;
use crate::format::bitmap;
use crate::format::commit_entry::CommitPart;
use crate::layout::{Arrangement, Layout, LayoutRequest, RegionShape, Rotation, ShapeRequest};
use crate::organization::{Code, Consistency, LayoutChoice, Organization, RefusedCombination, Update};

/// Members of an array, spares apart: as many as a superblock has room for.
pub const MAXIMUM_MEMBERS: u16 = 64;
/// What metadata is aligned to, and the space at a member's end: 1 MiB.
pub const ALIGNMENT: Sectors = Sectors::new(2_048);
/// A superblock: 4 KiB.
pub const SUPERBLOCK: Sectors = Sectors::new(8);
/// Where the write-intent bitmaps start.
pub(crate) const MAPS_AT: Sectors = Sectors::new(128);
/// Metadata is written in whole 4 KiB.
const METADATA_BLOCK: Sectors = Sectors::new(8);

/// What people ask for when they create an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Creation {
    /// The four choices.
    pub organization: Organization,
    /// Copies of each unit, where units are copied.
    pub copies: u16,
    /// Members, spares apart.
    pub members: u16,
    /// Parity groups side by side.
    pub groups: u16,
    /// The stripe unit.
    pub unit: Sectors,
    /// The block size: requests are multiples of it.
    pub block: Sectors,
    /// The shortest member's length.
    pub member_length: Sectors,
    /// The logs, where there are logs.
    pub log: LogCreation,
    /// What a crash may cost.
    pub consistency: Consistency,
}

/// A cylinder of the members: where it is told, units may float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cylinder {
    /// Sectors of a track.
    pub track: u64,
    /// Tracks of a cylinder.
    pub tracks: u16,
}

impl Cylinder {
    /// Its length.
    pub fn length(self) -> Sectors {
        Sectors::new(self.track) * u64::from(self.tracks)
    }

    /// Room for units of this length in it, and units that it holds: all but a track's
    /// worth.
    pub(crate) fn positions(self, unit: u64) -> Option<(u16, u16)> {
        let per_track = self.track.checked_div(unit).filter(|count| *count > 0)?;
        let positions = u16::try_from(per_track.checked_mul(self.tracks.into())?).ok()?;
        let short = self.track < 1 << 32;
        let whole = self.track.is_multiple_of(unit) && self.tracks >= 2 && positions < u16::MAX;
        (short && whole).then(|| (positions, positions / self.tracks * (self.tracks - 1)))
    }
}

/// What people ask of the logs; what they leave open follows from the members' size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogCreation {
    /// A log segment (K tracks, or a size where there are no tracks).
    pub segment: Option<Sectors>,
    /// Sublogs of each region (L).
    pub sublogs: Option<u16>,
    /// Length of log over length of parity (A).
    pub ratio: Option<f64>,
    /// About how many regions (B).
    pub regions: Option<u32>,
    /// Whole tracks of this length for each share (§2.4).
    pub track: Option<Sectors>,
}

/// Why an array cannot be created so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CreationError {
    /// The four choices do not go together.
    #[error(transparent)]
    Combination(#[from] RefusedCombination),
    /// There are too few members.
    #[error("{members} members are too few: this organization needs at least {least}")]
    TooFewMembers {
        /// How many there are.
        members: u16,
        /// How many it needs.
        least: u16,
    },
    /// There are too many members.
    #[error("{0} members are too many: an array has at most {MAXIMUM_MEMBERS}")]
    TooManyMembers(u16),
    /// The members do not divide into the groups.
    #[error("{members} members do not divide into {groups} equal groups")]
    UnequalGroups {
        /// How many there are.
        members: u16,
        /// How many groups were asked for.
        groups: u16,
    },
    /// The members do not divide into sets of copies.
    #[error("{members} members do not divide into sets of {copies} copies")]
    UnequalCopies {
        /// How many there are.
        members: u16,
        /// Copies of each unit.
        copies: u16,
    },
    /// There are too few copies to be any.
    #[error("{0} copies of each unit are too few: keep at least 2")]
    TooFewCopies(u16),
    /// Several groups make no sense without check units, or with copies.
    #[error("parity groups side by side are for organizations with parity; {0} groups make no sense here")]
    UselessGroups(u16),
    /// The block size is not one that members have.
    #[error("a block of {0} is not possible: use 512 B or 4 KiB")]
    BadBlock(Bytes),
    /// The stripe unit is not made of blocks.
    #[error("a stripe unit of {unit} is no multiple of the members' block of {block}")]
    UnitNotBlocks {
        /// The stripe unit.
        unit: Bytes,
        /// The block size.
        block: Bytes,
    },
    /// The stripe unit is larger than a member.
    #[error("a stripe unit of {unit} exceeds a member, which has {room} for data")]
    UnitTooLarge {
        /// The stripe unit.
        unit: Bytes,
        /// Room for data on a member; with far copies, for one of them.
        room: Bytes,
    },
    /// Entries of the commit log would be too long.
    #[error(
        "a stripe unit of {unit} is too large for crash-safe logging: each member would need a commit log of {commit_log}, and \
         1 GiB is the most; use a smaller unit, or consistency = bitmap"
    )]
    UnitTooLargeToLog {
        /// The stripe unit.
        unit: Bytes,
        /// The commit log that it would need.
        commit_log: Bytes,
    },
    /// The member is too small for the metadata.
    #[error("members of {0} are too small: metadata alone needs {1}")]
    MemberTooSmall(Bytes, Bytes),
    /// Too many sublogs.
    #[error(
        "{sublogs} sublogs (L) are too many for {members} members in a group: at most {most}, so that a stripe keeps a data unit and its parity"
    )]
    TooManySublogs {
        /// L.
        sublogs: u16,
        /// N.
        members: u16,
        /// The most that is possible.
        most: u16,
    },
    /// The log segment is not usable.
    #[error(
        "a log segment of {0} is not possible: use a multiple of the block, at least 8 blocks and at most 16 MiB"
    )]
    BadSegment(Bytes),
    /// The track is not usable.
    #[error("a track of {0} is not possible: use a multiple of the block, at most 16 MiB")]
    BadTrack(Bytes),
    /// The log ratio is not usable.
    #[error("a log of {0} times the parity (A) is not possible: use more than 0 and at most 16")]
    BadRatio(f64),
    /// Only logs can be committed to.
    #[error("consistency = journal is for organizations that log parity updates; this one has no log")]
    NothingLogged,
    /// Nothing can float.
    #[error(
        "data and parity can float on drives only that tell where their heads are, and how long their tracks are; simulated \
         drives do, members here do not: use parity-logging or raid5"
    )]
    NoCylinders,
    /// Units do not fit into tracks.
    #[error(
        "units of {unit} cannot float in cylinders of {tracks} tracks of {track} sectors: a track must be a multiple of the unit, and a \
         cylinder have at least 2 tracks, and less than 65535 units"
    )]
    BadCylinder {
        /// The stripe unit.
        unit: Bytes,
        /// Tracks in a cylinder.
        tracks: u16,
        /// A track's length.
        track: u64,
    },
    /// No region fits.
    #[error(
        "no region with a log segment of {segment} fits into members of {room}: use larger members or a smaller segment"
    )]
    NoRegionFits {
        /// The log segment.
        segment: Bytes,
        /// Room for data on a member.
        room: Bytes,
    },
}

/// An array's shape. See the module.
#[derive(Clone, Debug)]
pub struct Geometry {
    stored: StoredGeometry,
    layout: Layout,
}

/// What of the shape is kept; the rest follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredGeometry {
    /// The four choices.
    pub organization: Organization,
    /// Copies of each unit, where units are copied.
    pub copies: u16,
    /// Members of a group, groups, stripe unit, length of the data area.
    pub layout: LayoutRequest,
    /// The block size in sectors.
    pub block: u64,
    /// Where the data area starts, in sectors.
    pub data_start: u64,
    /// The regions, where there are logs.
    pub regions: Option<RegionShape>,
    /// What a crash may cost.
    pub consistency: Consistency,
    /// Length of the commit log on each member, in sectors; zero where there is none.
    pub commit_log: u64,
    /// How much of it, at its end, tells of reintegrations.
    pub intent_log: u64,
    /// The members' cylinders, where units float.
    pub cylinder: Option<Cylinder>,
}

impl Geometry {
    /// Settles all that `creation` leaves open.
    ///
    /// # Errors
    /// What is asked for is impossible.
    pub fn create(creation: &Creation) -> Result<Geometry, CreationError> {
        Geometry::settle(creation, None)
    }

    /// The same, on members whose cylinders are known: in these, units may float.
    ///
    /// # Errors
    /// What is asked for is impossible.
    pub fn create_on(creation: &Creation, cylinder: Cylinder) -> Result<Geometry, CreationError> {
        Geometry::settle(creation, Some(cylinder))
    }

    fn settle(creation: &Creation, cylinder: Option<Cylinder>) -> Result<Geometry, CreationError> {
        creation.organization.check()?;
        check_sizes(creation)?;
        let cylinder = match creation.organization.layout {
            LayoutChoice::Cylinders => Some(check_cylinder(creation, cylinder)?),
            _ => None,
        };
        if creation.organization.layout == LayoutChoice::Regions {
            check_log(creation)?;
        }
        let group_members = check_members(creation)?;
        let logged = creation.consistency == Consistency::Journal;
        if logged && creation.organization.update != Update::Logged {
            return Err(CreationError::NothingLogged);
        }
        let commit_log = if logged { commit_log(creation, group_members) } else { Sectors::ZERO };
        if commit_log > MOST_COMMIT_LOG {
            let (unit, commit_log) = (creation.unit.bytes(), commit_log.bytes());
            return Err(CreationError::UnitTooLargeToLog { unit, commit_log });
        }
        // Cylinders begin where those of the members do.
        let grain = cylinder.map_or(ALIGNMENT, Cylinder::length);
        let data_start = data_start(creation, commit_log).round_up(grain);
        let room = room(creation.member_length, data_start).ok_or_else(|| {
            CreationError::MemberTooSmall(
                creation.member_length.bytes(),
                (data_start + ALIGNMENT * 2).bytes(),
            )
        })?;
        let room_of_copy = match creation.organization.layout {
            LayoutChoice::Far => Sectors::new(room / Sectors::new(creation.copies.into())),
            _ => room,
        };
        if let Some(cylinder) = cylinder.filter(|cylinder| cylinder.length() > room) {
            let least = data_start + cylinder.length() + ALIGNMENT;
            return Err(CreationError::MemberTooSmall(creation.member_length.bytes(), least.bytes()));
        }
        if creation.unit > room_of_copy {
            let (unit, room) = (creation.unit.bytes(), room_of_copy.bytes());
            return Err(CreationError::UnitTooLarge { unit, room });
        }
        let layout = LayoutRequest {
            group_members,
            groups: creation.groups,
            unit: creation.unit.get(),
            length: room.get(),
        };
        let regions = match creation.organization.layout {
            LayoutChoice::Regions => Some(choose_regions(creation, group_members, room)?),
            _ => None,
        };
        Ok(Geometry::from_stored(StoredGeometry {
            organization: creation.organization,
            copies: creation.copies,
            layout,
            block: creation.block.get(),
            data_start: data_start.get(),
            regions,
            consistency: creation.consistency,
            commit_log: commit_log.get(),
            intent_log: intent_log(commit_log, creation.block).get(),
            cylinder,
        }))
    }

    /// The shape from what is kept of it.
    ///
    /// # Panics
    /// Where `stored` was not made by [`Geometry::create`]; [`StoredGeometry::is_sound`] says so
    /// before.
    pub fn from_stored(stored: StoredGeometry) -> Geometry {
        let layout = match (stored.organization.layout, stored.regions) {
            (LayoutChoice::Regions, Some(shape)) => Layout::regions(shape, stored.layout),
            (LayoutChoice::Regions, None) => unreachable!("a layout in regions is kept with its regions"),
            _ => Layout::arranged(arrangement(&stored), stored.layout),
        };
        Geometry { stored, layout }
    }

    /// What is kept.
    pub fn stored(&self) -> &StoredGeometry {
        &self.stored
    }

    /// The four choices.
    pub fn organization(&self) -> Organization {
        self.stored.organization
    }

    /// Where units live.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Members, spares apart.
    pub fn members(&self) -> u16 {
        self.layout.members()
    }

    /// The block size.
    pub fn block(&self) -> Sectors {
        Sectors::new(self.stored.block)
    }

    /// The data that hosts can store.
    pub fn capacity(&self) -> Sectors {
        self.layout.capacity()
    }

    /// Members that may fail, whichever they are, without loss of data.
    pub fn fault_tolerance(&self) -> u16 {
        self.layout.check_units()
    }

    /// Whether check units are copies that answer reads. (The parity of a stripe with one data unit
    /// repeats it too, but may be behind its log.)
    pub fn keeps_copies(&self) -> bool {
        self.stored.organization.code == Code::Copy
    }

    /// The slots that hold the same stripes as `slot`, itself included.
    pub fn peers(&self, slot: Slot) -> std::ops::Range<u16> {
        let n = self.stored.layout.group_members;
        match self.stored.organization.layout {
            LayoutChoice::Neighbours | LayoutChoice::Far => {
                let first = slot.get() / self.stored.copies * self.stored.copies;
                first..first + self.stored.copies
            }
            _ => {
                let first = slot.get() / n * n;
                first..first + n
            }
        }
    }

    /// Whether `slot` and `other` hold units of the same stripes.
    pub fn share_stripes(&self, slot: Slot, other: Slot) -> bool {
        match self.stored.organization.layout {
            LayoutChoice::Shadows => {
                let sets = self.members() / self.stored.copies;
                slot.get() % sets == other.get() % sets
            }
            _ => self.peers(slot).contains(&other.get()),
        }
    }

    /// Where the data area starts on each member.
    pub fn data_start(&self) -> Sector {
        Sector::new(self.stored.data_start)
    }

    /// The least length of a member.
    pub fn least_member_length(&self) -> Sectors {
        Sectors::new(self.stored.data_start + self.stored.layout.length) + ALIGNMENT
    }

    /// Where the superblock's two copies lie on a member of `length`.
    pub fn superblocks_at(length: Sectors) -> [Sector; 2] {
        [Sector::ZERO, Sector::ZERO + (length.round_down(ALIGNMENT) - ALIGNMENT)]
    }

    /// Length of a write-intent bitmap, of which each member holds two.
    pub fn bitmap_length(&self) -> Sectors {
        bitmap_length(self.layout.region_count())
    }

    /// Where write-intent bitmap `bank` (0 or 1) lies.
    pub fn bitmap_at(&self, bank: usize) -> Sector {
        Sector::ZERO + MAPS_AT + self.bitmap_length() * bank as u64
    }

    /// Length of a log segment's header, where there are logs.
    pub fn log_header_length(&self) -> Option<Sectors> {
        let segment = Sectors::new(self.layout.logs()?.shape().segment);
        Some(crate::format::segment::header_length(segment, self.block()))
    }

    /// Length of a table of applied sequence numbers, of which each member holds two where there
    /// are logs.
    pub fn table_length(&self) -> Sectors {
        table_length(self.layout.region_count())
    }

    /// Where table `bank` (0 or 1) lies: behind the bitmaps.
    pub fn table_at(&self, bank: usize) -> Sector {
        self.bitmap_at(2) + self.table_length() * bank as u64
    }

    /// Where list `bank` (0 or 1) of unreadable blocks lies: behind the tables; and its length.
    /// None where an array was made without room for it.
    pub fn bad_block_log_at(&self, bank: usize) -> Option<(Sector, Sectors)> {
        let first = self.table_at(2);
        let end = first + BAD_BLOCK_LOG_LENGTH * 2;
        let room = end + self.commit_log().1 <= self.data_start();
        room.then(|| (first + BAD_BLOCK_LOG_LENGTH * bank as u64, BAD_BLOCK_LOG_LENGTH))
    }

    /// What a crash may cost.
    pub fn consistency(&self) -> Consistency {
        self.stored.consistency
    }

    /// Whether records are durable before the data that they tell of.
    pub fn is_logged(&self) -> bool {
        self.stored.consistency == Consistency::Journal
    }

    /// Where each member's commit log starts, and its length; zero where there is none. It ends
    /// where the data area starts.
    pub fn commit_log(&self) -> (Sector, Sectors) {
        let length = Sectors::new(self.stored.commit_log);
        (Sector::new(self.stored.data_start - self.stored.commit_log), length)
    }

    /// Where `part` of it starts, and its length.
    pub fn commit_part(&self, part: CommitPart) -> (Sector, Sectors) {
        let (start, length) = self.commit_log();
        let intents = Sectors::new(self.stored.intent_log);
        match part {
            CommitPart::Records => (start, length - intents),
            CommitPart::Intents => (start + (length - intents), intents),
        }
    }
}

impl StoredGeometry {
    /// The name that people know the organization by.
    pub fn organization_name(&self) -> &'static str {
        match self.organization.layout {
            LayoutChoice::Concatenated => "simple",
            LayoutChoice::Striped => "raid0",
            // Both deal copies out to neighbours; what differs is whether there are as many as
            // members.
            LayoutChoice::Neighbours if self.copies == self.layout.group_members => "raid1",
            LayoutChoice::Neighbours => "raid10",
            LayoutChoice::Far if self.copies == self.layout.group_members => "raid1-far",
            LayoutChoice::Far => "raid10-far",
            LayoutChoice::Shadows => "raid01",
            LayoutChoice::Parity(Rotation::Dedicated) => "raid4",
            LayoutChoice::Parity(_) => "raid5",
            LayoutChoice::Regions => "parity-logging",
            LayoutChoice::Cylinders => "floating",
        }
    }
}

fn arrangement(stored: &StoredGeometry) -> Arrangement {
    let copies = stored.copies;
    match stored.organization.layout {
        LayoutChoice::Concatenated => Arrangement::Concatenated,
        LayoutChoice::Striped => Arrangement::Striped,
        LayoutChoice::Neighbours => Arrangement::Neighbours { copies },
        LayoutChoice::Shadows => Arrangement::Shadows { copies },
        LayoutChoice::Far => Arrangement::Far { copies },
        LayoutChoice::Parity(rotation) => Arrangement::Parity(rotation),
        LayoutChoice::Cylinders => {
            let positions = stored.cylinder.and_then(|cylinder| cylinder.positions(stored.layout.unit));
            let (positions, units) = positions.expect("a layout in cylinders is kept with them");
            Arrangement::Cylinders { positions, units }
        }
        LayoutChoice::Regions => unreachable!("a layout in regions is not one rule for the whole member"),
    }
}

fn check_sizes(creation: &Creation) -> Result<(), CreationError> {
    let block = creation.block;
    if block.get() != 1 && block.get() != 8 {
        return Err(CreationError::BadBlock(block.bytes()));
    }
    if creation.unit.is_zero() || !creation.unit.is_multiple_of(block) {
        return Err(CreationError::UnitNotBlocks { unit: creation.unit.bytes(), block: block.bytes() });
    }
    if creation.unit > creation.member_length {
        let (unit, room) = (creation.unit.bytes(), creation.member_length.bytes());
        return Err(CreationError::UnitTooLarge { unit, room });
    }
    Ok(())
}

/// The cylinders that units are to float in.
fn check_cylinder(creation: &Creation, cylinder: Option<Cylinder>) -> Result<Cylinder, CreationError> {
    let cylinder = cylinder.ok_or(CreationError::NoCylinders)?;
    let bad = CreationError::BadCylinder {
        unit: creation.unit.bytes(),
        tracks: cylinder.tracks,
        track: cylinder.track,
    };
    cylinder.positions(creation.unit.get()).map(|_| cylinder).ok_or(bad)
}

/// What is asked of the logs, before anything is computed from it.
fn check_log(creation: &Creation) -> Result<(), CreationError> {
    let LogCreation { segment, track, .. } = creation.log;
    let whole = |length: Sectors| length <= LARGEST_SEGMENT && length.is_multiple_of(creation.block);
    if let Some(segment) = segment.filter(|length| *length < creation.block * 8 || !whole(*length)) {
        return Err(CreationError::BadSegment(segment.bytes()));
    }
    match track.filter(|length| length.is_zero() || !whole(*length)) {
        Some(track) => Err(CreationError::BadTrack(track.bytes())),
        None => Ok(()),
    }
}

/// The members of each group.
fn check_members(creation: &Creation) -> Result<u16, CreationError> {
    let (members, groups) = (creation.members, creation.groups);
    if members > MAXIMUM_MEMBERS {
        return Err(CreationError::TooManyMembers(members));
    }
    let least = match creation.organization.layout {
        LayoutChoice::Concatenated | LayoutChoice::Striped => 1,
        LayoutChoice::Neighbours | LayoutChoice::Shadows | LayoutChoice::Far => creation.copies.max(2),
        LayoutChoice::Parity(_) | LayoutChoice::Regions | LayoutChoice::Cylinders => 3,
    };
    let least = least.saturating_mul(groups);
    if members < least {
        return Err(CreationError::TooFewMembers { members, least });
    }
    if creation.organization.code == Code::Copy && creation.copies < 2 {
        return Err(CreationError::TooFewCopies(creation.copies));
    }
    if groups == 0 || !members.is_multiple_of(groups) {
        return Err(CreationError::UnequalGroups { members, groups });
    }
    if groups > 1 && creation.organization.code != Code::Xor {
        return Err(CreationError::UselessGroups(groups));
    }
    if creation.organization.code == Code::Copy && !members.is_multiple_of(creation.copies) {
        return Err(CreationError::UnequalCopies { members, copies: creation.copies });
    }
    Ok(members / groups)
}

/// The largest log segment: 16 MiB.
pub(crate) const LARGEST_SEGMENT: Sectors = Sectors::new(32_768);
/// A region takes at most about this much of a member (1 GiB), so that no reintegration holds it
/// for long.
const LARGEST_REGION: Sectors = Sectors::new(1 << 21);
/// Members from here on (64 GiB) are large: segments of 1 MiB, shorter logs.
const LARGE_MEMBER: Sectors = Sectors::new(1 << 27);

/// Wishes of [`Creation::log`], with defaults: `docs/format.md`, "Sizes".
fn choose_regions(creation: &Creation, members: u16, room: Sectors) -> Result<RegionShape, CreationError> {
    let large = room >= LARGE_MEMBER;
    let small_segment = if room < Sectors::new(1 << 17) { Sectors::new(64) } else { Sectors::new(256) };
    let segment = creation.log.segment.unwrap_or(if large { Sectors::new(2_048) } else { small_segment });
    let sublogs = creation.log.sublogs.unwrap_or_else(|| balanced_sublogs(members));
    let most = members - 2;
    if sublogs == 0 || sublogs > most {
        return Err(CreationError::TooManySublogs { sublogs, members, most });
    }
    let log_ratio = creation.log.ratio.unwrap_or(if large { 1.0 / 16.0 } else { 0.5 });
    if !(log_ratio > 0.0 && log_ratio <= 16.0) {
        return Err(CreationError::BadRatio(log_ratio));
    }
    let request = ShapeRequest {
        members,
        unit: creation.unit,
        length: room,
        sublogs,
        segment,
        log_ratio,
        regions: creation.log.regions.map_or_else(|| default_regions(room, segment), bounded_regions),
        grain: creation.log.track.unwrap_or(creation.block),
    };
    RegionShape::choose(&request)
        .ok_or(CreationError::NoRegionFits { segment: segment.bytes(), room: room.bytes() })
}

/// L ≈ 0.16 N balances a region that alone is written, its data cached (Stodolsky §6, as
/// corrected).
fn balanced_sublogs(members: u16) -> u16 {
    ((u32::from(members) * 16).div_ceil(100) as u16).clamp(1, members - 2)
}

/// Regions are never more than this: their write-intent bitmap and tables would take more than they
/// save.
pub(crate) const MOST_REGIONS: u32 = 1 << 20;

/// As many regions as are wished for, within reason.
fn bounded_regions(wish: u32) -> u32 {
    wish.clamp(1, MOST_REGIONS)
}

/// B ≈ √(TV/K) (Stodolsky §2.4), but no region takes more than [`LARGEST_REGION`] of a member.
fn default_regions(room: Sectors, segment: Sectors) -> u32 {
    let by_memory = (room / segment).isqrt();
    let by_latency = room / LARGEST_REGION;
    by_memory.max(by_latency).clamp(1, u64::from(MOST_REGIONS)) as u32
}

pub(crate) fn bitmap_length(regions: u32) -> Sectors {
    Sectors::new(bitmap::bitmap_bytes(regions).div_ceil(512)).round_up(METADATA_BLOCK)
}

pub(crate) fn table_length(regions: u32) -> Sectors {
    Sectors::new(bitmap::table_bytes(regions).div_ceil(512)).round_up(METADATA_BLOCK)
}

/// The commit log is about this part of a member …
const COMMIT_LOG_SHARE: u64 = 128;
/// … at most this (8 MiB); …
const USUAL_COMMIT_LOG: Sectors = Sectors::new(16_384);
/// … or as a reintegration has to tell of the parity of a region, at most this (32 MiB), which
/// bounds what is read when the array is opened (what does not fit is told of part by part); …
const LARGEST_COMMIT_LOG: Sectors = Sectors::new(65_536);
/// … never more than this (1 GiB): its length is kept in 32 bits, and it is read into memory; …
pub(crate) const MOST_COMMIT_LOG: Sectors = Sectors::new(1 << 21);
/// … at least this (128 KiB), …
const SMALLEST_COMMIT_LOG: Sectors = Sectors::new(256);
/// … and holds at least so many of the longest entries.
const COMMITS: u64 = 8;

/// Data units of a stripe where parity is logged; at least so many.
fn logged_data_units(members: u16, sublogs: u16) -> u64 {
    u64::from(members.saturating_sub(sublogs.saturating_add(u16::from(sublogs == 1)).max(1)).max(1))
}

/// The least commit log: room for a few of the longest entries.
fn least_commit_log(unit: Sectors, members: u16, sublogs: u16) -> Sectors {
    // Old and new checksums are a thirty-second of what they describe.
    let stripe = unit * logged_data_units(members, sublogs);
    (stripe + Sectors::new(stripe.get() / 16 + 16)) * COMMITS
}

/// The longest commit log that creation makes for such stripes.
pub(crate) fn longest_commit_log(unit: Sectors, members: u16, sublogs: u16) -> Sectors {
    least_commit_log(unit, members, sublogs).max(LARGEST_COMMIT_LOG).round_up(METADATA_BLOCK)
}

/// Length of each member's commit log.
fn commit_log(creation: &Creation, members: u16) -> Sectors {
    let sublogs = creation.log.sublogs.unwrap_or_else(|| balanced_sublogs(members));
    let data_units = logged_data_units(members, sublogs);
    let least = least_commit_log(creation.unit, members, sublogs);
    // What is about to happen to a region's parity takes 48 bytes for each record of a sector, at
    // the most. (How long a region's log is is not known yet: about so long.)
    let segment = creation.log.segment.unwrap_or(Sectors::new(64));
    let wish = creation.log.regions.unwrap_or_else(|| default_regions(creation.member_length, segment));
    let share = creation.member_length.get() / u64::from(wish.max(1));
    let ratio = creation.log.ratio.filter(|ratio| (0.0..=16.0).contains(ratio)).unwrap_or(0.5);
    let parity = share * u64::from(members) / (data_units + 1);
    let log = Sectors::new((parity as f64 * ratio) as u64) + segment * 2;
    let intents = Sectors::new(log.get() / 10 + 64);
    let usual = Sectors::new(creation.member_length.get() / COMMIT_LOG_SHARE).min(USUAL_COMMIT_LOG);
    usual
        .max(least)
        .max((intents * 4).min(LARGEST_COMMIT_LOG))
        .max(SMALLEST_COMMIT_LOG)
        .round_up(METADATA_BLOCK)
}

/// The part of a commit log that tells of reintegrations: a quarter, in whole blocks.
pub(crate) fn intent_log(commit_log: Sectors, block: Sectors) -> Sectors {
    Sectors::new(commit_log.get().div_ceil(4)).round_up(block)
}

/// Where the data area starts: behind metadata for the most regions that the member can have, and
/// the commit log.
fn data_start(creation: &Creation, commit_log: Sectors) -> Sectors {
    let most_regions = match creation.organization.layout {
        LayoutChoice::Regions => {
            let by_default = || {
                let segment = creation.log.segment.unwrap_or(Sectors::new(64));
                default_regions(creation.member_length, segment)
            };
            let wish = creation.log.regions.map_or_else(by_default, bounded_regions);
            // The search may go 10% higher and up to a multiple of the members, in each group.
            (wish + wish / 10 + u32::from(creation.members) * 2)
                .saturating_mul(u32::from(creation.groups.max(1)))
        }
        _ => 16_384,
    };
    let bitmaps = (bitmap_length(most_regions) + table_length(most_regions)) * 2;
    (MAPS_AT + bitmaps + BAD_BLOCK_LOG_LENGTH * 2 + commit_log).round_up(ALIGNMENT)
}

/// Room for data on a member of `length`.
fn room(length: Sectors, data_start: Sectors) -> Option<Sectors> {
    let room = length.round_down(ALIGNMENT).saturating_sub(data_start + ALIGNMENT);
    (!room.is_zero()).then_some(room)
}
