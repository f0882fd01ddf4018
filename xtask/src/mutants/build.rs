//! Builds the mutated copy of the workspace with all changes in it, and the test programs.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::error::{MutantsError, unusable};
use super::found::Mutant;
use super::weave;
use crate::command::CommandError;
use crate::copy;
use crate::workspace::{cargo, root, target};

/// The integration tests of the fault tester that are run. Its seeds are run by a separate program.
const FAULT_TESTS: [&str; 2] = ["exhaustive", "stories"];
/// The tests' own code and layouts are built too: they are judged with the others.
const FEATURES: [&str; 2] = ["--features", "parlour-fault/test-choices"];
/// The array, and the fault tester that judges it.
const PACKAGES: [&str; 4] = ["--package", "parlour-array", "--package", "parlour-fault"];
/// The name of the program that runs seeds.
const SEEDS: &str = "first_violation";

/// Attributes that allow a change to compile even if it always panics: it is as good as any other.
const ALLOWED: &str = "#![allow(warnings, arithmetic_overflow, unconditional_panic)]\n";

/// The results of the build.
pub(crate) struct Built {
    /// The program that runs seeds of the fault tester until one breaks a promise.
    pub(crate) seeds: PathBuf,
    /// The tests with their names.
    pub(crate) tests: Vec<(String, PathBuf)>,
    /// The directory of the copy, in which tests are run.
    pub(crate) folder: PathBuf,
    /// The changes that do not compile, or cannot be expressed.
    pub(crate) left_out: BTreeSet<u32>,
}

/// Makes the copy, without the changes that do not compile.
pub(crate) fn build(mutants: &[Mutant]) -> Result<Built, MutantsError> {
    let copy = target().join("mutants/workspace");
    copy::write(&copy, &copy::entries()?)?;
    let mut left_out = BTreeSet::new();
    loop {
        let woven = weave_all(&copy, mutants, &left_out)?;
        let errors = check(&copy)?;
        if errors.is_empty() {
            let there: BTreeSet<u32> =
                woven.iter().flat_map(|(_, text)| weave::changes(text)).map(|(_, number)| number).collect();
            left_out.extend(mutants.iter().map(|one| one.number).filter(|number| !there.contains(number)));
            break;
        }
        let guilty = guilty(&errors, &woven)?;
        eprintln!("{} changes do not compile", guilty.len() + left_out.len());
        left_out.extend(guilty);
    }
    let (seeds, tests) = programs(&copy)?;
    Ok(Built { seeds, tests, folder: copy, left_out })
}

/// Writes the woven texts to the copy, and returns them with their files.
fn weave_all(
    copy: &Path,
    mutants: &[Mutant],
    left_out: &BTreeSet<u32>,
) -> Result<Vec<(PathBuf, String)>, MutantsError> {
    let files: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    let mut woven = Vec::new();
    for name in files {
        let path = root().join(name);
        let source = fs::read_to_string(&path).map_err(unusable(&path))?;
        let of_file: Vec<&Mutant> =
            mutants.iter().filter(|one| one.file == name && !left_out.contains(&one.number)).collect();
        let text = weave::weave(&source, &of_file).map_err(|source| MutantsError::NoRust { path, source })?;
        copy::put(&copy.join(name), text.as_bytes())?;
        woven.push((PathBuf::from(name), text));
    }
    let library = root().join("crates/array/src/lib.rs");
    let text = fs::read_to_string(&library).map_err(unusable(&library))?;
    copy::put(&copy.join("crates/array/src/lib.rs"), format!("{ALLOWED}{text}\nmod mutation;\n").as_bytes())?;
    copy::put(&copy.join("crates/array/src/mutation.rs"), weave::MODULE.as_bytes())?;
    Ok(woven)
}

fn cargo_in(copy: &Path, arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.current_dir(copy).env("CARGO_TARGET_DIR", target().join("mutants/target"));
    command
}

