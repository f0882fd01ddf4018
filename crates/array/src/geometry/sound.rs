//! Checks of a stored geometry before anything is computed from it: a superblock whose checksum
//! fits may still contain any values.
//!
//! The order of the checks is such that each needs only values that were limited before. Nothing is
//! allocated, and no computation here can overflow.

use parlour_units::{Sectors, Slot};

use super::sizes::{
    LARGEST_SEGMENT, LEAST_BLOCKS, LONG_BAD_BLOCK_LOG, MAPS_AT, MAXIMUM_MEMBERS, METADATA_BLOCK,
    MOST_COMMIT_LOG, MOST_REGIONS, MOST_SPARES, SHORTEST_BAD_BLOCK_LOG, bitmap_length, lanes_fit,
    least_commit_log, longest_commit_log, table_length,
};
use super::stored::StoredGeometry;
use crate::format::commit_entry::entry_length;
use crate::layout::{Layout, Protection, RegionShape, Regions};

/// Members are shorter than this (2 EiB), and their data areas together shorter than the next (4
/// EiB): byte addresses fit into 63 bits.
const MEMBER_END: u64 = 1 << 52;
const DATA_END: u64 = 1 << 53;
/// Places and lengths in units and logs fit into 32 bits.
const UNIT_END: u64 = 1 << 32;

/// The error is the name of a field that is not sound.
type Sound = Result<(), &'static str>;

impl StoredGeometry {
    /// Whether this could have been made by [`Geometry::create`](crate::Geometry::create).
    pub fn is_sound(&self) -> bool {
        self.check().is_ok()
    }

    /// The name of an impossible field, if there is one, on a device of `length` in `slot`.
    pub(crate) fn check_on(&self, slot: Slot, length: Sectors) -> Sound {
        self.check()?;
        if self.least_length(slot) <= length {
            Ok(())
        } else {
            Err("length of the data area, beyond the member")
        }
    }

    /// The name of a field that creation cannot have made, if there is one.
    pub(crate) fn check(&self) -> Sound {
        self.check_members()?;
        self.check_sizes()?;
        self.check_layout()?;
        self.check_commit_log()?;
        self.check_metadata()
    }

    fn check_members(&self) -> Sound {
        let (members, groups) = (self.layout.group_members, self.layout.groups);
        let code = self.organization.code;
        let all = u32::from(members) * u32::from(groups);
        require(members > 0 && all <= u32::from(MAXIMUM_MEMBERS), "members of a group")?;
        let with_journals = all + u32::from(self.journal_slots);
        let no_journals = self.journal_slots == 0 && self.journal_copies == 0;
        let journals = no_journals || self.consistency.is_journal();
        require(journals && with_journals <= u32::from(MAXIMUM_MEMBERS), "journal devices")?;
        require(groups > 0 && (groups == 1 || code.is_parity()), "groups")?;
        require(self.organization.check().is_ok(), "combination of layout, code, update and read policy")?;
        let whole = members.is_multiple_of(code.members_of_a_set(self.checks));
        let possible = self.organization.checks().contains(&self.checks);
        require(possible && whole && self.checks < members, "check units")
    }

    fn check_sizes(&self) -> Sound {
        let (unit, length) = (self.layout.unit, self.layout.length);
        let all = u64::from(self.layout.group_members) * u64::from(self.layout.groups);
        require(self.block == 1 || self.block == 8, "block size")?;
        require(length < MEMBER_END && length <= DATA_END / all, "length of the data area")?;
        require(self.data_start < MEMBER_END, "start of the data area")?;
        require(unit > 0 && unit.is_multiple_of(self.block) && unit <= length, "stripe unit")
    }

