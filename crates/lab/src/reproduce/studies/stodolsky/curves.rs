//! Figures that follow from formulas: 3, 10, 11, 13, 15 to 19 and 22, and figure 26's mix.

use parlour_model::disk::Disk;
use parlour_model::utilization::coarse::{Bandwidths, IN_PLACE};
use parlour_model::utilization::load::{AIRLINE, Way};
use parlour_model::utilization::reintegration::Targets;
use parlour_model::utilization::{Array, Logging, Organization, Reading, Sublogs, Work};

use super::example::{DISK, Make, SUBLOGS, blind, example, known, logs, model, read_as, striped, unstriped};
use super::logging::rate_with;
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Source};
use crate::reproduce::study::Study;

type Panels = Result<Vec<Panel>, EvidenceError>;
type Draw = fn(&Evidence) -> Panels;
type Points = Result<Vec<(f64, f64)>, EvidenceError>;

/// The two kinds of small writes.
const PREREADS: [(bool, &str); 2] = [(true, "with prereads"), (false, "without prereads")];

pub(super) fn figures(study: Study) -> Study {
    let all: [(&'static str, Draw); 11] = [
        ("st.fig3", |_| Ok(bandwidths())),
        ("st.fig10", |_| storage()),
        ("st.fig11", log_length),
        ("st.fig13", overheads),
        ("st.fig15", estimates),
        ("st.fig16", |_| track_sizes()),
        ("st.fig17", |_| segments()),
        ("st.fig18", |_| seeks()),
        ("st.fig19", |_| reintegration()),
        ("st.fig22", |_| sublog_reads()),
        ("st.fig26", |_| Ok(airline())),
    ];
    all.into_iter()
        .fold(study, |study, (id, draw)| study.figure(id, "parlour reproduce stodolsky --report out", draw))
}

fn only(x: Axis, y: Axis, curves: Vec<Curve>) -> Vec<Panel> {
    vec![Panel::only(Content::Chart(Chart { x, y, curves }))]
}

fn modelled(of: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    Curve::new(of, Source::Model, points)
}

/// The values of a model at each of these numbers.
fn along<T: Into<f64> + Copy>(
    over: impl IntoIterator<Item = T>,
    value: impl Fn(T) -> Result<f64, EvidenceError>,
) -> Points {
    over.into_iter().map(|x| Ok((x.into(), value(x)?))).collect()
}

/// Numbers at even distances from one number to another.
fn even(from: f64, to: f64, steps: u32) -> impl Iterator<Item = f64> {
    (0..=steps).map(move |step| from + (to - from) * f64::from(step) / f64::from(steps))
}

fn ms(label: &str) -> Axis {
    Axis::linear(label, "ms")
}

fn writes() -> Axis {
    Axis::linear("small writes a disk", "1/s")
}

fn sublog_axis() -> Axis {
    Axis::linear("sublogs of a region (L)", "")
}

/// Figure 3.
fn bandwidths() -> Vec<Panel> {
    let rates = [DISK.block_bandwidth(), DISK.track_bandwidth(), DISK.cylinder_bandwidth()];
    let names = ["block (2 KB)", "track (24 KB)", "cylinder (336 KB)"];
    let curve = modelled("random accesses", (0..).map(f64::from).zip(rates));
    only(Axis::names("access", names), Axis::linear("bandwidth", "KB/s"), vec![curve])
}

/// Figure 10.
fn storage() -> Panels {
    let overhead = |organization| Ok(100.0 * blind(organization)?.space_overhead());
    let curves = vec![
        modelled("parity logging", along(SUBLOGS, |sublogs| overhead(striped(sublogs)))?),
        modelled("RAID 5", along(SUBLOGS, |_| overhead(Organization::Raid5))?),
    ];
    Ok(only(sublog_axis(), Axis::linear("parity and logs", "%"), curves))
}

/// Figure 11.
fn log_length(evidence: &Evidence) -> Panels {
    let ratios = || even(0.25, 4.0, 60);
    let lore = along(ratios(), |ratio| Ok(100.0 * Bandwidths::LORE.maintenance(ratio)))?;
    let small = blind(Organization::Nonredundant)?.small_write().total();
    let with = |ratio| {
        let logging = Logging { ratio, sublogs: Sublogs::Striped(1), ..Logging::default() };
        blind(Organization::ParityLogging(logging))
    };
    let full = along(ratios(), |ratio| Ok(100.0 * with(ratio)?.small_write().overhead() / small))?;
    let raid5 = along(ratios(), |_| Ok(100.0 * IN_PLACE))?;
    let caption = [(0.7, evidence.published("st.fig11.0.7")?)];
    let space = along(ratios(), |ratio| Ok(100.0 * with(ratio)?.space_overhead()))?;
    let in_place = along(ratios(), |_| Ok(100.0 * blind(Organization::Raid5)?.space_overhead()))?;
    let printed = [(0.5, evidence.published("st.space.A0.5")?), (2.0, evidence.published("st.space.A2")?)];
    let ratio = || Axis::linear("log over parity (A)", "");
    let time = Chart {
        x: ratio(),
        y: Axis::linear("maintenance of parity", "% of a small access"),
        curves: vec![
            modelled("parity logging, rough (§2.3)", lore),
            modelled("parity logging, term by term (§3)", full),
            modelled("RAID 5", raid5),
            Curve::new("parity logging, rough (§2.3)", Source::Published, caption),
        ],
    };
    let space = Chart {
        x: ratio(),
        y: Axis::linear("parity and logs", "%"),
        curves: vec![
            modelled("parity logging", space),
            modelled("RAID 5", in_place),
            Curve::new("parity logging", Source::Published, printed),
        ],
    };
    Ok(vec![Panel::titled("disk time", Content::Chart(time)), Panel::titled("space", Content::Chart(space))])
}

/// Figure 13.
fn overheads(evidence: &Evidence) -> Panels {
    let of = |work: Work| [work.log_write, work.log_read, work.parity_read, work.parity_write];
    let by = |reading| Ok(of(blind(read_as(reading))?.small_write()));
    let bars = |values: [f64; 4]| (0..).map(f64::from).zip(values);
    let [write, read, parity] = ["st.fig13.logwrite", "st.fig13.logread", "st.fig13.parity"];
    let parity = evidence.published(parity)?;
    let printed = [evidence.published(write)?, evidence.published(read)?, parity, parity];
    let curves = vec![
        modelled("by the formulas", bars(by(Reading::Corrected)?)),
        modelled("one seek a region, (T+1)H", bars(by(Reading::Figure13)?)),
        Curve::new("by the formulas", Source::Published, bars(printed)),
    ];
    let names = ["log write", "log read", "parity read", "parity write"];
    Ok(only(Axis::names("work beside the data", names), ms("disk time a small write"), curves))
}

/// The organizations of figure 15.
const ORGANIZATIONS: [(&str, Make); 5] = [
    ("nonredundant", || Organization::Nonredundant),
    ("mirrored", || Organization::Mirrored),
    ("RAID 5", || Organization::Raid5),
    ("floating", || Organization::Floating),
    ("parity logging", unstriped),
];

/// Figure 15.
fn estimates(evidence: &Evidence) -> Panels {
    let mut curves = Vec::new();
    for (preread, name) in PREREADS {
        let mut points = Vec::new();
        for (place, (_, organization)) in (0..).zip(ORGANIZATIONS) {
            points.push((f64::from(place), example(organization(), preread)?.throughput_per_disk(1.0)));
        }
        curves.push(modelled(name, points));
    }
    let logging = ORGANIZATIONS.len() as f64 - 1.0;
    let said = [(logging, evidence.published("st.36.7")?)];
    curves.push(Curve::new("without prereads", Source::Published, said));
    let names = ORGANIZATIONS.map(|(name, _)| name);
    Ok(only(Axis::names("organization", names), writes(), curves))
}

/// Figure 16.
fn track_sizes() -> Panels {
    let curve = |name, organization| {
        let points = along(1..=60, |units| rate_with(units, organization))?;
        Ok(modelled(name, points))
    };
    let curves = vec![
        curve("mirrored", Organization::Mirrored)?,
        curve("parity logging", unstriped())?,
        curve("RAID 5", Organization::Raid5)?,
    ];
    Ok(only(Axis::linear("data units a track (D)", ""), writes(), curves))
}

/// Figure 17: (a) the cost of a log write, (b) the throughput.
fn segments() -> Panels {
    let with = |segment, zero_latency| {
        known(Organization::ParityLogging(Logging { segment, zero_latency, ..Logging::default() }))
    };
    let tracks = || 1..=DISK.tracks as u32;
    let kinds = [(false, "waits for the beginning"), (true, "zero latency")];
    let (mut costs, mut rates) = (Vec::new(), Vec::new());
    for (zero_latency, name) in kinds {
        let cost = |segment| Ok(with(segment, zero_latency)?.small_write().log_write);
        costs.push(modelled(name, along(tracks(), cost)?));
        let rate = |segment| Ok(with(segment, zero_latency)?.throughput_per_disk(1.0));
        rates.push(modelled(name, along(tracks(), rate)?));
    }
    let axis = || Axis::linear("tracks buffered a region (K)", "");
    let cost = Chart { x: axis(), y: ms("log write, a small write"), curves: costs };
    let rate = Chart { x: axis(), y: writes(), curves: rates };
    Ok(vec![
        Panel::titled("(a) cost of log writes", Content::Chart(cost)),
        Panel::titled("(b) throughput without prereads", Content::Chart(rate)),
    ])
}

/// Figure 18: the mean seek from a fifth of the drive's to twice that.
fn seeks() -> Panels {
    let mut panels = Vec::new();
    for (preread, title) in PREREADS {
        let rate = |organization, scale: f64| {
            let disk = Disk { seek: scale * DISK.seek, ..DISK };
            let array = Array { disk, preread, ..Array::example(organization) };
            Ok(model(array)?.throughput(1.0))
        };
        let mut curves = Vec::new();
        for (name, organization) in &ORGANIZATIONS[1..] {
            let relative =
                |scale| Ok(rate(organization(), scale)? / rate(Organization::Nonredundant, scale)?);
            curves.push(modelled(name, along(even(0.2, 2.0, 36), relative)?));
        }
        let x = Axis::linear("mean seek over the drive's", "");
        let y = Axis::linear("throughput over a nonredundant array's", "");
        panels.push(Panel::titled(title, Content::Chart(Chart { x, y, curves })));
    }
    Ok(panels)
}

/// Figure 19.
fn reintegration() -> Panels {
    let takes = |targets| {
        along(
            SUBLOGS,
            |sublogs| Ok(logs(&blind(striped(sublogs))?).reintegration(targets, 0.0).total() / 1e3),
        )
    };
    let mut curves = vec![
        modelled("latency, all arms to one region", takes(Targets::Common)?),
        modelled("latency, independent targets (as printed)", takes(Targets::Independent)?),
    ];
    for (preread, name) in PREREADS {
        let period = |sublogs| {
            let period = example(striped(sublogs), preread)?.reintegration_period(1.0);
            Ok(period.unwrap_or_default() / 1e3)
        };
        curves.push(modelled(&format!("least period, {name}"), along(SUBLOGS, period)?));
    }
    Ok(only(sublog_axis(), Axis::linear("time", "s"), curves))
}

/// Figure 22.
fn sublog_reads() -> Panels {
    let reads = along(SUBLOGS, |sublogs| Ok(logs(&blind(striped(sublogs))?).sublog_read() / 1e3))?;
    Ok(only(sublog_axis(), Axis::linear("read of a sublog", "s"), vec![modelled("parity logging", reads)]))
}

/// Figure 26.
fn airline() -> Vec<Panel> {
    let sizes: Vec<f64> = vec![1.0, 2.0, 4.0, 8.0, 24.0];
    let shares = |way: Way, size: f64| {
        let alike = AIRLINE.iter().filter(|access| access.way == way && access.size == size);
        alike.map(|access| access.share).sum::<f64>()
    };
    let ways = [("reads", Way::Read), ("writes", Way::Write)];
    let curves = ways.into_iter().map(|(name, way)| {
        let shares = sizes.iter().map(|size| shares(way, *size));
        Curve::new(name, Source::Published, (0..).map(f64::from).zip(shares))
    });
    let names = sizes.iter().map(|size| format!("{size} KB"));
    only(Axis::names("size", names), Axis::linear("part of all requests", "%"), curves.collect())
}
