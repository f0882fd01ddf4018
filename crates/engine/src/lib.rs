//! The array's real driver: members are files and block devices, time is real, payload is memory.
//!
//! From the bottom up:
//! - [`Member`] is an open, locked member: what it is, and its few synchronous accesses;
//! - [`Memory`] owns the payload bytes, by buffer, and lends parts of them to accesses under way;
//! - [`Access`] is one read, write, zeroing or flush of a member, and [`Io`] carries accesses out:
//!   through io_uring, a pool of threads, or at once where that is cheapest;
//! - [`compute`] is the arithmetic between buffers;
//! - `machine.rs` holds the array and does what it asks, and [`recorder`] writes down what passes
//!   between them;
//! - [`create`], [`open`] and [`examine`] are an array's beginning, its assembly, and a look at a
//!   member;
//! - [`Server`] is the loop: hosts by way of a [`Frontend`], members, and commands through
//!   [`control`].
//!
//! `unsafe` code lives under `src/uring/` only: memory that the kernel works on while the program
//! goes on.

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
