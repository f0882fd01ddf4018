//! What the fuzzers call: a function for each thing that a stranger's bytes can reach.
//!
//! A target takes any bytes and panics where the code under it does, or where what it did is not
//! right. Bytes are instructions more often than they are the message: they compose requests, or
//! change a whole image in places and mend its checksums, so that the code behind the first check
//! is reached too. `runner/` puts a fuzzer around each target; `tests/replay.rs` runs every input
//! in `corpus/` through them, without one.

pub mod assembly;
pub mod bitmap;
pub mod handshake;
mod input;
mod memory;
mod seal;
pub mod segment;
pub mod server;
pub mod settings;
pub mod superblock;
mod terms;
pub mod transmission;
mod wire;
mod world;

/// One thing that is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of its runner, and of its folder in `corpus/`.
    pub name: &'static str,
    /// Panics on a bug.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 8] = [
    Target { name: "handshake", run: handshake::run },
    Target { name: "transmission", run: transmission::run },
    Target { name: "server", run: server::run },
    Target { name: "superblock", run: superblock::run },
    Target { name: "bitmap", run: bitmap::run },
    Target { name: "segment", run: segment::run },
    Target { name: "assembly", run: assembly::run },
    Target { name: "settings", run: settings::run },
];
