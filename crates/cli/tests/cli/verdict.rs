//! Tests of the first line of `parlour status`: the state of the array, what is missing, and what
//! to do.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

use crate::common::Workbench;
use crate::tools::{self, Array, PARITY_LOGGING, is_root, json, make_image, succeed, tool};
use serde_json::Value;

fn first_line(text: &str) -> &str {
    text.lines().next().expect("there is a line")
}

/// Runs the program in another directory than the bench's.
fn run_in(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parlour"));
    command.args(arguments).current_dir(directory).output().expect("parlour starts")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Regression test: an idle array was reported to have "78 of 85 regions being written", because
/// their logs held records.
#[test]
fn an_array_with_records_in_its_logs_is_healthy() {
    let array = Array::new(PARITY_LOGGING, 16, "", "");
    make_image(&array.bench.path("image"), array.capacity(), 7);
    succeed(tool(&array.bench, "nbdcopy").args(["--flush", "image", &array.uri()]));
    let status = array.bench.succeed("status .");
    assert_eq!(
        first_line(&status),
        "Healthy: all 5 members are active, and the array survives the failure of any one of them."
    );
    assert!(status.contains("state: healthy\n"), "{status}");
    assert!(status.contains("protected: survives the failure of 1 member\n"), "{status}");
    assert!(!status.contains("being written"), "{status}");
    let told = array.status();
    assert_eq!(told["verdict"]["state"], "healthy");
    assert_eq!(told["verdict"]["reasons"], Value::Array(Vec::new()));
    assert_eq!(told["verdict"]["remedy"], Value::Null);
    assert_eq!(told["verdict"]["sentence"], first_line(&status));
    let check = array.bench.run("status . --check");
    assert_eq!((check.code, check.out.as_str()), (0, &*format!("parlour: {}\n", first_line(&status))));
    array.close();
}

/// Regression test: after a plain `fail` the array was reported as "degraded, resync stopped", and
/// to survive "no failure of a member, but for what is not yet resynced".
#[test]
fn a_failed_member_is_told_in_a_sentence_with_the_risk_and_the_command_that_helps() {
    let array = Array::new(PARITY_LOGGING, 16, "", "");
    make_image(&array.bench.path("image"), array.capacity(), 8);
    succeed(tool(&array.bench, "nbdcopy").args(["--flush", "image", &array.uri()]));
    array.fail(2);
    let status = array.bench.succeed("status .");
    let told = "Degraded: member 2 (member2) has failed; no data is lost, but the failure of another member could lose \
                some; replace it with 'parlour replace 2 NEW-MEMBER --array .'";
    assert!(first_line(&status).starts_with(told), "{status}");
    assert!(!status.contains("resync stopped") && !status.contains("but for what"), "{status}");
    assert!(status.contains("state: degraded\n"), "{status}");
    assert!(status.contains("protected: does not survive the failure of another member"), "{status}");
    assert_eq!(array.bench.run("status . --check").code, 1);
    assert_eq!(array.status()["verdict"]["state"], "degraded");
    array.bench.files("new", 16);
    array.bench.succeed("replace 2 new -a . --wait");
    assert_eq!(array.bench.run("status . --check").code, 0);
    array.close();
}

#[test]
fn what_does_not_fit_and_what_cannot_be_served_is_at_risk() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c d");
    let missing = bench.run("status a b --check");
    assert_eq!(missing.code, 2, "{}", missing.out);
    assert!(missing.out.contains("At risk: not served; member 2 is missing, and member 3 is missing"));
    assert_eq!(bench.run("status a b c --check").code, 1);
    let file = std::fs::OpenOptions::new().write(true).open(bench.path("b")).expect("a member");
    file.write_all_at(&[0x5a; 4096], 3 << 20).expect("a block behind its metadata");
    drop(file);
    let served = bench.serve("serve a b c d --unix nbd.sock");
    assert!(bench.run("scrub -a .").error.contains("1 mismatches that are not repaired"));
    let check = bench.run("status . --check");
    assert_eq!(check.code, 2, "{}", check.out);
    let told = "parlour: At risk: the last scrub found 1 places where redundancy does not fit the data; find out which side \
                is right";
    assert!(check.out.starts_with(told), "{}", check.out);
    bench.succeed("scrub -a . --repair parity-from-data");
    assert_eq!(bench.run("status . --check").code, 0);
    served.stop();
}

