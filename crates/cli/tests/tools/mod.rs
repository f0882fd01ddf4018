//! Programs of other projects as clients, and an array that is served to them.

#![allow(dead_code, reason = "each test file uses its part of this")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;

pub(crate) use crate::common::until;
use crate::common::{PATIENCE, Served, Workbench, watch};

/// The Python that has libnbd's module.
pub(crate) const PYTHON: &str = "/usr/bin/python3";
const INSTALL: &str = "`cargo xtask test` installs what the end-to-end tests need";

/// The path of a program that a test needs.
pub(crate) fn demand(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian installs the file systems' tools in directories that are not in an ordinary user's
    // PATH.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let found = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed; {INSTALL}"))
}

/// A command for another program, run in the bench's directory and with a time limit.
pub(crate) fn tool(bench: &Workbench, program: &str) -> Command {
    let mut command = Command::new(demand("timeout"));
    command.args(["--kill-after=10", &PATIENCE.as_secs().to_string()]).arg(demand(program));
    command.current_dir(bench.path("")).stdin(Stdio::null());
    command
}

/// A Python script in the tests' directory.
pub(crate) fn script(bench: &Workbench, name: &str) -> Command {
    let has_module = Command::new(PYTHON).args(["-c", "import nbd"]).stderr(Stdio::null()).status();
    let has_module = has_module.is_ok_and(|status| status.success());
    assert!(has_module, "{PYTHON} has no module nbd; {INSTALL}");
    let mut command = tool(bench, PYTHON);
    command.arg("-B").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name));
    command
}

/// fio with its NBD engine. It writes its report to `fio.json`.
pub(crate) fn fio(array: &Array) -> Command {
    let engines = succeed(tool(&array.bench, "fio").arg("--enghelp"));
    assert!(engines.lines().any(|line| line.trim() == "nbd"), "fio has no engine for NBD; {INSTALL}");
    let mut command = tool(&array.bench, "fio");
    command.args(["--ioengine=nbd", "--output-format=json", "--output=fio.json"]);
    command.arg(format!("--uri={}", array.uri()));
    command
}

/// Runs a command that must succeed, and returns its output.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}\n{out}\n{error}", output.status);
    out
}

/// Whether the test may mount file systems. If not, prints that `behaviour` was not tested.
pub(crate) fn is_root(behaviour: &str) -> bool {
    let root = std::fs::metadata("/proc/self").expect("there is /proc").uid() == 0;
    if !root {
        // Written directly to standard error, because the harness shows only the output of failing
        // tests.
        let _ =
            writeln!(std::io::stderr(), "not tested, because loop devices and mounts need root: {behaviour}");
    }
    root
}

/// A process whose lines are waited for. It is killed when dropped.
pub(crate) struct Talker {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Talker {
    pub(crate) fn start(command: &mut Command) -> Talker {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        // The thread ends with the process, or with the test.
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Talker { child, lines, said: Vec::new() }
    }

    /// Waits for `count` further lines.
    pub(crate) fn hear(&mut self, count: usize) {
        for _ in 0..count {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.push(line),
                Err(reason) => panic!("nothing more was said ({reason}) after {:?}", self.said),
            }
        }
    }

    /// Waits for the end, which must be successful, and returns all lines.
    pub(crate) fn end(mut self) -> Vec<String> {
        let status = self.wait();
        let mut said = std::mem::take(&mut self.said);
        said.extend(self.lines.iter());
        assert!(status.success(), "{status} after {said:?}");
        said
    }

    /// Waits for the end, which must be a failure.
    pub(crate) fn end_badly(mut self) {
        assert!(!self.wait().success(), "it has not missed what was taken away from it");
    }

    fn wait(&mut self) -> ExitStatus {
        until("the process ends", || self.child.try_wait().expect("it can be waited for"))
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        // `timeout` passes this signal on.
        let _ = Command::new("kill").args(["-s", "TERM", &self.child.id().to_string()]).output();
        // A process that is blocked in an access without an answer ends only when the device is
        // removed.
        watch(Duration::from_secs(20), || self.child.try_wait().transpose());
    }
}

