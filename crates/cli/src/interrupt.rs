//! Handles Ctrl-C in commands that show partial results.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// The exit status of a command that was interrupted, by the shells' convention: 128 plus the
/// signal's number.
pub(crate) const INTERRUPTED: u8 = 130;

/// A flag that an interrupt sets. A second interrupt ends the program; so does the first if the
/// handler cannot be installed.
pub(crate) fn stop_when_interrupted() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let _ = flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), stop.clone());
    let _ = flag::register(SIGINT, stop.clone());
    stop
}
