//! Measures how fast a member is rebuilt, compared with streaming the members.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::error::BenchError;
use super::fio;
use super::table::median;
use super::targets::{Array, Served, Target, run};

/// Fails and replaces a member of an array without clients. Compares the rate at which the new
/// member is written with two other rates of the same run: of streaming the members like a rebuild
/// (reading four, writing one), and of copying one member's file. Both of these run in one process
/// that computes no parity.
pub(super) fn measure(place: &tempfile::TempDir, runs: u32) -> Result<(), BenchError> {
    let (mut rebuilt, mut streamed, mut copied) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..runs {
        eprintln!("rebuild: run {} of {runs}", round + 1);
        let served = Target::Parlour(Array::new("raid5", 5, 512)).start(place.path())?;
        fio::fill(&served)?;
        let file = |name: &str| served.directory().join(name);
        let others = ["member0", "member2", "member3", "member4"].map(file);
        streamed.push(stream(&others, &file("copy"))?);
        copied.push(stream(&others[..1], &file("copy"))?);
        rebuilt.push(rebuild(&served, &file("member1"))?);
    }
    println!(
        "rebuild of one of 5 members on tmpfs: {} of the new member; four members read and one written by one \
         process: {}, ratio {}; one member copied by one process: {}, ratio {}",
        rate(&rebuilt),
        rate(&streamed),
        ratio(&rebuilt, &streamed),
        rate(&copied),
        ratio(&rebuilt, &copied),
    );
    Ok(())
}

/// The median of `rates`, as text.
fn rate(rates: &[f64]) -> String {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    format!("{:.0} MiB/s", median(&sorted))
}

/// The median and the range of the ratios of the rounds, as text.
fn ratio(rates: &[f64], references: &[f64]) -> String {
    let mut ratios: Vec<f64> =
        rates.iter().zip(references).map(|(rate, reference)| rate / reference).collect();
    ratios.sort_by(f64::total_cmp);
    let edge = |figure: Option<&f64>| figure.copied().unwrap_or_default();
    format!("{:.2} [{:.2}–{:.2}]", median(&ratios), edge(ratios.first()), edge(ratios.last()))
}

/// The rate, in MiB/s, at which a member that replaces `member` is written.
fn rebuild(served: &Served, member: &Path) -> Result<f64, BenchError> {
    run(served.command("fail").arg("1"))?;
    let new = served.directory().join("new");
    let length = std::fs::metadata(member).map_or(0, |metadata| metadata.len());
    let made = std::fs::File::create(&new).and_then(|file| file.set_len(length));
    made.map_err(|source| BenchError::Place { path: new.clone(), source })?;
    let began = Instant::now();
    run(served.command("replace").arg("1").arg(&new))?;
    while rebuilding(&status(served)?) {
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    Ok(length as f64 / began.elapsed().as_secs_f64() / f64::from(1 << 20))
}

fn status(served: &Served) -> Result<String, BenchError> {
    Ok(served.status_text()?)
}

fn rebuilding(status: &str) -> bool {
    serde_json::from_str::<Value>(status).is_ok_and(|status| !status["rebuild"].is_null())
}

/// The rate in MiB/s at which `to` is written. All files of `from` are read in turn, in accesses of
/// 1 MiB; the content of the first is written to `to`.
fn stream(from: &[PathBuf], to: &Path) -> Result<f64, BenchError> {
    let failed = |source| BenchError::Place { path: to.into(), source };
    let opened: io::Result<Vec<File>> = from.iter().map(File::open).collect();
    let mut sources = opened.map_err(failed)?;
    let mut target = File::create(to).map_err(failed)?;
    let mut buffers = vec![vec![0u8; 1 << 20]; sources.len()];
    let began = Instant::now();
    let mut total = 0usize;
    loop {
        let mut lengths = Vec::with_capacity(sources.len());
        for (source, buffer) in sources.iter_mut().zip(&mut buffers) {
            lengths.push(source.read(buffer).map_err(failed)?);
        }
        if lengths[0] == 0 {
            return Ok(total as f64 / began.elapsed().as_secs_f64() / f64::from(1 << 20));
        }
        target.write_all(&buffers[0][..lengths[0]]).map_err(failed)?;
        total += lengths[0];
    }
}