#[test]
fn what_is_left_of_an_array_can_be_read_and_what_is_lost_is_listed() {
    let mut array = Array::new(tools::RAID5, 8, "--consistency bitmap", "");
    let image = array.bench.path("image");
    make_image(&image, array.capacity(), 10);
    succeed(tool(&array.bench, "nbdcopy").args(["--flush", "image", &array.uri()]));
    assert!(array.bench.succeed("lost -a .").starts_with("Nothing is lost: all of 24 MiB can be read"));
    array.stop();
    for member in ["member1", "member3"] {
        std::fs::remove_file(array.bench.path(member)).expect("a member is lost");
    }
    let refusal = array.bench.refuse("serve . --unix nbd.sock --wait 0s", 1);
    assert!(refusal.contains("--read-only --force"), "{refusal}");
    array.serve("--read-only --force");
    let text = array.bench.succeed("lost -a . --most 1");
    assert!(text.starts_with("9.6 MiB of 24 MiB cannot be read, in "), "{text}");
    assert!(text.contains("more (--most)"), "{text}");
    let verdict = array.status()["verdict"]["sentence"].to_string();
    assert!(verdict.contains("'parlour lost --array .' lists"), "{verdict}");
    let lost = json(&array.bench.succeed("lost -a . --json --most 1000"));
    let ranges = lost["ranges"].as_array().expect("ranges are listed");
    assert_eq!(lost["count"].as_u64(), Some(ranges.len() as u64));
    // Every unit is read: it is right, or it is an error and is on the list.
    let read = format!(
        "import json, nbd\n\
         handle = nbd.NBD()\n\
         handle.connect_uri('{}')\n\
         def read(at):\n\
         \x20   try: return handle.pread(65536, at).hex()\n\
         \x20   except nbd.Error: return None\n\
         print(json.dumps([read(at) for at in range(0, handle.get_size(), 65536)]))",
        array.uri()
    );
    let read = json(&succeed(tool(&array.bench, tools::PYTHON).args(["-c", &read])));
    let content = std::fs::read(&image).expect("the image");
    let mut lost = Vec::new();
    for (number, unit) in read.as_array().expect("a unit each").iter().enumerate() {
        let at = number * (64 << 10);
        let right: String = content[at..][..64 << 10].iter().map(|byte| format!("{byte:02x}")).collect();
        match unit.as_str() {
            Some(unit) => assert!(unit == right, "the unit at {at}"),
            None => lost.push(at as u64),
        }
    }
    let units = |range: &Value| {
        let [from, length] = [0, 1].map(|place| range[place].as_u64().expect("a number"));
        (from..from + length).step_by(64 << 10)
    };
    assert_eq!(ranges.iter().flat_map(units).collect::<Vec<u64>>(), lost);
    array.stop();
}

#[test]
fn an_array_that_was_killed_is_degraded_until_it_is_served() {
    let mut array = Array::new(tools::RAID5, 8, "", "");
    make_image(&array.bench.path("image"), array.capacity(), 9);
    succeed(tool(&array.bench, "nbdcopy").args(["--flush", "image", &array.uri()]));
    array.kill();
    let check = array.bench.run("status . --check");
    assert_eq!(check.code, 1, "{}", check.out);
    assert!(check.out.contains("it was not shut down cleanly"), "{}", check.out);
    std::fs::rename(array.bench.path("member1"), array.bench.path("../gone")).expect("it goes");
    let check = array.bench.run("status . --check");
    std::fs::rename(array.bench.path("../gone"), array.bench.path("member1")).expect("it comes back");
    assert_eq!(check.code, 2, "{}", check.out);
    assert!(check.out.contains("may read wrong where it lay on a missing member"), "{}", check.out);
}

