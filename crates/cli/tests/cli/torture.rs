//! Tests of `parlour torture`: the output for seeds, and the replay of a seed.

use std::process::Stdio;

use crate::common::Workbench;
use crate::tools::{interrupt, json};
use serde_json::Value;

#[test]
fn a_run_of_seeds_is_told_by_documented_keys_and_told_alike_again() {
    let bench = Workbench::new();
    let command = "torture --seed 20 --seeds 40 --keep-going --json";
    let mut told = [json(&bench.succeed(command)), json(&bench.succeed(command))];
    let documented = include_str!("../../../../docs/json.md");
    let keys = |answer: &Value| answer.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for key in [keys(&told[0]), keys(&told[0]["coverage"][0]), keys(&told[0]["organizations"][0])].concat() {
        assert!(documented.contains(&format!("`{key}`")), "{key} is not in docs/json.md");
    }
    for answer in &mut told {
        for key in ["seconds", "seeds_per_second"] {
            assert!(answer.as_object_mut().unwrap().remove(key).is_some(), "{key} is missing");
        }
        assert_eq!((&answer["seeds"], &answer["broken"]), (&Value::from(40), &Value::Array(Vec::new())));
        assert!(answer["median_requests"].as_u64() >= Some(200), "{answer}");
    }
    assert_eq!(told[0], told[1]);
}

#[test]
fn a_run_that_is_interrupted_tells_what_it_has_found() {
    let bench = Workbench::new();
    let mut command = bench.command("torture --seeds 1000000000 --keep-going --json");
    let run = command.stdout(Stdio::piped()).spawn().expect("it starts");
    interrupt(run.id());
    let output = run.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", output.status);
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(json(&told)["seeds"].as_u64().is_some(), "{told}");
}
