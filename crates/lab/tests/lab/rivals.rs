//! Organizations of others, on simulated drives.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::path::Path;

use parlour_lab::experiment::Experiment;
use parlour_lab::experiment::predict::Clocks;
use parlour_lab::experiment::prepared::{Outcome, Prepared};
use parlour_lab::figures::Figures;
use parlour_lab::reliability::assess;

/// Small writes to a part of the paper's drives: short, so that logs are filled and cleaned soon.
const SMALL: &str = r#"
members = 12
member-size = "24MiB"

[array]
unit = "2KiB"

[semantics]
combined = true
bitmap = false

[drive]
model = "ibm-0661"
synchronized = true

[workload]
processes = 24
reads = 0.0
size = "2KiB"

[measure]
warm-up = 5_000
requests = 20_000
at-most = 20_000
"#;

const RIVALS: [&str; 4] = ["lraid-x4", "log-structured", "distorted-mirrors", "doubly-distorted-mirrors"];

fn prepared(organization: &str, set: &[&str]) -> Prepared {
    let path = Path::new("it.toml");
    let organization = format!("array.organization={organization}");
    let set: Vec<String> = set.iter().copied().chain([&*organization]).map(str::to_owned).collect();
    let experiment = Experiment::parse(path, SMALL, &set).unwrap();
    let prepared = experiment.points().unwrap()[0].setup.prepare(path);
    prepared.unwrap_or_else(|error| panic!("{organization}: {error}"))
}

fn outcome(organization: &str, set: &[&str]) -> Outcome {
    prepared(organization, set).run().unwrap_or_else(|error| panic!("{organization}: {error}"))
}

fn throughput(organization: &str, set: &[&str]) -> f64 {
    outcome(organization, set).report.all().all.requests.mean
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    for rival in RIVALS {
        let figures = |seed| Figures::of(&outcome(rival, &["workload.reads=0.3", seed]), true);
        assert_eq!(figures("seed=1"), figures("seed=1"), "{rival}");
        assert_ne!(figures("seed=1").throughput, figures("seed=2").throughput, "{rival}");
    }
}

#[test]
fn small_writes_are_cheaper_than_those_of_what_they_are_made_from() {
    let [mirrored, raid5] = ["raid10", "raid5"].map(|name| throughput(name, &[]));
    let [_, structured, distorted, doubly] = RIVALS.map(|name| throughput(name, &[]));
    // A fiftieth of so short a member makes runs so short that their merge is all that counts.
    let lraid = throughput("lraid-x4", &["rival.memory=\"4MiB\""]);
    assert!(distorted > 1.4 * mirrored, "{distorted}, mirrored {mirrored}");
    assert!(doubly > 1.1 * distorted, "{doubly}, distorted {distorted}");
    assert!(structured > 2.0 * raid5, "{structured}, RAID 5 {raid5}");
    assert!(lraid > raid5, "{lraid}, RAID 5 {raid5}");
}

#[test]
fn what_is_read_in_order_is_in_order_on_masters_and_not_in_segments() {
    let pass = [
        "workload.pass={ way = \"read\", part = \"256KiB\" }",
        "workload.processes=1",
        "measure.requests=500",
        "measure.at-most=500",
        "measure.warm-up=10",
    ];
    // A stream and a pass exclude each other.
    let text = SMALL.replace("reads = 0.0\nsize = \"2KiB\"\n", "");
    let rate = |organization: &str| {
        let path = Path::new("it.toml");
        let organization = format!("array.organization={organization}");
        let set: Vec<String> = pass.iter().copied().chain([&*organization]).map(str::to_owned).collect();
        let experiment = Experiment::parse(path, &text, &set).unwrap();
        let prepared = experiment.points().unwrap()[0].setup.prepare(path).unwrap();
        prepared.run().unwrap().report.all().all.bytes.mean / 1e6
    };
    let [raid5, distorted, structured] = ["raid5", "distorted-mirrors", "log-structured"].map(rate);
    assert!(distorted > 0.5 * raid5, "{distorted} MB/s, RAID 5 {raid5}");
    assert!(structured < 0.5 * raid5, "{structured} MB/s, RAID 5 {raid5}");
}

