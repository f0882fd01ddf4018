//! Inputs: those that are kept with the sources, and those that a fuzzer works with.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::Runners;
use super::error::FuzzError;
use crate::command;
use crate::workspace;

/// Bytes of the inputs that are kept of a target, at the most.
const MOST: u64 = 48 << 10;
/// As many at the most, named ones apart.
const MOST_INPUTS: usize = 250;

/// The folders of a target.
pub(super) struct Places {
    /// With the sources.
    pub(super) kept: PathBuf,
    /// What the fuzzer found, from one run to the next.
    pub(super) working: PathBuf,
    /// Inputs on which the target failed.
    pub(super) failures: PathBuf,
    /// What the fuzzer said.
    pub(super) log: PathBuf,
    /// Words that are worth trying, if there are any.
    pub(super) dictionary: Option<PathBuf>,
    fresh: PathBuf,
}

impl Places {
    /// Those of `target`, made where they are not there.
    pub(super) fn of(target: &str, runners: &Runners) -> Result<Places, FuzzError> {
        let sources = workspace::root().join("fuzz");
        let dictionary = sources.join("dictionaries").join(target).with_extension("dict");
        let places = Places {
            kept: sources.join("corpus").join(target),
            working: runners.scratch.join("corpus").join(target),
            failures: runners.scratch.join("failures").join(target),
            log: runners.scratch.join(target).with_extension("log"),
            dictionary: dictionary.is_file().then_some(dictionary),
            fresh: runners.scratch.join("fresh").join(target),
        };
        for folder in [&places.kept, &places.working, &places.failures] {
            fs::create_dir_all(folder).map_err(unusable(folder))?;
        }
        Ok(places)
    }
}

/// What is kept of a target.
pub(super) struct Kept {
    pub(super) count: usize,
    pub(super) bytes: u64,
}

/// Keeps few inputs that together reach what was reached; where they are too many, small and large
/// ones alike. An input that has a name of its own tells a story, and stays.
pub(super) fn keep(program: &Path, places: &Places) -> Result<Kept, FuzzError> {
    let _ = fs::remove_dir_all(&places.fresh);
    fs::create_dir_all(&places.fresh).map_err(unusable(&places.fresh))?;
    let mut merge = Command::new(program);
    merge.args(["-set_cover_merge=1", "-timeout=20", "-rss_limit_mb=2048"]);
    command::run_quietly(merge.args([&places.fresh, &places.kept, &places.working]), &places.log)?;
    let mut kept = Kept { count: 0, bytes: 0 };
    for (path, size) in inputs(&places.kept)? {
        if is_named(&path) {
            kept = Kept { count: kept.count + 1, bytes: kept.bytes + size };
        } else {
            fs::remove_file(&path).map_err(unusable(&path))?;
        }
    }
    let fresh = inputs(&places.fresh)?;
    let step = fresh.len().div_ceil(MOST_INPUTS).max(1);
    for (path, size) in fresh.into_iter().step_by(step) {
        if kept.bytes + size > MOST {
            break;
        }
        let name = path.file_name().unwrap_or_default();
        fs::copy(&path, places.kept.join(name)).map_err(unusable(&path))?;
        kept = Kept { count: kept.count + 1, bytes: kept.bytes + size };
    }
    Ok(kept)
}

/// The inputs in a folder with their sizes, the smallest first.
fn inputs(folder: &Path) -> Result<Vec<(PathBuf, u64)>, FuzzError> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder).map_err(unusable(folder))? {
        let entry = entry.map_err(unusable(folder))?;
        inputs.push((entry.path(), entry.metadata().map_err(unusable(folder))?.len()));
    }
    inputs.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    Ok(inputs)
}

/// Whether somebody named it: the fuzzer names inputs by their hash.
fn is_named(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !(name.len() == 40 && name.chars().all(|c| c.is_ascii_hexdigit()))
}

pub(super) fn unusable(path: &Path) -> impl FnOnce(io::Error) -> FuzzError {
    let path = path.to_owned();
    |source| FuzzError::Unusable { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_with_a_name_of_its_own_is_told_from_a_hash() {
        assert!(is_named(Path::new("corpus/regions-beyond-counting.toml")));
        assert!(!is_named(Path::new("corpus/da39a3ee5e6b4b0d3255bfef95601890afd80709")));
    }
}
