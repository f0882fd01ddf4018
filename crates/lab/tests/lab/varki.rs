//! Compares the closed fork-join network of Varki and Wang with the simulated array.
//!
//! The paper's mean error is 6% (§4). Its requests have random sizes, and yet are spread over
//! exactly k units, which the paper does not explain. Here a request is k whole stripe units, and
//! begins at the start of a unit. On the grid of `experiments/varki/units.toml` (128 KiB, 512 KiB,
//! 2 MiB and 4 MiB, k = 1…21, 1 to 20 processes that do not think or think for 30 ms) the mean
//! error is 4.0% with the printed maximum, 3.0% with that of normal times, 2.9% with that of the
//! drive's own independent times, and 2.8% with that of siblings at the same position. The tests
//! use a part of this grid.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::num::NonZeroU32;
use std::path::Path;

use parlour_drive::angle::Angle;
use parlour_drive::catalogue;
use parlour_drive::description::Description;
use parlour_lab::experiment::{Experiment, Point};
use parlour_lab::simulate::run_all;
use parlour_model::fork_join::{Bus, Network, Phase};
use parlour_model::order::Distribution;
use parlour_model::service::{Access, Pattern, Service, Work, service};
use parlour_model::writes::{Accesses, Method, Write, combined};
use parlour_sim::report::Report;

/// The common part of all experiments.
const COMMON: &str = r#"
seed = 1
[array]
organization = "raid5"
[semantics]
bitmap = false
[workload]
processes = 1
[measure]
warm-up = 200
requests = 2000
at-most = 6000
precision = 0.015
[sweep]
think = [{ name = "none" }, { name = "30 ms", workload.think = { exponential = "30ms" } }]
"#;

/// A run: the values of its axes, and the mean response time in milliseconds. The first axis is the
/// think time, the last the number of processes.
struct Run {
    labels: Vec<String>,
    response: f64,
}

impl Run {
    fn think(&self) -> f64 {
        if self.labels[0] == "none" { 0.0 } else { 30.0 }
    }

    fn processes(&self) -> u32 {
        self.labels.last().unwrap().parse().unwrap()
    }

    /// The error of a model, as a fraction of the simulated response time.
    fn error(&self, network: &Network) -> f64 {
        network.with(self.processes()).unwrap().response / self.response - 1.0
    }
}

fn simulated(settings: &[&str], sweep: &str) -> Vec<Run> {
    let path = Path::new("varki.toml");
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    let text = format!("{COMMON}{sweep}");
    let experiment = Experiment::parse(path, &text, &settings).unwrap_or_else(|error| panic!("{error}"));
    let points = experiment.points().unwrap_or_else(|error| panic!("{error}"));
    let prepared: Vec<_> = points.iter().map(|point| point.setup.prepare(path).unwrap()).collect();
    let outcomes = run_all(&prepared, || ()).into_iter().map(|outcome| outcome.unwrap().report);
    let response = |report: Report| report.all().all.response.mean().mean * 1e3;
    let run =
        |(point, report): (&Point, Report)| Run { labels: point.labels.clone(), response: response(report) };
    points.iter().zip(outcomes).map(run).collect()
}

