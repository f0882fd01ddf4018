//! An array's state: as its server tells it, or as its members' superblocks do, in words.

mod account;
mod offline;
mod text;
mod verdict;

pub(crate) use account::{Account, Task};
pub(crate) use offline::{Offline, OfflineError};
pub(crate) use text::{progress, served_text};
pub(crate) use verdict::{Health, Verdict};
