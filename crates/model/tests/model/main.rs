//! What closed forms say, by subject. One program: each takes time to build.

mod common;
mod counting;
mod disks;
mod fork_join;
mod order;
mod service;
mod stodolsky;
mod utilization;
mod varki;
mod writes;
