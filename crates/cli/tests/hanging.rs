//! Members that do not answer (a network block device whose server pauses, seen as a file through FUSE), and members that
//! come late or come back.

mod common;
mod tools;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use common::{Served, Workbench};
use serde_json::Value;
use tools::{is_root, json, script, succeed, tool, until};

/// A file on an NBD server that can be made to answer nothing, mounted as a file.
struct Paused {
    mount: PathBuf,
    control: PathBuf,
    fuse: Child,
    nbdkit: Child,
}

impl Paused {
    /// `fuse/member` in the bench's directory.
    fn new(bench: &Workbench, mebibytes: u64) -> Paused {
        bench.files("backing", mebibytes);
        let (mount, control) = (bench.path("fuse"), bench.path("pause"));
        std::fs::create_dir(&mount).expect("a directory");
        let mut nbdkit = tool(bench, "nbdkit");
        nbdkit.args(["--foreground", "-U", "backing.sock", "--filter=pause", "file", "backing"]);
        nbdkit.arg(format!("pause-control={}", control.display()));
        let nbdkit = nbdkit.spawn().expect("nbdkit starts");
        until("nbdkit listens", || (bench.path("backing.sock").exists() && control.exists()).then_some(()));
        let mut fuse = tool(bench, "nbdfuse");
        fuse.arg("fuse/member").arg(format!("nbd+unix:///?socket={}", bench.path("backing.sock").display()));
        let fuse = fuse.spawn().expect("nbdfuse starts");
        let member = mount.join("member");
        until("the file is there", || member.metadata().is_ok_and(|found| found.len() > 0).then_some(()));
        Paused { mount, control, fuse, nbdkit }
    }

    /// "p" pauses, "r" resumes; the answer is the same letter, large.
    fn command(&self, letter: &str) {
        let mut control = UnixStream::connect(&self.control).expect("the filter listens");
        control.write_all(letter.as_bytes()).expect("it takes this");
        let mut answer = [0; 1];
        control.read_exact(&mut answer).expect("it answers");
        assert_eq!(answer[0], letter.to_uppercase().as_bytes()[0]);
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        // What waits for an answer must have one before the mount can go.
        if let Ok(mut control) = UnixStream::connect(&self.control) {
            let _ = control.write_all(b"r");
            let _ = control.read_exact(&mut [0; 1]);
        }
        let _ = std::process::Command::new("umount").arg("--lazy").arg(&self.mount).status();
        let _ = self.fuse.wait();
        let _ = self.nbdkit.kill();
        let _ = self.nbdkit.wait();
    }
}

/// Writes blocks of `byte` all over the array, flushes, and reads them.
fn fill(bench: &Workbench, byte: u8) {
    succeed(script(bench, "filled.py").args(["nbd.sock", &byte.to_string()]));
}

fn status(bench: &Workbench) -> Value {
    json(&bench.succeed("status m0 --json"))
}

fn until_whole(bench: &Workbench) {
    until("the array is whole", || {
        let status = status(bench);
        let members = status["members"].as_array().expect("there are members");
        let active = members.iter().all(|member| member["state"] == "active");
        (active && status["rebuild"].is_null() && status["resync"].is_null()).then_some(())
    });
}

/// The organizations, and how many members the tests give each.
const ROWS: [(&str, &str); 3] = [
    ("raid1", "m0 fuse/member m2"),
    ("raid5", "m0 fuse/member m2 m3"),
    ("parity-logging", "m0 fuse/member m2 m3 m4"),
];

/// An array one of whose members can be paused, in sync and with data.
fn serve(organization: &str, members: &str, options: &str) -> (Workbench, Paused, Served) {
    let bench = Workbench::new();
    let paused = Paused::new(&bench, 64);
    bench.files("m0 m2 m3 m4", 64);
    bench.succeed(&format!("create -o {organization} {members}"));
    let served = bench.serve(&format!("serve {members} --unix nbd.sock {options}"));
    fill(&bench, 1);
    until_whole(&bench);
    (bench, paused, served)
}

/// A new member takes the place of the one that hung, and everything is right.
fn replace(bench: &Workbench, byte: u8) {
    bench.files("fresh", 64);
    bench.succeed("replace 1 fresh -a m0 --wait");
    until_whole(bench);
    let report = json(&bench.succeed("scrub -a m0 --json"));
    assert_eq!((&report["mismatches"], &report["complete"]), (&Value::from(0), &Value::Bool(true)));
    succeed(script(bench, "filled.py").args(["nbd.sock", &byte.to_string(), "read"]));
}

