//! What the array promises when members, the power, memory or its own logs fail. One program: many
//! would take minutes to build.
//!
//! With planted bugs it has only tests of these tests, of which one runs at a time.
#![cfg_attr(feature = "planted-bugs", allow(dead_code, reason = "not each test finds a bug"))]

mod away;
mod clones;
mod commit_log;
#[path = "../common/mod.rs"]
mod common;
mod damaged;
mod excluded;
mod journal;
mod journal_devices;
#[cfg(not(feature = "planted-bugs"))]
mod rescue;
mod several_checks;
mod spare_room;
mod starved;
mod unreadable;
mod whole_stripes;