    fn check_layout(&self) -> Sound {
        let (members, unit, length) = (self.layout.group_members, self.layout.unit, self.layout.length);
        let layout = self.organization.layout;
        require(members >= layout.least_placeable(self.checks), "members of a group")?;
        require(self.layout.width.is_some() == layout.is_declustered(), "width of a stripe")?;
        let width = self.layout.width.is_none_or(|width| self.checks + 2 <= width && width < members);
        require(width, "width of a stripe")?;
        let spares = self.layout.spares;
        let places = self.layout.width.map(|width| width + spares.min(MOST_SPARES));
        let spare = places.is_some_and(|places| places <= members) && spares <= MOST_SPARES;
        require(spares == 0 || spare, "distributed spares")?;
        require(self.layout.domains.is_none_or(|domains| self.has_room_in(domains)), "failure domains")?;
        let rows = layout.least_rows(self.checks, places);
        require(length / unit >= rows.into(), "length of the data area")?;
        if layout.is_in_cylinders() {
            let cylinder = self.cylinder.filter(|cylinder| cylinder.positions(unit).is_some());
            let within = cylinder.is_some_and(|cylinder| cylinder.length().get() <= length);
            require(within, "cylinder")?;
        }
        match &self.regions {
            Some(shape) if layout.is_in_regions() => self.check_regions(shape)?,
            regions => require(regions.is_some() || !layout.is_in_regions(), "regions")?,
        }
        require(self.has_data_units(), "data units of a stripe")
    }

    /// Whether so many failure domains are equally large, and narrow stripes fit into them.
    fn has_room_in(&self, domains: u16) -> bool {
        let members = self.layout.group_members;
        let equal = domains >= 2 && members.is_multiple_of(domains);
        let places = self.layout.width.map(|width| width.saturating_add(self.layout.spares));
        let most = self.tolerance();
        let room = |places: u16| domains > most && places <= domains * most.min(members / domains);
        equal && places.is_none_or(room)
    }

    /// Whether the code has check units for as many data units as a stripe has room for.
    fn has_data_units(&self) -> bool {
        let logs = self.regions.filter(|_| self.organization.layout.is_in_regions());
        let copies = self.organization.log_copies(self.checks);
        let logs = logs.map_or(0, |shape| shape.sublogs.saturating_mul(copies));
        let units = self.layout.width.unwrap_or(self.layout.group_members);
        let data = units.saturating_sub(self.checks).saturating_sub(logs);
        !self.organization.keeps_parity() || self.organization.code.data(self.checks).contains(&data)
    }

    fn check_regions(&self, shape: &RegionShape) -> Sound {
        let RegionShape { regions, stripes, sublogs, sublog_segments, segment, grain } = *shape;
        let (members, unit) = (self.layout.group_members, self.layout.unit);
        require(unit < UNIT_END, "stripe unit")?;
        let (checks, log_copies) = (self.checks, self.organization.log_copies(self.checks));
        let logs = sublogs.checked_mul(log_copies);
        let least = logs.and_then(|logs| logs.checked_add(checks + 1));
        require(sublogs >= 1 && least.is_some_and(|least| least <= members), "sublogs")?;
        let sized = segment >= 8 * self.block && segment <= LARGEST_SEGMENT.get();
        require(sized && segment.is_multiple_of(self.block), "log segment")?;
        require(grain > 0 && grain <= LARGEST_SEGMENT.get(), "rounding of shares")?;
        let all = u64::from(regions) * u64::from(self.layout.groups);
        require(regions > 0 && all <= most_regions(self.layout.groups), "regions")?;
        // Parity and logs of all regions are not longer than the data areas of a group. No number
        // here has more than 64 bits, so products fit into 128 bits; with these limits nothing in
        // [`Regions::new`] overflows.
        let room = u128::from(self.layout.length) * u128::from(members);
        let within =
            |count: u32, length: u64| u128::from(count) * u128::from(length) <= room / u128::from(regions);
        require(stripes > 0 && within(stripes, unit), "stripes of a region")?;
        let segments = u32::from(sublogs).checked_mul(sublog_segments).filter(|count| *count > 0);
        require(segments.is_some_and(|count| within(count, segment)), "segments of a sublog")?;
        let protection = Protection { checks, log_copies };
        let regions = Regions::new(*shape, members, protection, Sectors::new(unit));
        require(regions.member_length().get() <= self.layout.length, "regions")
    }

