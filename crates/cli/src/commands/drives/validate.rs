//! Compares a drive model with measurements of a real drive.

use std::fs;
use std::path::Path;

use parlour_drive::mechanics::Way;
use parlour_drive::validate::{Measured, demerit, modelled, read_trace};
use parlour_units::Duration;
use serde::Serialize;

use super::found::{DriveError, Found, Model, unreadable};
use crate::console::{Columns, Console};
use crate::failure::Failure;

/// The answer: the accuracy of a model.
#[derive(Serialize)]
struct Comparison {
    drive: String,
    requests: usize,
    /// The demerit figure.
    rms_ms: f64,
    /// The demerit figure of DiskSim 4.0, if one was published for the drive.
    disksim_rms_ms: Option<f64>,
    classes: Vec<ClassRow>,
}

/// The figures of reads, or of writes.
#[derive(Serialize)]
struct ClassRow {
    requests: &'static str,
    count: usize,
    measured_mean_ms: f64,
    modelled_mean_ms: f64,
    rms_ms: f64,
}

pub(super) fn run(drive: &str, trace: &Path, console: Console) -> Result<(), Failure> {
    let mut found = Found::named(drive)?;
    let Model::Moves(moving) = &mut found.model else {
        return Err(DriveError::Solid(drive.to_owned()).into());
    };
    let requests = read(&found.description.name, moving.mechanics.surface.blocks(), trace)?;
    let times = modelled(&mut moving.drive, &requests);
    let all = class("all", &requests, &times, |_| true);
    let rms_ms = all.rms_ms;
    let reads = class("reads", &requests, &times, |way| way == Way::Read);
    let writes = class("writes", &requests, &times, |way| way == Way::Write);
    let classes: Vec<ClassRow> = [all, reads, writes].into_iter().filter(|row| row.count > 0).collect();
    let comparison = Comparison {
        drive: found.description.name.clone(),
        requests: requests.len(),
        rms_ms,
        disksim_rms_ms: found.description.disksim_rms_ms,
        classes,
    };
    console.answer(&comparison, || text(&comparison))?;
    Ok(())
}

fn read(drive: &str, blocks: u64, path: &Path) -> Result<Vec<Measured>, DriveError> {
    let text = fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
    let requests = read_trace(&text).map_err(|source| DriveError::Trace { path: path.to_owned(), source })?;
    if requests.is_empty() {
        return Err(DriveError::Empty(path.to_owned()));
    }
    let beyond =
        |request: &Measured| request.block.checked_add(request.blocks).is_none_or(|end| end > blocks);
    match requests.iter().find(|request| beyond(request)) {
        None => Ok(requests),
        Some(request) => Err(DriveError::Beyond {
            path: path.to_owned(),
            line: request.line,
            block: request.block,
            drive: drive.to_owned(),
            blocks,
        }),
    }
}

fn class(name: &'static str, trace: &[Measured], times: &[Duration], is: impl Fn(Way) -> bool) -> ClassRow {
    let of = trace.iter().zip(times).filter(|(request, _)| is(request.way));
    let (measured, modelled): (Vec<Duration>, Vec<Duration>) =
        of.map(|(request, time)| (request.took, *time)).unzip();
    let mean = |times: &[Duration]| {
        times.iter().map(|time| time.as_secs_f64() * 1e3).sum::<f64>() / times.len().max(1) as f64
    };
    ClassRow {
        requests: name,
        count: measured.len(),
        measured_mean_ms: mean(&measured),
        modelled_mean_ms: mean(&modelled),
        rms_ms: if measured.is_empty() { 0.0 } else { demerit(&modelled, &measured) },
    }
}

fn text(comparison: &Comparison) -> String {
    let mut text = format!("{}, {} requests\n\n", comparison.drive, comparison.requests);
    let header = ["Requests", "count", "measured mean", "modelled mean", "rms distance"];
    let mut columns = Columns::new(header).right(1..5);
    for row in &comparison.classes {
        columns.row([
            row.requests.to_owned(),
            row.count.to_string(),
            format!("{:.3} ms", row.measured_mean_ms),
            format!("{:.3} ms", row.modelled_mean_ms),
            format!("{:.4} ms", row.rms_ms),
        ]);
    }
    text += &columns.text();
    if let Some(disksim) = comparison.disksim_rms_ms {
        text += &format!("\nDiskSim 4.0, on the drive's own validation trace: {disksim:.3} ms\n");
    }
    text
}
