//! Fuzzes headers of log segments: a header that decodes has at most as many records as fit.

use parlour_array::{Identity, SegmentSummary};

use crate::input::Input;
use crate::seal::sealed;

const HEADER: usize = 64;
const RECORD: usize = 32;

/// Interprets the bytes as a sealed header, or as the records after a header that matches them.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = input.byte();
    let array = Identity([kind & 1; 16]);
    let length = input.below(8) * 512;
    let block = match kind & 6 {
        0 => input.rest().to_vec(),
        2 => sealed(b"PRLRSEGM", input.rest(), length),
        _ => {
            let mut start = b"PRLRSEGM\0\0\0\0".to_vec();
            start.extend(input.u32().to_le_bytes());
            start.extend(array.0);
            start.extend(u32::from(input.byte()).to_le_bytes());
            start.resize(HEADER, 0);
            sealed(&start, input.rest(), length)
        }
    };
    let Some(summary) = SegmentSummary::decode(&block, array) else { return };
    let records = summary.updates as usize + summary.overwrites as usize + summary.cancels as usize;
    assert!(HEADER + records * RECORD <= block.len(), "{records} records in {} bytes", block.len());
    assert!(summary.first <= summary.last && (records > 0 || summary.last == 0));
    assert_eq!(SegmentSummary::decode(&block, Identity([9; 16])), None, "of another array");
}
