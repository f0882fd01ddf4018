//! Tests of runs that are watched and stopped.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use crate::common::{BLOCK, MS, array};
use parlour_sim::report::{Ended, Report};
use parlour_sim::run::{Measure, Progress, RunError, WarmUp, Watch, watched};
use parlour_units::Duration;
use parlour_workload::delay::Delay;
use parlour_workload::place::{Place, Places};
use parlour_workload::random::Random;
use parlour_workload::size::{Size, Sizes};
use parlour_workload::source::{Load, Pattern, Source};
use parlour_workload::space::Space;
use parlour_workload::stream::Stream;

/// Collects the progress of a run, and stops it after this number of answers.
struct Until {
    answers: u64,
    heard: Vec<Progress>,
}

impl Watch for Until {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        self.heard.push(*progress);
        progress.answered < self.answers
    }
}

fn run(warm_up: u64, least: u64, most: u64, watch: &mut dyn Watch) -> Result<Report, RunError> {
    let mut world = array("raid5", 4);
    let space = Space::new(world.capacity(), BLOCK).unwrap();
    let sizes = Sizes::new(Size::Fixed(BLOCK.get() as f64), BLOCK, BLOCK, BLOCK).unwrap();
    let places = Places::new(Place::Uniform, &space).unwrap();
    let load = Load::Closed { processes: 4, think: Delay::Fixed(Duration::ZERO) };
    let pattern = Pattern::Stream(Stream::new(0.5, sizes, places).unwrap());
    let mut sources = [Source::new("hosts", load, pattern).unwrap()];
    let warm_up = WarmUp { requests: warm_up, ..WarmUp::default() };
    let measure = Measure { warm_up, least, most, precision: 0.01, ..Measure::default() };
    watched(&mut world, &mut sources, &measure, &Random::new(5), watch)
}

#[test]
fn a_run_that_is_broken_off_shows_what_was_measured_until_then() {
    let mut watch = Until { answers: 5_000, heard: Vec::new() };
    let report = run(1_000, 100_000, 100_000, &mut watch).unwrap();
    let counted = report.all().all.response.count();
    assert_eq!(report.ended, Ended::Interrupted);
    assert_eq!(watch.heard.last().unwrap().answered, 1_000 + counted);
    assert!((4_000..6_000).contains(&counted), "{counted}");
    assert!(report.all().all.response.quantile(0.5) > MS(1));
}

#[test]
fn a_run_that_is_broken_off_before_anything_is_counted_shows_nothing() {
    let told = run(50_000, 1_000, 1_000, &mut Until { answers: 5_000, heard: Vec::new() });
    let Err(RunError::Interrupted(requests)) = told else { panic!("{told:?}") };
    assert!((5_000..7_000).contains(&requests), "{requests}");
}

#[test]
fn who_follows_hears_what_is_left_and_changes_nothing() {
    let mut watch = Until { answers: u64::MAX, heard: Vec::new() };
    let followed = run(1_000, 2_000, 1_000_000, &mut watch).unwrap();
    let alone = run(1_000, 2_000, 1_000_000, &mut ()).unwrap();
    assert_eq!(format!("{followed:?}"), format!("{alone:?}"));
    assert_eq!(followed.ended, Ended::Precise);
    let whole = (1_000 + followed.all().all.response.count()) as f64;
    let said = watch.heard.iter().filter_map(|progress| progress.expected).collect::<Vec<_>>();
    // The expected number of requests approaches the real one.
    let last = *said.last().unwrap() as f64;
    assert!((0.8..1.25).contains(&(last / whole)), "{last} of {whole}");
    assert!(watch.heard.windows(2).all(|pair| pair[0].answered <= pair[1].answered));
    let warm = watch.heard.iter().filter(|progress| progress.answered < 1_000);
    assert!(warm.clone().count() > 0);
    assert!(warm.into_iter().all(|progress| progress.expected.is_none()));
}
