//! The durable state of the array's own metadata: the bad-block log, and the fence against other
//! servers.

pub(crate) mod bad_blocks;
pub(crate) mod fence;
