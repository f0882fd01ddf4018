//! The exports and limits that fuzzed clients use.

use std::time::Duration;

use parlour_nbd::{Export, Features, Limits, Terms};

/// The size of every export, in bytes.
pub(crate) const SIZE: u64 = 1 << 20;
/// The longest read or write, in bytes.
pub(crate) const PAYLOAD: u32 = 64 << 10;

/// Returns one of several small exports with tight limits.
pub(crate) fn terms(choice: u8) -> Terms {
    let has = |bit: u8| choice >> bit & 1 == 1;
    let features = Features {
        flush: !has(0),
        fua: !has(0),
        trim: !has(1),
        write_zeroes: !has(1),
        fast_zero: !has(2),
        cache: !has(2),
        multi_conn: !has(3),
        rotational: has(3),
    };
    let export = Export {
        name: "disk".into(),
        description: if has(4) { String::new() } else { "for fuzzers".into() },
        size: SIZE,
        read_only: has(5),
        minimum_block: if has(6) { 512 } else { 1 },
        preferred_block: 4096,
        features,
    };
    Terms::new(export, limits()).expect("the terms are good")
}

fn limits() -> Limits {
    Limits {
        connections: 4096,
        per_client: 4096,
        reserved_for_unix: 0,
        reserved_for_owner: 0,
        handshakes: 4096,
        option_length: 4608,
        options: 12,
        payload: PAYLOAD,
        in_flight: 4,
        held: 2 * PAYLOAD,
        handshake_timeout: Duration::from_secs(10),
        stall_timeout: Duration::from_secs(30),
        low_space_timeout: Duration::from_secs(5),
    }
}
