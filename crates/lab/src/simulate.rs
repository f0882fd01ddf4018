//! All runs of an experiment, on all cores; figures come in the order of the axes, whichever run
//! ends first.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parlour_sim::control::ControlError;
use parlour_sim::report::Ended;
pub use parlour_sim::run::Progress;
use parlour_sim::run::RunError;

use crate::experiment::prepared::{Outcome, PointError, Prepared};

/// What a run has shown, or why it shows nothing.
pub type Shown = Result<Outcome, ControlError<PointError>>;

/// Whether whoever follows a run has broken it off: then its figures are of a part of what was to
/// be measured, or it has none.
pub fn is_interrupted(shown: &Shown) -> bool {
    match shown {
        Ok(outcome) => outcome.report.ended == Ended::Interrupted,
        Err(error) => matches!(error, ControlError::Run(PointError::Run(RunError::Interrupted(_)))),
    }
}

/// Somebody who follows runs, and may break them off. Runs are named by their number, and go on at
/// the same time.
pub trait Follow: Sync {
    /// Whether a run is begun.
    fn begins(&self, _run: usize) -> bool {
        true
    }

    /// How far a run has come. Whether it goes on.
    fn goes_on(&self, _run: usize, _progress: &Progress) -> bool {
        true
    }

    /// A run has ended.
    fn ended(&self, run: usize);
}

/// Somebody who counts the runs that have ended.
struct Count<F>(F);

impl<F: Fn() + Sync> Follow for Count<F> {
    fn ended(&self, _run: usize) {
        (self.0)();
    }
}

/// Runs all that is prepared; `done` hears of each run that ends.
pub fn run_all(prepared: &[Prepared], done: impl Fn() + Sync) -> Vec<Shown> {
    let shown = follow_all(prepared, &Count(done));
    shown.into_iter().map(|report| report.expect("nobody keeps a run from beginning")).collect()
}

/// Runs all that is prepared, and has somebody follow. None is what a run has shown that was not
/// begun.
pub fn follow_all(prepared: &[Prepared], follow: &impl Follow) -> Vec<Option<Shown>> {
    let next = AtomicUsize::new(0);
    let shown: Mutex<Vec<Option<Shown>>> = Mutex::new(prepared.iter().map(|_| None).collect());
    let work = || {
        while let Some((number, prepared)) =
            take(&next, prepared).filter(|(number, _)| follow.begins(*number))
        {
            let report = prepared.run_followed(&mut |progress| follow.goes_on(number, progress));
            shown.lock().expect("no run panics while it holds the lock")[number] = Some(report);
            follow.ended(number);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(prepared.len());
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    shown.into_inner().expect("no run panics while it holds the lock")
}

fn take<'a>(next: &AtomicUsize, prepared: &'a [Prepared]) -> Option<(usize, &'a Prepared)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    prepared.get(number).map(|prepared| (number, prepared))
}
