//! The kinds of data that arrays keep beside hosts' data, and where each stands on a member.

use parlour_array::layout::{Location, Occupant};
use parlour_array::{Geometry, SUPERBLOCK};
use parlour_units::{Region, Sector, Sectors, Slot, Stripe};

/// A kind of data.
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

impl Area {
    const ALL: [Area; 7] = [
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

    /// Its name, for people.
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
    pub(crate) fn of(
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
        let tables = geometry.records_updates();
        match self {
            Area::Superblock => both(&|bank| Geometry::superblocks_at(member_length)[bank], SUPERBLOCK),
            Area::Bitmap => both(&|bank| geometry.bitmap_at(bank), geometry.bitmap_length()),
            Area::Table if tables => both(&|bank| geometry.table_at(bank), geometry.table_length()),
            Area::BadBlockLog => (0..2).filter_map(|bank| geometry.bad_block_log_at(bank)).collect(),
            Area::CommitLog if geometry.is_journaled() => {
                geometry.commit_parts().iter().map(|part| geometry.commit_part(*part)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Another place on the member in `slot` to which a write of `length` may go, of the same kind.
    pub(crate) fn elsewhere(
        self,
        geometry: &Geometry,
        slot: Slot,
        length: Sectors,
        number: u64,
    ) -> Option<Sector> {
        let layout = geometry.layout();
        let start = geometry.data_start();
        let fits = |room: Sectors| room >= length;
        match self {
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
                let picked =
                    (0..64).map(|step| Region::new(((number >> 8).wrapping_add(step) % regions) as u32));
                let copies = |region| (0..geometry.log_copies()).map(move |copy| (region, copy));
                let sublog = |(region, copy)| {
                    (0..logs.sublogs).filter_map(move |sublog| layout.sublog_at(region, sublog, copy))
                };
                let there = picked.flat_map(copies).flat_map(sublog).find(|other| other.slot == slot)?;
                Some(start + there.at.from_start()).filter(|_| fits(Sectors::new(logs.segment)))
            }
            _ => {
                let room = start.from_start().get().checked_sub(length.get())?;
                Some(Sector::new((number >> 8) % (room + 1)))
            }
        }
    }
}

/// The part of the commit log that contains `at`.
pub(crate) fn commit_part(geometry: &Geometry, at: Sector) -> Option<usize> {
    let areas = Area::CommitLog.places(geometry, Sectors::ZERO);
    areas.into_iter().position(|(start, length)| at >= start && at < start + length)
}

/// Whether `at` of the member in `slot` is in a log or the commit log.
pub(crate) fn is_of_logs(geometry: &Geometry, slot: Option<Slot>, at: Sector) -> bool {
    let area = |slot: Slot| Area::of_data(geometry, slot, at, Sectors::new(1));
    commit_part(geometry, at).is_some() || slot.and_then(area) == Some(Area::Segment)
}
