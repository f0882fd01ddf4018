//! Tests of the experiments that come with the program.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::path::{Path, PathBuf};

use parlour_lab::experiment::{Experiment, Point};
use parlour_lab::figures::Figures;
use parlour_lab::reliability::assess;
use parlour_lab::settings::Time;
use parlour_units::Duration;

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn every_run_of_every_experiment_is_possible() {
    let mut found = Vec::new();
    files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments")), &mut found);
    found.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    assert!(found.len() > 4);
    for path in found {
        let experiment = Experiment::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        for point in experiment.points().unwrap_or_else(|error| panic!("{error}")) {
            if path.parent().is_some_and(|directory| directory.ends_with("reliability")) {
                assess_once(&point, &path);
                continue;
            }
            let prepared = point.setup.prepare(&path);
            prepared.unwrap_or_else(|error| panic!("{}: {:?}: {error}", path.display(), point.labels));
        }
    }
}

/// (Their rebuilds are long.)
fn assess_once(point: &Point, path: &Path) {
    let mut setup = point.setup.clone();
    setup.reliability.rebuild = Some(Time(Duration::from_secs(3_600)));
    setup.reliability.at_most = Some(2);
    let assessed = assess(&setup, path);
    assessed.unwrap_or_else(|error| panic!("{}: {:?}: {error}", path.display(), point.labels));
}

fn shown(text: &str) -> parlour_lab::experiment::prepared::Outcome {
    let path = Path::new("it.toml");
    let experiment = Experiment::parse(path, text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let [point] = &experiment.points().unwrap()[..] else { panic!("one run") };
    let prepared = point.setup.prepare(path).unwrap_or_else(|error| panic!("{error}"));
    prepared.run().unwrap_or_else(|error| panic!("{error}"))
}

const FIVE: &str = r#"
members = 5
member-size = "64MiB"

[array]
organization = "raid5"

[drive]
model = "hp-c2247a"

[workload]
processes = 2
reads = 0.5

[measure]
warm-up = 0
requests = 500
at-most = 500
"#;

#[test]
fn a_member_dies_and_its_successor_is_rebuilt_while_hosts_go_on() {
    let text = FIVE.replace("requests = 500\nat-most = 500", "until-rebuilt = true");
    let health = "[[health]]\nat = \"1s\"\ndie = 2\n[[health]]\nat = \"3s\"\nreplace = 2\n";
    let outcome = shown(&format!("{text}{health}"));
    let [(0, 2, Some(took))] = outcome.happened.rebuilds[..] else { panic!("{:?}", outcome.happened) };
    assert!(took > 10.0 && outcome.report.lost == 0, "{took}");
    assert!(outcome.happened.incidents.iter().any(|(at, _, what)| *at >= 1.0 && what.contains("failed")));
}

#[test]
fn two_dead_members_are_more_than_is_survived_and_requests_say_so() {
    let outcome = shown(&format!("{FIVE}[[health]]\ndie = 1\n[[health]]\ndie = 3\n"));
    assert!(outcome.report.lost > 50, "{}", outcome.report.lost);
}

#[test]
fn arrays_side_by_side_share_the_load_and_their_paths() {
    let path = "[path]\nprocessors = 2\naccess = \"1ms\"\nstring = \"5MB\"\nmembers-per-string = 5\n";
    let outcome = shown(&format!("arrays = 3\n{FIVE}{path}"));
    assert_eq!(outcome.report.members.len(), 15);
    let names: Vec<&str> = outcome.report.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["processors", "string 0", "string 1", "string 2"]);
    assert!(outcome.report.stations.iter().all(|station| station.served > 100));
}

#[test]
fn what_cannot_happen_is_refused_by_its_key() {
    let refused = |text: &str, words: &str| {
        let text = format!("{FIVE}{text}");
        let experiment = Experiment::parse(Path::new("it.toml"), &text, &[]).unwrap();
        let error = experiment.points().unwrap()[0].setup.prepare(Path::new("it.toml")).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    };
    refused("[[health]]\nat = \"1s\"\n", "health 1: say one thing that happens");
    refused("[[health]]\ndie = 5\n", "health 1: there is no slot 5; there are 5");
    refused("[[health]]\ndie = 1\narray = 1\n", "health 1: there is no array 1; there are 1");
    refused("[path]\naccess = \"1ms\"\n", "path.access is for path.processors");
    refused("[path]\nstring = \"0MB\"\n", "path.string: its rate must be positive");
    refused("[journal]\nnear-heads = true\n", "journal.near-heads: the array has no journal");
    refused("[control]\nquantile = 0.9\n", "control: say within which limit");
    refused("[control]\nlimit = \"1s\"\n", "control.limit is for quantile");
    refused("[control]\nthroughput = 5\n[[health]]\ndie = 1\n", "control: runs that are compared");
}

/// An experiment on one drive with this workload, otherwise like `FIVE`.
fn one(workload: &str) -> String {
    let (head, rest) = FIVE.split_once("[workload]").unwrap();
    let (_, measure) = rest.split_once("[measure]").unwrap();
    let head = head.replace("members = 5", "members = 1").replace("raid5", "simple");
    format!("{head}{workload}\n[measure]{measure}")
}

