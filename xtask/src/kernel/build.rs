//! Builds the lab's kernel, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

use super::cache::Cache;
use super::error::KernelError;
use super::recipe::{Change, LAB, Recipe, ignored};
use crate::command::{self, CommandError};
use crate::packages::{self, Wanted};

/// The number of lines of the build's log that are shown after a failure.
const SHOWN: usize = 30;

/// The packages that are still missing for the build of the kernel; `None` if the kernel exists.
pub(crate) fn wanted() -> Result<Option<Wanted>, KernelError> {
    let there = Cache::open()?.kernel(&LAB.key()).is_file();
    Ok(if there { None } else { Some(packages::look(&packages::KERNEL)?) })
}

/// Returns the kernel's path. If the kernel does not exist, installs the build's packages and
/// builds it first.
pub(crate) fn ensure() -> Result<PathBuf, KernelError> {
    let cache = Cache::open()?;
    let kernel = cache.kernel(&LAB.key());
    if kernel.is_file() {
        return Ok(kernel);
    }
    packages::look(&packages::KERNEL)?.install()?;
    let _alone = cache.lock()?;
    // Another process may have built it in the meantime.
    if !kernel.is_file() {
        build(&LAB, &cache, &kernel)?;
    }
    Ok(kernel)
}

/// Builds the kernel, even if it exists.
pub(super) fn anew() -> Result<PathBuf, KernelError> {
    packages::look(&packages::KERNEL)?.install()?;
    let cache = Cache::open()?;
    let _alone = cache.lock()?;
    let kernel = cache.kernel(&LAB.key());
    build(&LAB, &cache, &kernel)?;
    Ok(kernel)
}

/// Builds a kernel. The result appears in one step, or not at all.
fn build(recipe: &Recipe, cache: &Cache, kernel: &Path) -> Result<(), KernelError> {
    let log = cache.log(&recipe.key());
    eprintln!("building the lab's kernel, {}; its log is {}", recipe.key(), log.display());
    let begin = Instant::now();
    let source = cache.building();
    // Remove what a killed build may have left.
    let _ = fs::remove_dir_all(&source);
    let built = carry_out(recipe, &source, &log)
        .and_then(|()| fs::rename(source.join("linux"), kernel).map_err(KernelError::unusable(kernel)));
    if built.is_err() {
        show_end(&log);
    }
    let _ = fs::remove_dir_all(&source);
    built?;
    let _ = fs::remove_file(log);
    let seconds = begin.elapsed().as_secs();
    eprintln!("built the lab's kernel in {seconds} seconds: {}", kernel.display());
    Ok(())
}

fn carry_out(recipe: &Recipe, source: &Path, log: &Path) -> Result<(), KernelError> {
    fs::create_dir(source).map_err(KernelError::unusable(source))?;
    unpack(recipe, source, log)?;
    recipe.changes.iter().try_for_each(|change| apply(change, source))?;
    configure(recipe, source, log)?;
    compile(source, log)
}

fn unpack(recipe: &Recipe, source: &Path, log: &Path) -> Result<(), KernelError> {
    let mut tar = patient("tar");
    tar.args(["--extract", "--strip-components=1", "--wildcards", "--file"]).arg(recipe.archive());
    tar.arg("--directory").arg(source);
    tar.args(recipe.not_unpacked.iter().map(|pattern| format!("--exclude={pattern}")));
    Ok(command::run_quietly(&mut tar, log)?)
}

fn apply(change: &Change, source: &Path) -> Result<(), KernelError> {
    let path = source.join(change.file);
    let text = fs::read_to_string(&path).map_err(KernelError::unusable(&path))?;
    let changed = change.apply(&text).ok_or(KernelError::OtherSource { file: change.file })?;
    fs::write(&path, changed).map_err(KernelError::unusable(&path))
}

fn configure(recipe: &Recipe, source: &Path, log: &Path) -> Result<(), KernelError> {
    let wanted = source.join("wanted.config");
    fs::write(&wanted, recipe.configuration).map_err(KernelError::unusable(&wanted))?;
    let mut make = make(source, "allnoconfig");
    command::run_quietly(make.env("KCONFIG_ALLCONFIG", &wanted), log)?;
    let made = source.join(".config");
    let made = fs::read_to_string(&made).map_err(KernelError::unusable(&made))?;
    let ignored = ignored(recipe.configuration, &made);
    if ignored.is_empty() { Ok(()) } else { Err(KernelError::Ignored(ignored.join(", "))) }
}

fn compile(source: &Path, log: &Path) -> Result<(), KernelError> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    Ok(command::run_quietly(make(source, "linux").arg(format!("-j{processors}")), log)?)
}

fn make(source: &Path, goal: &str) -> Command {
    let mut make = patient("make");
    make.current_dir(source).args(["ARCH=um", goal]);
    // Cargo's job server and flags must not reach this build.
    for name in ["MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS", "CFLAGS", "LDFLAGS"] {
        make.env_remove(name);
    }
    make
}

/// A command that runs at a low priority, but still ends within the time in which all tests are
/// built and run.
fn patient(program: &str) -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", "5", program]);
    nice
}

fn show_end(log: &Path) {
    let told = fs::read(log).unwrap_or_default();
    let told = String::from_utf8_lossy(&told);
    let lines: Vec<&str> = told.lines().collect();
    eprintln!("{}", lines[lines.len().saturating_sub(SHOWN)..].join("\n"));
}

impl From<CommandError> for KernelError {
    fn from(error: CommandError) -> KernelError {
        KernelError::Build(error)
    }
}
