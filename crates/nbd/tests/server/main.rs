//! Tests of the server over real sockets: credits, clients that disconnect or stall, limits,
//! closing.

#[path = "../common/mod.rs"]
mod common;
mod credits;
mod late;
mod leaving;
mod random;
mod sockets;

use common::limits;
use parlour_nbd::Limits;

const MIB: u32 = 1 << 20;

fn large() -> Limits {
    Limits { payload: MIB, ..limits() }
}
