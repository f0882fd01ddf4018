//! `parlour torture`: runs the fault tester, seed by seed: the array on members in memory, with all
//! faults of disks and power.

use std::collections::{BTreeMap, BTreeSet};
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use parlour_array::organization::{Consistency, Organization};
use parlour_fault::{Coverage, Fault, Limits, Report, State, Story, explain, is_promised, run as run_seed};
use serde::Serialize;

use crate::console::{Columns, Console, counted};
use crate::failure::Failure;
use crate::interrupt::stop_when_interrupted;
use crate::settings::ConsistencyName;

/// The number of seeds, if neither a count nor a time is given.
const SEEDS: u64 = 1_000;
/// The most runs in the search for the shortest failing script.
const ATTEMPTS: u32 = 1_000;
/// The most lines of a trace in the text output. The JSON output has all of them.
const LAST_LINES: usize = 60;

/// Try to make arrays lose data: crashes, torn writes, dying members, unreadable sectors
///
/// Each seed is an array of random shape in memory, with hosts that use it and faults that are
/// injected into it. Every read is checked against what the array promises. A seed that breaks a
/// promise is reduced to a short report, and fails in the same way each time. Ctrl-C stops the
/// run, and reports what was found so far.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// How many seeds to run (1000, unless --minutes is given)
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Only this organization
    #[arg(long, short = 'o', value_name = "NAME")]
    organization: Option<String>,
    /// Stop after so many minutes
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    minutes: Option<f64>,
    /// Inject more faults than the organization survives: it may then report lost data as lost, but
    /// must not read it wrong
    #[arg(long)]
    beyond: bool,
    /// Go on after a seed that broke a promise; list all such seeds, and report the first in full
    #[arg(long)]
    keep_going: bool,
    /// The consistency of arrays with parity [default: both, by seed]
    #[arg(long, value_name = "HOW")]
    consistency: Option<ConsistencyName>,
}

/// Parses a time in minutes that the clock can represent.
fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    match Duration::try_from_secs_f64(minutes * 60.0).ok().and_then(|time| Instant::now().checked_add(time)) {
        Some(_) => Ok(minutes),
        None => Err("write a number of minutes that somebody may wait for, such as 5 or 0.5".to_owned()),
    }
}

/// The answer: the results of all seeds.
#[derive(Serialize)]
struct Found {
    first_seed: u64,
    seeds: u64,
    seconds: f64,
    seeds_per_second: f64,
    requests: u64,
    median_requests: u64,
    organizations: Vec<Tried>,
    coverage: Vec<Met>,
    broken: Vec<u64>,
    violation: Option<Told>,
}

/// The amount of testing of an organization.
#[derive(Serialize)]
struct Tried {
    organization: &'static str,
    consistency: &'static str,
    seeds: u64,
    requests: u64,
    faults: u64,
}

/// How often a fault was injected in a state.
#[derive(Serialize)]
struct Met {
    fault: &'static str,
    state: &'static str,
    count: u64,
}

/// A violation and its trace.
#[derive(Serialize)]
struct Told {
    seed: u64,
    organization: &'static str,
    kind: &'static str,
    violation: String,
    array: String,
    events: Vec<String>,
    trace: Vec<String>,
    replay: String,
}

/// The results of all threads.
#[derive(Default)]
struct Seen {
    coverage: Coverage,
    requests: Vec<u64>,
    /// By organization and consistency: seeds, requests, faults.
    organizations: BTreeMap<(&'static str, &'static str), [u64; 3]>,
    /// The seeds that failed.
    broken: BTreeSet<u64>,
    /// The failing run with the lowest seed.
    failed: Option<Report>,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let organization = match &options.organization {
        Some(name) => Some(*Organization::named(name).map_err(|error| Failure::Usage(error.to_string()))?),
        None => None,
    };
    let consistency = options.consistency.map(Consistency::from);
    let limits = Limits { organization, consistency, beyond: options.beyond, ..Limits::default() };
    let (coverage, found) = torture(options, &limits, console);
    console.answer(&found, || text(&coverage, &found))?;
    match found.violation {
        Some(told) => Err(Failure::Tortured { seed: told.seed, violation: told.violation }),
        None => Ok(()),
    }
}

/// Runs seeds on all cores until they are done, time is up, or one fails.
fn torture(options: &Options, limits: &Limits, console: Console) -> (Coverage, Found) {
    let began = Instant::now();
    let stop = stop_when_interrupted();
    let until = options.minutes.map(|minutes| began + Duration::from_secs_f64(minutes * 60.0));
    let count = options.seeds.unwrap_or(if until.is_some() { u64::MAX - options.seed } else { SEEDS });
    let bar = console.shows_progress().then(|| progress(options, count));
    // A failed assertion is reported as the run's violation.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let seen = run_all((options.seed, count), (until, options.keep_going), limits, &stop, bar.as_ref());
    let seconds = began.elapsed().as_secs_f64();
    if let Some(bar) = &bar {
        bar.set_message("looking for the shortest story");
    }
    let violation = seen.failed.as_ref().and_then(|report| tell(report, limits, options));
    panic::set_hook(hook);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let mut requests = seen.requests;
    requests.sort_unstable();
    let found = Found {
        first_seed: options.seed,
        seeds: requests.len() as u64,
        seconds,
        seeds_per_second: requests.len() as f64 / seconds.max(1e-9),
        requests: requests.iter().sum(),
        median_requests: requests.get(requests.len() / 2).copied().unwrap_or(0),
        organizations: tried(&seen.organizations),
        coverage: met(&seen.coverage),
        broken: seen.broken.into_iter().collect(),
        violation,
    };
    (seen.coverage, found)
}

