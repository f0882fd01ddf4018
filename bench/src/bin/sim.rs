//! Measures how fast arrays are simulated: eight HP C2247A, random requests of 4 KiB, eight
//! processes without think time.
//!
//! Cases take turns in each run; the table gives the median of each, with its range, in simulated
//! requests per second of one thread. Then it measures a sweep of 64 runs, on one thread and on all
//! cores, and prints the peak memory.
#![allow(clippy::expect_used, reason = "a bench that cannot be set up measures nothing")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use parlour_array::organization::{Consistency, Organization};
use parlour_array::{Creation, Geometry, LogCreation, Simulated, Tuning};
use parlour_drive::angle::Angle;
use parlour_drive::catalogue;
use parlour_drive::description::Description;
use parlour_drive::queue::Discipline;
use parlour_sim::member::Member;
use parlour_sim::opening::{self, New};
use parlour_sim::run::{Measure, run};
use parlour_sim::world::World;
use parlour_units::{Duration, Sectors};
use parlour_workload::delay::Delay;
use parlour_workload::place::{Place, Places};
use parlour_workload::random::Random;
use parlour_workload::size::{Size, Sizes};
use parlour_workload::source::{Load, Pattern, Source};
use parlour_workload::space::Space;
use parlour_workload::stream::Stream;

/// Measure how fast arrays are simulated
#[derive(Parser)]
struct Arguments {
    /// Requests of each run
    #[arg(long, default_value_t = 1_000_000)]
    requests: u64,
    /// Runs of each case
    #[arg(long, default_value_t = 5)]
    runs: u64,
    /// Only the cases whose names contain this, and no sweep
    #[arg(long)]
    only: Option<String>,
}

/// A case to simulate.
struct Case {
    name: &'static str,
    organization: &'static str,
    consistency: Consistency,
    reads: f64,
}

const CASES: [Case; 4] = [
    Case {
        name: "parity logging, journal, small writes",
        organization: "parity-logging",
        consistency: Consistency::Journal,
        reads: 0.0,
    },
    Case { name: "RAID 5, reads", organization: "raid5", consistency: Consistency::Bitmap, reads: 1.0 },
    Case {
        name: "RAID 5, small writes",
        organization: "raid5",
        consistency: Consistency::Bitmap,
        reads: 0.0,
    },
    Case {
        name: "parity logging, bitmap, small writes",
        organization: "parity-logging",
        consistency: Consistency::Bitmap,
        reads: 0.0,
    },
];

const MEMBERS: u16 = 8;
const BLOCK: Sectors = Sectors::new(8);

fn main() {
    let arguments = Arguments::parse();
    let wanted = |case: &&Case| arguments.only.as_ref().is_none_or(|only| case.name.contains(only));
    let cases: Vec<&Case> = CASES.iter().filter(wanted).collect();
    let mut rates = vec![Vec::new(); cases.len()];
    for number in 0..arguments.runs {
        for (case, rates) in cases.iter().zip(&mut rates) {
            eprintln!("run {} of {}: {}", number + 1, arguments.runs, case.name);
            rates.push(rate(case, arguments.requests, number));
        }
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(["simulated", "requests a second", "range"]);
    table.column_mut(1).expect("there are three").set_cell_alignment(CellAlignment::Right);
    for (case, mut rates) in cases.iter().zip(rates) {
        rates.sort_unstable_by(f64::total_cmp);
        let range = format!("{:.0} to {:.0}", rates[0], rates[rates.len() - 1]);
        table.add_row([case.name.to_owned(), format!("{:.0}", rates[rates.len() / 2]), range]);
    }
    println!("{table}");
    if arguments.only.is_none() {
        show_sweep(&arguments);
    }
    if let Some(peak) = peak_memory() {
        println!("\nThe most memory at any time: {:.1} MiB.", peak as f64 / 1_024.0);
    }
}

fn show_sweep(arguments: &Arguments) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (one, all) = (sweep(1, arguments), sweep(cores, arguments));
    println!(
        "\nA sweep of 64 runs: {one:.2} s on one thread, {all:.2} s on {cores}: {:.2} times as fast.",
        one / all
    );
}

/// The simulated requests per second of this thread.
fn rate(case: &Case, requests: u64, seed: u64) -> f64 {
    let (mut world, stream) = array(case);
    let load = Load::Closed { processes: 8, think: Delay::Fixed(Duration::ZERO) };
    let mut sources = [Source::new("hosts", load, Pattern::Stream(stream)).expect("it is a load")];
    let measure = Measure { least: requests, most: requests, precision: 0.0, ..Measure::default() };
    let start = Instant::now();
    run(&mut world, &mut sources, &measure, &Random::new(seed)).expect("it goes well");
    requests as f64 / start.elapsed().as_secs_f64()
}

fn array(case: &Case) -> (World, Stream) {
    let text = catalogue::find("hp-c2247a").expect("it is in the catalogue");
    let description = Description::parse(text).expect("it is a drive");
    let mechanics = description.mechanics(Angle::default()).expect("it is a drive");
    let length = Sectors::new(mechanics.surface.blocks()).round_down(Sectors::new(2_048));
    let row = Organization::named(case.organization).expect("it is one of the table");
    let creation = Creation {
        organization: row.organization,
        checks: 1,
        members: MEMBERS,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(64),
        block: BLOCK,
        member_length: length,
        log: LogCreation::default(),
        consistency: case.consistency,
    };
    let geometry = Geometry::create(&creation).expect("it is a possible array");
    let tuning = Tuning { bitmap: false, ..Tuning::default() };
    let drive =
        |_| Member::described(&description, Angle::default(), Discipline::Fcfs).expect("it is a drive");
    let new = New { name: case.name, geometry: &geometry, length, tuning, simulated: Simulated::default() };
    let volume = opening::open(&new, (0..MEMBERS).map(drive).collect()).expect("it is new");
    let sizes = Sizes::new(Size::Fixed(BLOCK.get() as f64), BLOCK, BLOCK, BLOCK).expect("a size");
    let space = Space::new(geometry.capacity(), BLOCK).expect("there is room");
    let places = Places::new(Place::Uniform, &space).expect("places");
    (World::new(vec![volume]), Stream::new(case.reads, sizes, places).expect("a stream"))
}

/// The time of 64 runs on this number of threads, in seconds.
fn sweep(threads: usize, arguments: &Arguments) -> f64 {
    let next = AtomicU64::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= 64 {
                return;
            }
            rate(&CASES[number as usize % CASES.len()], arguments.requests / 64, number);
        }
    };
    let start = Instant::now();
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    start.elapsed().as_secs_f64()
}

/// The peak memory in KiB, from the system.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
