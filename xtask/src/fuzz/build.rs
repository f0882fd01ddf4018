//! Lists the fuzz targets, and builds their programs.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::error::FuzzError;
use crate::command;
use crate::workspace::{self, cargo};

/// Instrumentation for libFuzzer: counts edges and reports comparisons. All these flags are stable.
const FLAGS: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The directory with a source file for each target, named after the target.
const SOURCES: &str = "fuzz/runner/targets";

/// Returns the sorted names of all targets.
pub(super) fn targets() -> Result<Vec<String>, FuzzError> {
    let folder = workspace::root().join(SOURCES);
    let unusable = |source| FuzzError::Unusable { path: folder.clone(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unusable)? {
        let path = entry.map_err(unusable)?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// The built programs.
pub(super) struct Runners {
    programs: PathBuf,
    /// The directory for their files.
    pub(super) scratch: PathBuf,
}

impl Runners {
    /// Builds the fuzzers of `targets`.
    pub(super) fn build(targets: &[String]) -> Result<Runners, FuzzError> {
        let scratch = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| workspace::root().join("target"), |folder| workspace::root().join(folder))
            .join("fuzz");
        let host = host()?;
        let mut build = cargo(&["build", "--release", "--manifest-path", "fuzz/runner/Cargo.toml"]);
        build.args(targets.iter().flat_map(|target| ["--bin", target]));
        // With an explicit `--target`, build scripts and macros are compiled without the flags.
        build.args(["--target", &host]).arg("--target-dir").arg(&scratch);
        build.env("RUSTFLAGS", FLAGS.join(" ")).env_remove("CARGO_ENCODED_RUSTFLAGS");
        command::run(&mut build)?;
        Ok(Runners { programs: scratch.join(host).join("release"), scratch })
    }

    pub(super) fn program(&self, target: &str) -> PathBuf {
        self.programs.join(target)
    }
}

/// The compiler's default target.
fn host() -> Result<String, FuzzError> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().map_err(|_| FuzzError::NoHost)?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned).ok_or(FuzzError::NoHost)
}
