//! Tables in Markdown, for a terminal and for documents.

use comfy_table::{CellAlignment, Table, presets};

/// A table with this header. Its first column holds names, the others hold numbers.
pub(crate) fn of_numbers(header: impl IntoIterator<Item = impl Into<String>>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(header.into_iter().map(Into::into));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_at_the_right() {
        let mut table = of_numbers(["what", "count"]);
        table.add_row(["seeds", "7"]);
        assert_eq!(table.lines().last().as_deref(), Some("| seeds |     7 |"));
    }
}
