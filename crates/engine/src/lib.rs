//! The array's driver for real members: members are files and block devices, time is real, payload
//! is in memory.
//!
//! From the bottom up:
//! - [`Member`] is an open, locked member: its properties, and its few synchronous accesses;
//! - [`Memory`] owns the payload bytes, by buffer, and lends parts of buffers to accesses under
//!   way;
//! - [`Access`] is one read, write, zeroing or flush of a member, and [`Io`] carries accesses out:
//!   through io_uring, through a pool of threads, or at once where that is cheapest;
//! - [`compute`] is the arithmetic between buffers;
//! - `machine.rs` holds the array and carries out its effects, and [`recorder`] records what passes
//!   between the array and the driver;
//! - [`create`] makes an array, [`open`] assembles one, and [`examine`] shows the metadata of a
//!   member;
//! - [`Server`] is the main loop: it serves hosts through a [`Frontend`], carries out accesses to
//!   members, and takes commands through [`control`].
//!
//! `unsafe` code is only in `src/uring/`: there the kernel works on memory while the program
//! continues.

#![deny(unsafe_code)]

pub mod compute;
pub mod control;
pub mod recorder;

mod access;
mod backend;
mod backlog;
mod create;
mod events;
mod examine;
mod fault;
mod frontend;
mod helper;
mod identity;
mod inline;
mod io;
mod joining;
mod machine;
mod member;
mod memory;
mod meter;
mod opening;
mod pace;
mod perform;
mod pulse;
mod requests;
mod roster;
mod seam;
mod server;
mod space;
mod stopper;
mod threads;
mod uring;
mod witness;

pub use access::{Access, Done, Operation, Priority};
pub use backend::IoBackend;
pub use create::{CreateError, CreateReport, CreateRequest, create};
pub use examine::{BadBlockLogSummary, BitmapSummary, Examination, ExamineError, SuperblockSummary, examine};
pub use fault::{Failure, Fault};
pub use frontend::{Frontend, Port};
pub use identity::RandomError;
pub use io::{Choice, Io, StartError};
pub use joining::JoiningError;
pub use member::{Foreign, Member, MemberError, Mode};
pub use memory::{Buffer, Memory, Part, Statistics};
pub use meter::{Rates, ResponseTimes};
pub use opening::{Note, OpenArray, OpenError, OpenRequest, open};
pub use pulse::{MemberPath, Pulse, ServerStatus};
pub use server::{ACCESS_TIMEOUT, ServeError, ServeOptions, Server};
pub use stopper::Stopper;
pub use uring::Lease;
pub use witness::{Change, Witness};
