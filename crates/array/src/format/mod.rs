//! The structures that are stored on members, as bytes: this part encodes and decodes them, and
//! decides nothing. `docs/format.md` draws them.
//!
//! Each structure has a magic number, the array's identity and a checksum. If one of these does not
//! fit, decoding returns `None` or the reason. Whether the content of a structure is plausible for
//! the array is checked separately, given the array's limits.

pub(crate) mod bad_block_log;
pub(crate) mod banks;
pub(crate) mod bitmap;
pub(crate) mod bytes;
pub(crate) mod commit_entry;
#[cfg(test)]
mod golden;
pub(crate) mod horizon;
mod lineage;
pub(crate) mod segment;
pub(crate) mod superblock;