    /// The longest entry of the stream of records: differences of all data of a stripe where
    /// parity is logged, else new content of all of its units. It does not wrap around the end of
    /// its lane, and a quarter of a lane is kept free for that.
    fn longest_entry(&self) -> Sectors {
        let units = self.layout.width.unwrap_or(self.layout.group_members);
        let (unit, block) = (Sectors::new(self.layout.unit), Sectors::new(self.block));
        let (units, records) = match self.regions.filter(|_| self.organization.is_logged()) {
            Some(shape) => {
                let logs = shape.sublogs.saturating_mul(self.organization.log_copies(self.checks));
                let units = u64::from(units.saturating_sub(self.checks).saturating_sub(logs));
                // (A piece is cut where a segment ends; less than half of one is its header.)
                (units, units + unit * units / Sectors::new(shape.segment.div_ceil(2)) + 2)
            }
            // (Each unit of data, and of each check unit parts between the ends of those.)
            None => {
                let (units, checks) = (u64::from(units), u64::from(self.checks));
                (units, units.saturating_sub(checks) * (1 + 2 * checks))
            }
        };
        entry_length(records, unit * units, unit * units, block)
    }

    fn check_commit_log(&self) -> Sound {
        let (commits, intents) = (self.commit_log, self.intent_log);
        if !self.consistency.is_journal() {
            require(commits == 0, "length of the commit log")?;
            require(self.write_log == 0, "length of the stream of writes")?;
            require(self.lanes == 1, "lanes of the commit log")?;
            return require(intents == 0, "length of the intents' log");
        }
        require(self.organization.takes(self.consistency), "consistency")?;
        let sublogs = self.regions.filter(|_| self.organization.is_logged()).map(|shape| shape.sublogs);
        let unit = Sectors::new(self.layout.unit);
        let longest = longest_commit_log(unit, self.layout.group_members, sublogs).min(MOST_COMMIT_LOG);
        let whole = commits.is_multiple_of(self.block) && commits <= longest.get();
        require(commits > 0 && whole && commits < self.data_start, "length of the commit log")?;
        let within = intents > 0 && intents < commits && intents.is_multiple_of(self.block);
        require(within, "length of the intents' log")?;
        let writes = Sectors::new(self.write_log);
        let least = least_commit_log(unit, self.layout.group_members, sublogs);
        let records = Sectors::new(commits - intents);
        require(records >= self.longest_entry() * 4, "length of the stream of records")?;
        let fit = lanes_fit(self.lanes, (records, least), (writes, Sectors::new(self.block)));
        require(self.lanes == 1 || fit, "lanes of the commit log")?;
        let whole = writes.is_multiple_of(Sectors::new(self.block)) && writes <= MOST_COMMIT_LOG;
        let least = Sectors::new(self.block) * LEAST_BLOCKS;
        require(writes.is_zero() || whole && writes >= least, "length of the stream of writes")
    }

    /// Checks that bitmaps, tables, bad-block logs and the commit log fit before the data area.
    fn check_metadata(&self) -> Sound {
        // The layout itself limits the number of regions that have no shape of their own.
        let of_rows = || Layout::count_regions(self.organization.layout, self.details(), self.layout);
        let regions = match self.regions {
            Some(shape) => shape.regions * u32::from(self.layout.groups),
            None => of_rows().unwrap_or(0),
        };
        let recorded = self.regions.is_some() || self.consistency.is_journal();
        let table = if recorded { table_length(regions) } else { Sectors::ZERO };
        let list = Sectors::new(self.bad_block_log);
        let possible = SHORTEST_BAD_BLOCK_LOG..=LONG_BAD_BLOCK_LOG;
        require(possible.contains(&list), "length of the bad-block log")?;
        require(list.is_multiple_of(METADATA_BLOCK), "length of the bad-block log")?;
        let banks = (bitmap_length(regions) + table + list) * 2;
        let end = MAPS_AT + banks + Sectors::new(self.commit_log) + Sectors::new(self.write_log);
        require(end.get() <= self.data_start, "start of the data area")
    }
}

/// The greatest number of regions of all groups: the search for the best number goes a little above
/// the wish, in each group.
fn most_regions(groups: u16) -> u64 {
    let of_group = u64::from(MOST_REGIONS) + u64::from(MOST_REGIONS / 10) + 2 * u64::from(MAXIMUM_MEMBERS);
    of_group * u64::from(groups)
}

fn require(sound: bool, field: &'static str) -> Sound {
    if sound { Ok(()) } else { Err(field) }
}
