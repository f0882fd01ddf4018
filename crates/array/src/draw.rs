//! A layout as a drawing, in data: for each member, row by row, the units and logs that it holds,
//! as in the papers' figures.
//!
//! Layouts with one rule for the whole member are drawn unit by unit ([`draw_units`]), those with
//! far copies section by section. Layouts in regions are drawn region by region ([`draw_regions`],
//! Stodolsky figures 7 to 9), and unit by unit inside one region ([`draw_region`], the inset of
//! figure 8). Places count from the start of a member, including the metadata.

use std::fmt;

use parlour_units::{Bytes, Region, Sector, Sectors, Slot, Stripe, Unit};
use serde::Serialize;

use crate::geometry::Geometry;
use crate::layout::{Layout, Location, Occupant};

/// The content of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Content {
    /// A data unit.
    Data {
        /// Its number, counted over the whole array.
        number: u64,
    },
    /// A copy of a data unit.
    Copy {
        /// The number of the data unit.
        number: u64,
        /// Which copy, from 1.
        copy: u16,
    },
    /// A parity of data units of a stripe.
    Parity {
        /// The stripe.
        stripe: u64,
        /// Which of its parities, from 0: P, Q, R, S; with two dimensions, rows before columns.
        check: u16,
        /// The first data unit that it protects.
        first: u64,
        /// The last data unit that it protects.
        last: u64,
        /// Which data units between them it protects.
        of: Covers,
    },
    /// A sublog of a region.
    Log {
        /// The region.
        region: u32,
        /// The sublog.
        sublog: u16,
        /// Which copy of it.
        copy: u16,
    },
    /// A spare place of a stripe.
    Spare {
        /// The stripe.
        stripe: u64,
    },
    /// Nothing.
    Unused,
}

/// Which data units of a stripe, from the first to the last of them, a parity protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covers {
    /// All of the stripe.
    Stripe,
    /// Those of a row of a grid.
    Row,
    /// Those of a column of a grid, and not those of other columns between them.
    Column,
}

impl Content {
    /// The content of `unit` of `stripe`.
    pub fn of_unit(geometry: &Geometry, stripe: Stripe, unit: Unit) -> Content {
        let layout = geometry.layout();
        let data_units = u64::from(layout.data_units());
        let first = stripe.get() * data_units;
        let number = |unit: Unit| first + u64::from(unit.get());
        if layout.is_data(unit) {
            Content::Data { number: number(unit) }
        } else if let Some(copied) = geometry.code().repeats(unit) {
            let before = layout.checks().take_while(|check| *check < unit);
            let before = before.filter(|check| geometry.code().repeats(*check) == Some(copied));
            Content::Copy { number: number(copied), copy: before.count() as u16 + 1 }
        } else {
            let protected: Vec<Unit> = geometry.code().encode(unit).map(|(unit, _)| unit).collect();
            let (from, to) = (protected[0], protected[protected.len() - 1]);
            let of = match protected.len() {
                all if all == usize::from(layout.data_units()) => Covers::Stripe,
                units if usize::from(to.get() - from.get()) + 1 == units => Covers::Row,
                _ => Covers::Column,
            };
            let (stripe, check) = (stripe.get(), unit.get() - layout.data_units());
            Content::Parity { stripe, check, first: number(from), last: number(to), of }
        }
    }

    /// The name of a parity that is the number `check` of its stripe: P, Q and so on, or Row or Col
    /// in a grid. Not needed of what is no parity.
    pub fn parity_name(check: u16, of: Covers) -> String {
        match of {
            Covers::Stripe => char::from(b'P' + (check % 10) as u8).to_string(),
            Covers::Row => "Row".to_owned(),
            Covers::Column => "Col".to_owned(),
        }
    }

    /// Whether it is redundant: shaded in the papers' figures.
    pub fn is_redundant(self) -> bool {
        matches!(self, Content::Copy { .. } | Content::Parity { .. } | Content::Log { .. })
    }
}

impl fmt::Display for Content {
    /// As in Stodolsky figure 1: `D0`, `P0-2`; a copy has the name of its data unit. In a grid,
    /// `Row0-2` and `Col0-6`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Content::Data { number } | Content::Copy { number, .. } => format!("D{number}"),
            Content::Parity { check, first, last, of, .. } => {
                format!("{}{first}-{last}", Content::parity_name(*check, *of))
            }
            Content::Log { region, .. } => format!("Log {region}"),
            Content::Spare { stripe } => format!("spare {stripe}"),
            Content::Unused => "-".to_owned(),
        };
        f.pad(&text)
    }
}

