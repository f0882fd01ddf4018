//! What the program does and refuses, command by command. One program: each takes time to build.

#[path = "../common/mod.rs"]
mod common;
mod drives;
mod refusals;
mod reproduce;
mod simulate;
#[path = "../tools/mod.rs"]
mod tools;
mod torture;
mod verdict;
mod version;
