//! The fuzz targets: a function for each part of Parlour that handles data from untrusted sources.
//!
//! A target takes arbitrary bytes. It panics if the code under test panics, or if a result is
//! wrong. Most targets interpret the bytes as instructions, not as the data itself: they compose
//! requests, or change an image in some places and correct its checksums, so that the code behind
//! the first check is reached, too. `runner/` builds a fuzzer for each target; `tests/replay.rs`
//! runs every input in `corpus/` through the targets, without a fuzzer.

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

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target, of its runner, and of its directory in `corpus/`.
    pub name: &'static str,
    /// Runs the target on an input. Panics on a bug.
    pub run: fn(&[u8]),
}

/// All targets.
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
