//! Figures that are tables: 2, 4, 5, 12 and 20. Our values stand beside the printed ones.

use std::path::PathBuf;

use parlour_model::utilization::Logging;
use parlour_model::utilization::load::{TPC_A, tpc_a_bytes};

use super::disk::{description, drive, milliseconds, own};
use super::example::{DISK, blind, logs, unstriped};
use super::{lifetimes, logging};
use crate::experiment::{Experiment, Point};
use crate::reproduce::drawing::aligned;
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::experiments;
use crate::reproduce::figure::{Content, Panel};
use crate::reproduce::paper::Paper;
use crate::reproduce::study::{How, Study};
use crate::reproduce::value::digits;

/// The experiment with the parameters of figure 12.
const EXPERIMENT: &str = "stodolsky/figure-23";
/// The number of data disks of figure 4.
const DATA_DISKS: usize = 3;

pub(super) fn figures(study: Study) -> Study {
    let report = "parlour reproduce stodolsky --report out";
    study
        .figure("st.fig2", report, |_| Ok(only(records())))
        .figure("st.fig4", report, |_| Ok(vec![Panel::titled("by the paper's rule", drawn(basic()))]))
        .figure("st.fig5", report, |_| Ok(only(symbols()?)))
        .figure("st.fig12", format!("{report}\nparlour drives show ibm-0661"), |_| Ok(only(parameters()?)))
        .figure("st.fig20", report, |evidence| {
            let table = |title, rows| Ok(Panel::titled(title, drawn(reliability(evidence, rows)?)));
            Ok(vec![
                table("(a) large pool of spare disks", LARGE_POOL)?,
                table("(b) single spare disk", SINGLE)?,
            ])
        })
}

type Lines = Vec<Vec<String>>;

fn drawn(lines: Lines) -> Content {
    Content::Drawing(aligned(&lines))
}

fn only(lines: Lines) -> Vec<Panel> {
    vec![Panel::only(drawn(lines))]
}

fn line<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

/// Figure 2.
fn records() -> Lines {
    let mut lines = vec![line(["record", "least per TPS", "bytes", "MB per TPS"])];
    for record in TPC_A {
        let megabytes = record.count * record.size / 1e6;
        lines.push(line([record.name, &digits(record.count), &digits(record.size), &digits(megabytes)]));
    }
    lines.push(line(["all", "", "", &digits(tpc_a_bytes(1.0) / 1e6)]));
    lines
}

/// Figure 4.
fn basic() -> Lines {
    let header = (0..DATA_DISKS + 2).map(|disk| format!("Disk {disk}"));
    let roles = ["Data"; DATA_DISKS].into_iter().chain(["Parity", "Log"]).map(str::to_owned);
    vec![header.collect(), roles.collect()]
}

/// Figure 5.
fn symbols() -> Result<Lines, EvidenceError> {
    let model = blind(unstriped())?;
    let (logs, array) = (logs(&model), model.array());
    let (parity, disks) = (logs.parity(), f64::from(array.disks));
    let logging = Logging::default();
    let (log, sublogs) = (logging.ratio * parity, f64::from(logging.sublogs.count()));
    let rows = [
        ("B", "regions per disk", f64::from(logging.regions), ""),
        ("C_D", "cylinders of data per region", (disks - sublogs - 1.0) * parity, ""),
        ("C_L", "cylinders of log per region", log, ""),
        ("C_P", "cylinders of parity per region", parity, ""),
        ("D", "data units per track", DISK.units, ""),
        ("H", "head switch time", DISK.head_switch, "ms"),
        ("K", "tracks buffered per region", f64::from(logging.segment), ""),
        ("L", "log striping factor", sublogs, ""),
        ("M", "single track seek time", DISK.single_cylinder_seek, "ms"),
        ("N", "disks in array", disks, ""),
        ("R", "average rotational delay", DISK.rotation, "ms"),
        ("S", "average seek time", DISK.seek, "ms"),
        ("T", "tracks per cylinder", DISK.tracks, ""),
        ("V", "cylinders per disk", DISK.cylinders, ""),
    ];
    let mut lines = vec![line(["symbol", "parameter", "in the example", "unit"])];
    lines.extend(rows.map(|(symbol, name, value, unit)| line([symbol, name, &digits(value), unit])));
    Ok(lines)
}

