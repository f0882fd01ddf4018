//! The lab: a test runs in a kernel of its own, on devices that fail as it says.
//!
//! On the host a test boots the kernel (`cargo xtask kernel run`), which runs the same test of the
//! same program again, on the host's files. There it may do what no host would like: its devices go
//! with it.

pub(crate) mod disk;
pub(crate) mod farm;
pub(crate) mod host;

use std::process::{Command, Stdio};

/// Seconds that a boot may take, with all that is done in it. Nothing depends on its length.
const LIMIT: &str = "240";
/// What is said in the guest, so that a test that did not run is not taken for one that passed.
const DONE: &str = "done in the lab";

/// Runs a test's body in the lab. The body is a closure in the test itself, which so names it.
pub(crate) fn in_lab<F: FnOnce()>(body: F) {
    // crate::test::{{closure}}
    let name = std::any::type_name::<F>().split("::").nth(1).expect("it is in a test in a crate");
    if std::env::var_os("PARLOUR_LAB").is_some() {
        body();
        println!("{DONE}: {name}");
        return;
    }
    let test = std::env::current_exe().expect("this program has a path");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut boot = Command::new(cargo);
    boot.args(["xtask", "kernel", "run", "--limit", LIMIT, "--"]).arg(test);
    boot.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    boot.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    let output = boot.output().expect("cargo starts");
    let out = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    let done = out.contains(&format!("{DONE}: {name}"));
    assert!(output.status.success() && done, "in the lab: {}\n{out}\n{error}", output.status);
}
