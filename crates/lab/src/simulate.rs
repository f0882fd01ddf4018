//! Runs all runs of an experiment on all cores. The results are in the order of the axes, whatever
//! the order in which the runs end.

use parlour_sim::control::ControlError;
use parlour_sim::report::Ended;
pub use parlour_sim::run::Progress;
use parlour_sim::run::RunError;

use crate::cores::on_all_cores;
use crate::experiment::prepared::{Outcome, PointError, Prepared};

/// The results of a run, or the reason why there are none.
pub type Shown = Result<Outcome, ControlError<PointError>>;

/// Whether a follower has stopped the run. Then its figures cover only a part of the measurement,
/// or there are none.
pub fn is_interrupted(shown: &Shown) -> bool {
    match shown {
        Ok(outcome) => outcome.report.ended == Ended::Interrupted,
        Err(error) => matches!(error, ControlError::Run(PointError::Run(RunError::Interrupted(_)))),
    }
}

/// Follows runs, and may stop them. A run is identified by its number. Several runs are under way
/// at once.
pub trait Follow: Sync {
    /// Asks whether a run may begin.
    fn begins(&self, _run: usize) -> bool {
        true
    }

    /// Reports the progress of a run. Returns whether the run continues.
    fn goes_on(&self, _run: usize, _progress: &Progress) -> bool {
        true
    }

    /// Reports that a run has ended.
    fn ended(&self, run: usize);
}

/// A follower that only reports ended runs.
struct Count<F>(F);

impl<F: Fn() + Sync> Follow for Count<F> {
    fn ended(&self, _run: usize) {
        (self.0)();
    }
}

/// Runs all prepared runs. `done` is called when a run ends.
pub fn run_all(prepared: &[Prepared], done: impl Fn() + Sync) -> Vec<Shown> {
    let shown = follow_all(prepared, &Count(done));
    shown.into_iter().map(|report| report.expect("nobody keeps a run from beginning")).collect()
}

/// Runs all prepared runs with a follower. The result of a run that did not begin is `None`.
pub fn follow_all(prepared: &[Prepared], follow: &impl Follow) -> Vec<Option<Shown>> {
    on_all_cores(prepared.len(), |number| {
        follow.begins(number).then(|| {
            let report = prepared[number].run_followed(&mut |progress| follow.goes_on(number, progress));
            follow.ended(number);
            report
        })
    })
}
