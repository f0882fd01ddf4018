//! The inputs of fuzzers: those that are kept with the sources, and the working corpus.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::Runners;
use super::error::FuzzError;
use crate::command;
use crate::workspace;

/// The largest total size of a target's kept inputs, in bytes.
const MOST: u64 = 48 << 10;
/// The largest number of a target's kept inputs, not counting named ones.
const MOST_INPUTS: usize = 250;

/// The directories of a target.
pub(super) struct Places {
    /// The inputs that are kept with the sources.
    pub(super) kept: PathBuf,
    /// The working corpus, which lasts from one run to the next.
    pub(super) working: PathBuf,
    /// The inputs on which the target failed.
    pub(super) failures: PathBuf,
    /// The fuzzer's output.
    pub(super) log: PathBuf,
    /// The dictionary of useful words, if there is one.
    pub(super) dictionary: Option<PathBuf>,
    fresh: PathBuf,
}

impl Places {
    /// Returns the directories of `target`, and creates them if necessary.
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

/// The inputs of a target that are kept.
pub(super) struct Kept {
    pub(super) count: usize,
    pub(super) bytes: u64,
}

/// Keeps a small set of inputs with the same coverage. If they are too many, drops inputs evenly
/// over all sizes. An input with a name of its own documents a case, and always stays.
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

/// The inputs in a directory with their sizes, the smallest first.
fn inputs(folder: &Path) -> Result<Vec<(PathBuf, u64)>, FuzzError> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder).map_err(unusable(folder))? {
        let entry = entry.map_err(unusable(folder))?;
        inputs.push((entry.path(), entry.metadata().map_err(unusable(folder))?.len()));
    }
    inputs.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    Ok(inputs)
}

/// Whether a person named the input: the fuzzer names inputs by their hash.
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
