//! Runs the tests with each change, the quickest first, until one fails.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::build::Built;
use super::error::{MutantsError, unusable};
use super::found::Mutant;
use crate::command::CommandError;

/// The verdict on a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The change does not compile.
    LeftOut,
    /// This test failed.
    Caught(String),
    /// No test failed.
    Survived,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::LeftOut => write!(f, "does not compile"),
            Verdict::Caught(by) => write!(f, "caught by {by}"),
            Verdict::Survived => write!(f, "survived"),
        }
    }
}

impl Verdict {
    fn read(text: &str) -> Option<Verdict> {
        Some(match text {
            "does not compile" => Verdict::LeftOut,
            "survived" => Verdict::Survived,
            other => Verdict::Caught(other.strip_prefix("caught by ")?.to_owned()),
        })
    }
}

/// A test to run.
struct Step {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    /// The limit of its processor time.
    limit: Duration,
}

/// The limit of memory: more than any test needs, and little enough for the machine. A change may
/// allocate without end.
const KIBIBYTES: u32 = 8 << 20;

/// The limit in seconds of a test that has not been timed.
const A_DAY: u64 = 86_400;

/// Returns the verdicts on `mutants`. Verdicts in `file` are reused, and new ones are added to it.
pub(crate) fn judge(
    mutants: &[&Mutant],
    built: &Built,
    seeds: u64,
    file: Option<&Path>,
) -> Result<Vec<Verdict>, MutantsError> {
    let known = file.map(read).unwrap_or_default();
    let steps = steps(built, seeds)?;
    let open = |path| OpenOptions::new().create(true).append(true).open(path).map_err(unusable(path));
    let out = file.map(open).transpose()?;
    let (next, results) = (AtomicUsize::new(0), Mutex::new((out, BTreeMap::new())));
    let work = || -> Result<(), MutantsError> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(index) else { return Ok(()) };
            let before = known.get(&mutant.name).cloned();
            let verdict = match &before {
                Some(verdict) => verdict.clone(),
                None if built.left_out.contains(&mutant.number) => Verdict::LeftOut,
                None => verdict(mutant.number, built, &steps)?,
            };
            let mut results = results.lock().expect("no thread has panicked");
            if before.is_none() {
                if let (Some(out), Some(path)) = (&mut results.0, file) {
                    writeln!(out, "{}\t{verdict}", mutant.name).map_err(unusable(path))?;
                }
                eprintln!("{} of {}: {verdict}: {}", index + 1, mutants.len(), mutant.name);
            }
            results.1.insert(index, verdict);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let ended: Vec<Result<(), MutantsError>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no thread has panicked")).collect()
    });
    ended.into_iter().collect::<Result<(), _>>()?;
    Ok(results.into_inner().expect("no thread has panicked").1.into_values().collect())
}

/// The verdicts in a file, by the name of the change.
fn read(file: &Path) -> BTreeMap<String, Verdict> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let parts = text.lines().filter_map(|line| line.split_once('\t'));
    parts.filter_map(|(name, verdict)| Some((name.to_owned(), Verdict::read(verdict)?))).collect()
}

/// The tests: seeds of parity logging, the array's tests, all other seeds, and the fault tester's
/// tests. Each must pass without any change.
fn steps(built: &Built, seeds: u64) -> Result<Vec<Step>, MutantsError> {
    let seeds = |name: &str, which: &str| Step {
        name: name.to_owned(),
        program: built.seeds.clone(),
        arguments: vec![seeds.to_string(), which.to_owned(), "parity-logging".to_owned()],
        limit: Duration::MAX,
    };
    let mut steps = vec![seeds("seeds of parity logging", "of")];
    steps.extend(built.tests.iter().map(|(name, program)| Step {
        name: name.clone(),
        program: program.clone(),
        arguments: Vec::new(),
        limit: Duration::MAX,
    }));
    steps.push(seeds("seeds", "but"));
    let mut timed = Vec::new();
    for mut step in steps {
        let start = Instant::now();
        if !passes(0, built, &step)? {
            return Err(MutantsError::NotGreen(step.name));
        }
        let taken = start.elapsed();
        step.limit = taken * 10 + Duration::from_secs(20);
        eprintln!("{}: {:.1} s", step.name, taken.as_secs_f64());
        timed.push((taken, step));
    }
    // The seeds stay first, because they catch most changes.
    timed[1..].sort_by_key(|(taken, _)| *taken);
    Ok(timed.into_iter().map(|(_, step)| step).collect())
}

fn verdict(number: u32, built: &Built, steps: &[Step]) -> Result<Verdict, MutantsError> {
    for step in steps {
        if !passes(number, built, step)? {
            return Ok(Verdict::Caught(step.name.clone()));
        }
    }
    Ok(Verdict::Survived)
}

/// Whether a test passes with a change within its time limit.
fn passes(number: u32, built: &Built, step: &Step) -> Result<bool, MutantsError> {
    let seconds = step.limit.as_secs().min(A_DAY);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -v {KIBIBYTES} && ulimit -t {seconds} && exec \"$0\" \"$@\"")])
        .arg(&step.program)
        .args(&step.arguments)
        .current_dir(built.folder.join("crates/array"))
        .env("PARLOUR_MUTANT", number.to_string())
        .env("CARGO_MANIFEST_DIR", built.folder.join("crates/array"))
        // Proptest must not shrink: the failure alone is enough.
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let failed = |source| CommandError::NotStarted { line: step.name.clone(), source };
    let mut child = command.spawn().map_err(failed)?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status.success());
        }
        // A test that waits for ever uses no processor time. (Nor does one of which the machine
        // takes the processor away, for a time.)
        if start.elapsed() > step.limit.saturating_mul(10) {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(10));
    }
}
