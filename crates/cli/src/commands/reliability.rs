//! `parlour reliability`: how likely arrays lose data, and how much.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use parlour_lab::reliability::{Estimate, RebuildSource, Reliability, assess_all};
use parlour_units::Bytes;
use serde::Serialize;

use super::experiments::{Files, FilesError, Points, Shown};
use crate::console::{Columns, Console, counted};
use crate::failure::Failure;

/// Say how likely arrays lose data, and how much: the same files as `parlour simulate`
///
/// Lives of arrays are drawn: drives fail, are replaced and rebuilt, and have sectors that cannot
/// be read. What is lost with them is asked of the array's layout and code. The table [reliability]
/// of a file says what is assumed; the time of a rebuild is simulated unless it is given there.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    files: Files,
}

/// The reliability of an array, or why it has none.
#[derive(Clone, Debug, Serialize)]
struct Assessed {
    reliability: Option<Reliability>,
    error: Option<String>,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let files = options.files.arrays()?;
    let arrays = files.iter().map(|file| file.points.len()).sum::<usize>();
    let bar = console.shows_progress().then(|| bar(arrays));
    let shown: Vec<Shown<Assessed>> = files.iter().map(|file| assess(file, bar.as_ref())).collect();
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    console.answer(&shown, || shown.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    let runs = || shown.iter().flat_map(|shown| &shown.runs);
    match runs().filter(|run| run.shown.reliability.is_none()).count() {
        0 => Ok(()),
        failed => Err(FilesError::NotAssessed(failed, counted(runs().count() as u64, "array")).into()),
    }
}

fn bar(arrays: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:40} {pos} of {len} arrays").expect("the template is sound");
    let bar = ProgressBar::new(arrays as u64).with_style(style);
    bar.tick();
    bar
}

/// Assesses all arrays of a file.
fn assess(file: &Points, bar: Option<&ProgressBar>) -> Shown<Assessed> {
    let setups: Vec<_> = file.points.iter().map(|point| &point.setup).collect();
    let done = || bar.into_iter().for_each(|bar| bar.inc(1));
    file.shown(assess_all(&setups, file.path(), done).into_iter().map(|assessed| match assessed {
        Ok(reliability) => Assessed { reliability: Some(reliability), error: None },
        Err(error) => Assessed { reliability: None, error: Some(error.to_string()) },
    }))
}

const HEADER: [&str; 12] = [
    "survives", "holds", "rebuild", "years", "failures", "losses", "±", "members", "sectors", "lost", "±",
    "chain",
];

/// The bytes of a TiB.
const TIB: f64 = (1_u64 << 40) as f64;

/// What the columns mean.
const EXPLAINED: &str = "
losses   times at which data is lost in these years, in the mean (their probability, if it is small)
members  those of them at which more members are missing than a stripe survives
sectors  those of them at which a sector is unreadable that is needed
lost     of each TiB of data, in these years (NOMDL)
chain    the mean time to a loss by members alone, by a Markov chain; - if it does not have what is assumed
~        simulated
";

fn text(shown: &Shown<Assessed>) -> String {
    let first = shown.axes.len();
    let header = shown.axes.iter().map(String::as_str).chain(HEADER);
    let mut columns = Columns::new(header).right(first..first + HEADER.len());
    let mut refused = String::new();
    for run in &shown.runs {
        match &run.shown {
            Assessed { reliability: Some(reliability), .. } => {
                columns.row(run.values.iter().cloned().chain(cells(reliability)));
            }
            Assessed { error, .. } => {
                let of = run.values.iter().map(|value| format!("{value}, ")).collect::<String>();
                let of = of.strip_suffix(", ").map_or(String::new(), |of| format!("{of}: "));
                refused += &format!("{of}{}\n", error.as_deref().unwrap_or_default());
            }
        }
    }
    let table = match shown.runs.iter().all(|run| run.shown.reliability.is_none()) {
        true => String::new(),
        false => columns.text() + EXPLAINED + "\n",
    };
    (shown.heading() + &table + &refused).trim_end().to_owned() + "\n"
}

fn cells(reliability: &Reliability) -> [String; HEADER.len()] {
    let simulated = if reliability.rebuild_from == RebuildSource::Simulated { "~" } else { "" };
    [
        reliability.tolerance.to_string(),
        Bytes::new(reliability.capacity).to_string(),
        format!("{simulated}{}", hours(reliability.rebuild_hours)),
        few(reliability.years),
        few(reliability.failures),
        rare(reliability.losses.mean),
        percent(reliability.losses),
        rare(reliability.by_members.mean),
        rare(reliability.by_sectors.mean),
        bytes(reliability.lost_per_byte.mean * TIB),
        percent(reliability.lost_per_byte),
        reliability.chain_mttdl_years.map_or("-".to_owned(), years),
    ]
}

/// `3.2 h`, `4.1 min`.
fn hours(hours: f64) -> String {
    match hours {
        hours if hours >= 1.0 => format!("{hours:.1} h"),
        hours if hours >= 1.0 / 60.0 => format!("{:.1} min", hours * 60.0),
        hours => format!("{} s", few(hours * 3_600.0)),
    }
}

/// A number that is seldom small: `10`, `1.29`, `1.5e-5`.
fn few(value: f64) -> String {
    match value {
        value if value < 0.01 => rare(value),
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

/// A number that may be very small: `0.013`, `3.2e-7`.
fn rare(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value >= 0.01 => format!("{value:.3}"),
        value => format!("{value:.1e}"),
    }
}

/// Years that may be very many: `1234 y`, `1.2e7 y`.
fn years(years: f64) -> String {
    if years < 1e6 { format!("{years:.0} y") } else { format!("{years:.1e} y") }
}

fn percent(estimate: Estimate) -> String {
    match estimate.interval / estimate.mean {
        part if part.is_finite() => format!("{:.1}%", part * 100.0),
        _ => "?".to_owned(),
    }
}

fn bytes(bytes: f64) -> String {
    if bytes < 1.0 { format!("{} B", rare(bytes)) } else { Bytes::new(bytes as u64).to_string() }
}
