//! Layouts as text in columns, from the same drawings of the array that `parlour layout` shows.

use parlour_array::{Cell, Geometry, Row, draw_region, draw_regions, draw_units};
use parlour_units::Region;

/// The first rows of units of each member.
pub fn units(geometry: &Geometry, rows: usize) -> String {
    of_cells("row", &draw_units(geometry, rows))
}

/// The first units of each member in a region.
pub fn region(geometry: &Geometry, region: Region, rows: usize) -> String {
    of_cells("row", &draw_region(geometry, region, rows))
}

/// The first regions: what each member holds of them, in the order of places.
pub fn regions(geometry: &Geometry, rows: usize) -> String {
    let rows = draw_regions(geometry, rows);
    let members = rows.first().map_or(0, Vec::len);
    let cells = rows.iter().map(|row| {
        row.iter().map(|blocks| blocks.iter().map(ToString::to_string).collect()).collect::<Vec<_>>()
    });
    columns("region", members, cells)
}

fn of_cells(first: &str, rows: &[Row<Option<Cell>>]) -> String {
    let members = rows.first().map_or(0, Vec::len);
    let label = |cell: &Option<Cell>| vec![cell.map_or(String::new(), |cell| cell.content.to_string())];
    columns(first, members, rows.iter().map(|row| row.iter().map(label).collect()))
}

/// A table with a column for each disk. A cell has lines, and rows are counted from 0.
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

/// Lines whose columns begin one below the other.
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

    #[test]
    fn cells_of_several_lines_stand_below_their_disks() {
        let cell = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
        let drawn =
            columns("region", 2, [vec![cell("Par 0\nLog 0"), cell("Data 0")], vec![cell("x"), cell("")]]);
        assert_eq!(drawn, "region  disk 0  disk 1\n0       Par 0   Data 0\n        Log 0\n1       x\n");
    }
}
