//! `cargo xtask bench recovery`: measures how long the recovery of an array takes after its server
//! was killed, by the size of the array.
//!
//! The arrays are made by `parlour create`, and their servers are killed (SIGKILL) after the same
//! number of random writes. So the arrays differ only in size.

mod point;
mod server;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use self::point::{MEMBERS, Point, Recovered};
use self::server::Server;
use self::table::Results;
use super::error::BenchError;
use super::places::scratch;
use super::targets::{Array, TargetError, parlour, run as run_program, spawn};

/// What is loaded, how often, and where.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Runs of each size, in turns; the table gives their median
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Sizes of a member in GiB
    #[arg(long, value_delimiter = ',', default_values_t = [8, 64, 512, 4_096])]
    sizes: Vec<u64>,
    /// The kill comes after this many random writes of 4 KiB
    #[arg(long, default_value_t = 50_000)]
    writes: u64,
    /// A recovery is not watched for longer than this, in seconds
    #[arg(long, default_value_t = 20)]
    patience: u64,
    /// Nor when it has written more parity than this, in MiB: members are sparse, and all of it is
    /// new
    #[arg(long, default_value_t = 4_096)]
    space: u64,
    /// Where the members are; on tmpfs nothing but the program takes time
    #[arg(long, default_value = "/dev/shm")]
    directory: PathBuf,
    /// Only these arrays (names as in the table)
    #[arg(long)]
    arrays: Vec<String>,
    /// Only these loads (names as in the table)
    #[arg(long)]
    loads: Vec<String>,
}

/// The range of the load's writes.
#[derive(Debug, Clone, Copy)]
struct Load {
    name: &'static str,
    /// The length of the range from the start of the array; `None` for the whole array.
    within_mib: Option<u64>,
}

const LOADS: [Load; 2] =
    [Load { name: "everywhere", within_mib: None }, Load { name: "in 512 MiB", within_mib: Some(512) }];

/// A row of the table without its load: an array of some size.
struct Case {
    array: Array,
    size: u64,
}

impl Arguments {
    /// Returns each array in each size.
    fn cases(&self) -> Vec<Case> {
        let of_size = |size: u64| {
            let array = |organization| Array::new(organization, MEMBERS, size * 1_024);
            let bitmap = ["--consistency", "bitmap"];
            let default = Array { name: "parity-logging (default)".into(), ..array("parity-logging") };
            [default, array("parity-logging").with("bitmap", &bitmap), array("raid5")]
        };
        let cases =
            self.sizes.iter().flat_map(|size| of_size(*size).map(|array| Case { array, size: *size }));
        cases.filter(|case| self.arrays.is_empty() || self.arrays.contains(&case.array.name)).collect()
    }

    fn loads(&self) -> Vec<Load> {
        let wanted = |load: &Load| self.loads.is_empty() || self.loads.iter().any(|name| name == load.name);
        LOADS.into_iter().filter(wanted).collect()
    }
}

/// Measures all cases. The sizes take turns in each run.
pub(super) fn run(arguments: &Arguments) -> Result<(), BenchError> {
    let place = scratch(&arguments.directory)?;
    let cases = arguments.cases();
    let mut results = Results::default();
    for round in 0..arguments.runs {
        for (case, load) in
            cases.iter().flat_map(|case| arguments.loads().into_iter().map(move |load| (case, load)))
        {
            let title = format!("{}, {MEMBERS} × {} GiB, {}", case.array.name, case.size, load.name);
            eprintln!("recovery: run {} of {}: {title}", round + 1, arguments.runs);
            let point = measure(arguments, case, load, place.path(), round)?;
            results.add(&case.array.name, load.name, case.size, point);
        }
    }
    println!(
        "after SIGKILL under random 4 KiB writes at depth 16 with a flush every 32, killed at {} writes; {MEMBERS} sparse \
         members in {}",
        arguments.writes,
        arguments.directory.display()
    );
    println!("{}", results.render());
    Ok(())
}

