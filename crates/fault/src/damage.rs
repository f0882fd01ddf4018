//! Metadata that can be read but has wrong content: rot of one copy or both copies, of a log
//! segment's headers or payload, or of an entry in the middle of the commit log.

use std::fmt;

use parlour_array::Geometry;
use parlour_units::{Region, Sector, Sectors, Slot};

use crate::area::Area;
use crate::disk::Disk;

/// The metadata that rots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    OneCopy(Area),
    BothCopies(Area),
    /// Both headers of a segment of a log.
    SegmentHeaders,
    /// A sector of a segment.
    Segment,
    /// A sector before the newest entry of the commit log.
    Entry,
}

/// The metadata of a member that rots. The number determines the sector and the bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) what: What,
    pub(crate) number: u64,
    /// It rots the next time the array is closed.
    pub(crate) at_rest: bool,
}

/// The number of sectors before the commit log's newest entry in which rot is placed.
const LATE_ENTRIES: u64 = 24;

impl What {
    /// The kind of damage that `number` selects on an array with this geometry.
    pub(crate) fn draw(geometry: &Geometry, number: u64) -> What {
        let logs = geometry.layout().logs().is_some();
        let banked = Area::all_of(geometry).into_iter().filter(|area| area.has_two_copies());
        let copies = banked.flat_map(|area| [What::OneCopy(area), What::BothCopies(area)]);
        let of_logs = [What::SegmentHeaders, What::Segment].into_iter().filter(|_| logs);
        let entry = [What::Entry].into_iter().filter(|_| geometry.is_journaled());
        let all: Vec<What> = copies.chain(of_logs).chain(entry).collect();
        all[(number % all.len() as u64) as usize]
    }

    /// Whether the damage makes the member unrecognisable.
    pub(crate) fn costs_the_member(self) -> bool {
        self == What::BothCopies(Area::Superblock)
    }
}

impl Damage {
    /// Damages the member in `slot`. Returns whether there was something to damage.
    pub(crate) fn befall(self, geometry: &Geometry, slot: Slot, disk: &mut Disk) -> bool {
        let sectors = self.sectors(geometry, slot, disk);
        for sector in &sectors {
            let rotten = disk.sector(*sector).with_flipped_bit(self.number);
            disk.taint(*sector, rotten);
        }
        !sectors.is_empty()
    }

    fn sectors(self, geometry: &Geometry, slot: Slot, disk: &Disk) -> Vec<u64> {
        let number = self.number;
        let one_of = |(at, length): (Sector, Sectors)| at.get() + (number >> 24) % length.get();
        match self.what {
            What::OneCopy(area) => {
                let copies = area.places(geometry, disk.length());
                copies.into_iter().nth((number >> 20) as usize % 2).map(one_of).into_iter().collect()
            }
            What::BothCopies(area) => area.places(geometry, disk.length()).into_iter().map(one_of).collect(),
            What::Segment => segment(geometry, slot, number).map(one_of).into_iter().collect(),
            What::SegmentHeaders => match (segment(geometry, slot, number), geometry.log_header_length()) {
                (Some((at, length)), Some(header)) => {
                    let last = at + (length - header);
                    [at, last].into_iter().flat_map(|at| at.get()..(at + header).get()).collect()
                }
                _ => Vec::new(),
            },
            What::Entry => {
                let slots = Area::CommitLog.places(geometry, disk.length());
                let part = (number >> 20) as usize % slots.len().max(1);
                let newest = disk.newest_entry(part).zip(slots.get(part));
                let sector = newest.and_then(|(newest, (start, _))| {
                    let sector = newest.start.checked_sub(1 + (number >> 24) % LATE_ENTRIES)?;
                    Some(sector).filter(|sector| *sector >= start.get())
                });
                sector.into_iter().collect()
            }
        }
    }
}

/// The place of a log segment on the member in `slot`.
fn segment(geometry: &Geometry, slot: Slot, number: u64) -> Option<(Sector, Sectors)> {
    let layout = geometry.layout();
    let logs = layout.logs()?;
    let (regions, segments) = (u64::from(layout.region_count()), u64::from(logs.segments()));
    (0..64).find_map(|step| {
        let picked = (number >> 8).wrapping_add(step * 7);
        // The first segments are used most often.
        let (region, position) = (picked / 3 % regions, picked % segments.min(3));
        let there = geometry.log_segment_on(Region::new(region as u32), position as u32, slot)?;
        let at = geometry.data_start() + there.at.from_start();
        Some((at, Sectors::new(logs.shape().segment)))
    })
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::OneCopy(area) => write!(f, "a copy of {} rots", area.name())?,
            What::BothCopies(area) => write!(f, "both copies of {} rot", area.name())?,
            What::SegmentHeaders => write!(f, "both headers of a segment of a log rot")?,
            What::Segment => write!(f, "a sector of a log rots")?,
            What::Entry => write!(f, "an entry of its commit log rots")?,
        }
        write!(f, "{}", if self.at_rest { ", while the array is not open" } else { "" })
    }
}
