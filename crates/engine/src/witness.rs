//! Observes which changes the kernel is asked to make on members, and when they are done. Tests of
//! durability use it to compute what a power failure would have left.

use std::fmt;
use std::path::Path;

/// Sees each change of a member. Called from several threads at once if the backend uses several.
pub trait Witness: fmt::Debug + Send + Sync {
    /// The kernel is about to be asked for `change`. The returned number identifies it in
    /// [`Witness::answered`].
    fn asked(&self, member: &Path, change: Change) -> u64;

    /// The kernel has done this many bytes of the change (zero for a flush), or nothing if it
    /// refused.
    fn answered(&self, number: u64, done: Option<u64>);
}

/// A change that the kernel is asked to make. Positions and lengths are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A write.
    Write {
        /// The position.
        at: u64,
        /// The bytes. If they have too many parts for one system call, the kernel writes fewer, and
        /// the rest is a further change.
        bytes: Vec<u8>,
        /// Whether the write is durable (RWF_DSYNC).
        durable: bool,
    },
    /// A range is zeroed.
    Zero {
        /// The position.
        at: u64,
        /// The length.
        length: u64,
    },
    /// All completed writes are made durable.
    Flush,
}
