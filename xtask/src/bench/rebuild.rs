//! How fast a member is rebuilt, beside how fast the members can be streamed.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use super::BenchError;
use super::fio;
use super::table::median;
use super::targets::{Served, Target, run};

/// Fails and replaces a member of an array that nobody uses, and compares the rate at which the new one is
/// written with that of copying a member's file.
pub(super) fn measure(place: &tempfile::TempDir, runs: u32) -> Result<(), BenchError> {
    let mut ratios = Vec::new();
    let (mut rebuilt, mut streamed) = (Vec::new(), Vec::new());
    for round in 0..runs {
        eprintln!("rebuild: run {} of {runs}", round + 1);
        let served = Target::Parlour("raid5", 5, 512).start(place.path())?;
        fio::fill(&served)?;
        let member = served.directory().join("member1");
        let stream = stream(&served.directory().join("member0"), &served.directory().join("copy"))?;
        run(served.command("fail").arg("1"))?;
        let new = served.directory().join("new");
        let length = std::fs::metadata(&member).map_or(0, |metadata| metadata.len());
        let made = std::fs::File::create(&new).and_then(|file| file.set_len(length));
        made.map_err(|source| BenchError::Place { path: new.clone(), source })?;
        let began = Instant::now();
        run(served.command("replace").arg("1").arg(&new))?;
        while rebuilding(&status(&served)?) {
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        let rate = length as f64 / began.elapsed().as_secs_f64() / f64::from(1 << 20);
        rebuilt.push(rate);
        streamed.push(stream);
        ratios.push(rate / stream);
    }
    for figures in [&mut ratios, &mut rebuilt, &mut streamed] {
        figures.sort_by(f64::total_cmp);
    }
    println!(
        "rebuild of one of 5 members on tmpfs, four read and one written: {:.0} MiB/s of the new member; copying one \
         member to another by one process: {:.0} MiB/s; ratio {:.2} [{:.2}–{:.2}]",
        median(&rebuilt),
        median(&streamed),
        median(&ratios),
        ratios.first().copied().unwrap_or_default(),
        ratios.last().copied().unwrap_or_default(),
    );
    Ok(())
}

fn status(served: &Served) -> Result<String, BenchError> {
    Ok(served.status_text()?)
}

fn rebuilding(status: &str) -> bool {
    serde_json::from_str::<Value>(status).is_ok_and(|status| !status["rebuild"].is_null())
}

/// MiB/s of copying a member's file in accesses of 1 MiB.
fn stream(from: &Path, to: &Path) -> Result<f64, BenchError> {
    use std::io::{Read, Write};
    let failed = |source| BenchError::Place { path: to.into(), source };
    let mut source = std::fs::File::open(from).map_err(failed)?;
    let mut target = std::fs::File::create(to).map_err(failed)?;
    let mut buffer = vec![0u8; 1 << 20];
    let began = Instant::now();
    let mut total = 0usize;
    loop {
        let read = source.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        target.write_all(&buffer[..read]).map_err(failed)?;
        total += read;
    }
    Ok(total as f64 / began.elapsed().as_secs_f64() / f64::from(1 << 20))
}
