//! The five papers reproduced: their printed numbers, our values, and whether the two agree.
//!
//! Read [`library`] (the printed numbers, as data), [`kind`] (when ours agrees: one rule per kind),
//! [`study`] (how our values are computed), `studies/` (one paper each), then the steps: [`plan`]
//! runs every experiment once and returns the [`evidence`], `judge` gives the verdicts, [`report`]
//! collects the results, and [`page`] makes an HTML page of them.

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
