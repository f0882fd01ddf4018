//! The progress of simulations, for the progress bar, and their interruption.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use indicatif::ProgressBar;
use parlour_lab::experiment::prepared::Prepared;
use parlour_lab::simulate::{Follow, Progress};

use crate::console::counted;

/// Follows the runs of all files.
pub(super) struct Follower<'a> {
    stop: &'a AtomicBool,
    bar: Option<&'a ProgressBar>,
    began: Instant,
    runs: Mutex<Vec<Run>>,
}

/// The runs of one file.
pub(super) struct OfFile<'a> {
    follower: &'a Follower<'a>,
    /// The index of its first run.
    first: usize,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    stage: Stage,
    foreseeable: bool,
    answered: u64,
    expected: Option<u64>,
    precision: f64,
    wanted: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Going,
    Ended,
}

/// The content of the progress bar.
#[derive(Debug, PartialEq)]
struct Account {
    /// The fraction that is done.
    part: f64,
    text: String,
}

/// The length of the progress bar.
const LENGTH: u64 = 1_000;

impl<'a> Follower<'a> {
    pub(super) fn new<'p>(
        prepared: impl Iterator<Item = &'p Prepared>,
        stop: &'a AtomicBool,
        bar: Option<&'a ProgressBar>,
    ) -> Follower<'a> {
        let runs = prepared.map(|prepared| Run::waiting(prepared.is_foreseeable())).collect();
        if let Some(bar) = bar {
            bar.set_length(LENGTH);
        }
        Follower { stop, bar, began: Instant::now(), runs: Mutex::new(runs) }
    }

    pub(super) fn of_file(&'a self, first: usize) -> OfFile<'a> {
        OfFile { follower: self, first }
    }

    /// Whether an interrupt has ended the simulations early.
    pub(super) fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn note(&self, run: usize, change: impl FnOnce(&mut Run)) {
        let Some(bar) = self.bar else { return };
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut runs[run]);
        let Account { part, text } = account(&runs, self.began.elapsed().as_secs());
        drop(runs);
        bar.set_position((part * LENGTH as f64) as u64);
        bar.set_message(text);
    }
}

impl Follow for OfFile<'_> {
    fn begins(&self, run: usize) -> bool {
        self.follower.note(self.first + run, |run| run.stage = Stage::Going);
        !self.follower.is_interrupted()
    }

    fn goes_on(&self, run: usize, progress: &Progress) -> bool {
        self.follower.note(self.first + run, |run| run.take(progress));
        !self.follower.is_interrupted()
    }

    fn ended(&self, run: usize) {
        self.follower.note(self.first + run, |run| run.stage = Stage::Ended);
    }
}

impl Run {
    fn waiting(foreseeable: bool) -> Run {
        let (answered, expected, precision, wanted) = (0, None, f64::INFINITY, 0.0);
        Run { stage: Stage::Waiting, foreseeable, answered, expected, precision, wanted }
    }

    fn take(&mut self, progress: &Progress) {
        self.answered = progress.answered;
        self.expected = progress.expected.filter(|_| self.foreseeable);
        (self.precision, self.wanted) = (progress.precision, progress.wanted);
    }

    /// The total number of requests of the run, if it is known.
    fn whole(&self) -> Option<u64> {
        match self.stage {
            Stage::Ended => Some(self.answered),
            Stage::Going => self.expected,
            Stage::Waiting => None,
        }
    }
}

/// The progress of all runs after `seconds`.
fn account(runs: &[Run], seconds: u64) -> Account {
    let ended = runs.iter().filter(|run| run.stage == Stage::Ended).count();
    let answered: u64 = runs.iter().map(|run| run.answered).sum();
    let mut told = Vec::new();
    let all = expected(runs);
    told.push(match all {
        Some(all) => format!("{answered} of about {all} requests"),
        None => counted(answered, "request"),
    });
    let going = runs.iter().filter(|run| run.stage == Stage::Going && run.precision.is_finite());
    if let Some(widest) = going.max_by(|one, other| one.precision.total_cmp(&other.precision)) {
        let percent = |part: f64| format!("±{:.2}%", part * 100.0);
        told.push(format!("{} (until {})", percent(widest.precision), percent(widest.wanted)));
    }
    if runs.len() > 1 {
        told.push(format!("{ended} of {} runs", runs.len()));
    }
    told.push(clock(seconds));
    let part = match all {
        Some(all) => answered as f64 / all.max(1) as f64,
        None => ended as f64 / runs.len().max(1) as f64,
    };
    told.push(match all {
        Some(_) if answered > 0 => {
            let left = seconds as f64 * (1.0 - part) / part;
            format!("about {} left", clock(left.ceil() as u64))
        }
        _ => "time left unknown".to_owned(),
    });
    Account { part: part.min(1.0), text: told.join(", ") }
}

/// The total number of requests of all runs, if it can be estimated: a run that has not begun
/// counts as the mean of the others.
fn expected(runs: &[Run]) -> Option<u64> {
    if runs.iter().any(|run| run.stage == Stage::Going && run.expected.is_none()) {
        return None;
    }
    let known: Vec<u64> = runs.iter().filter_map(Run::whole).collect();
    let sum: u64 = known.iter().sum();
    let waiting = (runs.len() - known.len()) as u64;
    if waiting > 0 && (known.is_empty() || runs.iter().any(|run| !run.foreseeable)) {
        return None;
    }
    Some(sum + sum / known.len().max(1) as u64 * waiting)
}

/// Formats a time as `0:07`, `12:03` or `1:00:00`.
fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn going(answered: u64, expected: Option<u64>, precision: f64) -> Run {
        let mut run = Run { stage: Stage::Going, ..Run::waiting(true) };
        run.take(&Progress { answered, expected, precision, wanted: 0.02 });
        run
    }

    fn text(runs: &[Run], seconds: u64) -> String {
        account(runs, seconds).text
    }

    #[test]
    fn a_run_tells_requests_and_precision_and_no_time_that_it_does_not_know() {
        let run = going(2_000, None, f64::INFINITY);
        assert_eq!(text(&[run], 3), "2000 requests, 0:03, time left unknown");
        let run = going(5_000, Some(20_000), 0.04);
        assert_eq!(
            text(&[run], 65),
            "5000 of about 20000 requests, ±4.00% (until ±2.00%), 1:05, about 3:15 left"
        );
        let search = Run { foreseeable: false, ..Run::waiting(false) };
        let search = Run { stage: Stage::Going, answered: 9, ..search };
        assert_eq!(text(&[search], 3_600), "9 requests, 1:00:00, time left unknown");
    }

    #[test]
    fn runs_that_wait_are_taken_to_be_like_the_others() {
        let ended = Run { stage: Stage::Ended, ..going(10_000, Some(10_000), 0.02) };
        let runs = [ended, going(10_000, Some(20_000), 0.03), Run::waiting(true)];
        let Account { part, text } = account(&runs, 10);
        assert_eq!(
            text,
            "20000 of about 45000 requests, ±3.00% (until ±2.00%), 1 of 3 runs, 0:10, about 0:13 left"
        );
        assert!((part - 20.0 / 45.0).abs() < 1e-9);
        let begun = [Run::waiting(true), going(0, None, f64::INFINITY)];
        assert_eq!(account(&begun, 0).text, "0 requests, 0 of 2 runs, 0:00, time left unknown");
    }
}
