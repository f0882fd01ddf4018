//! The disk array as a state machine: no clock, no thread, no file, no socket, no random numbers,
//! no payload.
//!
//! Read in this order: [`layout`] (where a unit lives), [`organization`] (the four choices),
//! [`plan`] (how a request is carried out), [`Array`] (the public face), `rooms.rs` (the
//! components, and who acts next), then these from the top down: `host/` (requests), `maintenance/`
//! (failure, rebuild, resync, scrub), `stripe.rs` (what a job waits for), `log/` (parity logging),
//! `durable/` (what is durable before what) and `exec/` (how plans are carried out).

mod abandon;
mod admin_error;
mod array;
mod assembly;
mod buffer;
mod cache;
mod code;
mod columns;
mod commands;
mod compression;
mod context;
mod core;
mod draw;
mod durable;
mod effect;
mod errors;
mod exec;
mod explain;
mod format;
mod frontier;
mod geometry;
mod hash;
mod host;
mod identity;
mod ids;
mod implausible;
mod inspect;
mod job;
pub mod layout;
mod log;
mod log_places;
mod lost;
mod maintenance;
mod map;
mod metadata;
mod mode;
mod older;
mod opening;
pub mod organization;
pub mod plan;
mod read;
mod rebuilds;
pub mod record;
mod report;
mod request;
mod risk;
mod rooms;
mod roster;
mod rows;
mod signal;
mod stage;
mod status;
mod stopping;
mod stripe;
mod tuning;
mod update;

pub use admin_error::AdminError;
pub use array::Array;
pub use assembly::{Assembly, AssemblyError, Candidate, Verdict};
pub use buffer::{BufferId, Part, Slice};
pub use code::MOST_PARITIES;
pub use columns::{Columns, Piece, Window};
pub use compression::Compression;
pub use draw::{
    Block, BlockKind, Cell, Content as DrawnContent, Covers, Row, draw_region, draw_regions, draw_units,
};
pub use effect::{Action, Class, Effect, EffectId, Fault, Modify, Outcome};
pub use explain::{
    ExplainError, ExplainedAccess, ExplainedEntry, ExplainedOperation, ExplainedPlan, ExplainedStep,
    Explanation, MappedPiece, NotWhole, PlanAccesses, RequestAccesses, accesses, exact, explain,
    rebuild_accesses,
};
pub use format::bad_block_log::BadBlockLogContent;
pub use format::banks::Banks;
pub use format::bitmap::BitmapContent;
pub use format::commit_entry::CommitPart;
pub use format::segment::SegmentSummary;
pub use format::superblock::{
    Entry, EntryState, FORMAT_VERSION, Recorded, SUPERBLOCK_BYTES, Stage, Superblock, SuperblockError,
};
pub use geometry::{
    ALIGNMENT, Creation, CreationError, Cylinder, Geometry, LogCreation, MAXIMUM_MEMBERS, SUPERBLOCK,
    StoredGeometry,
};
pub use identity::{Identity, ParseIdentityError};
pub use log::{CommitLogContent, CommitLogReader};
pub use lost::LostData;
pub use map::{pieces, windows};
pub use mode::Mode;
pub use opening::{Image, NewArray, Opening, create, is_long_enough};
pub use report::{Located, Mismatch, Repair, ScrubReport, Task};
pub use request::{Completion, Operation, Request, RequestError, Tag};
pub use roster::{MemberInfo, Traffic};
pub use status::{
    Counters, Event, FailureCause, Held, LogStatus, MemberStatus, Status, TrafficStatus, WriteBackStatus,
};
pub use tuning::{LargeWrite, LogFlush, LogPool, QUIET, Simulated, Tuning};
