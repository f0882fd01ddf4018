//! What hosts ask for, and when: streams of requests, drawn from distributions.
//!
//! A workload knows nothing of arrays or drives: it has so many sectors before it. All that is drawn comes from a
//! [`Random`](random::Random) that is passed in, so that a seed says all.
//!
//! Read [`size`] (how much), [`place`] (where), [`stream`] (both, and whether it is read), [`delay`] (how long until the
//! next), [`trace`] (what was recorded elsewhere).

pub mod delay;
pub mod place;
pub mod random;
pub mod size;
pub mod stream;
pub mod trace;
