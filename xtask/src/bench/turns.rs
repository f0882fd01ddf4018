//! Runs the targets in turns, because the machine's speed drifts.

use super::error::BenchError;
use super::fio::{self, Job};
use super::table::Results;
use super::targets::{Served, Target};

/// Runs each job on each target, run after run.
pub(super) fn measure(
    targets: &[Target],
    jobs: &[Job],
    runs: u32,
    seconds: u32,
    (title, place): (&str, &tempfile::TempDir),
) -> Result<Results, BenchError> {
    let mut results = Results::new(targets, jobs);
    for run in 0..runs {
        for (index, target) in targets.iter().enumerate() {
            eprintln!("{title}: run {} of {runs}: {}", run + 1, target.name());
            let served = target.start(place.path())?;
            fio::fill(&served)?;
            settle(&served)?;
            for (column, job) in jobs.iter().enumerate() {
                let before = served.accesses();
                let measured = job.run(&served, seconds)?;
                results.add(index, column, measured, before, served.accesses());
            }
            results.note_memory(index, served.peak_memory());
        }
    }
    Ok(results)
}

/// Brings a parity log to its steady state: runs writes until each region in use was reintegrated
/// three times.
fn settle(served: &Served) -> Result<(), BenchError> {
    while served.least_reintegrations().is_some_and(|least| least < 3) {
        fio::stir(served)?;
    }
    Ok(())
}