/// A run of one content on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The content.
    #[serde(flatten)]
    pub content: Content,
    /// The byte of the member at which it starts.
    pub at: Bytes,
    /// Its length.
    pub length: Bytes,
}

/// The part of a region in one piece on one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// Units of the region's parity.
    Parity,
    /// A sublog.
    Log,
    /// Units of the region's data.
    Data,
}

/// A piece of a region on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// The kind of content.
    pub kind: BlockKind,
    /// The region.
    pub region: u32,
    /// The byte of the member at which it starts.
    pub at: Bytes,
    /// Its length.
    pub length: Bytes,
}

impl fmt::Display for Block {
    /// As in Stodolsky figure 9: `Par 0`, `Log 0`, `Data 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.kind {
            BlockKind::Parity => "Par",
            BlockKind::Log => "Log",
            BlockKind::Data => "Data",
        };
        f.pad(&format!("{word} {}", self.region))
    }
}

/// One row of a drawing: what each member holds there.
pub type Row<T> = Vec<T>;

/// The first `rows` units of each member. With far copies, `rows` is the total over all sections,
/// and the first units of each section are drawn.
pub fn draw_units(geometry: &Geometry, rows: usize) -> Vec<Row<Option<Cell>>> {
    let layout = geometry.layout();
    let from = |start: Sector, rows: usize| {
        rows_from(geometry, &vec![Some(start); usize::from(geometry.members())], rows, |_| true)
    };
    let Some(section) = layout.section() else { return from(Sector::ZERO, rows) };
    let copies = usize::from(layout.check_units()) + 1;
    let most = usize::try_from(section / layout.unit_length()).unwrap_or(usize::MAX);
    let share = |copy: usize| (rows / copies + usize::from(copy < rows % copies)).min(most);
    (0..copies).flat_map(|copy| from(Sector::ZERO + section * copy as u64, share(copy))).collect()
}

/// Regions row by row: for each member the blocks of the row's region, in the order of their
/// places. With several parity groups a row holds one region of each group. Empty if the layout is
/// not in regions.
pub fn draw_regions(geometry: &Geometry, rows: usize) -> Vec<Row<Vec<Block>>> {
    let layout = geometry.layout();
    if layout.logs().is_none() {
        return Vec::new();
    }
    let groups = u32::from(layout.groups());
    let count = (layout.region_count() / groups).min(u32::try_from(rows).unwrap_or(u32::MAX));
    let row = |row: u32| {
        let mut cells = vec![Vec::new(); usize::from(layout.members())];
        (row * groups..(row + 1) * groups).for_each(|region| {
            add_region(geometry, Region::new(region), &mut cells);
        });
        cells
    };
    (0..count).map(row).collect()
}

/// The first `rows` units (or sublogs) of each member in one region; members of other parity groups
/// have none. Empty if the layout is not in regions or has no such region.
pub fn draw_region(geometry: &Geometry, region: Region, rows: usize) -> Vec<Row<Option<Cell>>> {
    let layout = geometry.layout();
    if layout.logs().is_none() || region.get() >= layout.region_count() {
        return Vec::new();
    }
    let mut cells = vec![Vec::new(); usize::from(layout.members())];
    add_region(geometry, region, &mut cells);
    let start = |blocks: &Vec<Block>| {
        let first = blocks.iter().map(|block| block.at).min()?;
        Sectors::from_bytes(first).map(|at| Sector::ZERO + (at - geometry.data_start().from_start()))
    };
    let starts: Vec<_> = cells.iter().map(start).collect();
    rows_from(geometry, &starts, rows, |content| region_of(layout, content) == Some(region))
}

fn region_of(layout: &Layout, content: Content) -> Option<Region> {
    match content {
        Content::Data { number } => {
            Some(layout.region_of(Stripe::new(number / u64::from(layout.data_units()))).0)
        }
        Content::Parity { stripe, .. } | Content::Spare { stripe } => {
            Some(layout.region_of(Stripe::new(stripe)).0)
        }
        Content::Log { region, .. } => Some(Region::new(region)),
        Content::Copy { .. } | Content::Unused => None,
    }
}

