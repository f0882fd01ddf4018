//! Models of disk drives: how long accesses take that arms, platters, buffers and buses make slow.
//!
//! A drive is described by a file (`drives/*.toml`), and knows nothing of arrays.
//!
//! Read [`surface`] (where a block is), [`seek`] and [`angle`] (how far away that is),
//! [`mechanics`] (what an access costs the moving parts), [`electronics`] and [`drive`] (and with
//! buffers and a bus). A drive in which nothing moves is [`solid`].

pub mod angle;
pub mod catalogue;
pub mod description;
pub mod drive;
pub mod electronics;
pub mod mechanics;
pub mod queue;
mod refusal;
pub mod seek;
pub mod solid;
pub mod sparing;
mod stream;
pub mod surface;
pub mod validate;