#[test]
fn a_check_that_can_tell_nothing_says_so_with_a_status_of_its_own() {
    let bench = Workbench::new();
    for arguments in ["status nowhere --check", "status . --check", "status --check --bogus"] {
        bench.refuse(arguments, 3);
    }
    assert!(bench.refuse("status nowhere", 1).contains("nowhere: no such file or directory"));
}

/// Regression test: only the directory of the first named member has the socket, so the array
/// looked unserved from the other directories.
#[test]
fn a_served_array_is_found_from_each_of_its_directories_and_by_its_name() {
    let bench = Workbench::new();
    for name in ["one", "two"] {
        std::fs::create_dir(bench.path(name)).expect("a directory");
    }
    let name = format!("found-{}", std::process::id());
    bench.succeed(&format!("create -o raid5 --size 8MiB --name {name} one/a two/b two/c"));
    let served = bench.serve("serve one two --unix nbd.sock");
    for asked in ["one", "two", "one two", "two/b", "--array two/c", &format!("--array {name}")] {
        let status = json(&bench.succeed(&format!("status {asked} --json")));
        assert_eq!(
            (&status["served"], &status["name"]),
            (&Value::Bool(true), &Value::from(&*name)),
            "{asked}"
        );
    }
    // In another working directory, paths are absolute.
    let elsewhere = text(&run_in(Path::new("/"), &["status", "--array", &name]));
    let directory = bench.path("").canonicalize().expect("it is there");
    assert!(elsewhere.contains(&format!("  {}", directory.join("two/b").display())), "{elsewhere}");
    bench.succeed(&format!("stop --array {name}"));
    assert!(served.end().0.success());
}

#[test]
fn several_arrays_are_shown_each_with_its_verdict_and_the_worst_counts() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB --name first a b c");
    bench.succeed("create -o raid1 --size 8MiB --name second x y");
    let check = bench.run("status . --check");
    assert_eq!(check.code, 0, "{}", check.error);
    assert_eq!(check.out.lines().count(), 2, "{}", check.out);
    let first = bench.serve("serve a b c --unix one.sock");
    let second = bench.serve("serve x y --unix two.sock");
    bench.succeed("fail 0 --array x");
    let check = bench.run("status . --check");
    assert_eq!(check.code, 1, "{}", check.error);
    assert!(check.out.contains("first: Healthy: ") && check.out.contains("second: Degraded: member 0 (x)"));
    let told = json(&bench.succeed("status a x --json"));
    let mut names: Vec<&str> =
        told["arrays"].as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "second"]);
    let text = bench.succeed("status .");
    assert!(text.contains("Healthy: ") && text.contains("Degraded: "), "{text}");
    first.stop();
    second.stop();
}

/// Regression test: a path was relative if it was given to `serve`, and absolute if it was given to
/// `replace`.
#[test]
fn paths_stay_as_they_were_given() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    bench.files("d spare", 8);
    let served = bench.serve("serve a b c --unix nbd.sock");
    bench.succeed("replace 1 d -a . --wait");
    bench.succeed("add ./spare -a .");
    let status = bench.succeed("status .");
    let paths: Vec<&str> = status
        .lines()
        .skip_while(|line| !line.contains("Path"))
        .skip(1)
        .map_while(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(paths, ["a", "d", "c", "spare"], "{status}");
    assert!(status.contains("member 1 (d) is rebuilt"), "{status}");
    served.stop();
    assert!(!bench.succeed("status .").contains("./"), "paths of a directory's members are plain");
}

#[test]
fn a_scrub_that_compared_nothing_says_so_and_fails() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let served = bench.serve("serve a b c --unix nbd.sock");
    bench.succeed("fail 1 -a .");
    let scrub = bench.run("scrub -a .");
    assert_eq!(scrub.code, 1);
    assert!(scrub.out.starts_with("0 stripes compared, "), "{}", scrub.out);
    assert!(scrub.error.contains("the scrub compared nothing: "), "{}", scrub.error);
    assert!(scrub.error.contains("because a member is missing"), "{}", scrub.error);
    let told = served.stop();
    assert!(told.contains("scrub has compared nothing"), "{told}");
}

