//! Layouts as text: what `parlour layout` draws, in plain columns.

use parlour_array::{Cell, Creation, DrawnContent, Geometry, Row, draw_units};
use parlour_units::Sectors;

use super::drawing::aligned;
use super::evidence::EvidenceError;
use crate::settings::{LogSettings, OrganizationSettings};

/// Blocks, and members that are long enough for any figure; the places of the first units depend on neither.
const BLOCK: Sectors = Sectors::new(8);
const MEMBER: Sectors = Sectors::new(1 << 21);

/// The first rows of an array of so many members. Parity is called after its stripe, as in Chen's figure 1.
///
/// # Errors
/// There is no such array.
pub(super) fn drawing(
    array: &OrganizationSettings,
    members: u16,
    rows: usize,
) -> Result<String, EvidenceError> {
    let creation = Creation {
        organization: array.organization().map_err(EvidenceError::model)?,
        copies: array.copies(members).map_err(EvidenceError::model)?,
        members,
        groups: array.groups(),
        unit: array.unit().sectors(),
        block: BLOCK,
        member_length: MEMBER,
        log: LogSettings::default().creation(false).map_err(EvidenceError::model)?,
        consistency: array.consistency().map_err(EvidenceError::model)?,
    };
    let geometry = Geometry::create(&creation).map_err(EvidenceError::model)?;
    let header = (0..members).map(|member| format!("Member {member}")).collect();
    let drawn = draw_units(&geometry, rows);
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(drawn.iter().map(labels)).collect();
    Ok(aligned(&lines))
}

fn labels(row: &Row<Option<Cell>>) -> Vec<String> {
    let label = |cell: &Option<Cell>| match cell.map(|cell| cell.content) {
        None => String::new(),
        Some(DrawnContent::Parity { stripe, .. }) => format!("P{stripe}"),
        Some(content) => content.to_string(),
    };
    row.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_drawn_in_columns() {
        let array = OrganizationSettings { organization: Some("raid0".to_owned()), ..Default::default() };
        assert_eq!(drawing(&array, 2, 2).unwrap(), "Member 0  Member 1\nD0        D1\nD2        D3\n");
    }

    #[test]
    fn an_array_that_there_is_not_is_told() {
        let array = OrganizationSettings {
            organization: Some("raid1".to_owned()),
            copies: Some(3),
            ..Default::default()
        };
        assert!(drawing(&array, 2, 2).unwrap_err().to_string().contains("copies"));
    }
}
