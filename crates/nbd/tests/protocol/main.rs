//! The protocol without a server, by phase. One program: each takes time to build.

mod chunking;
#[path = "../common/mod.rs"]
mod common;
mod handshake;
mod transmission;