/// An organization, and the number of members that the tests use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) members: u16,
    /// Whether a member may fail.
    pub(crate) redundant: bool,
    /// Units of a stripe, where it is declustered.
    pub(crate) width: Option<u16>,
}

const fn row(name: &'static str, members: u16, redundant: bool) -> Row {
    Row { name, members, redundant, width: None }
}

pub(crate) const SIMPLE: Row = row("simple", 3, false);
pub(crate) const RAID0: Row = row("raid0", 4, false);
pub(crate) const RAID1: Row = row("raid1", 3, true);
pub(crate) const RAID01: Row = row("raid01", 4, true);
pub(crate) const RAID10: Row = row("raid10", 4, true);
pub(crate) const RAID1_FAR: Row = row("raid1-far", 3, true);
pub(crate) const RAID10_FAR: Row = row("raid10-far", 4, true);
pub(crate) const RAID4: Row = row("raid4", 4, true);
pub(crate) const RAID5: Row = row("raid5", 5, true);
pub(crate) const RAID6: Row = row("raid6", 5, true);
pub(crate) const RAID_2D: Row = row("raid-2d", 8, true);
pub(crate) const DECLUSTERED_12: Row = Row { width: Some(8), ..row("raid6", 12, true) };
pub(crate) const DECLUSTERED_24: Row = Row { width: Some(10), ..row("raid6", 24, true) };
pub(crate) const PARITY_LOGGING: Row = row("parity-logging", 5, true);

/// An array that is served on a Unix socket.
pub(crate) struct Array {
    // The fields are dropped in this order: the server before its members.
    served: Option<Served>,
    pub(crate) bench: Workbench,
    row: Row,
    ready: Value,
}

impl Array {
    /// Creates an array and serves it. `create` and `serve` are further options of these commands,
    /// the latter only for this session.
    pub(crate) fn new(row: Row, mebibytes: u64, create: &str, serve: &str) -> Array {
        let bench = Workbench::new();
        let members: Vec<String> = (0..row.members).map(|place| format!("member{place}")).collect();
        let width = row.width.map_or_else(String::new, |width| format!("--width {width}"));
        bench.succeed(&format!(
            "create -o {} {width} --size {mebibytes}MiB {create} {}",
            row.name,
            members.join(" ")
        ));
        let mut array = Array { served: None, bench, row, ready: Value::Null };
        array.serve(serve);
        array
    }

    /// Serves the array (again), with further options.
    pub(crate) fn serve(&mut self, options: &str) {
        assert!(self.served.is_none(), "it is served already");
        // Do not wait for members that a test has removed.
        let served = self.bench.serve(&format!("serve . --unix nbd.sock --json --wait 0s {options}"));
        self.ready = json(&served.greeting);
        self.served = Some(served);
    }

    /// Stops the server with SIGTERM, and returns its standard error output.
    pub(crate) fn stop(&mut self) -> String {
        let told = self.served.take().expect("it is served").stop();
        assert!(!told.contains("panicked"), "{told}");
        told
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        let served = self.served.take().expect("it is served");
        served.signal("KILL");
        served.end();
    }