/// Row `r` holds the `r`th run of each member from its start on, as long as runs are `wanted`.
fn rows_from(
    geometry: &Geometry,
    starts: &[Option<Sector>],
    rows: usize,
    wanted: impl Fn(Content) -> bool,
) -> Vec<Row<Option<Cell>>> {
    let column = |(slot, start): (usize, &Option<Sector>)| -> Vec<Cell> {
        let Some(start) = start else { return Vec::new() };
        let slot = Slot::new(slot as u16);
        runs(geometry, slot, *start).take_while(|cell| wanted(cell.content)).take(rows).collect()
    };
    let columns: Vec<Vec<Cell>> = starts.iter().enumerate().map(column).collect();
    let longest = columns.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).map(|row| columns.iter().map(|column| column.get(row).copied()).collect()).collect()
}

/// The content of `slot` from `start` of the data area on, run by run, without unused space.
fn runs(geometry: &Geometry, slot: Slot, start: Sector) -> impl Iterator<Item = Cell> {
    let end = Sector::new(geometry.stored().layout.length);
    let mut at = start;
    std::iter::from_fn(move || {
        while at < end {
            let (content, length) = run_at(geometry, Location { slot, at });
            let from = at;
            at = at + length.min(end - at);
            if content != Content::Unused {
                return Some(cell(geometry, content, from, length));
            }
        }
        None
    })
}

/// The content at `location`, and the length of its run from there.
fn run_at(geometry: &Geometry, location: Location) -> (Content, Sectors) {
    let layout = geometry.layout();
    match layout.occupant(location) {
        Occupant::Unit { stripe, unit, offset } => {
            (Content::of_unit(geometry, stripe, unit), layout.unit_length() - offset)
        }
        Occupant::Log { region, sublog, copy, offset } => {
            (Content::Log { region: region.get(), sublog, copy }, sublog_length(layout) - offset)
        }
        Occupant::Spare { stripe, offset, .. } => {
            (Content::Spare { stripe: stripe.get() }, layout.unit_length() - offset)
        }
        Occupant::Unused => (Content::Unused, geometry.block()),
    }
}

fn cell(geometry: &Geometry, content: Content, at: Sector, length: Sectors) -> Cell {
    let at = (geometry.data_start() + at.from_start()).from_start().bytes();
    Cell { content, at, length: length.bytes() }
}

fn sublog_length(layout: &Layout) -> Sectors {
    let shape = layout.logs().expect("only a layout in regions has sublogs").shape();
    Sectors::new(shape.segment) * u64::from(shape.sublog_segments)
}

/// Adds the blocks of `region` to the cells of its members.
fn add_region(geometry: &Geometry, region: Region, cells: &mut [Vec<Block>]) {
    let layout = geometry.layout();
    let unit = layout.unit_length();
    for stripe in (0..).map_while(|index| layout.stripe_in(region, index)) {
        for of_stripe in layout.units() {
            let kind = if layout.is_data(of_stripe) { BlockKind::Data } else { BlockKind::Parity };
            let location = layout.locate(stripe, of_stripe);
            extend(geometry, cells, region, kind, location, unit);
        }
    }
    let sublogs = layout.logs().map_or(0, |logs| logs.shape().sublogs);
    let copies = |sublog| (0..geometry.log_copies()).map(move |copy| (sublog, copy));
    let logs = (0..sublogs).flat_map(copies);
    for location in logs.filter_map(|(sublog, copy)| layout.sublog_at(region, sublog, copy)) {
        extend(geometry, cells, region, BlockKind::Log, location, sublog_length(layout));
    }
    cells.iter_mut().for_each(|blocks| blocks.sort_by_key(|block| block.at));
}