/// Figure 12: the printed parameters, and the simulated ones.
fn parameters() -> Result<Lines, EvidenceError> {
    let (drive, disk) = (drive()?, own()?);
    let setup = serde_json::to_value(experiment()?.setup).map_err(EvidenceError::model)?;
    let set = |pointer: &str| match setup.pointer(pointer) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Null) | None => "by default".to_owned(),
        Some(other) => other.to_string(),
    };
    let writes =
        setup.pointer("/workload/0/reads").and_then(serde_json::Value::as_f64).map(|reads| 1.0 - reads);
    let sectors = digits(2.0 * disk.units * disk.unit);
    let seek = |distance: u32| digits(milliseconds(drive.seek.time(distance)));
    let seeks =
        format!("{} min, {} avg, {} max", seek(1), digits(disk.seek), seek(disk.cylinders as u32 - 1));
    let geometry = format!(
        "{} cylinders, {} heads, {sectors} sectors/track",
        digits(disk.cylinders),
        digits(disk.tracks)
    );
    let skew = description()?.zones[0].track_skew;
    let rows = [
        ("access size", "2 KB", set("/workload/0/size")),
        ("write ratio (%)", "100", digits(100.0 * writes.unwrap_or(f64::NAN))),
        ("closed loop processes", "66", set("/workload/0/processes")),
        ("stripe unit", "2 KB", set("/array/unit")),
        ("disks", "22", set("/members")),
        ("synchronized", "true", set("/drive/synchronized")),
        ("head scheduling", "FIFO", set("/drive/queue")),
        ("geometry", "949 cylinders, 14 heads, 48 sectors/track", geometry),
        ("revolution time (ms)", "13.9", digits(2.0 * disk.rotation)),
        ("seeks (ms)", "2 min, 12.5 avg, 25 max", seeks),
        ("track skew (sectors)", "4", skew.to_string()),
        ("head switch time (ms)", "1.16", digits(milliseconds(drive.head_switch))),
    ];
    let mut lines = vec![line(["parameter", "printed", "simulated"])];
    lines.extend(rows.map(|(name, printed, ours)| line([name, printed, &ours])));
    Ok(lines)
}

/// The first run of the experiment.
fn experiment() -> Result<Point, EvidenceError> {
    let text =
        experiments::find(EXPERIMENT).ok_or_else(|| EvidenceError::NoExperiment(EXPERIMENT.to_owned()))?;
    let path = PathBuf::from(format!("experiments/{EXPERIMENT}.toml"));
    let experiment = Experiment::parse(&path, text, &[]).map_err(EvidenceError::model)?;
    Ok(experiment.points().map_err(EvidenceError::model)?.swap_remove(0))
}

/// The rows of a table of figure 20: the ids of the numbers for mirrors, parity logging, and no
/// redundancy.
type Rows = [(&'static str, [Option<&'static str>; 3]); 4];

const CAPACITY: (&str, [Option<&str>; 3]) = ("user capacity (%)", [None, Some("st.cap.L6"), None]);
const LARGE_POOL: Rows = [
    CAPACITY,
    (
        "MTTDL (years; nonredundant: hours)",
        [Some("st.mttdl.mirror"), Some("st.mttdl.pl"), Some("st.mttdl.nr")],
    ),
    ("5 year reliability (%)", [Some("st.rela.mirror.5"), Some("st.rela.pl.5"), Some("st.rel.nr.5")]),
    ("10 year reliability (%)", [Some("st.rela.mirror.10"), Some("st.rela.pl.10"), Some("st.rel.nr.10")]),
];
const SINGLE: Rows = [
    CAPACITY,
    (
        "MTTDL (years; nonredundant: hours)",
        [Some("st.mttdl1.mirror"), Some("st.mttdl1.pl"), Some("st.mttdl.nr")],
    ),
    ("5 year reliability (%)", [Some("st.relb.mirror.5"), Some("st.relb.pl.5"), Some("st.rel.nr.5")]),
    ("10 year reliability (%)", [Some("st.relb.mirror.10"), Some("st.relb.pl.10"), Some("st.rel.nr.10")]),
];

/// Figure 20: our values, and the printed ones.
fn reliability(evidence: &Evidence, rows: Rows) -> Result<Lines, EvidenceError> {
    let study = lifetimes::numbers(logging::numbers(Study::of(Paper::Stodolsky)));
    let cell = |id: Option<&str>| {
        let Some(id) = id else { return Ok([String::new(), String::new()]) };
        let none = || EvidenceError::NoNumber(id.to_owned());
        let published = evidence.library.number(id).ok_or_else(none)?;
        let Some(How::Found(find)) = study.how(id) else { return Err(none()) };
        let ours = find(evidence)?.model.map_or(String::new(), |ours| ours.beside(published.value.text()));
        Ok::<_, EvidenceError>([published.value.text().to_owned(), ours])
    };
    let mut lines = vec![
        line(["", "mirrored", "", "parity logging", "", "nonredundant", ""]),
        line(["", "printed", "ours", "printed", "ours", "printed", "ours"]),
    ];
    for (name, ids) in rows {
        let [mirrored, logging, nonredundant] = ids.map(cell);
        let cells = [mirrored?, logging?, nonredundant?].concat();
        lines.push([vec![name.to_owned()], cells].concat());
    }
    Ok(lines)
}
