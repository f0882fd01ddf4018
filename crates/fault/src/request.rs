//! The requests of hosts.

use std::fmt;

use parlour_array::Operation;

/// The longest request of a host, in sectors.
pub(crate) const LONGEST_REQUEST: u64 = 512 * 8;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Read,
    Write { durable: bool },
    Zero { may_unmap: bool, fast_only: bool, durable: bool },
    Trim,
    Flush,
}

impl Ask {
    /// The request as the array gets it.
    pub(crate) fn operation(self) -> Operation {
        match self {
            Ask::Read => Operation::Read,
            Ask::Write { durable } => Operation::Write { durable },
            Ask::Zero { may_unmap, fast_only, durable } => {
                Operation::WriteZeroes { may_unmap, fast_only, durable }
            }
            Ask::Trim => Operation::Trim,
            Ask::Flush => Operation::Flush,
        }
    }

    /// Whether it changes data.
    pub(crate) fn changes(self) -> bool {
        match self {
            Ask::Write { .. } | Ask::Zero { .. } | Ask::Trim => true,
            Ask::Read | Ask::Flush => false,
        }
    }

    /// Whether an answer promises that something is on stable storage.
    pub(crate) fn is_durable(self) -> bool {
        match self {
            Ask::Write { durable } | Ask::Zero { durable, .. } => durable,
            Ask::Flush => true,
            Ask::Read | Ask::Trim => false,
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ask::Read => "read",
            Ask::Write { durable: false } => "write",
            Ask::Write { durable: true } => "write durably",
            Ask::Zero { .. } => "zero",
            Ask::Trim => "trim",
            Ask::Flush => "flush",
        })
    }
}

/// A range of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) at: u64,
    pub(crate) length: u64,
}

impl Range {
    /// The range of a request that names no sectors.
    pub(crate) const NONE: Range = Range { at: 0, length: 0 };

    /// The sectors as indices.
    pub(crate) fn sectors(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.length) as usize
    }
}
