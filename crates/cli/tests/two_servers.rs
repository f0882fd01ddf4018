//! Tests with two servers of one array, as on two hosts with the same disks: the first stops by
//! itself and reports why.

mod common;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::{Served, Workbench};

/// Loop devices over files, detached when this value is dropped.
struct Loops(Vec<String>);

impl Loops {
    /// Returns `None` without permission: only root may set them up.
    fn over(files: &[PathBuf]) -> Option<Loops> {
        let mut loops = Loops(Vec::new());
        for file in files {
            let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
            let output = output.ok().filter(|output| output.status.success())?;
            loops.0.push(String::from_utf8(output.stdout).expect("a path").trim().to_owned());
        }
        Some(loops)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for path in &self.0 {
            // A loop device that stays does no harm apart from its use of the machine, and is
            // visible there.
            let _ = Command::new("losetup").arg("--detach").arg(path).status();
        }
    }
}

/// With an empty `/sys`, a server cannot see the files under loop devices, so the locks do not keep
/// the servers apart.
fn unseeing(bench: &Workbench, arguments: &str) -> Command {
    let parlour = env!("CARGO_BIN_EXE_parlour");
    let script = format!("mount -t tmpfs none /sys && exec {parlour} {arguments}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).current_dir(bench.path("")).stdin(Stdio::null());
    command
}

#[test]
fn the_server_whose_array_is_opened_by_another_ends_with_an_error_that_says_so() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 16MiB a b c");
    let files = ["a", "b", "c"].map(|name| bench.path(name));
    let Some(loops) = Loops::over(&files) else {
        eprintln!("skipped: loop devices cannot be set up here");
        return;
    };
    let possible = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", "/sys"]).status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mounts cannot be hidden from others here");
        return;
    }
    let first = bench.serve("serve a b c --unix first.sock");
    let devices = loops.0.join(" ");
    let line = bench.fail(&format!("serve {devices} --unix second.sock"), 1);
    assert!(line.contains("loop device") && line.contains("in use by another server"), "{line}");
    let second = Served::start(&mut unseeing(&bench, &format!("serve {devices} --unix second.sock")));
    let (status, error) = first.end();
    assert_eq!(status.code(), Some(1), "{error}");
    assert!(error.contains("parlour: another server has opened this array"), "{error}");
    assert!(error.contains("names another server's session"), "{error}");
    second.stop();
}
