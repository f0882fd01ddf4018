//! What experiments and comparisons promise. One program: each takes time to build.

mod experiments;
mod predict;
mod rivals;
mod varki;
