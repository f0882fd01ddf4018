//! Silent faults: writes that are reported as done, but were lost, went to another place, or have a
//! flipped bit. They hit metadata, logs and parity. An array without checksums of data cannot
//! detect them in hosts' data.
//!
//! A silent fault is on one member while all other members are sound. So the array promises (f = 1)
//! that no read returns wrong data because of it, as long as no other member is lost. The fault is
//! detected when the array reads the sector, or a scrub finds it (parity), or the sector is
//! overwritten.

use std::fmt;
use std::ops::Range;

use parlour_array::layout::{Location, Occupant};
use parlour_array::{CommitPart, Geometry, SUPERBLOCK};
use parlour_units::{Member, Region, Sector, Sectors, Slot, Stripe};

use crate::content::{SECTOR, SectorBytes};
use crate::coverage::Fault;
use crate::disk::Disk;

/// The fault of the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Lost,
    Misdirected,
    Rotten,
}

/// The kind of data that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Area {
    Superblock,
    Bitmap,
    Table,
    BadBlockLog,
    CommitLog,
    Segment,
    Parity,
}

/// The silent fault of the next write of a kind. The number determines the place or the flipped
/// bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silent {
    pub(crate) how: How,
    pub(crate) area: Area,
    pub(crate) number: u64,
}

/// A silent fault that has happened.
#[derive(Clone, Debug)]
pub(crate) struct Silenced {
    pub(crate) disk: usize,
    pub(crate) fault: Fault,
    /// The sectors with wrong content.
    pub(crate) sectors: Vec<u64>,
}

impl How {
    pub(crate) const ALL: [How; 3] = [How::Lost, How::Misdirected, How::Rotten];

    pub(crate) fn fault(self) -> Fault {
        match self {
            How::Lost => Fault::LostWrite,
            How::Misdirected => Fault::MisdirectedWrite,
            How::Rotten => Fault::RottenWrite,
        }
    }
}

impl Area {
    pub(crate) const ALL: [Area; 7] = [
        Area::Superblock,
        Area::Bitmap,
        Area::Table,
        Area::BadBlockLog,
        Area::CommitLog,
        Area::Segment,
        Area::Parity,
    ];

    /// Whether each member holds two copies, of which the newer counts.
    pub(crate) fn has_two_copies(self) -> bool {
        matches!(self, Area::Superblock | Area::Bitmap | Area::Table | Area::BadBlockLog)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Area::Superblock => "a superblock",
            Area::Bitmap => "a write-intent bitmap",
            Area::Table => "a table",
            Area::BadBlockLog => "a bad-block log",
            Area::CommitLog => "its commit log",
            Area::Segment => "a log",
            Area::Parity => "parity",
        }
    }

    /// The kinds that exist on this array.
    pub(crate) fn all_of(geometry: &Geometry) -> Vec<Area> {
        let is_there = |area: &Area| match area {
            Area::Segment => geometry.layout().logs().is_some(),
            Area::Parity => !geometry.keeps_copies(),
            // Bad-block logs are seldom written.
            _ => !area.places(geometry, geometry.least_member_length()).is_empty(),
        };
        Area::ALL.into_iter().filter(is_there).collect()
    }

    /// The kind of a write of `length` at `at` of `slot`'s member; none for hosts' data or several
    /// kinds.
    fn of(
        geometry: &Geometry,
        member_length: Sectors,
        slot: Slot,
        at: Sector,
        length: Sectors,
    ) -> Option<Area> {
        if at >= geometry.data_start() && at < Geometry::superblocks_at(member_length)[1] {
            return Area::of_data(geometry, slot, at, length);
        }
        Area::ALL.into_iter().find(|area| {
            let areas = area.places(geometry, member_length);
            areas.into_iter().any(|(start, room)| at >= start && at + length <= start + room)
        })
    }

    fn of_data(geometry: &Geometry, slot: Slot, at: Sector, length: Sectors) -> Option<Area> {
        let layout = geometry.layout();
        let occupant = |at: Sector| {
            let at = Sector::ZERO + (at - geometry.data_start());
            layout.occupant(Location { slot, at })
        };
        let last = at + (length - Sectors::new(1));
        match (occupant(at), occupant(last)) {
            (Occupant::Log { .. }, Occupant::Log { .. }) => Some(Area::Segment),
            (Occupant::Unit { stripe, unit, .. }, Occupant::Unit { stripe: other, .. })
                if stripe == other && !layout.is_data(unit) && !geometry.keeps_copies() =>
            {
                Some(Area::Parity)
            }
            _ => None,
        }
    }

    /// Its places before and behind the data area.
    pub(crate) fn places(self, geometry: &Geometry, member_length: Sectors) -> Vec<(Sector, Sectors)> {
        let both =
            |at: &dyn Fn(usize) -> Sector, length: Sectors| [0, 1].map(|bank| (at(bank), length)).to_vec();
        let logs = geometry.layout().logs().is_some();
        match self {
            Area::Superblock => both(&|bank| Geometry::superblocks_at(member_length)[bank], SUPERBLOCK),
            Area::Bitmap => both(&|bank| geometry.bitmap_at(bank), geometry.bitmap_length()),
            Area::Table if logs => both(&|bank| geometry.table_at(bank), geometry.table_length()),
            Area::BadBlockLog => (0..2).filter_map(|bank| geometry.bad_block_log_at(bank)).collect(),
            Area::CommitLog if geometry.is_journaled() => {
                [CommitPart::Records, CommitPart::Intents].map(|part| geometry.commit_part(part)).to_vec()
            }
            _ => Vec::new(),
        }
    }
}