/// Adds `length` at `location` to the member's block of that kind: a region keeps each kind in one
/// piece.
fn extend(
    geometry: &Geometry,
    cells: &mut [Vec<Block>],
    region: Region,
    kind: BlockKind,
    location: Location,
    length: Sectors,
) {
    let at = (geometry.data_start() + location.at.from_start()).from_start().bytes();
    let blocks = &mut cells[location.slot.as_usize()];
    match blocks.iter_mut().find(|block| block.kind == kind && block.region == region.get()) {
        Some(block) => {
            block.at = block.at.min(at);
            block.length = Bytes::new(block.length.get() + length.bytes().get());
        }
        None => blocks.push(Block { kind, region: region.get(), at, length: length.bytes() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Creation, LogCreation};
    use crate::layout::Rotation;
    use crate::organization::{Consistency, LayoutChoice, Organization};

    fn geometry(name: &str, members: u16, log: LogCreation) -> Geometry {
        shaped(Organization::named(name).unwrap().organization, name, members, log)
    }

    fn shaped(organization: Organization, name: &str, members: u16, log: LogCreation) -> Geometry {
        let checks = Organization::named(name).unwrap().checks.of(members);
        let creation = Creation {
            organization,
            checks,
            members,
            groups: 1,
            width: None,
            domains: None,
            spares: 0,
            unit: Sectors::new(128),
            block: Sectors::new(8),
            member_length: Sectors::new(1 << 17),
            log,
            consistency: Consistency::Bitmap,
        };
        Geometry::create(&creation).unwrap()
    }

    fn labels(rows: &[Row<Option<Cell>>]) -> Vec<String> {
        let label = |cell: &Option<Cell>| cell.map_or(String::new(), |cell| cell.content.to_string());
        rows.iter().map(|row| row.iter().map(label).collect::<Vec<_>>().join(" ")).collect()
    }

    fn drawn(name: &str, members: u16) -> Vec<String> {
        labels(&draw_units(&geometry(name, members, LogCreation::default()), 4))
    }

    /// Kinds of the blocks of each member, of the first regions: `PL` is parity, then log.
    fn kinds(geometry: &Geometry, rows: usize) -> Vec<Vec<String>> {
        let letter = |block: &Block| match block.kind {
            BlockKind::Parity => 'P',
            BlockKind::Log => 'L',
            BlockKind::Data => 'D',
        };
        let row =
            |row: &Row<Vec<Block>>| row.iter().map(|blocks| blocks.iter().map(letter).collect()).collect();
        draw_regions(geometry, rows).iter().map(row).collect()
    }

    fn sublogs(count: u16) -> LogCreation {
        LogCreation { sublogs: Some(count), regions: Some(10), ..LogCreation::default() }
    }

    #[test]
    fn stodolsky_figure_1_nonredundant() {
        let expected = ["D0 D1 D2 D3", "D4 D5 D6 D7", "D8 D9 D10 D11", "D12 D13 D14 D15"];
        assert_eq!(drawn("raid0", 4), expected);
    }

    #[test]
    fn stodolsky_figure_1_level_1_duplicates_each_unit_on_the_neighbour() {
        let expected = ["D0 D0 D1 D1", "D2 D2 D3 D3", "D4 D4 D5 D5", "D6 D6 D7 D7"];
        assert_eq!(drawn("raid10", 4), expected);
    }

    #[test]
    fn stodolsky_figure_1_level_4() {
        let expected = ["D0 D1 D2 P0-2", "D3 D4 D5 P3-5", "D6 D7 D8 P6-8", "D9 D10 D11 P9-11"];
        assert_eq!(drawn("raid4", 4), expected);
    }

    #[test]
    fn stodolsky_figure_1_level_5_is_left_symmetric() {
        let expected = ["D0 D1 D2 P0-2", "D4 D5 P3-5 D3", "D8 P6-8 D6 D7", "P9-11 D9 D10 D11"];
        assert_eq!(drawn("raid5", 4), expected);
    }

    #[test]
    fn chen_figure_1a_and_1b_the_shadow_disks_repeat_the_data_disks() {
        assert_eq!(drawn("raid0", 4)[..2], ["D0 D1 D2 D3", "D4 D5 D6 D7"]);
        assert_eq!(drawn("raid01", 8)[..2], ["D0 D1 D2 D3 D0 D1 D2 D3", "D4 D5 D6 D7 D4 D5 D6 D7"]);
    }

    #[test]
    fn far_copies_are_drawn_section_by_section() {
        let rows = draw_units(&geometry("raid10-far", 4, LogCreation::default()), 4);
        assert_eq!(labels(&rows), ["D0 D1 D2 D3", "D4 D5 D6 D7", "D1 D0 D3 D2", "D5 D4 D7 D6"]);
        let halves = [rows[0][0].unwrap().at, rows[2][0].unwrap().at];
        assert_eq!((halves[1].get() - halves[0].get()) % (128 * 512), 0);
        // A stream's neighbouring units come from different members, and each member begins with
        // another unit.
        assert_eq!(drawn("raid1-far", 3)[..2], ["D0 D1 D2", "D3 D4 D5"]);
        assert_eq!(drawn("raid1-far", 3)[2..], ["D2 D0 D1", "D1 D2 D0"]);
    }

    #[test]
    fn chen_figure_1c_parity_of_stripe_0_is_on_disk_0_and_of_stripe_1_on_disk_1() {
        let mut organization = Organization::named("raid5").unwrap().organization;
        organization.layout = LayoutChoice::Parity(Rotation::RightAsymmetric);
        let rows = draw_units(&shaped(organization, "raid5", 5, LogCreation::default()), 4);
        let expected =
            ["P0-3 D0 D1 D2 D3", "D4 P4-7 D5 D6 D7", "D8 D9 P8-11 D10 D11", "D12 D13 D14 P12-15 D15"];
        assert_eq!(labels(&rows), expected);
        // "If the logical request reads logical tracks 0-13, disk 1 must read its physical tracks
        // 0, 2 and 3."
        let read = |row: &Row<Option<Cell>>| match row[1].unwrap().content {
            Content::Data { number } => number <= 13,
            _ => false,
        };
        let tracks: Vec<usize> = (0..4).filter(|track| read(&rows[*track])).collect();
        assert_eq!(tracks, [0, 2, 3]);
    }

    #[test]
    fn stodolsky_figure_7_the_log_moves_left_from_region_to_region() {
        let geometry = geometry("parity-logging", 5, sublogs(1));
        let log_member = |row: &Vec<String>| row.iter().position(|kinds| kinds.contains('L')).unwrap();
        let members: Vec<usize> = kinds(&geometry, 6).iter().map(log_member).collect();
        assert_eq!(members, [4, 3, 2, 1, 0, 4]);
    }

    #[test]
    fn stodolsky_figure_8_one_member_holds_the_log_and_the_others_parity_and_data() {
        let rows = kinds(&geometry("parity-logging", 5, sublogs(1)), 5);
        assert_eq!(rows[0], ["PD", "PD", "PD", "PD", "L"]);
        assert_eq!(rows[1], ["PD", "PD", "PD", "L", "PD"]);
        assert_eq!(rows[2], ["PD", "PD", "L", "PD", "PD"]);
        assert_eq!(rows[3], ["PD", "L", "PD", "PD", "PD"]);
        assert_eq!(rows[4], ["L", "PD", "PD", "PD", "PD"]);
    }

    #[test]
    fn stodolsky_figure_8_inset_parity_is_striped_over_the_data_members_and_contiguous_on_each() {
        let geometry = geometry("parity-logging", 5, sublogs(1));
        let rows = draw_region(&geometry, Region::new(0), usize::MAX);
        for member in 0..4 {
            let column: Vec<Content> = rows.iter().filter_map(|row| row[member]).map(|c| c.content).collect();
            let parity = column.iter().take_while(|content| content.is_redundant()).count();
            assert!(parity > 0 && column[parity..].iter().all(|content| !content.is_redundant()));
        }
        let log: Vec<Content> = rows.iter().filter_map(|row| row[4]).map(|cell| cell.content).collect();
        assert_eq!(log, [Content::Log { region: 0, sublog: 0, copy: 0 }]);
    }

    #[test]
    fn stodolsky_figure_9_two_sublogs_walk_over_the_members_and_parity_is_on_all() {
        let rows = kinds(&geometry("parity-logging", 5, sublogs(2)), 5);
        assert_eq!(rows[0], ["PL", "PL", "PD", "PD", "PD"]);
        assert_eq!(rows[1], ["PD", "PD", "PL", "PL", "PD"]);
        assert_eq!(rows[2], ["PL", "PD", "PD", "PD", "PL"]);
        assert_eq!(rows[3], ["PD", "PL", "PL", "PD", "PD"]);
        assert_eq!(rows[4], ["PD", "PD", "PD", "PL", "PL"]);
    }

    #[test]
    fn a_regions_blocks_and_its_units_tell_the_same() {
        let geometry = geometry("parity-logging", 5, sublogs(2));
        let blocks = &draw_regions(&geometry, 3)[2];
        let rows = draw_region(&geometry, Region::new(2), usize::MAX);
        for (member, blocks) in blocks.iter().enumerate() {
            let units = rows.iter().filter_map(|row| row[member]).map(|cell| cell.length.get()).sum::<u64>();
            assert_eq!(blocks.iter().map(|block| block.length.get()).sum::<u64>(), units);
        }
    }
}
