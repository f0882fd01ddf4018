//! The arithmetic, by kind. One program: each takes time to build.

mod checksum;
mod minors;
mod sector;
mod sums;
mod xor;
