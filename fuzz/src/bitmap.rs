//! Fuzzes dirty bitmaps: a bitmap that decodes names only regions of the array, each once.

use parlour_array::{BitmapContent, Identity};
use parlour_units::Region;

use crate::input::Input;
use crate::seal::sealed;

/// Interprets the bytes as a sealed write-intent bitmap; they also give the number of the array's
/// regions.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (kind, regions) = (input.byte(), u32::from(input.u16() % 4096));
    let array = Identity([kind & 1; 16]);
    let length = input.below(5) * 512;
    let block = match kind & 6 {
        0 => input.rest().to_vec(),
        2 => sealed(b"PRLRDIRT", input.rest(), length),
        _ => {
            let mut start = b"PRLRDIRT\0\0\0\0".to_vec();
            start.extend(regions.to_le_bytes());
            start.extend(array.0);
            sealed(&start, input.rest(), length)
        }
    };
    let Some(map) = BitmapContent::decode(&block, array, regions) else { return };
    for bits in [&map.dirty, &map.resync] {
        assert!(bits.is_sorted_by(|a, b| a < b), "each region once");
        assert!(bits.last().is_none_or(|last| *last < Region::new(regions)), "only regions there are");
    }
    assert!(BitmapContent::decode(&block, array, regions ^ 1).is_none(), "of another shape");
    assert!(BitmapContent::decode(&block, Identity([9; 16]), regions).is_none(), "of another array");
}
