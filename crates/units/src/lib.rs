//! Checked quantities: sizes, positions, indices and virtual time.
//!
//! A bare integer does not show whether it counts bytes, sectors or members, and a wrong guess
//! loses data. So each quantity has its own type. Conversions that can fail return `Option` or an
//! error. Arithmetic that would overflow panics, in release builds too: all quantities are bounded
//! by an array's capacity, so an overflow is a bug that must not reach a member. The
//! [wording](words) that messages of all crates share is here too.

mod bytes;
mod index;
mod sector;
mod time;
pub mod words;

pub use bytes::{Bytes, ParseBytesError};
pub use index::{Member, Region, Slot, Stripe, Unit};
pub use sector::{SECTOR_BYTES, Sector, Sectors};
pub use time::{Duration, Instant, ParseDurationError};
