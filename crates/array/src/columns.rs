//! Ranges in stripes: columns, the pieces of units that a request touches, and windows.

use parlour_units::{Sectors, Stripe, Unit};

/// A range of sectors of a unit. The sectors at the same distance from the start of all units of a
/// stripe are one codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Columns {
    /// The first column.
    pub from: Sectors,
    /// The first column after the range.
    pub to: Sectors,
}

impl Columns {
    /// From `from` up to but not including `to`.
    pub const fn new(from: Sectors, to: Sectors) -> Columns {
        Columns { from, to }
    }

    /// The number of columns.
    pub fn length(self) -> Sectors {
        self.to - self.from
    }

    /// Whether the range is empty.
    pub fn is_empty(self) -> bool {
        self.from >= self.to
    }

    /// The intersection of both ranges.
    pub fn and(self, other: Columns) -> Columns {
        Columns { from: self.from.max(other.from), to: self.to.min(other.to) }
    }

    /// The columns one `block` after the other.
    ///
    /// # Panics
    /// If `block` is empty.
    pub(crate) fn blocks(self, block: Sectors) -> impl Iterator<Item = Columns> {
        let from = move |index: u64| self.from + block * index;
        (0..self.length() / block).map(move |index| Columns::new(from(index), from(index + 1)))
    }

    /// Whether `other` lies in `self`.
    pub fn contain(self, other: Columns) -> bool {
        self.from <= other.from && other.to <= self.to
    }
}

/// The part of one data unit that a request touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The data unit.
    pub unit: Unit,
    /// The columns of the unit.
    pub columns: Columns,
    /// Where the piece starts in the request's payload.
    pub host: Sectors,
}

/// Columns of a stripe that are processed at once. Their number is limited so that buffers stay
/// small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The stripe.
    pub stripe: Stripe,
    /// The columns.
    pub columns: Columns,
}

/// The parts of `columns` that are in none of `covered`.
pub(crate) fn uncovered(columns: Columns, covered: &[Columns]) -> Vec<Columns> {
    let mut parts = vec![columns];
    for cover in covered {
        parts = parts
            .into_iter()
            .flat_map(|part| {
                let left = Columns::new(part.from, part.to.min(cover.from));
                let right = Columns::new(part.from.max(cover.to), part.to);
                [left, right]
            })
            .filter(|part| !part.is_empty())
            .collect();
    }
    parts
}

/// The range from the first to the last column that pieces touch.
pub(crate) fn hull(pieces: &[Piece]) -> Option<Columns> {
    let from = pieces.iter().map(|piece| piece.columns.from).min()?;
    let to = pieces.iter().map(|piece| piece.columns.to).max()?;
    Some(Columns::new(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_later_records_cover_is_cut_out() {
        let columns = |from, to| Columns::new(Sectors::new(from), Sectors::new(to));
        let left = uncovered(columns(0, 10), &[columns(2, 4), columns(4, 5), columns(8, 20)]);
        assert_eq!(left, [columns(0, 2), columns(5, 8)]);
        assert!(uncovered(columns(2, 4), &[columns(0, 10)]).is_empty());
    }
}
