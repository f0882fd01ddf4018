//! Memory that the kernel works on while the program goes on, and the io_uring that it does so for.
//!
//! All `unsafe` code of this crate is here. It rests on one rule, kept by `pages`: a part of a
//! buffer that is lent to an access can be reached only as the loan allows, and is not freed before
//! the loan is given back.

#![allow(unsafe_code)]

mod pages;
mod ring;

pub use pages::Lease;
pub(crate) use pages::{PAGE, Pages};
pub(crate) use ring::Ring;
