//! Runs libFuzzer, and reads its output.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::corpus::{Places, unusable};
use super::error::FuzzError;
use crate::command::{self, CommandError};

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// The number of executed inputs.
    pub(super) executions: u64,
    /// The number of edges of the program that were reached.
    pub(super) edges: u64,
    /// The number of all edges of the program, including its libraries.
    pub(super) all_edges: u64,
    /// The number of features: comparisons, and edges, where each order of magnitude of an edge's
    /// count is a feature of its own.
    pub(super) features: u64,
    /// The number of inputs in the corpus; each reaches a feature that no other one does.
    pub(super) corpus: u64,
    /// The failure's message with the input's path, if the run failed.
    pub(super) failure: Option<String>,
}

/// Runs `program` for `seconds`.
pub(super) fn run(program: &Path, places: &Places, seconds: u32) -> Result<Summary, FuzzError> {
    let mut command = Command::new(program);
    command.arg(format!("-max_total_time={seconds}"));
    command.args(["-print_final_stats=1", "-timeout=20", "-rss_limit_mb=2048", "-max_len=8192"]);
    command.arg(format!("-artifact_prefix={}/", places.failures.display()));
    if let Some(dictionary) = &places.dictionary {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let outcome = command::run_quietly(command.args([&places.working, &places.kept]), &places.log);
    let said = fs::read(&places.log).map_err(unusable(&places.log))?;
    let said = String::from_utf8_lossy(&said);
    let mut summary = Summary::read(&said);
    match outcome {
        Ok(()) => {}
        Err(CommandError::Failed { .. }) => summary.failure = Some(failure(&said)),
        Err(error) => return Err(error.into()),
    }
    Ok(summary)
}

/// The failure's message: that of a panic, or else libFuzzer's, and the path of the input.
fn failure(said: &str) -> String {
    let panic = said.lines().skip_while(|line| !line.contains(" panicked at ")).take(2);
    let own = said.lines().filter(|line| line.contains("libFuzzer: ") || line.contains("unit written to"));
    panic.chain(own).collect::<Vec<_>>().join("\n")
}

impl Summary {
    /// Reads the fuzzer's output.
    fn read(said: &str) -> Summary {
        let progress = said.lines().rfind(|line| line.contains(" cov: ")).unwrap_or_default();
        let loaded = said.lines().find(|line| line.contains("inline 8-bit counters")).unwrap_or_default();
        Summary {
            executions: number_after(said, "stat::number_of_executed_units:").unwrap_or(0),
            edges: number_after(progress, " cov:").unwrap_or(0),
            all_edges: number_after(loaded, "(").unwrap_or(0),
            features: number_after(progress, " ft:").unwrap_or(0),
            corpus: number_after(progress, " corp:").unwrap_or(0),
            failure: None,
        }
    }
}

/// The number after the first `label` in `text`.
fn number_after(text: &str, label: &str) -> Option<u64> {
    let (_, behind) = text.split_once(label)?;
    let digits: String = behind.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_fuzzer_says_is_understood() {
        let said = "INFO: Loaded 1 modules   (1234 inline 8-bit counters): 1234 [0x5, 0x6), \n\
                    #2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb\n\
                    #900\tDONE   cov: 310 ft: 411 corp: 17/3Kb lim: 4 exec/s: 90 rss: 30Mb\n\
                    stat::number_of_executed_units: 900\n";
        let expected = Summary {
            executions: 900,
            edges: 310,
            all_edges: 1234,
            features: 411,
            corpus: 17,
            failure: None,
        };
        assert_eq!(Summary::read(said), expected);
        assert_eq!(Summary::read("nothing of use"), Summary::default());
    }

    #[test]
    fn a_failure_is_told_with_its_input() {
        let said = "#5\tNEW cov: 3\nthread 'x' (7) panicked at a.rs:1:2:\noh\nstack backtrace:\n   0: f\n\
                    ==7== ERROR: libFuzzer: deadly signal\nTest unit written to failures/crash-1\nBase64: x\n";
        let told = "thread 'x' (7) panicked at a.rs:1:2:\noh\n==7== ERROR: libFuzzer: deadly signal\n\
                    Test unit written to failures/crash-1";
        assert_eq!(failure(said), told);
    }
}
