//! Compares the predictions of closed forms with simulations of the same experiments.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::path::Path;

use parlour_lab::experiment::Experiment;
use parlour_lab::experiment::predict::{Clocks, Prediction};
use parlour_lab::experiment::prepared::Prepared;
use parlour_lab::figures::Figures;

const MACHINE: &str = r#"
members = 10

[array]
organization = "raid0"
unit = "2KiB"

[drive]
model = "ibm-0661"

[semantics]
bitmap = false

[workload]
processes = 30
reads = 0.0
size = "2KiB"

[measure]
warm-up = 1_000
requests = 20_000
at-most = 20_000
"#;

fn prepared(set: &[&str]) -> Prepared {
    let path = Path::new("it.toml");
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let experiment = Experiment::parse(path, MACHINE, &set).unwrap_or_else(|error| panic!("{error}"));
    let [point] = &experiment.points().unwrap()[..] else { panic!("one run") };
    point.setup.prepare(path).unwrap_or_else(|error| panic!("{error}"))
}

fn both(set: &[&str]) -> (Prediction, Figures) {
    let prepared = prepared(set);
    let predicted = prepared.predict(&mut Clocks::default()).unwrap_or_else(|error| panic!("{error}"));
    let simulated = prepared.run().unwrap_or_else(|error| panic!("{error}"));
    (predicted, Figures::of(&simulated, false))
}

fn near(set: &[&str], tolerance: f64) {
    let (predicted, simulated) = both(set);
    let pairs = [
        ("throughput", predicted.throughput, simulated.throughput.mean),
        ("response", predicted.response_ms, simulated.response_ms.mean),
        ("utilization", predicted.utilization, simulated.utilization),
        ("megabytes", predicted.mb_per_second, simulated.mb_per_second.mean),
    ];
    for (what, predicted, simulated) in pairs {
        let off = predicted / simulated - 1.0;
        assert!(off.abs() < tolerance, "{set:?}: {what} of {predicted}, {simulated} simulated");
    }
}

#[test]
fn single_accesses_are_as_simulated() {
    near(&[], 0.02);
    near(&["workload.reads=0.5", "workload.think={ exponential = \"50ms\" }"], 0.04);
}

#[test]
fn small_writes_are_as_simulated() {
    let raid5 = "array.organization=\"raid5\"";
    near(&[raid5, "semantics.combined=true"], 0.02);
    near(&[raid5], 0.06);
    near(&[raid5, "semantics.old-data-known=true"], 0.06);
    near(&[raid5, "semantics.combined=true", "semantics.old-data-known=true"], 0.08);
}

#[test]
fn mirrors_and_large_requests_are_as_simulated() {
    // Copies that are only written always work in step. The angles between the platters of each
    // pair are random, and there are only five pairs.
    near(&["array.organization=\"raid10\"", "workload.processes=8"], 0.06);
    near(&["array.organization=\"raid10\"", "drive.synchronized=true"], 0.03);
    // The simulated array reads the copy whose disk has less work.
    near(&["array.organization=\"raid10\"", "workload.reads=0.7"], 0.12);
    near(&["workload.reads=1.0", "workload.size=\"20KiB\""], 0.03);
    near(&["array.organization=\"raid5\"", "workload.reads=1.0", "workload.size=\"8KiB\""], 0.06);
}

#[test]
fn parity_logging_is_as_simulated() {
    let set = [
        "array.organization=\"parity-logging\"",
        "array.consistency=\"bitmap\"",
        "log={ log-segment = \"24KiB\", log-track = \"24KiB\", log-ratio = 1.0, regions = 20, sublogs = 2 }",
        "semantics.combined=true",
        "member-size=\"24MiB\"",
        "measure.warm-up-reintegrations=1",
        "measure.requests=60_000",
        "measure.at-most=60_000",
    ];
    near(&set, 0.08);
}

#[test]
fn arrays_with_members_missing_are_as_simulated() {
    let raid5 = ["array.organization=\"raid5\"", "semantics.combined=true", "health=[{ die = 3 }]"];
    near(&raid5, 0.04);
    let raid6 = [
        "array.organization=\"raid5\"",
        "array.tolerance=2",
        "array.consistency=\"bitmap\"",
        "health=[{ die = 3 }, { die = 8 }]",
    ];
    near(&raid6, 0.06);
    let mirrors = ["array.organization=\"raid10\"", "drive.synchronized=true", "health=[{ die = 3 }]"];
    near(&mirrors, 0.04);
    let later = prepared(&["array.organization=\"raid5\"", "health=[{ die = 3, at = \"1s\" }]"]);
    let refused = later.predict(&mut Clocks::default()).unwrap_err();
    assert!(refused.to_string().starts_with("health: only members that have died"), "{refused}");
}

