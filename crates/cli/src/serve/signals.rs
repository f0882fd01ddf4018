//! The server's signal handlers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parlour_engine::Stopper;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

/// SIGINT, SIGTERM and SIGHUP stop the server cleanly. SIGHUP, which a terminal sends when it is
/// closed, is left alone if the server was started with nohup. A file that reaches its size limit
/// (SIGXFSZ) fails only the write.
pub(super) fn handle(stopper: &Stopper) -> io::Result<()> {
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        signal_hook::low_level::pipe::register(signal, stopper.descriptor()?)?;
    }
    // With any handler installed, the write returns EFBIG and the process continues.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}

/// Whether the parent of this process made it ignore `signal`.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status, signal)
}

/// The same, for the text of `/proc/self/status`.
fn ignored_in(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_found_in_the_processs_status() {
        let status = "Name:\tparlour\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n";
        assert!(ignored_in(status, SIGHUP) && ignored_in(status, 13));
        assert!(!ignored_in(status, SIGTERM) && !ignored_in("", SIGHUP));
    }
}
