//! What hosts ask for, and when: streams of requests, drawn from distributions.
//!
//! A workload knows nothing of arrays or drives: it has so many sectors before it. All that is
//! drawn comes from a [`Random`](random::Random) that is passed in, so that a seed says all.
//!
//! A [`source`] says what is asked for, and when: a [`Pattern`](source::Pattern) of [`task`]s, each
//! of which is a request or several, in a closed or an open [`Load`](source::Load). Read [`size`]
//! (how much), [`place`] (where) and [`stream`] (both, and what is done), [`accounts`] (a bank's
//! transactions), [`files`] (read whole), [`pass`] (from one end to the other), [`bonnie`] (its
//! phases), [`trace`] and [`replay`] (what was recorded elsewhere); [`delay`] (how long until the
//! next), and [`space`] (what there is to ask for).

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
