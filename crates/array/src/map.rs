//! The map from a request to the pieces of stripes that it touches.

use parlour_units::{Sector, Sectors, Stripe, Unit};

use crate::columns::{Columns, Piece, Window};
use crate::layout::Layout;

/// The windows that a range of the array touches, in the order of stripes; each has at most `slice`
/// columns.
pub fn windows(layout: &Layout, at: Sector, length: Sectors, slice: Sectors) -> impl Iterator<Item = Window> {
    let unit = layout.unit_length();
    let slices = unit.get().div_ceil(slice.get());
    let data = layout.stripe_data();
    let end = at + length;
    let first = at.from_start() / data;
    let last = end.from_start().get().div_ceil(data.get());
    (first..last).flat_map(move |stripe| {
        (0..slices).filter_map(move |index| {
            let from = slice * index;
            let columns = Columns::new(from, (from + slice).min(unit));
            touched(stripe, data, unit, columns, at, end)
                .then_some(Window { stripe: Stripe::new(stripe), columns })
        })
    })
}

/// Whether some data unit of `stripe` has a touched column among `columns`.
fn touched(stripe: u64, data: Sectors, unit: Sectors, columns: Columns, at: Sector, end: Sector) -> bool {
    let start = Sector::ZERO + data * stripe;
    let from = at.max(start) - start;
    let to = end.min(start + data) - start;
    if to - from >= unit {
        return true;
    }
    let (a, b) = (from % unit, (to.get() - 1) % unit.get());
    let (a, b) = (Columns::new(a, unit), Columns::new(Sectors::ZERO, Sectors::new(b + 1)));
    let one_unit = from / unit == (to.get() - 1) / unit.get();
    match one_unit {
        true => !columns.and(a.and(b)).is_empty(),
        false => !columns.and(a).is_empty() || !columns.and(b).is_empty(),
    }
}

/// Fills `pieces` with the parts of `window` that a range of the array touches, in the order of
/// units.
pub fn pieces(layout: &Layout, at: Sector, length: Sectors, window: Window, pieces: &mut Vec<Piece>) {
    pieces.clear();
    let unit = layout.unit_length();
    let start = Sector::ZERO + layout.stripe_data() * window.stripe.get();
    let end = at + length;
    let first = at.max(start) - start;
    let last = end.min(start + layout.stripe_data()) - start;
    for index in (first / unit)..last.get().div_ceil(unit.get()) {
        let base = unit * index;
        let in_unit = Columns::new(first.saturating_sub(base), (last - base).min(unit));
        let columns = in_unit.and(window.columns);
        if !columns.is_empty() {
            let host = start + base + columns.from - at;
            pieces.push(Piece { unit: Unit::new(index as u16), columns, host });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Details, LayoutChoice, LayoutRequest, Rotation};

    fn raid5(unit: u64) -> Layout {
        let request = LayoutRequest {
            group_members: 4,
            groups: 1,
            unit,
            length: unit * 10,
            width: None,
            domains: None,
            spares: 0,
        };
        let details =
            Details { checks: 1, tolerance: 1, regions: None, log_copies: 1, logged: false, positions: None };
        Layout::new(LayoutChoice::Parity(Rotation::LeftSymmetric), details, request)
    }

    #[test]
    fn windows_and_pieces_cover_a_request_once_and_nothing_else() {
        for (unit, slice) in [(8, 8), (16, 5), (3, 100)] {
            let layout = raid5(unit);
            let capacity = layout.capacity().get();
            for at in 0..capacity {
                for length in [1, 2, unit, unit * 3, unit * 3 + 1, unit * 7 + 2] {
                    if at + length > capacity {
                        continue;
                    }
                    let mut covered = vec![0u8; length as usize];
                    let (sector, sectors) = (Sector::new(at), Sectors::new(length));
                    let mut found = Vec::new();
                    for window in windows(&layout, sector, sectors, Sectors::new(slice)) {
                        pieces(&layout, sector, sectors, window, &mut found);
                        assert!(!found.is_empty(), "a window without pieces");
                        for piece in &found {
                            let logical = (window.stripe.get() * 3 + u64::from(piece.unit.get())) * unit
                                + piece.columns.from.get();
                            assert_eq!(logical, at + piece.host.get());
                            for column in 0..piece.columns.length().get() {
                                covered[(piece.host.get() + column) as usize] += 1;
                            }
                        }
                    }
                    assert!(
                        covered.iter().all(|times| *times == 1),
                        "unit {unit} slice {slice} at {at} length {length}"
                    );
                }
            }
        }
    }
}