fn mean(errors: impl IntoIterator<Item = f64>) -> f64 {
    let errors: Vec<f64> = errors.into_iter().map(f64::abs).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

fn times(drive: &str, work: Work, blocks: u64) -> Service {
    let description = Description::parse(catalogue::find(drive).unwrap()).unwrap();
    let (mechanics, electronics) =
        (description.mechanics(Angle::default()).unwrap(), description.electronics().unwrap());
    let access = Access { work, blocks, pattern: Pattern::Uniform };
    service(&mechanics, &electronics, access).unwrap_or_else(|error| panic!("{error}"))
}

fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

/// va.6pct (§4): 6%; with empirical maxima 3%.
#[test]
fn the_mean_error_of_striped_reads_is_within_the_papers() {
    let sizes = [("128 KiB", 256_u32), ("512 KiB", 1_024), ("2 MiB", 4_096)];
    let load = |(name, sectors): (&str, u32), siblings: u32| {
        let unit = (sectors + siblings / 2) / siblings;
        let (bytes, all) = (unit * 512, unit * 512 * siblings);
        let workload = format!("workload = {{ size = \"{all}B\", align = \"{bytes}B\" }}");
        format!("{{ name = \"{name}/{siblings}/{unit}\", array.unit = \"{bytes}B\", {workload} }},")
    };
    let loads = sizes.iter().flat_map(|size| [1, 3, 7, 11, 14, 17, 21].map(|siblings| load(*size, siblings)));
    let loads: String = loads.collect();
    let settings = ["members=24", "array.groups=3", "drive.model=hp-c2247a"];
    let runs = simulated(&settings, &format!("load = [{loads}]\nworkload.processes = [1, 4, 12, 20]\n"));
    let mut errors: [Vec<f64>; 4] = Default::default();
    let mut of_one = Vec::new();
    for run in &runs {
        let parts: Vec<&str> = run.labels[1].split('/').collect();
        let (siblings, blocks): (u32, u64) = (parts[1].parse().unwrap(), parts[2].parse().unwrap());
        let service = times("hp-c2247a", Work::Read, blocks);
        let with = |times: &Distribution| Phase::new(count(siblings), times);
        let phases = [
            with(&service.printed().unwrap()),
            with(&service.normal().unwrap()),
            with(&service.distribution),
            service.phase(count(siblings), f64::from(siblings) / 24.0),
        ];
        let each = phases.map(|phase| run.error(&Network::new(24, phase, run.think()).unwrap()));
        errors.iter_mut().zip(each).for_each(|(errors, error)| errors.push(error));
        of_one.extend((run.processes() == 1).then_some(each[3]));
    }
    let [printed, normal, independent, together] = errors.map(mean);
    let shown =
        format!("{printed:.4} {normal:.4} {independent:.4} {together:.4} {:.4}", mean(of_one.clone()));
    assert!(printed < 0.06, "{shown}");
    assert!(normal < 0.036 && independent < 0.04 && together < 0.03, "{shown}");
    // With one process there are no queues, so only the maximum is compared.
    assert!(mean(of_one) < 0.01, "{shown}");
}

/// va.21 (§3.1).
#[test]
fn three_groups_of_seven_and_one_hold_21_drives_of_data() {
    let settings = ["members=24", "array.groups=3", "drive.model=hp-c2247a", "array.unit=64KiB"];
    let settings: Vec<String> = settings.map(str::to_owned).into();
    let path = Path::new("varki.toml");
    let experiment = Experiment::parse(path, COMMON, &settings).unwrap();
    let prepared = experiment.points().unwrap()[0].setup.prepare(path).unwrap();
    let drives = prepared.geometry().unwrap().capacity().get() as f64 * 512.0 / 1.05e9;
    assert!((20.5..21.1).contains(&drives), "{drives}");
}

const WRITES: &str = r#"
kind = [
    { name = "one", workload.size = "8KiB" },
    { name = "two", workload = { size = "16KiB", align = "16KiB" } },
    { name = "combined", workload.size = "8KiB", semantics.combined = true },
    { name = "half", workload = { size = "32KiB", align = "32KiB" } },
    { name = "all", workload = { size = "64KiB", align = "64KiB" } },
]
workload.processes = [1, 4, 12, 20]
"#;

/// Not in the paper. The mean errors of small writes are 6%, and 1.5% if each access is made
/// separately; those of half a stripe and of a whole stripe are 12% and 6.5%. (For these, all disks
/// work on each request, nearly in step. Then the model counts requests at their disks for too
/// long.)
#[test]
fn writes_take_about_as_long_as_modelled() {
    for drive in ["ibm-0661", "hp-c2247a"] {
        let settings = ["members=9", "array.unit=8KiB", "workload.reads=0.0"].map(str::to_owned);
        let settings = [&settings[..], &[format!("drive.model={drive}")]].concat();
        let runs = simulated(&settings.iter().map(String::as_str).collect::<Vec<_>>(), WRITES);
        let [read, write, modify] =
            [Work::Read, Work::Write, Work::Modify].map(|work| times(drive, work, 16));
        let accesses = Accesses { read: &read, write: &write, disks: count(9) };
        let phases = |kind: &str| {
            let of = |written, method| Write { data: 8, written }.phases(method, accesses).unwrap();
            match kind {
                "one" => of(1, Method::ReadModifyWrite),
                "two" => of(2, Method::ReadModifyWrite),
                "half" => of(4, Method::Reconstruct),
                "all" => of(8, Method::FullStripe),
                _ => combined(&modify),
            }
        };
        for (kind, most) in
            [("one", 0.06), ("two", 0.06), ("combined", 0.015), ("half", 0.12), ("all", 0.065)]
        {
            let errors = runs.iter().filter(|run| run.labels[1] == kind).map(|run| {
                let network = Network::of(9, phases(kind), run.think()).unwrap();
                run.error(&network.partly_served())
            });
            let error = mean(errors);
            assert!(error < most, "{drive}, {kind}: {error:.4}");
        }
    }
}

const BUSES: &str = r#"
bus = [
    { name = "string 10 9", path = { string = "10MB", members-per-string = 9 } },
    { name = "string 5 9", path = { string = "5MB", members-per-string = 9 } },
    { name = "string 2.5 9", path = { string = "2500000B", members-per-string = 9 } },
    { name = "string 5 3", path = { string = "5MB", members-per-string = 3 } },
    { name = "channel 10 1", path.channel = "10MB" },
    { name = "channel 5 1", path.channel = "5MB" },
]
kind = [
    { name = "1", workload = { size = "32KiB" } },
    { name = "4", workload = { size = "128KiB", align = "32KiB" } },
    { name = "8", workload = { size = "256KiB", align = "32KiB" } },
    { name = "9", workload = { reads = 0.0, size = "256KiB", align = "256KiB" } },
]
workload.processes = [1, 2, 8, 16]
"#;

/// Not in the paper. The mean errors of reads of one unit, four, eight of eight, and of writes of
/// all nine.
#[test]
fn contention_for_buses_is_about_as_modelled() {
    let runs = simulated(&["members=9", "array.unit=32KiB", "drive.model=ibm-0661"], BUSES);
    let [read, write] = [Work::Read, Work::Write].map(|work| times("ibm-0661", work, 64));
    let network = |run: &Run| {
        let siblings: u32 = run.labels[2].parse().unwrap();
        let service = if siblings == 9 { &write } else { &read };
        let phase = service.phase(count(siblings), f64::from(siblings) / 9.0);
        let network = Network::new(9, phase, run.think()).unwrap();
        let [kind, rate, disks] = run.labels[1].split(' ').collect::<Vec<_>>()[..] else {
            panic!("three words")
        };
        // 32 KiB at this rate in MB per second.
        let transfer = 32.768 / rate.parse::<f64>().unwrap();
        let bus = match kind {
            "string" => Bus::Strings { disks: disks.parse().unwrap(), transfer },
            _ => Bus::Channel { transfer: transfer * f64::from(siblings.min(8)) },
        };
        let network = network.with_bus(bus).unwrap();
        network.partly_served()
    };
    for (siblings, most) in [("1", 0.03), ("4", 0.045), ("8", 0.065), ("9", 0.08)] {
        let errors = runs.iter().filter(|run| run.labels[2] == siblings).map(|run| run.error(&network(run)));
        let error = mean(errors);
        assert!(error < most, "{siblings}: {error:.4}");
    }
}
