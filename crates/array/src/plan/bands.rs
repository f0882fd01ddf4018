//! Bands: runs of columns in which a write touches the same units.
//!
//! A contiguous write to a stripe covers the tail of one unit, whole units, and the head of
//! another. Cut where a piece starts or ends, its columns fall into at most three bands, and in
//! each band every unit is either written in full or not at all.

use crate::columns::{Columns, Piece};

use crate::code::UnitSet;

/// Columns in which the same units are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub(crate) columns: Columns,
    pub(crate) written: UnitSet,
}

/// Fills `bands` with the bands of `pieces`, in the order of columns.
pub(crate) fn bands(pieces: &[Piece], bands: &mut Vec<Band>) {
    bands.clear();
    let edges = pieces.iter().flat_map(|piece| [piece.columns.from, piece.columns.to]);
    let mut at = edges.clone().min().expect("a write touches something");
    while let Some(next) = edges.clone().filter(|edge| *edge > at).min() {
        let columns = Columns::new(at, next);
        let units = pieces.iter().filter(|piece| piece.columns.contain(columns)).map(|piece| piece.unit);
        let written: UnitSet = units.collect();
        if !written.is_empty() {
            bands.push(Band { columns, written });
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::{Sectors, Unit};

    use super::*;

    fn piece(unit: u16, from: u64, to: u64) -> Piece {
        let columns = Columns::new(Sectors::new(from), Sectors::new(to));
        Piece { unit: Unit::new(unit), columns, host: Sectors::ZERO }
    }

    #[test]
    fn a_tail_and_a_head_that_do_not_meet_are_two_bands() {
        let mut found = Vec::new();
        bands(&[piece(0, 6, 8), piece(1, 0, 2)], &mut found);
        let columns: Vec<_> = found.iter().map(|b| (b.columns.from.get(), b.columns.to.get())).collect();
        assert_eq!(columns, [(0, 2), (6, 8)]);
    }

    #[test]
    fn a_tail_and_a_head_that_overlap_are_three_bands() {
        let mut found = Vec::new();
        bands(&[piece(0, 2, 8), piece(1, 0, 5)], &mut found);
        let written: Vec<_> = found.iter().map(|b| b.written.count()).collect();
        assert_eq!(written, [1, 2, 1]);
    }
}