fn run_all(
    (first, count): (u64, u64),
    (until, keeps_going): (Option<Instant>, bool),
    limits: &Limits,
    stop: &AtomicBool,
    bar: Option<&ProgressBar>,
) -> Seen {
    let next = AtomicU64::new(0);
    let seen = Mutex::new(Seen::default());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let late = until.is_some_and(|until| Instant::now() >= until);
            if number >= count || late || stop.load(Ordering::Relaxed) {
                return;
            }
            let report = run_seed(first + number, limits);
            stop.fetch_or(report.violation.is_some() && !keeps_going, Ordering::Relaxed);
            seen.lock().unwrap_or_else(PoisonError::into_inner).take(report);
            if let Some(bar) = bar {
                bar.inc(1);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    seen.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Seen {
    fn take(&mut self, report: Report) {
        self.coverage.add(&report.coverage);
        self.requests.push(report.requests);
        let sums = self.organizations.entry((report.organization, report.consistency)).or_default();
        let counts = [1, report.requests, report.coverage.total()];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        self.broken.extend(report.violation.is_some().then_some(report.seed));
        let lower = self.failed.as_ref().is_none_or(|other| report.seed < other.seed);
        if report.violation.is_some() && lower {
            self.failed = Some(report);
        }
    }
}

fn progress(options: &Options, count: u64) -> ProgressBar {
    let bounded = options.seeds.is_some() || options.minutes.is_none();
    let template = match bounded {
        true => "{bar:40} {pos} of {len} seeds, {per_sec}, {eta} left {msg}",
        false => "{elapsed} {pos} seeds, {per_sec} {msg}",
    };
    let style = ProgressStyle::with_template(template).expect("the template is sound");
    ProgressBar::new(count).with_style(style)
}

/// The shortest description of a failing run.
fn tell(report: &Report, limits: &Limits, options: &Options) -> Option<Told> {
    let Story { seed, array, violation, events, trace } = explain(report.seed, limits, ATTEMPTS)?;
    let organization = options.organization.as_ref().map(|name| format!(" --organization {name}"));
    let consistency = limits.consistency.map(|consistency| format!(" --consistency {}", consistency.name()));
    let beyond = if options.beyond { " --beyond" } else { "" };
    Some(Told {
        seed,
        organization: report.organization,
        kind: violation.kind(),
        violation: violation.to_string(),
        array,
        events,
        trace,
        replay: format!(
            "parlour torture --seeds 1 --seed {seed}{}{}{beyond}",
            organization.unwrap_or_default(),
            consistency.unwrap_or_default()
        ),
    })
}

fn tried(organizations: &BTreeMap<(&'static str, &'static str), [u64; 3]>) -> Vec<Tried> {
    let tried = |(&(organization, consistency), &[seeds, requests, faults]): (&(_, _), &[u64; 3])| Tried {
        organization,
        consistency,
        seeds,
        requests,
        faults,
    };
    organizations.iter().map(tried).collect()
}

fn met(coverage: &Coverage) -> Vec<Met> {
    let pairs = Fault::ALL.into_iter().flat_map(|fault| State::ALL.map(|state| (fault, state)));
    pairs
        .map(|(fault, state)| Met {
            fault: fault.name(),
            state: state.name(),
            count: coverage.count(fault, state),
        })
        .collect()
}

fn text(coverage: &Coverage, found: &Found) -> String {
    let mut text = format!(
        "{} in {:.1} s ({:.1} a second), {} requests (median {})\n\n",
        counted(found.seeds, "seed"),
        found.seconds,
        found.seeds_per_second,
        found.requests,
        found.median_requests,
    );
    let mut columns =
        Columns::new(["Organization", "consistency", "seeds", "requests", "faults"]).right(2..=4);
    for Tried { organization, consistency, seeds, requests, faults } in &found.organizations {
        let counts = [seeds, requests, faults].map(u64::to_string);
        columns.row([*organization, *consistency].map(str::to_owned).into_iter().chain(counts));
    }
    text += &columns.text();
    text.push('\n');
    let header = std::iter::once("Fault").chain(State::ALL.map(State::name));
    let mut columns = Columns::new(header).right(1..=State::ALL.len());
    for fault in Fault::ALL {
        // A combination that is not promised is not tried.
        let counts = State::ALL.map(|state| match coverage.count(fault, state) {
            0 if !is_promised(fault, state) => "-".to_owned(),
            count => count.to_string(),
        });
        columns.row(std::iter::once(fault.name().to_owned()).chain(counts));
    }
    text += &columns.text();
    if found.broken.len() > 1 {
        let seeds: Vec<String> = found.broken.iter().map(u64::to_string).collect();
        text += &format!("\nPromises were broken by the seeds {}\n", seeds.join(", "));
    }
    match &found.violation {
        Some(told) => text + &story(told),
        None => text + "\nNo promise was broken\n",
    }
}

fn story(told: &Told) -> String {
    let lines = |lines: &[String]| lines.iter().map(|line| format!("  {line}\n")).collect::<String>();
    let first = told.trace.len().saturating_sub(LAST_LINES);
    format!(
        "\nSeed {} broke a promise ({})\n  {}\n\nThe array\n  {}\n\nThe events that suffice\n{}\nWhat happened last\n{}\n\
         To see it again\n  {}\n",
        told.seed,
        told.organization,
        told.violation,
        told.array,
        lines(&told.events),
        lines(&told.trace[first..]),
        told.replay,
    )
}
