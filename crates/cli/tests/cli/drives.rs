//! Tests of the commands on models of drives.

use crate::common::Workbench;
use crate::tools::json;
use serde_json::Value;

fn keys(answer: &Value) -> Vec<String> {
    answer.as_object().expect("an object").keys().cloned().collect()
}

fn documented(keys: &[String]) {
    let page = include_str!("../../../../docs/json.md");
    for key in keys {
        assert!(page.contains(&format!("`{key}`")), "{key} is not in docs/json.md");
    }
}

#[test]
fn each_drive_of_the_list_can_be_shown() {
    let bench = Workbench::new();
    let list = json(&bench.succeed("drives --json"));
    assert_eq!(list, json(&bench.succeed("drives list --json")));
    let list = list.as_array().expect("a list");
    documented(&keys(&list[0]));
    for drive in list {
        let name = drive["drive"].as_str().expect("a name");
        let shown = json(&bench.succeed(&format!("drives show {name} --json")));
        let moves = !drive["rpm"].is_null();
        documented(&keys(&shown));
        match moves {
            true => documented(&[keys(&shown["seek"]), keys(&shown["zones"][0])].concat()),
            false => documented(&keys(&shown["solid"])),
        }
        assert_eq!((&shown["name"], &shown["capacity"]), (&drive["name"], &drive["capacity"]), "{name}");
        let text = bench.succeed(&format!("drives show {name}"));
        assert!(
            text.contains(if moves { "A revolution takes" } else { "Nothing moves" })
                && text.lines().all(|line| !line.ends_with(' ')),
            "{text}"
        );
    }
}

#[test]
fn a_drive_stands_beside_its_measurements() {
    let bench = Workbench::new();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives/traces/hp-c2247a.trace");
    let told = json(&bench.succeed(&format!("drives validate hp-c2247a {trace} --json")));
    documented(&[keys(&told), keys(&told["classes"][0])].concat());
    assert_eq!((&told["requests"], &told["disksim_rms_ms"]), (&Value::from(9_999), &Value::from(0.09)));
    assert!(told["rms_ms"].as_f64() < Some(1.5 * 0.09), "{told}");
}

#[test]
fn what_is_no_drive_or_no_measurement_is_named() {
    let bench = Workbench::new();
    let file = |name: &str, text: &str| {
        let path = bench.path(name);
        std::fs::write(&path, text).expect("the workbench can be written");
        path.display().to_string()
    };
    let refused = |command: &str, words: &str| {
        let told = bench.fail(command, 1);
        assert!(told.contains(words), "{command}: {told}");
    };
    refused("drives show nothing", "there is no drive 'nothing'");
    let drive = file("drive.toml", "name = \"x\"\nsource = \"y\"\nspeed = 3\n");
    refused(&format!("drives show {drive}"), "unknown field `speed`");
    let trace = file("trace", "R Hit 1 2 3.0 4.0\nR Hit one 2 3.0 4.0\n");
    refused(&format!("drives validate hp-c2247a {trace}"), "line 2: 'one' is no whole number");
    let beyond = file("beyond", "\nR Hit 18446744073709551615 2 3.0 4.0\n");
    refused(&format!("drives validate hp-c2247a {beyond}"), "line 2 goes to block 18446744073709551615");
    refused(&format!("drives validate intel-dc-s3700 {trace}"), "nothing moves in this drive");
    assert!(bench.fail("drives validate hp-c2247a", 2).contains("<TRACE>"));
}