/// The part of the commit log that contains `at`.
pub(crate) fn commit_part(geometry: &Geometry, at: Sector) -> Option<usize> {
    let areas = Area::CommitLog.places(geometry, Sectors::ZERO);
    areas.into_iter().position(|(start, length)| at >= start && at < start + length)
}

/// Whether `at` of `member` is in a log or a commit log. The member stands in one of `slots`.
pub(crate) fn is_of_logs(geometry: &Geometry, slots: &[u16], member: Member, at: Sector) -> bool {
    if commit_part(geometry, at).is_some() {
        return true;
    }
    let slot = slots.iter().position(|number| *number == member.get());
    let area = slot.and_then(|slot| Area::of_data(geometry, Slot::new(slot as u16), at, Sectors::new(1)));
    area == Some(Area::Segment)
}

/// Another place on the member in `slot` to which a write of `length` may go, of the same kind.
fn elsewhere(geometry: &Geometry, slot: Slot, area: Area, length: Sectors, number: u64) -> Option<Sector> {
    let layout = geometry.layout();
    let start = geometry.data_start();
    let fits = |room: Sectors| room >= length;
    match area {
        Area::Parity => {
            let check = layout.units().find(|unit| !layout.is_data(*unit))?;
            let stripes =
                (0..64).map(|step| Stripe::new((number >> 8).wrapping_add(step) % layout.stripes()));
            let there =
                stripes.map(|stripe| layout.locate(stripe, check)).find(|other| other.slot == slot)?;
            Some(start + there.at.from_start()).filter(|_| fits(layout.unit_length()))
        }
        Area::Segment => {
            let logs = layout.logs()?.shape();
            let regions = u64::from(layout.region_count());
            let picked = (0..64).map(|step| Region::new(((number >> 8).wrapping_add(step) % regions) as u32));
            let sublog =
                |region| (0..logs.sublogs).filter_map(move |sublog| layout.sublog_at(region, sublog));
            let there = picked.flat_map(sublog).find(|other| other.slot == slot)?;
            Some(start + there.at.from_start()).filter(|_| fits(Sectors::new(logs.segment)))
        }
        _ => {
            let room = start.from_start().get().checked_sub(length.get())?;
            Some(Sector::new((number >> 8) % (room + 1)))
        }
    }
}

/// The sector with a flipped bit.
pub(crate) fn turned(sector: &SectorBytes, number: u64) -> SectorBytes {
    let mut bytes = sector.bytes().to_vec();
    bytes[(number >> 16) as usize % SECTOR] ^= 1 << (number % 8);
    SectorBytes::of(&bytes).next().expect("a sector's bytes are a sector")
}

impl Disk {
    /// The silent fault of a write to `at` of the member in `slot`, if it is to have one, and the
    /// content before the write.
    pub(crate) fn silence(
        &mut self,
        geometry: &Geometry,
        slot: Slot,
        at: Sector,
        length: Sectors,
    ) -> Option<(Silent, Vec<SectorBytes>)> {
        let area = Area::of(geometry, self.length, slot, at, length);
        let silent = self.silent.take_if(|silent| Some(silent.area) == area)?;
        let before = sectors(at, length).map(|sector| self.sector(sector).clone()).collect();
        Some((silent, before))
    }

    /// Applies the silent fault to a write that was carried out. Returns the sectors with wrong
    /// content.
    pub(crate) fn go_wrong(
        &mut self,
        geometry: &Geometry,
        slot: Slot,
        (at, length): (Sector, Sectors),
        (silent, before): (Silent, Vec<SectorBytes>),
    ) -> Vec<u64> {
        let number = silent.number;
        if silent.how == How::Rotten {
            let sector = at.get() + (number >> 32) % length.get();
            let rotten = turned(self.sector(sector), number);
            self.taint(sector, rotten);
            return vec![sector];
        }
        let written: Vec<SectorBytes> =
            sectors(at, length).map(|sector| self.sector(sector).clone()).collect();
        let mut wrong = self.taint_all(at, before);
        let misdirected = silent.how == How::Misdirected;
        let there = elsewhere(geometry, slot, silent.area, length, number).filter(|_| misdirected);
        if let Some(there) = there {
            wrong.extend(self.taint_all(there, written));
        }
        wrong
    }

    fn taint_all(&mut self, at: Sector, contents: Vec<SectorBytes>) -> Vec<u64> {
        let mut wrong = Vec::new();
        for (sector, content) in (at.get()..).zip(contents) {
            if *self.sector(sector) != content {
                self.taint(sector, content);
                wrong.push(sector);
            }
        }
        wrong
    }
}

fn sectors(at: Sector, length: Sectors) -> Range<u64> {
    at.get()..(at + length).get()
}

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            How::Lost => "lost",
            How::Misdirected => "misdirected",
            How::Rotten => "written with a bit turned",
        };
        write!(f, "the next write of {} is {how}", self.area.name())
    }
}
