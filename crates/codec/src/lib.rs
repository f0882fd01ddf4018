//! The arithmetic of a disk array, over plain byte slices.
//!
//! This crate computes and does nothing else: it knows no layout and does no I/O. All of the
//! project's SIMD lives here, behind safe functions that choose the widest instructions of the
//! processor at run time.
//!
//! - [`xor`] has parity, deltas and comparisons;
//! - [`checksum`] has CRC-32C;
//! - [`sector`] has the keyed checksums of sectors that log records carry.

pub mod checksum;
pub mod sector;
pub mod xor;