#[test]
fn a_scrub_is_cancelled_and_tells_what_it_had_found() {
    let bench = Workbench::new();
    // Large enough that the scrub cannot end before it is cancelled.
    bench.succeed("create -o raid5 --size 1TiB a b c");
    let served = bench.serve("serve a b c --unix nbd.sock --maintenance-depth 1");
    assert!(bench.fail("scrub --cancel -a .", 1).contains("no scrub is under way"));
    bench.succeed("scrub --background -a .");
    assert!(bench.fail("scrub -a .", 1).contains("a scrub is under way already"));
    assert!(bench.succeed("scrub --cancel -a .").contains("The scrub is cancelled"));
    let status = json(&tools::until("the scrub has ended", || {
        let status = bench.succeed("status . --json");
        json(&status)["scrub"].is_null().then_some(status)
    }));
    let last = &status["last_scrub"];
    assert_eq!((&last["complete"], &last["cancelled"]), (&Value::Bool(false), &Value::Bool(true)));
    assert_eq!(status["verdict"]["state"], "healthy", "{status}");
    assert!(bench.succeed("status .").contains("cancelled before its end"));
    let told = served.stop();
    assert!(told.contains("scrub was cancelled"), "{told}");
}

#[test]
fn whoever_waits_for_a_rebuild_hears_of_its_end_though_it_is_over() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    bench.files("d e", 8);
    let served = bench.serve("serve a b c --unix nbd.sock");
    assert!(bench.fail("rebuild -a .", 1).contains("nothing to rebuild"));
    assert!(bench.succeed("rebuild --wait -a .").contains("Nothing is left to rebuild"));
    assert_eq!(
        json(&bench.succeed("rebuild --wait --json -a ."))["rebuilding"].as_array(),
        Some(&Vec::new())
    );
    bench.succeed("fail 1 -a .");
    assert!(bench.fail("rebuild --wait -a .", 1).contains("no spare to rebuild onto"));
    let added = bench.succeed("add d --wait -a .");
    assert!(added.starts_with("d takes the place of member 1 and is rebuilt\n"), "{added}");
    assert_eq!(bench.run("status . --check").code, 0);
    let spare = bench.succeed("add e --wait -a .");
    assert!(spare.starts_with("e is a spare of the array\n"), "{spare}");
    served.stop();
}

/// Regression test: permission errors were reported as missing files.
#[test]
fn what_may_not_be_read_is_said_so_with_its_path() {
    if !is_root("permission errors of another user") {
        return;
    }
    let bench = Workbench::new();
    let open = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    bench.succeed("create -o raid5 --size 8MiB a b c");
    std::fs::copy(env!("CARGO_BIN_EXE_parlour"), bench.path("parlour")).expect("a copy");
    open(&bench.path("parlour"), 0o755);
    let ask = |path: &str| {
        let mut command = tool(&bench, "setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(bench.path("parlour"));
        let output = command.args(["status", path]).current_dir("/").output().expect("it starts");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).expect("text")
    };
    let directory = bench.path("").display().to_string();
    let directory = directory.trim_end_matches('/');
    // A directory that cannot be listed, members that cannot be read, a socket that cannot be used.
    open(&bench.path(""), 0o711);
    let told = ask(directory);
    let wanted =
        format!("parlour: {directory}: permission denied; run this as its owner, root, or as root\n");
    assert_eq!(told, wanted);
    open(&bench.path(""), 0o755);
    let told = ask(directory);
    assert!(
        told.starts_with(&format!("parlour: {directory}/")) && told.contains("permission denied"),
        "{told}"
    );
    let served = bench.serve("serve a b c --unix nbd.sock");
    let told = ask(directory);
    assert!(told.contains(".sock: permission denied; the array is served by another user"), "{told}");
    served.stop();
}
