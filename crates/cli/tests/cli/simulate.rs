//! Tests of the commands that simulate experiments.

use std::process::Stdio;

use crate::common::Workbench;
use crate::tools::{interrupt, json};
use serde_json::Value;

const SMALL: &str = r#"
title = "Small"
members = 4

[array]
organization = "raid5"

[drive]
model = "hp-c2247a"

[workload]
processes = 2
reads = 0.5

[measure]
warm-up = 100
requests = 1_000
at-most = 1_000

[sweep]
workload.processes = [1, 3]
array.unit = ["8KiB", "64KiB"]
"#;

fn bench(text: &str) -> Workbench {
    let bench = Workbench::new();
    std::fs::write(bench.path("it.toml"), text).expect("the workbench can be written");
    bench
}

#[test]
fn closed_forms_stand_beside_what_is_simulated() {
    let bench = bench(&SMALL.replace("reads = 0.5", "reads = 1.0"));
    let told = json(&bench.succeed("simulate it.toml --with-model --json"));
    let alone = json(&bench.succeed("model it.toml --json"));
    for (run, model) in told[0]["runs"].as_array().unwrap().iter().zip(alone[0]["runs"].as_array().unwrap()) {
        assert_eq!((&run["model"], &run["values"]), (&model["model"], &model["values"]));
        let [simulated, modelled] = [&run["figures"]["throughput"]["mean"], &run["model"]["throughput"]];
        let off = modelled.as_f64().unwrap() / simulated.as_f64().unwrap() - 1.0;
        assert!(off.abs() < 0.1, "{modelled}, {simulated} simulated");
    }
    let text = bench.succeed("simulate it.toml --with-model");
    assert!(text.lines().any(|line| line.contains("model") && line.contains("off")), "{text}");
    let refused = bench.run("model it.toml --set drive.queue=\"cvscan\"");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.out.contains("drive.queue: only fcfs is modelled; simulate it"), "{refused:?}");
    assert!(refused.error.contains("of 4 of 4 runs closed forms say nothing"), "{refused:?}");
}

