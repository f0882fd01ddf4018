//! Workloads: streams of hosts' requests, drawn from distributions.
//!
//! A workload does not depend on arrays or drives: it addresses a number of sectors. All random
//! values come from a [`Random`](random::Random) that the caller passes, so a seed determines
//! everything.
//!
//! A [`source`] combines what is requested with when: a [`Pattern`](source::Pattern) of [`task`]s,
//! each of one or several requests, in a closed or an open [`Load`](source::Load). The other
//! modules: [`size`] (the length of requests), [`place`] (their positions) and [`stream`] (both,
//! and the kind of request), [`accounts`] (a bank's transactions), [`files`] (whole-file reads),
//! [`pass`] (sequential passes), [`bonnie`] (its phases), [`trace`] and [`replay`] (recorded
//! requests), [`delay`] (times between requests), and [`space`] (the address space).

pub mod accounts;
pub mod bonnie;
pub mod delay;
pub mod files;
pub mod pass;
pub mod place;
pub mod random;
pub mod replay;
pub mod size;
pub mod source;
pub mod space;
pub mod stream;
pub mod task;
pub mod trace;
