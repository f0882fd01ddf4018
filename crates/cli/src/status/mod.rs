//! The state of an array in words: from its server, or from its members' superblocks.

mod account;
mod offline;
mod served;
mod text;
mod verdict;

pub(crate) use account::{Account, Task};
pub(crate) use offline::{Offline, OfflineError};
pub(crate) use served::judge;
pub(crate) use text::{brief, progress, scrub_text, served_text};
pub(crate) use verdict::{Health, Verdict};
