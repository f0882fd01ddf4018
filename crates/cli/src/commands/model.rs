//! `parlour model`: experiments by closed forms, in no time.

use std::path::PathBuf;

use clap::Args;
use parlour_lab::experiment::predict::{Clocks, Prediction};
use parlour_lab::experiment::prepared::Prepared;
use serde::Serialize;

use super::simulate::{SimulateError, digits, prepare};
use crate::console::{Columns, Console, counted};
use crate::failure::Failure;

/// Predict throughput and response time by closed forms: the same files as `parlour simulate`, without simulating
///
/// The array says which accesses a request makes; a closed network of queues with forks and joins tells what becomes of them. What had to be
/// assumed is said below the table, and what closed forms say nothing of is refused, by its key.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Files of experiments
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Set a key of all files otherwise, as workload.processes=8; an axis of this key is then not swept
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// What closed forms say of a run, or why they say nothing.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Modelled {
    pub(super) model: Option<Prediction>,
    pub(super) unmodelled: Option<String>,
}

impl Modelled {
    /// Of a run.
    pub(super) fn of(prepared: &Prepared, clocks: &mut Clocks) -> Modelled {
        match prepared.predict(clocks) {
            Ok(prediction) => Modelled { model: Some(prediction), unmodelled: None },
            Err(error) => Modelled { model: None, unmodelled: Some(error.to_string()) },
        }
    }
}

/// An experiment and what closed forms say of it.
#[derive(Serialize)]
struct Shown {
    file: String,
    title: String,
    about: Option<String>,
    axes: Vec<String>,
    runs: Vec<Run>,
}

/// A run of it.
#[derive(Serialize)]
struct Run {
    /// By axis.
    values: Vec<String>,
    #[serde(flatten)]
    modelled: Modelled,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let ready =
        options.files.iter().map(|file| prepare(file, &options.set)).collect::<Result<Vec<_>, _>>()?;
    let mut clocks = Clocks::default();
    let shown: Vec<Shown> = ready
        .iter()
        .map(|(experiment, labels, prepared)| Shown {
            file: experiment.path.display().to_string(),
            title: experiment.title.clone(),
            about: experiment.about.clone(),
            axes: experiment.axes.iter().map(|axis| axis.title.clone()).collect(),
            runs: labels
                .iter()
                .zip(prepared)
                .map(|(values, prepared)| Run {
                    values: values.clone(),
                    modelled: Modelled::of(prepared, &mut clocks),
                })
                .collect(),
        })
        .collect();
    console.answer(&shown, || shown.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    let runs = || shown.iter().flat_map(|shown| &shown.runs);
    match runs().filter(|run| run.modelled.model.is_none()).count() {
        0 => Ok(()),
        failed => Err(SimulateError::NoModel(failed, counted(runs().count() as u64, "run")).into()),
    }
}

const HEADER: [&str; 9] =
    ["requests/s", "a drive", "MB/s", "response", "busy", "seek", "rotation", "transfer", "overhead"];

fn text(shown: &Shown) -> String {
    let mut text = format!("{}\n", shown.title);
    if let Some(about) = &shown.about {
        text += &format!("{}\n", about.trim());
    }
    let first = shown.axes.len();
    let header = shown.axes.iter().map(String::as_str).chain(HEADER);
    let mut columns = Columns::new(header).right(first..first + HEADER.len());
    for run in &shown.runs {
        if let Some(prediction) = &run.modelled.model {
            columns.row(run.values.iter().cloned().chain(cells(prediction)));
        }
    }
    text.push('\n');
    text + &columns.text() + &remarks(shown.runs.iter().map(|run| (&*run.values, &run.modelled)))
}

fn cells(prediction: &Prediction) -> [String; HEADER.len()] {
    let milliseconds = |value: f64| format!("{} ms", digits(value));
    let access = &prediction.access_ms;
    [
        digits(prediction.throughput),
        digits(prediction.throughput_per_member),
        digits(prediction.mb_per_second),
        milliseconds(prediction.response_ms),
        format!("{:.1}%", prediction.utilization * 100.0),
        milliseconds(access.seek),
        milliseconds(access.rotation),
        milliseconds(access.transfer),
        milliseconds(access.overhead),
    ]
}

/// What was assumed of all, or some, and of which runs nothing is said.
pub(super) fn remarks<'a>(runs: impl Iterator<Item = (&'a [String], &'a Modelled)>) -> String {
    let (mut assumed, mut refused, mut count) = (Vec::<(&str, usize)>::new(), String::new(), 0);
    for (values, modelled) in runs {
        count += 1;
        for what in modelled.model.iter().flat_map(|prediction| &prediction.assumed) {
            match assumed.iter_mut().find(|(known, _)| known == what) {
                Some((_, times)) => *times += 1,
                None => assumed.push((what, 1)),
            }
        }
        if let Some(why) = &modelled.unmodelled {
            let of = if values.is_empty() { String::new() } else { format!("{}: ", values.join(", ")) };
            refused += &format!("{of}{why}\n");
        }
    }
    let told = |(what, times): &(&str, usize)| match *times == count {
        true => format!("assumed: {what}\n"),
        false => format!("assumed, in {times} of {count} runs: {what}\n"),
    };
    let text = assumed.iter().map(told).collect::<String>() + &refused;
    if text.is_empty() { text } else { format!("\n{text}") }
}
