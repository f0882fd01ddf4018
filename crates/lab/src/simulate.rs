//! All runs of an experiment, on all cores; figures come in the order of the axes, whichever run ends first.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parlour_sim::control::ControlError;

use crate::experiment::prepared::{Outcome, PointError, Prepared};

/// What a run has shown, or why it shows nothing.
pub type Shown = Result<Outcome, ControlError<PointError>>;

/// Runs all that is prepared; `done` hears of each run that ends.
pub fn run_all(prepared: &[Prepared], done: impl Fn() + Sync) -> Vec<Shown> {
    let next = AtomicUsize::new(0);
    let shown: Mutex<Vec<Option<Shown>>> = Mutex::new(prepared.iter().map(|_| None).collect());
    let work = || {
        while let Some((number, prepared)) = take(&next, prepared) {
            let report = prepared.run();
            shown.lock().expect("no run panics while it holds the lock")[number] = Some(report);
            done();
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(prepared.len());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let shown = shown.into_inner().expect("no run panics while it holds the lock");
    shown.into_iter().map(|report| report.expect("every run was taken by a thread")).collect()
}

fn take<'a>(next: &AtomicUsize, prepared: &'a [Prepared]) -> Option<(usize, &'a Prepared)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    prepared.get(number).map(|prepared| (number, prepared))
}
