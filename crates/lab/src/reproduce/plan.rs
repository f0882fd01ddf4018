//! Runs the experiments of the papers: each experiment once, and all runs on all cores.

use std::path::PathBuf;

use super::evidence::{Evidence, Experimented, Run};
use super::experiments;
use super::library::Library;
use super::pace::Pace;
use super::paper::Paper;
use super::report::Report;
use super::studies;
use super::study::Study;
use crate::experiment::build::BuildError;
use crate::experiment::prepared::Prepared;
use crate::experiment::{Experiment, ExperimentError, Point};
use crate::figures::Figures;
use crate::simulate::run_all;

/// The factor by which a quick simulation has fewer requests.
const QUICK: u64 = 20;
/// The same for a glance, which does not wait for reintegrations.
const GLANCE: u64 = 2_000;

/// The runs for some papers.
pub struct Plan {
    pace: Pace,
    library: Library,
    studies: Vec<Study>,
    experiments: Vec<Planned>,
    prepared: Vec<Prepared>,
}

/// An experiment, whose runs are consecutive in `prepared`.
struct Planned {
    name: &'static str,
    axes: Vec<String>,
    values: Vec<Vec<String>>,
}

/// Why papers cannot be reproduced.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A study names an experiment that does not exist.
    #[error("there is no experiments/{0}.toml: name one that there is in the study of the paper")]
    Unknown(&'static str),
    /// An experiment file is invalid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// A setting of an experiment is invalid.
    #[error("experiments/{name}.toml, with {values}: {source}")]
    Build {
        /// The experiment.
        name: &'static str,
        /// The values of its axes.
        values: String,
        /// What is wrong.
        source: BuildError,
    },
}

impl Plan {
    /// Plans the runs for these papers.
    ///
    /// # Errors
    /// One of their experiments is invalid.
    pub fn new(papers: &[Paper], pace: Pace) -> Result<Plan, PlanError> {
        let of = Paper::ALL.into_iter().filter(|paper| papers.contains(paper));
        Plan::of(Library::carried(), of.map(studies::study).collect(), pace)
    }

    /// Plans the runs for any studies.
    ///
    /// # Errors
    /// One of their experiments is invalid.
    pub fn of(library: Library, studies: Vec<Study>, pace: Pace) -> Result<Plan, PlanError> {
        let mut names: Vec<&'static str> = Vec::new();
        for name in studies.iter().flat_map(|study| &study.experiments) {
            if !names.contains(name) {
                names.push(name);
            }
        }
        let (mut experiments, mut prepared) = (Vec::new(), Vec::new());
        for name in names {
            let (planned, ready) = prepare(name, pace)?;
            experiments.push(planned);
            prepared.extend(ready);
        }
        Ok(Plan { pace, library, studies, experiments, prepared })
    }

    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.prepared.len()
    }

    /// Runs the simulations and judges the results. `done` is called when a run ends.
    pub fn carry_out(self, done: impl Fn() + Sync) -> Report {
        let Plan { pace, library, studies, experiments, prepared } = self;
        let mut shown = run_all(&prepared, done).into_iter();
        let experimented = experiments.into_iter().map(|Planned { name, axes, values }| {
            let runs = values.into_iter().zip(shown.by_ref()).map(|(values, shown)| {
                let figures = shown.map(|outcome| Figures::of(&outcome, true)).map_err(|why| why.to_string());
                Run { values, figures }
            });
            Experimented { name: name.to_owned(), axes, runs: runs.collect() }
        });
        let experiments = experimented.collect();
        Report::of(&studies, &Evidence { library, experiments }, pace)
    }
}

fn prepare(name: &'static str, pace: Pace) -> Result<(Planned, Vec<Prepared>), PlanError> {
    let text = experiments::find(name).ok_or(PlanError::Unknown(name))?;
    let experiment = Experiment::parse(&PathBuf::from(format!("experiments/{name}.toml")), text, &[])?;
    let points = experiment.points()?;
    let build = |point: &Point| {
        let mut setup = point.setup.clone();
        match pace {
            Pace::Full => {}
            Pace::Quick => setup.measure = setup.measure.shortened(QUICK),
            Pace::Glance => {
                setup.measure = setup.measure.shortened(GLANCE);
                setup.measure.warm_up_reintegrations = None;
            }
        }
        let values = experiment.named(&point.labels);
        setup.prepare(&experiment.path).map_err(|source| PlanError::Build { name, values, source })
    };
    let prepared = points.iter().map(build).collect::<Result<Vec<_>, _>>()?;
    let axes = experiment.axes.iter().map(|axis| axis.title.clone()).collect();
    let values = points.into_iter().map(|point| point.labels).collect();
    Ok((Planned { name, axes, values }, prepared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::evidence::EvidenceError;
    use crate::reproduce::study::Finding;
    use crate::reproduce::verdict::Verdict;

    /// A study with a small experiment.
    fn study() -> Study {
        Study::of(Paper::Molnar)
            .experiment("molnar/seeks")
            .number("mo.bonnie.one.seeks", |evidence| {
                let runs = &evidence.experiment("molnar/seeks")?.runs;
                let values: Vec<&str> = runs[0].values.iter().map(String::as_str).collect();
                Ok(Finding::estimated(evidence.run("molnar/seeks", &values)?.throughput))
            })
            .number("mo.bonnie.four.seeks", |evidence| {
                let run = evidence.run("molnar/seeks", &["of no such disk"])?;
                Ok(Finding::estimated(run.throughput))
            })
            .number("mo.sqrt", |evidence| Ok(Finding::model(evidence.published("mo.1_2")?)))
    }

    #[test]
    fn an_experiment_that_two_papers_need_is_run_once() {
        let one = Plan::of(Library::carried(), vec![study()], Pace::Quick).expect("it can be run").runs();
        let twice = Plan::of(Library::carried(), vec![study(), study()], Pace::Quick).expect("it can be run");
        assert!(one > 0);
        assert_eq!(twice.runs(), one);
    }

    #[test]
    fn an_experiment_that_there_is_not_is_named() {
        let study = Study::of(Paper::Chen).experiment("chen/figure-99");
        let error = Plan::of(Library::carried(), vec![study], Pace::Full).err().expect("there is none");
        assert!(error.to_string().starts_with("there is no experiments/chen/figure-99.toml"), "{error}");
    }

    #[test]
    fn every_paper_can_be_planned_at_any_pace() {
        for pace in [Pace::Full, Pace::Quick, Pace::Glance] {
            Plan::new(&Paper::ALL, pace).expect("all experiments are sound");
        }
    }

    #[test]
    fn what_runs_show_gets_to_the_numbers() {
        let plan = Plan::of(Library::carried(), vec![study()], Pace::Quick).expect("it can be run");
        let (runs, heard) = (plan.runs(), std::sync::atomic::AtomicUsize::new(0));
        let report = plan.carry_out(|| {
            heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(heard.into_inner(), runs);
        let number = |id: &str| report.number(id).unwrap_or_else(|| panic!("{id} is in the report"));
        assert!(number("mo.bonnie.one.seeks").interval.is_some());
        let unknown = number("mo.bonnie.four.seeks");
        assert_eq!(unknown.verdict, Verdict::NotComputed);
        let no_run = EvidenceError::NoRun {
            experiment: "molnar/seeks".to_owned(),
            values: "of no such disk".to_owned(),
        };
        assert_eq!(unknown.why, [no_run.to_string()]);
        let no_number = EvidenceError::NoNumber("mo.1_2".to_owned());
        assert_eq!(number("mo.sqrt").why, [no_number.to_string()]);
    }
}
