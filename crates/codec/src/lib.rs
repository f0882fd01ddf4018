//! The arithmetic of a disk array, on plain byte slices.
//!
//! This crate only computes: it knows no layout and does no I/O. All SIMD code of the project is
//! here, behind safe functions that choose the widest instructions of the processor at run time.
//!
//! - [`xor`] has parity, deltas and comparisons;
//! - [`galois`] has the field of 256 elements, for codes with coefficients;
//! - [`sums`] has sums of products over it, for codes with several check units;
//! - [`checksum`] has CRC-32C;
//! - [`sector`] has the keyed checksums of sectors in log records.

pub mod checksum;
mod field;
pub mod galois;
pub mod sector;
pub mod sums;
pub mod xor;
