//! The parity log (Stodolsky §2): buffers and segments, and the records in them, region by region.
//!
//! A write reserves room in its region's open buffer *before* it takes its stripe's lock, and
//! commits its records *before* it overwrites data. A buffer that is full, and whose reservations
//! are all committed or given back, is sealed and appended to the region's log as one segment. When
//! the log has no free position the region is reintegrated: records on members and in memory are
//! folded into the parity and dropped.
//!
//! [`logs`] has the state, [`region`] and [`segment`] that of one region and of one buffer. The
//! other files act on it:
//!
//! - [`facts`] and [`want`]: what is so in a region, and asking for its parity; [`copies`]: on
//!   which copies of the log a segment stands;
//! - [`logging`], [`writes`], [`admission`]: what one write has here, from the reservation of space
//!   to its end;
//! - [`pool`], [`reserve`], [`records`], [`table`]: buffers, room in them, and what is kept there;
//! - [`due`], [`append`], [`commit`], [`reintegrate`]: what is written;
//! - [`opening`], [`scan`], [`load`], [`recover`]: after an opening, and after a crash;
//! - [`failure`] and [`lost`]: after the loss of a member;
//! - [`gates`], [`pump`], [`outcome`]: what is called from outside: by jobs that wait, after each
//!   input, and when a plan of the logs has ended.
//!
//! Invariants:
//! - A segment's `unfilled` counts reservations that are neither committed nor given back.
//! - A stripe's entry in `live` counts its committed records that are not yet in the parity.
//! - A job that uses the parity in place (`holders` > 0) and a reintegration exclude each other:
//!   while one runs, the other does not start.

mod admission;
mod append;
mod at_risk;
mod commit;
mod copies;
mod due;
mod facts;
mod failure;
pub(crate) mod found;
mod gates;
mod lane;
mod lanes;
mod load;
mod logging;
mod logs;
mod lost;
mod opening;
mod outcome;
mod pool;
mod pump;
mod records;
mod recover;
mod region;
mod regions;
mod reintegrate;
mod reserve;
mod ring;
mod scan;
mod segment;
mod status;
mod suits;
mod table;
mod want;
mod writes;

pub(crate) use append::closing::Closing;
pub(crate) use commit::logs::{EntryName, Waiting};
pub(crate) use commit::untold::CommitEntry;
pub(crate) use commit::writes::EntryGate;
pub(crate) use lane::Lane;
pub(crate) use load::headers::Load;
pub(crate) use logging::Logging;
pub(crate) use logs::Logs;
pub(crate) use recover::redo::Redo;
pub(crate) use region::{LoadState, RegionLog};
pub(crate) use reintegrate::state::IntentProbe;
pub use scan::{CommitLogContent, CommitLogReader};
pub(crate) use segment::{Reservation, Segment, SegmentState};