/// A compilation error.
struct Wrong {
    file: PathBuf,
    bytes: Range<usize>,
    message: String,
}

/// The compilation errors of the array's crate.
fn check(copy: &Path) -> Result<Vec<Wrong>, MutantsError> {
    let mut arguments = vec!["check", "--message-format", "json"];
    arguments.extend(PACKAGES);
    arguments.extend(FEATURES);
    let lines = messages(cargo_in(copy, &arguments))?;
    let errors = lines.iter().filter(|line| line["message"]["level"] == "error");
    let places = errors.flat_map(|line| {
        let message = line["message"]["message"].as_str().unwrap_or_default();
        let spans = line["message"]["spans"].as_array().cloned().unwrap_or_default();
        spans.into_iter().filter(|span| span["is_primary"] == true).map(|span| Wrong {
            file: span["file_name"].as_str().unwrap_or_default().into(),
            bytes: byte(&span, "byte_start")..byte(&span, "byte_end"),
            message: message.to_owned(),
        })
    });
    Ok(places.collect())
}

fn byte(span: &Value, key: &str) -> usize {
    span[key].as_u64().and_then(|byte| usize::try_from(byte).ok()).unwrap_or(0)
}

/// Cargo's messages, one JSON value per line.
fn messages(mut command: Command) -> Result<Vec<Value>, MutantsError> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| CommandError::NotStarted { line: "cargo".to_owned(), source })?;
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// The changes that cause these errors: those that overlap with an error. Of nested changes, the
/// smallest.
fn guilty(errors: &[Wrong], woven: &[(PathBuf, String)]) -> Result<BTreeSet<u32>, MutantsError> {
    let mut numbers = BTreeSet::new();
    for wrong in errors {
        let text = woven.iter().find(|(file, _)| *file == wrong.file).map(|(_, text)| text.as_str());
        let touches = |bytes: &Range<usize>| bytes.start < wrong.bytes.end && wrong.bytes.start < bytes.end;
        let smallest = |places: Vec<(Range<usize>, Vec<u32>)>| {
            let touched = places.into_iter().filter(|(bytes, _)| touches(bytes));
            touched.min_by_key(|(bytes, _)| bytes.len()).map(|(_, numbers)| numbers)
        };
        let text = text.unwrap_or_default();
        let alone = weave::changes(text).into_iter().map(|(bytes, number)| (bytes, vec![number])).collect();
        // The original code may not fit the types of the changes that were compiled before it. Then
        // the error lies in the original code, and all changes of its place are blamed.
        let Some(blamed) = smallest(alone).or_else(|| smallest(weave::choices(text))) else {
            let place = format!("{}, byte {}", wrong.file.display(), wrong.bytes.start);
            return Err(MutantsError::NotBuilt(format!("{} ({place})", wrong.message)));
        };
        numbers.extend(blamed);
    }
    Ok(numbers)
}

/// Builds the tests. Returns the program that runs seeds, and the other tests.
fn programs(copy: &Path) -> Result<(PathBuf, Vec<(String, PathBuf)>), MutantsError> {
    let mut arguments = vec!["test", "--no-run", "--message-format", "json"];
    arguments.extend(PACKAGES);
    arguments.extend(FEATURES);
    let lines = messages(cargo_in(copy, &arguments))?;
    let (mut seeds, mut tests) = (None, Vec::new());
    for line in &lines {
        let Some(program) = line["executable"].as_str().map(PathBuf::from) else { continue };
        let name = line["target"]["name"].as_str().unwrap_or_default().to_owned();
        let of_array = line["package_id"].as_str().is_some_and(|id| id.contains("crates/array"));
        if name == SEEDS {
            seeds = Some(program);
        } else if of_array || FAULT_TESTS.contains(&name.as_str()) {
            tests.push((name, program));
        }
    }
    let seeds = seeds.ok_or_else(|| MutantsError::NotBuilt(format!("there is no {SEEDS}")))?;
    Ok((seeds, tests))
}
