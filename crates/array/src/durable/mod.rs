//! What members hold of the array itself: what is durable before what.

pub(crate) mod bad_blocks;
pub(crate) mod fence;
