//! The lab: runs a test in a kernel of its own, with devices that fail on command.
//!
//! On the host a test boots the kernel (`cargo xtask kernel run`), which runs the same test of the
//! same program again, on the host's files. There the test may do things that are not allowed on a
//! host: its devices end with the kernel.

pub(crate) mod database;
pub(crate) mod disk;
pub(crate) mod farm;
pub(crate) mod host;
pub(crate) mod md;

use std::process::{Command, Stdio};

/// The limit of a boot with its test, in seconds, and more for each round of a test that was told
/// how many to run. No test depends on their length.
const LIMIT: u64 = 240;
const LIMIT_OF_ROUND: u64 = 60;
/// How many rounds some tests run.
const ROUNDS: &str = "PARLOUR_ROUNDS";
/// The line that the guest prints, so that a test that did not run does not count as passed.
const DONE: &str = "done in the lab";

/// Runs the body of a test in the lab. The body is a closure in the test; its type contains the
/// test's name.
pub(crate) fn in_lab<F: FnOnce()>(body: F) {
    // crate::test::{{closure}}
    let name = std::any::type_name::<F>().split("::").nth(1).expect("it is in a test in a crate");
    if std::env::var_os("PARLOUR_LAB").is_some() {
        body();
        println!("{DONE}: {name}");
        return;
    }
    let rounds = std::env::var(ROUNDS).ok();
    let count: u64 = rounds.as_ref().map_or(0, |rounds| rounds.parse().expect("a number"));
    let limit = LIMIT + LIMIT_OF_ROUND * count;
    let test = std::env::current_exe().expect("this program has a path");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut boot = Command::new(cargo);
    boot.args(["xtask", "kernel", "run", "--limit", &limit.to_string(), "--"]);
    if let Some(rounds) = rounds {
        boot.args(["env", &format!("{ROUNDS}={rounds}")]);
    }
    boot.arg(test);
    boot.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    boot.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    let output = boot.output().expect("cargo starts");
    let out = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    let done = out.contains(&format!("{DONE}: {name}"));
    assert!(output.status.success() && done, "in the lab: {}\n{out}\n{error}", output.status);
}
