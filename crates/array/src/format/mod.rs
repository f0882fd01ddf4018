//! What stands on members, as bytes: structures are encoded and decoded here, and nothing is
//! decided. `docs/format.md` draws them.
//!
//! Each structure has a magic number, the array's identity and a checksum. Decoding answers with
//! nothing, or with why, where one does not hold. Whether what a structure says suits the array is
//! asked of it with what limits the array has, apart from that.

pub(crate) mod bad_block_log;
pub(crate) mod banks;
pub(crate) mod bitmap;
pub(crate) mod bytes;
pub(crate) mod commit_entry;
#[cfg(test)]
mod golden;
pub(crate) mod horizon;
pub(crate) mod segment;
pub(crate) mod superblock;
