//! `parlour model`: predicts the results of experiments with closed-form models, without
//! simulation.

use clap::Args;
use parlour_lab::experiment::predict::{Clocks, Prediction};
use parlour_lab::experiment::prepared::Prepared;
use serde::Serialize;

use super::experiments::{Files, FilesError, Ready, Shown, digits};
use crate::console::{Columns, Console, counted};
use crate::failure::Failure;

/// Predict throughput and response time by closed forms: the same files as `parlour simulate`,
/// without simulating
///
/// The array says which accesses a request makes; a closed network of queues with forks and joins
/// tells what becomes of them. What had to be assumed is said below the table, and what closed
/// forms say nothing of is refused, by its key.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    files: Files,
}

/// The prediction for a run, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Modelled {
    pub(super) model: Option<Prediction>,
    pub(super) unmodelled: Option<String>,
}

impl Modelled {
    /// The prediction for one run.
    pub(super) fn of(prepared: &Prepared, clocks: &mut Clocks) -> Modelled {
        match prepared.predict(clocks) {
            Ok(prediction) => Modelled { model: Some(prediction), unmodelled: None },
            Err(error) => Modelled { model: None, unmodelled: Some(error.to_string()) },
        }
    }
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let ready = options.files.prepare(None)?;
    let mut clocks = Clocks::default();
    let mut model =
        |ready: &Ready| ready.shown(ready.prepared.iter().map(|run| Modelled::of(run, &mut clocks)));
    let shown: Vec<Shown<Modelled>> = ready.iter().map(&mut model).collect();
    console.answer(&shown, || shown.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    let runs = || shown.iter().flat_map(|shown| &shown.runs);
    match runs().filter(|run| run.shown.model.is_none()).count() {
        0 => Ok(()),
        failed => Err(FilesError::NoModel(failed, counted(runs().count() as u64, "run")).into()),
    }
}

const HEADER: [&str; 9] =
    ["requests/s", "a drive", "MB/s", "response", "busy", "seek", "rotation", "transfer", "overhead"];

fn text(shown: &Shown<Modelled>) -> String {
    let first = shown.axes.len();
    let rebuilt = shown.runs.iter().any(|run| rebuild(&run.shown).is_some());
    let header = shown.axes.iter().map(String::as_str).chain(HEADER);
    let header = header.chain(rebuilt.then_some("rebuild"));
    let mut columns = Columns::new(header).right(first..first + HEADER.len() + 1);
    for run in &shown.runs {
        if let Some(prediction) = &run.shown.model {
            let took = rebuilt.then(|| rebuild(&run.shown).map_or(String::new(), seconds));
            columns.row(run.values.iter().cloned().chain(cells(prediction)).chain(took));
        }
    }
    shown.heading() + &columns.text() + &remarks(shown.runs.iter().map(|run| (&*run.values, &run.shown)))
}

/// The predicted time of a rebuild, in seconds.
pub(super) fn rebuild(modelled: &Modelled) -> Option<f64> {
    modelled.model.as_ref()?.rebuild_s
}

pub(super) fn seconds(value: f64) -> String {
    format!("{} s", digits(value))
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

/// The assumptions of all or some runs, and the runs without a prediction.
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
