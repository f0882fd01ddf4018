//! Organizations of others, which exist in simulations only: what parity logging is compared with.
//!
//! Each is a small state machine without payload. It has no clock, no I/O, no threads and no random
//! numbers. It is given requests and completed accesses, and answers with accesses to do next
//! ([`seam`]). Its memory holds what a controller would hold: maps, and which units wait.
//!
//! - [`mirrors`]: distorted mirrors (Solworth and Orji 1991) and doubly distorted mirrors (Orji and
//!   Solworth 1993);
//! - [`lraid`]: LRAID-X4 (Bhide and Dias 1992);
//! - [`structured`]: a log-structured array (Rosenblum and Ousterhout 1992) over RAID 5.
//!
//! They lose no members: failures are not simulated. `docs/related-work.md` says what each keeps
//! when something fails, and what was assumed where its paper was not at hand.

mod desk;
pub mod instant;

pub mod lraid;
pub mod mirrors;
mod order;
mod refused;
pub mod seam;
mod slab;
mod stripes;
pub mod structured;

pub use refused::Refused;
pub use seam::{Access, AccessId, Act, Request, Rival, Tag, Way};