#[test]
fn a_rebuild_and_what_hosts_have_beside_it_are_as_simulated() {
    let rebuilt = [
        "array.unit=\"24KiB\"",
        "array.consistency=\"bitmap\"",
        "semantics.combined=true",
        "measure={ warm-up = 0, until-rebuilt = true }",
        "health=[{ at = \"1s\", die = 3 }, { at = \"1s\", spare = true }]",
    ];
    for organization in ["array.organization=\"raid5\"", "array.organization=\"raid10\""] {
        let set: Vec<&str> = rebuilt.into_iter().chain([organization]).collect();
        let (predicted, simulated) = both(&set);
        let took = simulated.rebuilds[0].took_seconds.unwrap();
        let off = |predicted: f64, simulated: f64| predicted / simulated - 1.0;
        let (hosts, rebuild) =
            (off(predicted.throughput, simulated.throughput.mean), off(predicted.rebuild_s.unwrap(), took));
        assert!(hosts.abs() < 0.05 && rebuild.abs() < 0.1, "{organization}: {hosts:.3}, {rebuild:.3}");
    }
}

#[test]
fn a_rebuild_of_which_something_else_happens_is_refused() {
    let refused = |health: &str| {
        let set = ["array.organization=\"raid5\"", "measure={ warm-up = 0, until-rebuilt = true }", health];
        prepared(&set).predict(&mut Clocks::default()).unwrap_err().to_string()
    };
    for health in [
        "health=[{ at = \"1s\", die = 3 }, { at = \"2s\", spare = true }]",
        "health=[{ at = \"1s\", die = 3 }, { at = \"1s\", replace = 2 }]",
        "health=[{ at = \"1s\", die = 3 }, { at = \"1s\", spare = true }, { at = \"9s\", scrub = true }]",
    ] {
        let told = refused(health);
        assert!(told.starts_with("health: only members that have died"), "{health}: {told}");
    }
}

#[test]
fn what_comes_by_chance_is_as_simulated() {
    let (predicted, simulated) = both(&["workload={ rate = 250, reads = 1.0, size = \"2KiB\" }"]);
    let off = predicted.response_ms / simulated.response_ms.mean - 1.0;
    assert!(off.abs() < 0.03, "{} ms, {} simulated", predicted.response_ms, simulated.response_ms.mean);
}

#[test]
fn the_time_of_an_access_is_split_as_simulated() {
    let (predicted, simulated) = both(&["workload.reads=1.0"]);
    let (predicted, simulated) = (predicted.access_ms, simulated.access_ms);
    let pairs = [
        (predicted.seek, simulated.seek),
        (predicted.rotation, simulated.rotation),
        (predicted.transfer, simulated.transfer),
    ];
    for (predicted, simulated) in pairs {
        // Aligned requests do not cross the end of a track.
        assert!((predicted / simulated - 1.0).abs() < 0.08, "{predicted}, {simulated} simulated");
    }
}

/// An array with a journal, with these settings.
fn with_journal<'a>(organization: &'a str, set: &[&'a str]) -> Vec<&'a str> {
    let all = [organization, "array.consistency=\"journal\"", "tuning.destage-depth=4"];
    all.into_iter().chain(set.iter().copied()).collect()
}

#[test]
fn writes_that_wait_for_an_entry_are_as_simulated() {
    let raid5 = "array.organization=\"raid5\"";
    let write_through = "log.write-back=\"0\"";
    near(&with_journal(raid5, &[write_through]), 0.05);
    near(&with_journal(raid5, &[write_through, "workload.processes=1"]), 0.05);
    let known = "semantics.old-data-known=true";
    near(&with_journal(raid5, &[write_through, known]), 0.05);
    near(&with_journal(raid5, &[write_through, known, "workload.processes=1"]), 0.05);
}

#[test]
fn writes_that_are_destaged_later_are_as_simulated() {
    let raid5 = "array.organization=\"raid5\"";
    near(&with_journal(raid5, &["workload.processes=40"]), 0.1);
    near(&with_journal(raid5, &["workload.processes=10"]), 0.1);
    near(&with_journal(raid5, &["workload.processes=1"]), 0.1);
}

#[test]
fn what_a_journal_on_members_does_not_have_is_refused() {
    let cases = [
        ("journal.devices=2", "journal.devices: "),
        ("workload.reads=0.5", "workload.reads: "),
        ("workload.size={ exponential = \"16KiB\" }", "workload.size: "),
        ("workload={ rate = 10, reads = 0.0, size = \"2KiB\" }", "workload.rate: "),
    ];
    for (set, expected) in cases {
        let set = with_journal("array.organization=\"raid5\"", &[set]);
        let error = prepared(&set).predict(&mut Clocks::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{set:?}: {error}");
    }
}

#[test]
fn what_is_not_modelled_is_refused_by_its_key() {
    let cases = [
        ("arrays=2", "arrays: "),
        ("drive.queue=\"cvscan\"", "drive.queue: only fcfs"),
        ("path={ processors = 1, access = \"1ms\" }", "path: "),
        ("control={ throughput = 100 }", "control: "),
        ("array.organization=\"floating\"", "array.organization: "),
        ("workload.place={ zipf = 1.0 }", "workload.place: "),
        ("workload={ rate = 100_000 }", "workload.rate: "),
        ("workload={ every = \"1ms\" }", "workload.every: "),
        ("workload={ processes = 1, pass = { way = \"read\", part = \"64KiB\" } }", "workload: "),
    ];
    for (set, expected) in cases {
        let error = prepared(&[set]).predict(&mut Clocks::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{set}: {error}");
    }
}