/// Creates the array, runs the load, kills the server, starts it again, and watches the recovery.
fn measure(
    arguments: &Arguments,
    case: &Case,
    load: Load,
    place: &Path,
    round: u32,
) -> Result<Point, BenchError> {
    let directory = place.join("run");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory)
        .map_err(|source| BenchError::Place { path: directory.clone(), source })?;
    let members = case.array.create(&directory)?;
    let geometry = geometry(&members[0])?;
    let socket = directory.join("nbd.sock");
    let mut server = Server::start(&members, &socket)?;
    let within = load.within_mib.map_or(server.capacity, |mib| (mib << 20).min(server.capacity));
    // A block that the load may have written; each round uses another one.
    let somewhere = within / u64::from(arguments.runs) * u64::from(round) / 4_096 * 4_096;
    server.read(somewhere)?;
    let fresh = server.age();
    let before = write_until(&mut server, within, arguments.writes, round)?;
    server.kill();
    let mut server = Server::start(&members, &socket)?;
    server.read(somewhere)?;
    let first_read = server.age();
    let (recovered, redone) = watch(arguments, &mut server, data_units(&geometry))?;
    let peak_memory = server.peak_memory()?;
    server.kill();
    let _ = std::fs::remove_dir_all(&directory);
    Ok(Point {
        geometry,
        fresh,
        first_read,
        recovered,
        redone,
        peak_memory,
        live_records: before["log"]["live_records"].as_u64(),
        dirty: before["dirty_regions"].as_u64().unwrap_or(0),
        regions: before["regions"].as_u64().unwrap_or(0),
    })
}

/// The geometry in the output of `parlour examine`.
fn geometry(member: &Path) -> Result<Value, TargetError> {
    let text = run_program(parlour().args(["examine", "--json"]).arg(member))?;
    let told: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(told["geometry"].clone())
}

/// Runs random writes until the array has counted this number of them. Returns the server's status
/// at that moment; writes are still under way.
fn write_until(server: &mut Server, within: u64, writes: u64, seed: u32) -> Result<Value, TargetError> {
    let mut fio = Command::new("fio");
    fio.args(["--name=load", "--ioengine=nbd", "--rw=randwrite", "--bs=4k", "--iodepth=16", "--fsync=32"]);
    fio.args(["--norandommap", "--time_based", "--runtime=3600"]);
    fio.arg(format!("--uri={}", server.uri())).arg(format!("--size={within}"));
    fio.arg(format!("--randseed={}", seed + 1));
    let mut load = Ended(spawn(fio.stdout(Stdio::null()))?);
    loop {
        let status = server.status()?;
        if status["counters"]["host_writes"].as_u64().is_some_and(|done| done >= writes) {
            return Ok(status);
        }
        if load.0.try_wait().is_ok_and(|ended| ended.is_some()) {
            let message = "it ended before the server was killed".into();
            return Err(TargetError::Program { program: "fio".into(), message });
        }
        std::thread::sleep(PAUSE);
    }
}

/// The pause between two queries of a server's status.
const PAUSE: Duration = Duration::from_millis(1);

/// A child process that is killed when this value is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Watches the server until it has recovered, or until the limits of time or space are reached.
/// Returns also the number of regions that it redid.
fn watch(
    arguments: &Arguments,
    server: &mut Server,
    data_units: u64,
) -> Result<(Recovered, u64), TargetError> {
    loop {
        let status = server.status()?;
        let (age, written) = (server.age(), parity_written(&status));
        let redone = status["counters"]["redone"].as_u64().unwrap_or(0);
        if status["resync"].is_null() && status["log"]["recovering"].as_u64().unwrap_or(0) == 0 {
            return Ok((Recovered::After(age), redone));
        }
        if age.as_secs() >= arguments.patience || written >> 20 >= arguments.space {
            return Ok((project(&status, data_units, age, written), redone));
        }
        std::thread::sleep(PAUSE);
    }
}

/// The bytes that rebuild and resync have written.
fn parity_written(status: &Value) -> u64 {
    let members = status["members"].as_array().map_or(&[][..], Vec::as_slice);
    members.iter().filter_map(|member| member["traffic"][3]["write_bytes"].as_u64()).sum()
}

/// The number of data units that a parity unit protects.
fn data_units(geometry: &Value) -> u64 {
    u64::from(MEMBERS) - 1 - geometry["regions"]["sublogs"].as_u64().unwrap_or(0)
}

/// Estimates the duration of the whole resync from the parity written so far.
fn project(status: &Value, data_units: u64, age: Duration, written: u64) -> Recovered {
    let number = |value: &Value| value.as_u64().unwrap_or(0) as f64;
    let parity = number(&status["capacity"]) / data_units as f64;
    let to_write = parity * number(&status["resync"]["total"]) / number(&status["regions"]);
    match written {
        0 => Recovered::Unknown,
        _ => Recovered::Projected(age.mul_f64(to_write / written as f64)),
    }
}
