//! Draws layouts as text in columns, from the same drawings that `parlour layout` shows.

use parlour_array::{
    Cell, Creation, DrawnContent, Geometry, LogCreation, Row, draw_region, draw_regions, draw_units,
};
use parlour_units::{Region, Sectors};

use super::evidence::EvidenceError;
use crate::settings::OrganizationSettings;

/// The block size, and a member size that is large enough for any figure.
const BLOCK: Sectors = Sectors::new(8);
const MEMBER: Sectors = Sectors::new(1 << 17);

/// How parity units are labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// By the data units that it protects, as in Stodolsky's figure 1.
    Units,
    /// By its stripe, as in Chen's figures.
    Stripe,
}

/// Creates an array of disks of 64 MiB.
///
/// # Errors
/// The settings do not allow such an array.
pub fn array(
    settings: &OrganizationSettings,
    members: u16,
    log: LogCreation,
) -> Result<Geometry, EvidenceError> {
    let creation = Creation {
        organization: settings.organization().map_err(EvidenceError::model)?,
        checks: settings.checks(members).map_err(EvidenceError::model)?,
        members,
        groups: settings.groups(),
        width: settings.width,
        domains: settings.domains,
        spares: settings.spares(),
        unit: settings.unit().sectors(),
        block: BLOCK,
        member_length: MEMBER,
        log,
        consistency: settings.consistency().map_err(EvidenceError::model)?,
    };
    Geometry::create(&creation).map_err(EvidenceError::model)
}

/// Draws the first rows of units of each member.
pub fn units(geometry: &Geometry, rows: usize, parity: Parity) -> String {
    of_cells(&draw_units(geometry, rows), parity)
}

/// Draws the first units of each member in a region.
pub fn region(geometry: &Geometry, region: Region, rows: usize) -> String {
    of_cells(&draw_region(geometry, region, rows), Parity::Units)
}

/// Draws the first regions: what each member holds of them, in the order on the member.
pub fn regions(geometry: &Geometry, rows: usize) -> String {
    let rows = draw_regions(geometry, rows);
    let members = rows.first().map_or(0, Vec::len);
    let cells = rows.iter().map(|row| {
        row.iter().map(|blocks| blocks.iter().map(ToString::to_string).collect()).collect::<Vec<_>>()
    });
    columns("region", members, cells)
}

fn of_cells(rows: &[Row<Option<Cell>>], parity: Parity) -> String {
    let members = rows.first().map_or(0, Vec::len);
    let label = |cell: &Option<Cell>| match (cell.map(|cell| cell.content), parity) {
        (None, _) => vec![String::new()],
        (Some(DrawnContent::Parity { stripe, check, of, .. }), Parity::Stripe) => {
            vec![format!("{}{stripe}", DrawnContent::parity_name(check, of))]
        }
        (Some(content), _) => vec![content.to_string()],
    };
    columns("row", members, rows.iter().map(|row| row.iter().map(label).collect()))
}

/// Formats a table with a column for each disk. Each cell is a list of lines; rows are numbered
/// from 0.
pub fn columns(first: &str, disks: usize, rows: impl IntoIterator<Item = Vec<Vec<String>>>) -> String {
    let header = (0..disks).map(|disk| format!("disk {disk}"));
    let mut lines = vec![std::iter::once(first.to_owned()).chain(header).collect::<Vec<_>>()];
    for (number, cells) in rows.into_iter().enumerate() {
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let number = if line == 0 { number.to_string() } else { String::new() };
            let cells = cells.iter().map(|cell| cell.get(line).cloned().unwrap_or_default());
            lines.push(std::iter::once(number).chain(cells).collect());
        }
    }
    aligned(&lines)
}

/// Formats lines so that columns are aligned.
pub fn aligned(lines: &[Vec<String>]) -> String {
    let widest = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let line = |line: &Vec<String>| {
        let cells = line.iter().enumerate().map(|(column, cell)| format!("{cell:<0$}", widest(column) + 2));
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(organization: &str) -> OrganizationSettings {
        OrganizationSettings { organization: Some(organization.to_owned()), ..Default::default() }
    }

    #[test]
    fn parity_is_called_after_its_units_or_its_stripe() {
        let array = array(&named("raid4"), 3, LogCreation::default()).unwrap();
        let drawn = |parity| units(&array, 2, parity);
        let (by_units, by_stripe) = (drawn(Parity::Units), drawn(Parity::Stripe));
        assert_eq!(
            by_units,
            "row  disk 0  disk 1  disk 2\n0    D0      D1      P0-1\n1    D2      D3      P2-3\n"
        );
        assert_eq!(
            by_stripe,
            "row  disk 0  disk 1  disk 2\n0    D0      D1      P0\n1    D2      D3      P1\n"
        );
    }

    #[test]
    fn an_array_that_there_is_not_is_told() {
        let settings = OrganizationSettings { copies: Some(3), ..named("raid1") };
        assert!(array(&settings, 2, LogCreation::default()).unwrap_err().to_string().contains("copies"));
    }

    #[test]
    fn cells_of_several_lines_stand_below_their_disks() {
        let cell = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
        let drawn =
            columns("region", 2, [vec![cell("Par 0\nLog 0"), cell("Data 0")], vec![cell("x"), cell("")]]);
        assert_eq!(drawn, "region  disk 0  disk 1\n0       Par 0   Data 0\n        Log 0\n1       x\n");
    }
}