#[test]
fn a_trace_beside_the_experiment_is_replayed_at_its_times() {
    let directory = tempfile::tempdir().unwrap();
    let lines: String = (0..50).map(|number| format!("{} 0 {} 8 1\n", number * 100, number * 64)).collect();
    std::fs::write(directory.path().join("a.trace"), lines).unwrap();
    let path = directory.path().join("it.toml");
    let workload = "[workload]\nstretched = 2.0\ntrace = { file = \"a.trace\", format = \"disksim\" }\n";
    let prepare = |text: &str| {
        let experiment = Experiment::parse(&path, text, &[]).unwrap();
        experiment.points().unwrap()[0].setup.prepare(&path)
    };
    let report = prepare(&one(workload)).unwrap().run().unwrap().report;
    assert_eq!(report.all().reads.response.count(), 50);
    let span = report.span.as_secs_f64();
    assert!((9.8..9.9).contains(&span), "49 times 100 ms, stretched twice: {span}");
    let gone = prepare(&one(workload).replace("a.trace", "b.trace")).unwrap_err();
    assert!(
        gone.to_string().contains("workload.trace.file") && gone.to_string().contains("b.trace"),
        "{gone}"
    );
}

#[test]
fn a_throughput_is_reached_by_thinking() {
    let text = one("[workload]\nprocesses = 4\n").replace("requests = 500\nat-most = 500", "requests = 4000");
    let outcome = shown(&format!("{text}[control]\nthroughput = 20.0\n"));
    let found = outcome.found.unwrap();
    let reached = outcome.report.all().all.requests.mean;
    assert!(found.met && (reached / 20.0 - 1.0).abs() <= 0.02, "{reached}");
}

#[test]
fn transactions_files_and_phases_are_what_is_waited_for() {
    let tasks = |workload: &str| {
        let report = shown(&one(workload)).report;
        report.sources[0].tasks.as_ref().map(|tasks| tasks.times.count())
    };
    let accounts = "[workload]\nprocesses = 2\naccounts = { branches = 1, page = \"4KiB\" }\n";
    assert!(tasks(accounts).unwrap() > 200);
    let files = "[workload]\nprocesses = 2\nfiles = { sizes = [\"64KiB\", \"128KiB\"], read = \"16KiB\", ahead = 2 }\n";
    assert!(tasks(files).unwrap() > 50);
    let seeks = "[workload.bonnie]\nphase = \"seeks\"\nfile = \"32MiB\"\nblock = \"8KiB\"\n";
    assert!(tasks(seeks).unwrap() > 400);
    let pass = "[workload]\nprocesses = 2\npass = { way = \"rewrite\", part = \"64KiB\" }\n";
    assert_eq!(tasks(pass), None);
}

/// An entry costs neither a seek nor half a turn there.
#[test]
fn entries_near_the_heads_make_short_writes_faster() {
    let rate = |near: bool| {
        let text = format!(
            r#"
members = 5
member-size = "64MiB"
array = {{ organization = "raid5", consistency = "journal" }}
log.write-back = "2MiB"
drive.model = "ibm-0661"
journal.near-heads = {near}
workload = {{ processes = 1, reads = 0.0, size = "4KiB", think = "200ms" }}
measure = {{ warm-up = 100, requests = 500, at-most = 500 }}
"#
        );
        shown(&text).report.all().all.response.quantile(0.5).nanoseconds() as f64
    };
    let (place, heads) = (rate(false), rate(true));
    assert!(heads < place * 0.6, "{heads} ns near the heads, {place} ns in one place");
}

/// Hosts that write more than is destaged are slowed down to its pace. Before, all of them stood
/// still for as long as a quarter of the journal took.
#[test]
fn with_write_back_hosts_keep_pace_with_destages() {
    let text = r#"
members = 5
member-size = "64MiB"

[array]
organization = "parity-logging"

[log]
write-back = "2MiB"

[drive]
model = "hp-c2247a"

[journal]
devices = 2
drive.model = "intel-dc-s3700"

[workload]
processes = 8
reads = 0.0
size = "4KiB"

[measure]
warm-up = 2_000
requests = 4_000
at-most = 4_000
"#;
    let report = shown(text).report;
    let response = &report.all().all.response;
    // (Without this, more than nine of ten answers came at once, and the others took seconds.)
    let (middle, slow) = (response.quantile(0.5), response.quantile(0.9));
    assert!(middle > Duration::from_millis(10) && slow < Duration::from_millis(400), "{middle:?} {slow:?}");
}

#[test]
fn what_has_no_place_for_a_journal_has_a_bitmap_by_default() {
    let path = Path::new("it.toml");
    let text = "members = 6\ndrive.model = \"ibm-0661\"\n\
        array = { organization = \"floating\", tolerance = 2, unit = \"2KiB\" }";
    let points = Experiment::parse(path, text, &[]).unwrap().points().unwrap();
    let (geometry, ..) = points[0].setup.geometry(path).unwrap_or_else(|error| panic!("{error}"));
    assert!(!geometry.is_journaled());
}

#[test]
fn a_drive_with_shorter_seeks_writes_more() {
    let rate = |seeks: &str| {
        let outcome = shown(&FIVE.replace("model =", &format!("seeks = {seeks}\nmodel =")));
        Figures::of(&outcome, false).throughput.mean
    };
    assert!(rate("0.2") > 1.3 * rate("1.0"));
}

#[test]
fn what_cannot_be_compressed_is_refused_by_its_key() {
    let refused = |semantics: &str, organization: &str| {
        let text = FIVE.replace("raid5", organization);
        let text = format!("{text}[semantics]\ncompressed-to = {semantics}\n");
        let experiment = Experiment::parse(Path::new("it.toml"), &text, &[]).unwrap();
        let prepared = experiment.points().unwrap()[0].setup.prepare(Path::new("it.toml"));
        prepared.err().map(|error| error.to_string())
    };
    assert_eq!(refused("0.25", "parity-logging"), None);
    assert_eq!(refused("1.0", "raid5"), None);
    for impossible in ["0.0", "-0.5", "1.0001", "2.0", "nan"] {
        let error = refused(impossible, "parity-logging").unwrap();
        assert!(error.starts_with("semantics.compressed-to: "), "{error}");
    }
    assert!(refused("0.25", "raid5").unwrap().contains("no parity log"));
}
