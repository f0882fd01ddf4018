//! `parlour simulate`: runs experiments in virtual time, on drive models.

mod follow;

use clap::Args;
use parlour_lab::experiment::predict::Clocks;
use parlour_lab::experiment::prepared::Prepared;
use parlour_lab::figures::{
    ControlFigures, Figures, IncidentFigures, MeasuredFigure, PathFigures, RebuildFigures, SettingFigure,
    SourceFigures,
};
use parlour_lab::simulate::{follow_all, is_interrupted};
use serde::Serialize;
use serde_json::{Map, Value};

use super::experiments::{Files, FilesError, Run, Shown, digits};
use super::model::{self, Modelled};
use crate::console::{Columns, Console, counted, print};
use crate::failure::Failure;
use crate::interrupt::stop_when_interrupted;
use follow::{Follower, OfFile};

/// Predict throughput and response time: arrays on models of drives, in virtual time
///
/// An experiment is a file that names an array, its drives, what hosts ask for and how long to
/// look; with [sweep] some of its keys take several values (docs/experiments.md, and experiments/
/// for ready ones). The same file and seed give the same figures. Intervals (±) hold the true mean
/// in 95% of cases. Interrupted (Ctrl-C), it shows what was measured by then, marked as partial,
/// and exits with 130; interrupted again, it ends at once.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    files: Files,
    /// What all that is drawn is drawn from [default: what the file says, or 1]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Show what closed forms say beside it, and how far off they are (as `parlour model` does
    /// alone)
    #[arg(long)]
    with_model: bool,
    /// Answer in comma-separated values, a line a run
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// The result of a run.
#[derive(Serialize)]
struct Simulated {
    figures: Option<Figures>,
    error: Option<String>,
    /// An interrupt has ended the run early or kept it from starting.
    partial: bool,
    /// The prediction of the closed-form models, if it was requested.
    #[serde(flatten)]
    model: Option<Modelled>,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let stop = stop_when_interrupted();
    let ready = options.files.prepare(options.seed.map(|seed| format!("seed={seed}")))?;
    let bar = console.work();
    let all = ready.iter().flat_map(|ready| &ready.prepared);
    let follower = Follower::new(all, &stop, bar.as_ref());
    let mut clocks = options.with_model.then(Clocks::default);
    let mut shown: Vec<Shown<Simulated>> = Vec::new();
    for ready in &ready {
        let follow = follower.of_file(shown.iter().map(|shown| shown.runs.len()).sum());
        shown.push(ready.shown(simulate(&ready.prepared, &follow, clocks.as_mut())));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    match options.csv {
        true => print(&csv(&shown))?,
        false => console.answer(&shown, || shown.iter().map(text).collect::<Vec<_>>().join("\n"))?,
    }
    let runs = || shown.iter().flat_map(|shown| &shown.runs);
    let of = counted(runs().count() as u64, "run");
    let partial = runs().filter(|run| run.shown.partial).count();
    if partial > 0 {
        return Err(Failure::Interrupted { whole: runs().count() - partial, of });
    }
    match runs().filter(|run| run.shown.error.is_some()).count() {
        0 => Ok(()),
        failed => Err(FilesError::NoFigures(failed, of).into()),
    }
}

fn simulate(prepared: &[Prepared], follow: &OfFile<'_>, mut clocks: Option<&mut Clocks>) -> Vec<Simulated> {
    let outcomes = follow_all(prepared, follow);
    let shown = prepared.iter().zip(outcomes).map(|(prepared, outcome)| {
        let partial = outcome.as_ref().is_none_or(is_interrupted);
        let (figures, error) = match outcome {
            Some(Ok(outcome)) => (Some(Figures::of(&outcome, prepared.history)), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, Some("interrupted before it began".to_owned())),
        };
        Simulated {
            figures,
            error,
            partial,
            model: clocks.as_mut().map(|clocks| Modelled::of(prepared, clocks)),
        }
    });
    shown.collect()
}

const HEADER: [&str; 11] =
    ["requests/s", "±", "a drive", "MB/s", "response", "±", "deviation", "median", "90%", "99%", "busy"];
const OF_SOURCES: [&str; 8] = ["workload", "of", "a second", "±", "mean time", "±", "90%", "MB/s each"];

fn text(shown: &Shown<Simulated>) -> String {
    let mut text = shown.heading() + &table(shown);
    if shown.figures().any(|figures| !figures.sources.is_empty()) {
        text.push('\n');
        text += &table_of_sources(shown);
    }
    if shown.figures().any(|figures| !figures.paths.is_empty()) {
        text.push('\n');
        text += &table_of_paths(shown);
    }
    if shown.figures().any(|figures| !figures.measured.is_empty()) {
        text.push('\n');
        text += &table_of_measured(shown);
    }
    if shown.runs.iter().any(|run| run.shown.model.is_some()) {
        text.push('\n');
        text += &table_of_models(shown);
    }
    text + &remarks(shown)
}

const BESIDE: [&str; 8] = ["requests/s", "model", "off", "response", "model", "off", "busy", "model"];

/// Columns that follow where a rebuild is predicted.
const REBUILD: [&str; 3] = ["rebuild", "model", "off"];

/// The table of predictions beside the simulated figures.
fn table_of_models(shown: &Shown<Simulated>) -> String {
    let first = shown.axes.len();
    let predicted = |run: &Run<Simulated>| run.shown.model.as_ref().and_then(model::rebuild);
    let rebuilt = shown.runs.iter().any(|run| predicted(run).is_some());
    let header = shown.axes.iter().map(String::as_str).chain(BESIDE);
    let header = header.chain(REBUILD.into_iter().filter(|_| rebuilt));
    let mut columns = Columns::new(header).right(first..first + BESIDE.len() + REBUILD.len());
    for run in &shown.runs {
        let (Some(figures), Some(model)) = (&run.shown.figures, &run.shown.model) else { continue };
        let Some(model) = &model.model else { continue };
        let percent = |part: f64| format!("{:.1}%", part * 100.0);
        let off = |model: f64, simulated: f64| format!("{:+.1}%", (model / simulated - 1.0) * 100.0);
        let (simulated, response) = (figures.throughput.mean, figures.response_ms.mean);
        let cells = [
            digits(simulated),
            digits(model.throughput),
            off(model.throughput, simulated),
            format!("{} ms", digits(response)),
            format!("{} ms", digits(model.response_ms)),
            off(model.response_ms, response),
            percent(figures.utilization),
            percent(model.utilization),
        ];
        let took = figures.rebuilds.first().and_then(|rebuild| rebuild.took_seconds);
        let rebuild = took
            .zip(model.rebuild_s)
            .map(|(took, predicted)| [model::seconds(took), model::seconds(predicted), off(predicted, took)]);
        let rebuild = rebuild.unwrap_or_default().into_iter().filter(|_| rebuilt);
        columns.row(run.values.iter().cloned().chain(cells).chain(rebuild));
    }
    columns.text()
        + &model::remarks(shown.runs.iter().filter_map(|run| Some((&*run.values, run.shown.model.as_ref()?))))
}

/// The incidents of members, and why a run has no result.
fn remarks(shown: &Shown<Simulated>) -> String {
    let mut text = String::new();
    for run in &shown.runs {
        let values = run.values.join(", ");
        let of = if values.is_empty() { values } else { format!("{values}: ") };
        for IncidentFigures { seconds, array, what } in
            run.shown.figures.iter().flat_map(|figures| &figures.incidents)
        {
            text += &format!("{of}after {} s, array {array}: {what}\n", digits(*seconds));
        }
        for rebuild in run.shown.figures.iter().flat_map(|figures| &figures.rebuilds) {
            let RebuildFigures { array, slot, took_seconds } = rebuild;
            text += &match took_seconds {
                Some(took) => {
                    format!("{of}array {array}: the rebuild of member {slot} took {} s\n", digits(*took))
                }
                None => format!("{of}array {array}: the rebuild of member {slot} was not done\n"),
            };
        }
        if let Some(figures) = run.shown.figures.as_ref().filter(|figures| figures.lost > 0) {
            text += &format!("{of}{} answered with lost data\n", counted(figures.lost, "request"));
        }
        if let Some(figures) = run.shown.figures.as_ref().filter(|_| run.shown.partial) {
            let requests = counted(figures.requests, "request");
            text += &format!("{of}interrupted: a partial result, of {requests}\n");
        }
        text += &run.shown.error.as_ref().map_or(String::new(), |error| format!("{of}{error}\n"));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// A table with one row for processors, one for the channel, and one for all buses together.
fn table_of_paths(shown: &Shown<Simulated>) -> String {
    let first = shown.axes.len();
    let header = shown.axes.iter().map(String::as_str).chain(["path", "served", "busy", "waited for"]);
    let mut columns = Columns::new(header).right(first + 1..first + 4);
    for run in &shown.runs {
        for paths in run.shown.figures.iter().flat_map(|figures| alike(&figures.paths)) {
            columns.row(run.values.iter().cloned().chain(path_cells(paths)));
        }
    }
    columns.text()
}

/// A table with one row for each measurement of an organization that is simulated only.
fn table_of_measured(shown: &Shown<Simulated>) -> String {
    let first = shown.axes.len();
    let header = shown.axes.iter().map(String::as_str).chain(["measured", "value"]);
    let mut columns = Columns::new(header).right([first + 1]);
    for run in &shown.runs {
        for MeasuredFigure { what, value, .. } in run.shown.figures.iter().flat_map(|own| &own.measured) {
            columns.row(run.values.iter().cloned().chain([(*what).to_owned(), digits(*value)]));
        }
    }
    columns.text()
}

/// Groups paths whose names differ only by a number.
fn alike(paths: &[PathFigures]) -> impl Iterator<Item = &[PathFigures]> {
    let kind = |path: &PathFigures| path.name.split(' ').next().unwrap_or_default().to_owned();
    paths.chunk_by(move |one, other| kind(one) == kind(other))
}

/// The sum of what the paths served, and the means of their other figures.
fn path_cells(paths: &[PathFigures]) -> [String; 4] {
    let count = paths.len() as f64;
    let mean = |part: fn(&PathFigures) -> f64| paths.iter().map(part).sum::<f64>() / count;
    let name = match paths {
        [only] => only.name.clone(),
        several => format!("{} strings", several.len()),
    };
    [
        name,
        paths.iter().map(|path| path.served).sum::<u64>().to_string(),
        format!("{:.1}%", mean(|path| path.utilization) * 100.0),
        format!("{} ms", digits(mean(|path| path.waited_ms))),
    ]
}

impl Shown<Simulated> {
    fn figures(&self) -> impl Iterator<Item = &Figures> {
        self.runs.iter().filter_map(|run| run.shown.figures.as_ref())
    }
}

/// A table with one row per run. If a setting was searched for, its value comes first.
fn table(shown: &Shown<Simulated>) -> String {
    let found =
        shown.figures().find_map(|figures| figures.control.as_ref()).map(|control| match control.setting {
            SettingFigure::ThinkMs(_) => "think time",
            SettingFigure::Processes(_) => "processes",
        });
    let first = shown.axes.len() + usize::from(found.is_some());
    let header = shown.axes.iter().map(String::as_str).chain(found).chain(HEADER);
    let mut columns = Columns::new(header).right(shown.axes.len()..first + HEADER.len());
    for run in &shown.runs {
        let figures = run.shown.figures.as_ref();
        let setting = figures.and_then(|figures| figures.control.as_ref()).map(setting_cell);
        columns.row(run.values.iter().cloned().chain(setting).chain(figures.into_iter().flat_map(cells)));
    }
    columns.text()
}

/// The setting that was found for a run, and whether it meets the target.
fn setting_cell(control: &ControlFigures) -> String {
    let missed = if control.met { "" } else { " (not met)" };
    match control.setting {
        SettingFigure::ThinkMs(mean) => format!("{} ms{missed}", digits(mean)),
        SettingFigure::Processes(count) => format!("{count}{missed}"),
    }
}

/// A table with one row per source: its transactions, files or requests.
fn table_of_sources(shown: &Shown<Simulated>) -> String {
    let first = shown.axes.len();
    let header = shown.axes.iter().map(String::as_str).chain(OF_SOURCES);
    let mut columns = Columns::new(header).right(first + 2..first + OF_SOURCES.len());
    for run in &shown.runs {
        for source in run.shown.figures.iter().flat_map(|figures| &figures.sources) {
            columns.row(run.values.iter().cloned().chain(source_cells(source)));
        }
    }
    columns.text()
}

fn source_cells(source: &SourceFigures) -> [String; OF_SOURCES.len()] {
    let requests = &source.requests;
    let (of, throughput, times, rate) = match &source.tasks {
        Some(tasks) => ("tasks", tasks.throughput, &tasks.time_ms, digits(tasks.mb_per_second.mean)),
        None => ("requests", requests.throughput, &requests.response_ms, String::new()),
    };
    [
        source.name.clone(),
        of.to_owned(),
        digits(throughput.mean),
        sure(throughput.interval),
        format!("{} ms", digits(times.mean)),
        sure(times.interval),
        format!("{} ms", digits(times.p90)),
        rate,
    ]
}

fn cells(figures: &Figures) -> [String; HEADER.len()] {
    let milliseconds = |value: f64| format!("{} ms", digits(value));
    let response = &figures.response_ms;
    [
        digits(figures.throughput.mean),
        sure(figures.throughput.interval),
        digits(figures.throughput_per_member),
        digits(figures.mb_per_second.mean),
        milliseconds(response.mean),
        sure(response.interval),
        milliseconds(response.deviation),
        milliseconds(response.median),
        milliseconds(response.p90),
        milliseconds(response.p99),
        format!("{:.1}%", figures.utilization * 100.0),
    ]
}

/// Half the width of a confidence interval; `?` if there are too few values.
fn sure(interval: Option<f64>) -> String {
    interval.map_or_else(|| "?".to_owned(), digits)
}

/// One line per run: the file, the values of its axes, and all figures that are single numbers.
fn csv(shown: &[Shown<Simulated>]) -> String {
    let mut text = String::new();
    for shown in shown {
        let rows: Vec<(&Run<Simulated>, Map<String, Value>)> =
            shown.runs.iter().map(|run| (run, flat(run))).collect();
        let mut figures: Vec<&String> = Vec::new();
        for key in rows.iter().flat_map(|(_, row)| row.keys()) {
            if !figures.contains(&key) {
                figures.push(key);
            }
        }
        let header = ["file"].into_iter().chain(shown.axes.iter().map(String::as_str));
        let header = header.chain(figures.iter().map(|key| key.as_str())).chain(["error"]);
        text += &line(header);
        for (run, row) in &rows {
            let values = figures.iter().map(|key| row.get(*key).map_or(String::new(), Value::to_string));
            let error = run.shown.error.clone().unwrap_or_default();
            let cells = [shown.file.clone()].into_iter().chain(run.values.iter().cloned()).chain(values);
            text += &line(cells.chain([error]).collect::<Vec<_>>().iter().map(String::as_str));
        }
    }
    text
}

/// The figures of a run that are single numbers, by their names in JSON. Figures by member, by
/// source or over time are left out.
fn flat(run: &Run<Simulated>) -> Map<String, Value> {
    let mut row = Map::new();
    if let Some(figures) = &run.shown.figures {
        flatten("", serde_json::to_value(figures).expect("figures are plain data"), &mut row);
    }
    row
}

fn flatten(name: &str, value: Value, row: &mut Map<String, Value>) {
    match value {
        Value::Object(inner) => {
            let dot = if name.is_empty() { "" } else { "." };
            inner.into_iter().for_each(|(key, value)| flatten(&format!("{name}{dot}{key}"), value, row));
        }
        Value::Array(_) => {}
        value => {
            row.insert(name.to_owned(), value);
        }
    }
}

/// Joins cells with commas. A cell with a comma, quote or line feed is quoted (RFC 4180).
fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = cells.map(|cell| match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}
