//! Checks that planted bugs cannot be compiled into a released program.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the test, not the array, runs the compiler"
)]

use std::path::Path;
use std::process::Command;

/// The compiler's messages for the file with the guard, compiled alone.
fn compiled(feature: bool, debug_assertions: bool) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/planted.rs");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--crate-type", "lib", "--crate-name", "planted", "--edition", "2024", "--emit", "metadata"]);
    rustc.args(["-C", if debug_assertions { "debug-assertions=on" } else { "debug-assertions=off" }]);
    if feature {
        rustc.args(["--cfg", "feature=\"planted-bugs\""]);
    }
    rustc.arg("-o").arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("libplanted.rmeta"));
    let output = rustc.arg(source).output().expect("rustc runs where cargo does");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn planted_bugs_do_not_compile_without_debug_assertions() {
    let refused = compiled(true, false);
    assert!(refused.contains("error: the feature planted-bugs puts known bugs into the array"), "{refused}");
    for (feature, debug_assertions) in [(true, true), (false, true), (false, false)] {
        let said = compiled(feature, debug_assertions);
        assert!(!said.contains("planted-bugs puts"), "{said}");
    }
}