/// Collects all keys of an answer.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(inner) => inner.iter().for_each(|(key, value)| {
            found.push(key.clone());
            keys(value, found);
        }),
        Value::Array(several) => several.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn runs_come_in_the_order_of_the_axes_with_documented_keys() {
    let bench = bench(SMALL);
    let shown = json(&bench.succeed("simulate it.toml --json --set measure.history=true"));
    let runs = shown[0]["runs"].as_array().expect("a list of runs");
    let values: Vec<String> = runs.iter().map(|run| run["values"].to_string()).collect();
    assert_eq!(values, [r#"["1","8KiB"]"#, r#"["1","64KiB"]"#, r#"["3","8KiB"]"#, r#"["3","64KiB"]"#]);
    let more = |run: usize| runs[run]["figures"]["throughput"]["mean"].as_f64().expect("a number");
    assert!(more(2) > more(0) && more(3) > more(1), "three processes get more than one");
    let mut found = Vec::new();
    keys(&shown, &mut found);
    let page = include_str!("../../../../docs/json.md");
    for key in found {
        assert!(page.contains(&format!("`{key}`")), "{key} is not in docs/json.md");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let bench = bench(SMALL);
    let first = bench.succeed("simulate it.toml --json");
    assert_eq!(first, bench.succeed("simulate it.toml --json"));
    assert_ne!(first, bench.succeed("simulate it.toml --json --seed 2"));
}

#[test]
fn a_table_has_a_row_a_run_and_csv_a_line() {
    let bench = bench(SMALL);
    let table = bench.succeed("simulate it.toml");
    assert!(table.starts_with("Small\n\n") && table.lines().all(|line| !line.ends_with(' ')), "{table}");
    assert_eq!(table.lines().count(), 2 + 1 + 4, "{table}");
    let csv = bench.succeed("simulate it.toml --csv --set workload.processes=2");
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
    assert_eq!(&lines[0][..4], ["file", "array.unit", "seconds", "requests"]);
    assert_eq!((lines[1][1], lines[1][3]), ("8KiB", "1000"));
}

#[test]
fn what_is_wrong_is_said_by_file_and_key_before_anything_runs() {
    let bench = bench(SMALL);
    let refused = |set: &str, words: &str| {
        let told = bench.fail(&format!("simulate it.toml --set {set}"), 2);
        assert!(told.contains("it.toml") && told.contains(words), "{set}: {told}");
    };
    refused("drive.modell=x", "unknown key 'drive.modell'; did you mean 'drive.model'?");
    refused("drive.model=x", "there is no drive 'x'");
    refused("members=2", "members");
    refused("member-size=1TiB", "more than the drive has");
    refused("workload.rate=5", "exclude each other");
    refused("workload.place={zipf=-1}", "workload.place: -1 is no exponent");
    refused("log.sublogs=2", "--sublogs is for organizations with a parity log");
    refused("control.throughput=-1", "control.throughput: -1 is not possible");
    refused("sweep=3", "unknown key 'sweep'");
    assert!(bench.fail("simulate none.toml", 2).contains("none.toml: cannot be read"));
    assert!(bench.fail("simulate", 2).contains("<FILE>"));
}

#[test]
fn an_unstable_load_ends_and_is_told() {
    let text = SMALL.replace("processes = 2", "rate = 2000").replace("workload.processes = [1, 3]\n", "");
    let bench = bench(&text);
    let answer = bench
        .run("simulate it.toml --set measure.backlog=500 --set measure.at-most=100000 --set array.unit=8KiB");
    assert_eq!(answer.code, 1);
    assert!(answer.out.contains("the load 'workload 1' is unstable: 501 of its requests"), "{}", answer.out);
    assert!(answer.error.contains("1 of 1 run gave no figures"), "{}", answer.error);
}

/// Regression test: an interruption lost the results of an hour of simulation.
#[test]
fn an_interrupted_simulation_shows_what_it_has_and_marks_it() {
    let bench = bench(&SMALL.replace("1_000", "1_000_000_000"));
    let command = "simulate it.toml --json --set measure.warm-up=0 --set measure.precision=0";
    let run =
        bench.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    interrupt(run.id());
    let output = run.wait_with_output().expect("it ends");
    let error = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.starts_with("parlour: interrupted: 0 of 4 runs are whole"), "{error}");
    let shown = json(&String::from_utf8(output.stdout).expect("text"));
    let page = include_str!("../../../../docs/json.md");
    for run in shown[0]["runs"].as_array().expect("a list of runs") {
        assert_eq!(run["partial"], Value::Bool(true), "{run}");
        let told = match &run["figures"] {
            Value::Null => run["error"].as_str().expect("why there are none").starts_with("interrupted"),
            figures => figures["ended"] == "interrupted" && figures["requests"].as_u64() > Some(0),
        };
        assert!(told && page.contains("`\"interrupted\"`") && page.contains("`partial`"), "{run}");
    }
    let whole =
        json(&bench.succeed("simulate it.toml --json --set measure.at-most=500 --set measure.requests=500"));
    assert!(
        whole[0]["runs"].as_array().expect("a list").iter().all(|run| run["partial"] == Value::Bool(false))
    );
}

#[test]
fn a_quantile_is_kept_by_fewer_processes() {
    let text = SMALL.split("[sweep]").next().expect("what stands before");
    let bench = bench(&format!("{text}\n[control]\nquantile = 0.9\ntimes-idle = 4\n"));
    let shown = json(&bench.succeed("simulate it.toml --json"));
    let control = &shown[0]["runs"][0]["figures"]["control"];
    assert_eq!(control["met"], Value::Bool(true));
    let steps = control["steps"].as_array().expect("a list");
    let limit = 4.0 * steps[0]["quantile_ms"].as_f64().expect("a number");
    let processes = control["processes"].as_u64().expect("a number");
    for step in steps {
        let within = step["quantile_ms"].as_f64().expect("a number") <= limit;
        assert_eq!(within, step["processes"].as_u64().expect("a number") <= processes, "{step}");
    }
}