    /// The peak memory of the server so far, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let process = self.served.as_ref().expect("it is served").id();
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
        let field = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a kernel tells that");
        let kib: u64 = field.trim().strip_suffix(" kB").and_then(|kib| kib.trim().parse().ok()).expect("KiB");
        kib << 10
    }

    pub(crate) fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.bench.path("nbd.sock").display())
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.ready["capacity"].as_u64().expect("the capacity is told")
    }

    pub(crate) fn status(&self) -> Value {
        json(&self.bench.succeed("status . --json"))
    }

    /// Waits until the status meets the condition.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut status = Value::Null;
        let found = watch(PATIENCE, || {
            status = self.status();
            is_so(&status).then_some(())
        });
        assert!(found.is_some(), "timed out waiting until {what}: {status}");
        status
    }

    /// The state of the member in a slot.
    /// The state of the member or journal device in a slot.
    pub(crate) fn state(status: &Value, place: usize) -> &str {
        let slot = Array::slots(status).nth(place).expect("there is such a slot");
        slot["state"].as_str().expect("members have states")
    }

    /// The members, then the journal devices.
    fn slots(status: &Value) -> impl Iterator<Item = &Value> {
        ["members", "journals"].iter().flat_map(|list| status[*list].as_array()).flatten()
    }

    pub(crate) fn fail(&self, place: usize) {
        self.bench.succeed(&format!("fail {place} -a ."));
        let status = self.status();
        assert_eq!(Array::state(&status, place), "failed", "{status}");
    }

    /// Waits until every slot has an active member, and no rebuild or resync is under way.
    pub(crate) fn until_whole(&self) {
        let is_whole = |status: &Value| {
            let task = ["rebuild", "resync"].iter().find(|task| !status[**task].is_null());
            if let Some(task) = task {
                assert_eq!(status[*task]["stopped"], false, "the {task} does not go on: {status}");
            }
            task.is_none() && Array::slots(status).all(|slot| slot["state"] == "active")
        };
        let status = self.until("the array is whole", is_whole);
        assert_eq!(status["spare_redundancy"], status["fault_tolerance"], "{status}");
    }

    /// Scrubs, and checks that all redundancy is right.
    pub(crate) fn assert_consistent(&self) {
        let report = json(&self.bench.succeed("scrub -a . --json"));
        assert_eq!(
            (&report["mismatches"], &report["unreadable"], &report["complete"]),
            (&Value::from(0), &Value::from(0), &Value::Bool(true)),
            "{report}"
        );
        assert!(report["stripes"].as_u64().expect("a number") > 0, "{report}");
    }

    /// The checks after the clients have finished.
    pub(crate) fn close(mut self) {
        let status = self.status();
        assert_eq!(status["lost"], false, "{status}");
        assert_eq!(status["requests_in_flight"], 0, "{status}");
        let active = |place| Array::state(&status, place) == "active";
        if self.row.redundant && (0..usize::from(self.row.members)).all(active) {
            self.assert_consistent();
        }
        self.stop();
        assert_eq!(self.status()["mode"], "stopped");
    }
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Seeded pseudo-random bytes, which no array computes by itself.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

/// Makes a disk image of `length` bytes: random data at its beginning, in its middle and at its
/// end, and holes.
pub(crate) fn make_image(path: &Path, length: u64, seed: u64) {
    let mut random = Random::new(seed);
    let file = File::create(path).expect("a file");
    file.set_len(length).expect("a sparse file");
    let piece = length / 32 / 512 * 512;
    for at in [0, 5, 6, 16, 23] {
        let odd = random.next() % 8 * 512;
        file.write_all_at(&random.bytes(piece as usize), at * piece + odd).expect("a piece");
    }
    file.write_all_at(&random.bytes(piece as usize), length - piece).expect("the last piece");
}

pub(crate) fn is_same(left: &Path, right: &Path) -> bool {
    std::fs::read(left).expect("a file") == std::fs::read(right).expect("a file")
}

/// Interrupts a command (Ctrl-C) as soon as it catches the signal.
pub(crate) fn interrupt(process: u32) {
    let status = format!("/proc/{process}/status");
    until("interrupts are caught", || {
        let told = std::fs::read_to_string(&status).expect("it runs");
        let caught = told.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("it is told");
        let caught = u64::from_str_radix(caught.trim(), 16).expect("a number");
        (caught & 2 != 0).then_some(())
    });
    let signalled = Command::new("kill").args(["-s", "INT", &process.to_string()]).status();
    assert!(signalled.expect("kill is there").success());
}
