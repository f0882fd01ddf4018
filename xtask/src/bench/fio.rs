//! The fio jobs. Every target runs the same ones.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::targets::{Address, Served};

/// The size of the working set, in MiB. Every target has at least this capacity.
pub(super) const WORKING_SET: u32 = 512;

/// A job, which is one column of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub(super) name: &'static str,
    rw: &'static str,
    block: &'static str,
    depth: u32,
    /// The number of writes between two flushes; 0 for no flushes.
    flush: u32,
    pub(super) sequential: bool,
}

/// The result of a job.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measured {
    /// Requests per second, or MiB per second for sequential jobs.
    pub(super) rate: f64,
    /// The number of all requests.
    pub(super) requests: u64,
}

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FioError {
    /// fio did not start.
    #[error("cannot run fio: {0}")]
    NotStarted(std::io::Error),
    /// fio failed.
    #[error("fio failed on {target}: {message}")]
    Failed {
        /// The target.
        target: String,
        /// fio's message.
        message: String,
    },
}

const fn random(name: &'static str, rw: &'static str, depth: u32, flush: u32) -> Job {
    Job { name, rw, block: "4k", depth, flush, sequential: false }
}

const fn sequential(name: &'static str, rw: &'static str) -> Job {
    Job { name, rw, block: "1m", depth: 4, flush: 0, sequential: true }
}

const PLAIN: [Job; 8] = [
    random("rand read 1", "randread", 1, 0),
    random("rand read 16", "randread", 16, 0),
    random("rand read 64", "randread", 64, 0),
    random("rand write 1", "randwrite", 1, 0),
    random("rand write 16", "randwrite", 16, 0),
    random("rand write 64", "randwrite", 64, 0),
    sequential("seq read", "read"),
    sequential("seq write", "write"),
];

impl Job {
    /// The jobs for members in memory.
    pub(super) fn on_memory() -> Vec<Job> {
        PLAIN.to_vec()
    }

    /// The jobs for members on a disk, which include flushes.
    pub(super) fn on_disk() -> Vec<Job> {
        let mut jobs = PLAIN.to_vec();
        jobs.insert(6, random("rand write 16, flush/32", "randwrite", 16, 32));
        jobs
    }

    /// The jobs of a program that flushes: random writes of 4 KiB, at depth 1 and depth 16, with no
    /// flushes, some flushes, and a flush after every write.
    pub(super) fn flushed() -> Vec<Job> {
        let job = |name, depth, flush| random(name, "randwrite", depth, flush);
        vec![
            job("depth 1, no flush", 1, 0),
            job("depth 1, flush/32", 1, 32),
            job("depth 1, flush/1", 1, 1),
            job("depth 16, no flush", 16, 0),
            job("depth 16, flush/32", 16, 32),
            job("depth 16, flush/1", 16, 1),
        ]
    }

    /// Runs the job for this number of seconds.
    pub(super) fn run(&self, served: &Served, seconds: u32) -> Result<Measured, FioError> {
        let mut arguments = vec![
            format!("--rw={}", self.rw),
            format!("--bs={}", self.block),
            format!("--iodepth={}", self.depth),
            format!("--runtime={seconds}"),
            "--time_based".into(),
        ];
        if self.flush > 0 {
            arguments.push(format!("--fsync={}", self.flush));
        }
        let job = fio(served, &arguments)?;
        let direction = if self.rw.ends_with("read") { "read" } else { "write" };
        let number = |key: &str| job[direction][key].as_f64().unwrap_or(0.0);
        let rate = if self.sequential { number("bw_bytes") / f64::from(1 << 20) } else { number("iops") };
        Ok(Measured { rate, requests: job[direction]["total_ios"].as_u64().unwrap_or(0) })
    }

    /// Whether the job writes.
    pub(super) fn writes(&self) -> bool {
        self.rw.ends_with("write")
    }
}

/// Writes the whole working set once, so that later reads find only written data.
pub(super) fn fill(served: &Served) -> Result<(), FioError> {
    fio(served, &["--rw=write".into(), "--bs=1m".into(), "--iodepth=4".into()]).map(|_| ())
}

/// Runs small random writes for a second.
pub(super) fn stir(served: &Served) -> Result<(), FioError> {
    let arguments = ["--rw=randwrite", "--bs=4k", "--iodepth=16", "--runtime=1", "--time_based"];
    fio(served, &arguments.map(String::from)).map(|_| ())
}

fn fio(served: &Served, arguments: &[String]) -> Result<Value, FioError> {
    let output: PathBuf = served.directory().join("fio.json");
    let mut command = Command::new("fio");
    command.args(["--name=bench", "--randrepeat=0", "--norandommap", "--output-format=json"]);
    command.arg(format!("--size={WORKING_SET}m")).arg(format!("--output={}", output.display()));
    match served.address() {
        Address::Nbd(uri) => command.args(["--ioengine=nbd".into(), format!("--uri={uri}")]),
        Address::File(path) => command.args([
            "--ioengine=libaio".into(),
            "--direct=1".into(),
            format!("--filename={}", path.display()),
        ]),
    };
    let done = command.args(arguments).output().map_err(FioError::NotStarted)?;
    let text = std::fs::read_to_string(&output).unwrap_or_default();
    let failed = |message: String| FioError::Failed { target: served.name().into(), message };
    // fio prints its remarks before the JSON.
    let json = text.find('{').map_or("", |start| &text[start..]);
    let value: Value = serde_json::from_str(json)
        .map_err(|error| failed(format!("{error}; {}", String::from_utf8_lossy(&done.stderr).trim())))?;
    let job = value["jobs"][0].clone();
    match job["error"].as_i64() {
        Some(0) if done.status.success() => Ok(job),
        error => Err(failed(format!("{}, error {error:?}", done.status))),
    }
}
