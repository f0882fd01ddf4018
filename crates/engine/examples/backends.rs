//! Measures the backends that carry out accesses: `cargo run --release --example backends
//! [DIRECTORY…]`.
//!
//! For each directory, size and depth it prints the accesses per second of each backend, as the
//! median of five interleaved runs. The limit of simultaneous accesses was chosen from these
//! results.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parlour_engine::{
    Access, Buffer, Choice, Done, Io, IoBackend, Lease, Member, Memory, Operation, Part, Priority,
};
use parlour_units::{Bytes, Sector, Sectors};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::event::{PollFd, PollFlags, poll};

const LENGTH: u64 = 256 << 20;
const TIME: Duration = Duration::from_millis(200);
const RUNS: usize = 5;
const CHOICES: [Choice; 3] = [Choice::Auto, Choice::Uring, Choice::Threads];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let directories = if given.is_empty() { vec!["/dev/shm".into(), ".".into()] } else { given };
    for directory in directories {
        let path = Path::new(&directory).join(format!("backends-{}", std::process::id()));
        let member = Arc::new(Member::create_file(&path, Bytes::new(LENGTH))?);
        std::fs::remove_file(&path)?;
        for start in (0..LENGTH).step_by(1 << 20) {
            member.write_at(Sector::from_bytes(start).ok_or("a whole sector")?, &[1; 1 << 20], false)?;
        }
        println!("{directory}: O_DIRECT {}, on memory {}", member.is_direct(), member.is_on_memory());
        table(&member)?;
    }
    Ok(())
}

fn table(member: &Arc<Member>) -> Result<(), Box<dyn std::error::Error>> {
    println!("{:>24} {:>12} {:>12} {:>12}", "accesses/s", "auto", "io_uring", "threads");
    for operation in [Operation::Read, Operation::Write { durable: false }] {
        for size in [4, 16, 64, 128, 256, 1024].map(|kib| kib << 10) {
            for depth in [1, 16] {
                let mut rates = CHOICES.map(|_| Vec::new());
                for _ in 0..RUNS {
                    for (rates, choice) in rates.iter_mut().zip(CHOICES) {
                        rates.push(rate(member, choice, operation, size, depth)?);
                    }
                }
                let name = if operation == Operation::Read { "read" } else { "write" };
                let [auto, uring, threads] = rates.map(median);
                let what = format!("{name} {} x{depth}", Bytes::new(size as u64));
                println!("{what:>24} {auto:>12.0} {uring:>12.0} {threads:>12.0}");
            }
        }
    }
    Ok(())
}

fn median(rates: Vec<f64>) -> f64 {
    let mut rates = rates;
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Accesses per second at random positions, `depth` at a time.
fn rate(
    member: &Arc<Member>,
    choice: Choice,
    operation: Operation,
    size: usize,
    depth: usize,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut memory = Memory::new(Bytes::mib(64));
    let mut io = Io::new(choice)?;
    let mut numbers = SplitMix64::seed_from_u64(1);
    let mut access = |memory: &mut Memory, number: u32, parts: Vec<Lease>| {
        let mut parts = parts;
        let part = Part { buffer: Buffer::Payload(number), start: 0, length: size };
        match operation {
            Operation::Read => parts.push(memory.lend_mut(part)),
            _ => memory.lend(part, &mut parts),
        }
        let at = Sector::new(numbers.next_u64() % (LENGTH / size as u64) * size as u64 / 512);
        let range = (at, Sectors::new(size as u64 / 512));
        Access::new(number.into(), Arc::clone(member), Priority::Foreground, operation, range, parts)
    };
    let mut batch = Vec::new();
    let mut done: Vec<Done> = Vec::new();
    for number in 0..depth as u32 {
        memory.take(number, size);
        batch.push(access(&mut memory, number, Vec::new()));
    }
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < TIME {
        io.submit(&mut batch)?;
        io.reap(&mut done)?;
        if done.is_empty() {
            let fd = io.wait_fd();
            let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], None);
            io.reap(&mut done)?;
        }
        for mut done in done.drain(..) {
            done.result?;
            done.parts.drain(..).for_each(|lease| memory.give_back(lease));
            batch.push(access(&mut memory, done.id as u32, done.parts));
            count += 1;
        }
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}
