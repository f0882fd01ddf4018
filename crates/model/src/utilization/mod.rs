//! The utilization of an array's disks by its load (Stodolsky et al., CMU-CS-93-200, §2 to §6, §9
//! and §10).
//!
//! An [`Array`] is described and [checked](Array::model). Its [`Model`] gives the cost of a write,
//! term by term, and from it the possible rate of writes. The parts specific to parity logging are
//! in the [`LoggingModel`]. The coarser model of §2 is [`coarse`]. Reliability (§7) is
//! [`crate::reliability`].
//!
//! Times are milliseconds of one disk's arm, rates are per second, sizes are data units, sizes of
//! memory are KB of 1024 bytes.

pub mod array;
pub mod coarse;
pub mod load;
pub mod logging;
pub mod lraid;
mod refused;
pub mod regions;
pub mod reintegration;
pub mod space;
pub mod work;

pub use array::{Array, Model, Organization, Update};
pub use logging::{Logging, LoggingModel, Reading, Sublogs};
pub use refused::Refused;
pub use work::Work;