#[test]
fn cleaning_costs_more_the_fuller_the_array_is() {
    let cost = |utilization: &str| {
        let outcome = outcome("log-structured", &[&format!("rival.utilization={utilization}")]);
        outcome.happened.measured.iter().find(|(_, what, _)| *what == "write cost").unwrap().2
    };
    let [half, full] = ["0.5", "0.8"].map(cost);
    assert!(1.5 < half && half < full && full < 12.0, "{half}, {full}");
}

#[test]
fn what_a_rival_does_not_have_is_refused_by_its_key() {
    let refused = |set: &[&str], words: &str| {
        let path = Path::new("it.toml");
        let set: Vec<String> = set.iter().map(|setting| (*setting).to_owned()).collect();
        let experiment = Experiment::parse(path, SMALL, &set).unwrap();
        let error = experiment.points().unwrap()[0].setup.prepare(path).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let lraid = "array.organization=lraid-x4";
    refused(&[lraid, "members=4"], "array.organization: 4 members: LRAID-X4 takes 5 or more");
    refused(&[lraid, "array.consistency=journal"], "array.consistency: lraid-x4 has no such setting");
    refused(&[lraid, "log.regions=9"], "log: lraid-x4 has no such setting");
    refused(&[lraid, "rival.utilization=0.5"], "rival.utilization: lraid-x4 has no such setting");
    refused(&[lraid, "journal.near-heads=true"], "journal.near-heads: lraid-x4 has no such setting");
    refused(&["array.organization=raid5", "rival.memory=\"4MiB\""], "rival.memory: it is for organizations");
    refused(&["array.organization=log-structured", "rival.utilization=0.999"], "cleaning needs");
    let mirrors = "array.organization=distorted-mirrors";
    refused(&[mirrors, "members=3"], "array.organization: 3 members: distorted mirrors takes pairs");
    refused(&[mirrors, "drive.model=\"intel-dc-s3700\""], "drive.model: distorted-mirrors chooses places");
    let text = format!("{SMALL}\n[[health]]\ndie = 1\n");
    let experiment = Experiment::parse(Path::new("it.toml"), &text, &[lraid.to_owned()]).unwrap();
    let error = experiment.points().unwrap()[0].setup.prepare(Path::new("it.toml")).unwrap_err();
    assert!(error.to_string().starts_with("health: lraid-x4 is simulated only while"), "{error}");
}

#[test]
fn closed_forms_and_reliability_say_that_they_do_not_know_rivals() {
    for rival in RIVALS {
        let error = prepared(rival, &[]).predict(&mut Clocks::default()).unwrap_err();
        assert!(error.to_string().starts_with("array.organization: "), "{error}");
        let set = [format!("array.organization={rival}")];
        let experiment = Experiment::parse(Path::new("it.toml"), SMALL, &set).unwrap();
        let error = assess(&experiment.points().unwrap()[0].setup, Path::new("it.toml")).unwrap_err();
        assert!(error.to_string().contains("is simulated only"), "{error}");
    }
}

#[test]
fn requests_are_rounded_to_whole_units() {
    let small = outcome("distorted-mirrors", &["workload.size=\"1KiB\"", "workload.align=\"1KiB\""]);
    let all = &small.report.all().all;
    assert_eq!((all.bytes.mean / all.requests.mean).round(), 2_048.0);
}

#[test]
fn a_source_of_the_warm_up_ends_with_it_and_one_of_the_measurement_begins_then() {
    let (head, measure) = SMALL.split_once("[workload]").unwrap();
    let measure = measure.split_once("[measure]").unwrap().1;
    let workloads = "[[workload]]\nname = \"before\"\nprocesses = 4\nreads = 0.0\nduring = \"warm-up\"\n\
                     [[workload]]\nname = \"then\"\nprocesses = 2\nreads = 1.0\nduring = \"measurement\"\n";
    let text = format!("{head}{workloads}[measure]{measure}");
    let set = ["array.organization=raid5".to_owned(), "array.unit=\"64KiB\"".to_owned()];
    let experiment = Experiment::parse(Path::new("it.toml"), &text, &set).unwrap();
    let prepared = experiment.points().unwrap()[0].setup.prepare(Path::new("it.toml")).unwrap();
    let report = prepared.run().unwrap().report;
    assert_eq!(report.all().writes.response.count(), 0);
    let sources = report.sources;
    let counted: Vec<(&str, u64)> =
        sources.iter().map(|source| (&*source.name, source.answers.all.response.count())).collect();
    assert_eq!(counted, [("then", 20_000)], "what was asked before is answered before");
}
