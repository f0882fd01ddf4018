//! The five papers reproduced: what they print, ours beside it, and whether the two agree.
//!
//! Read [`library`] (what the papers print, as data), [`kind`] (when ours agrees: one rule a kind),
//! [`study`] (how ours is got), `studies/` (a paper each), then the way through: [`plan`] runs
//! every experiment once and gives the [`evidence`], `judge` comes to verdicts, and [`report`] has
//! what people are shown; [`page`] makes a page of it.

pub mod drawing;
pub mod evidence;
pub mod experiments;
pub mod figure;
mod judge;
pub mod kind;
pub mod library;
pub mod pace;
pub mod page;
pub mod paper;
pub mod plan;
pub mod report;
mod studies;
pub mod study;
pub mod value;
mod verdict;

pub use verdict::Verdict;
