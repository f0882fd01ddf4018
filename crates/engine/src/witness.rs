//! Somebody who sees what the kernel is asked to do with members, and when it has done it: tests of
//! durability find out from it what a power cut would have left.

use std::fmt;
use std::path::Path;

/// Sees each change of a member. Told by several threads at once where accesses are done by
/// several.
pub trait Witness: fmt::Debug + Send + Sync {
    /// The kernel is about to be asked. The number that is returned comes back with the answer.
    fn asked(&self, member: &Path, change: Change) -> u64;

    /// The kernel has done so many bytes of it (of a flush, none); nothing where it refused.
    fn answered(&self, number: u64, done: Option<u64>);
}

/// What the kernel is asked for. Places and lengths are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A write.
    Write {
        /// Where.
        at: u64,
        /// What. Where it has too many parts for one system call, the kernel does less and is asked
        /// again.
        bytes: Vec<u8>,
        /// With RWF_DSYNC.
        durable: bool,
    },
    /// A range is to read as zeroes.
    Zero {
        /// Where.
        at: u64,
        /// How much.
        length: u64,
    },
    /// All that is done is to be made durable.
    Flush,
}
