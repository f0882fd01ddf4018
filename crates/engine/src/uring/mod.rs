//! The io_uring backend, and memory that the kernel works on while the program continues.
//!
//! All `unsafe` code of this crate is here. It depends on one rule, which `pages` enforces: a part
//! of a buffer that is lent to an access can be used only as the loan allows, and is not freed
//! before the loan is given back.

#![allow(unsafe_code)]

mod pages;
mod ring;

pub use pages::Lease;
pub(crate) use pages::{PAGE, Pages};
pub(crate) use ring::Ring;