#[test]
fn writes_go_on_when_a_member_has_hung_for_as_long_as_is_allowed_and_it_is_replaced() {
    if !is_root("members that hang, through FUSE") {
        return;
    }
    for (organization, members) in ROWS {
        let (bench, paused, served) = serve(organization, members, "--access-timeout 2s");
        paused.command("p");
        fill(&bench, 2);
        assert_eq!(status(&bench)["members"][1]["state"], "failed", "{organization}");
        replace(&bench, 2);
        let told = served.stop();
        assert!(told.contains("it did not answer in time"), "{organization}: {told}");
    }
}

#[test]
fn a_hung_member_that_is_failed_keeps_nobody_waiting_and_the_server_stops() {
    if !is_root("members that hang and are failed, through FUSE") {
        return;
    }
    for (organization, members) in ROWS {
        let (bench, paused, served) = serve(organization, members, "--access-timeout 1000000s");
        paused.command("p");
        let mut writer = script(&bench, "filled.py");
        let mut writer = writer.args(["nbd.sock", "2"]).spawn().expect("it starts");
        until("accesses are under way", || {
            status(&bench)["accesses_in_flight"].as_u64().filter(|count| *count > 0)
        });
        bench.succeed("fail 1 -a m0");
        assert!(writer.wait().expect("it ends").success(), "{organization}");
        // The system has still not answered, and never does as long as the server lives.
        bench.succeed("stop -a m0");
        assert!(served.end().0.success(), "{organization}");
        paused.command("r");
        let others = members.replace("fuse/member ", "");
        let served = bench.serve(&format!("serve {others} --unix nbd.sock"));
        replace(&bench, 2);
        served.stop();
    }
}

#[test]
fn a_server_with_a_hung_member_ends_when_it_is_told_to() {
    if !is_root("servers that end though a member hangs, through FUSE") {
        return;
    }
    let (organization, members) = ROWS[1];
    let (bench, paused, served) = serve(organization, members, "--access-timeout 2s");
    paused.command("p");
    let mut writer = script(&bench, "filled.py");
    let mut writer = writer.args(["nbd.sock", "2"]).spawn().expect("it starts");
    until("accesses are under way", || {
        status(&bench)["accesses_in_flight"].as_u64().filter(|count| *count > 0)
    });
    served.stop();
    // Whether the client was done in time is its own affair.
    let _ = writer.wait();
    drop(paused);
}

#[test]
fn a_member_that_is_late_is_waited_for() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 16MiB m0 m1 m2");
    std::fs::rename(bench.path("m1"), bench.path("late")).expect("it is there");
    for named in [".", "m0 m1 m2"] {
        let mut command = bench.command(&format!("serve {named} --unix nbd.sock --wait 1000000s"));
        std::fs::create_dir_all(bench.path("elsewhere")).expect("a directory");
        let hidden = bench.path("elsewhere/m1");
        let _ = std::fs::rename(bench.path("late"), &hidden);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("parlour starts");
        let mut told = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        told.read_line(&mut line).expect("text");
        assert!(line.contains("waiting for member 1, up to 1000000 s (--wait)"), "{line}");
        std::fs::rename(&hidden, bench.path("m1")).expect("it is there");
        let served = Served::wait(child);
        assert_eq!(status(&bench)["members"][1]["state"], "active");
        served.stop();
        std::fs::rename(bench.path("m1"), bench.path("late")).expect("it is there");
    }
    // One that the array does without is not waited for.
    std::fs::rename(bench.path("late"), bench.path("elsewhere/m1")).expect("it is there");
    let served = bench.serve("serve . --unix nbd.sock --wait 0s");
    fill(&bench, 1);
    served.stop();
    let served = bench.serve("serve . --unix nbd.sock --wait 1000000s");
    served.stop();
}

#[test]
fn a_member_that_comes_while_the_array_is_served_is_taken_back_by_itself() {
    for named in [".", "m0 m1 m2"] {
        let bench = Workbench::new();
        bench.succeed("create -o raid5 --size 16MiB m0 m1 m2");
        std::fs::create_dir(bench.path("elsewhere")).expect("a directory");
        std::fs::rename(bench.path("m1"), bench.path("elsewhere/m1")).expect("it is there");
        let served = bench.serve(&format!("serve {named} --unix nbd.sock --wait 0s"));
        fill(&bench, 3);
        assert_eq!(status(&bench)["members"][1]["state"], "failed");
        std::fs::rename(bench.path("elsewhere/m1"), bench.path("m1")).expect("it is there");
        until_whole(&bench);
        let report = json(&bench.succeed("scrub -a m0 --json"));
        assert_eq!(report["mismatches"], 0, "{report}");
        let told = served.stop();
        assert!(told.contains("is back as member 1"), "{told}");
    }
}
