//! Ctrl-C in commands that show what they have by then.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// The exit status of a command that an interrupt ended, as shells give it: 128 and the signal's
/// number.
pub(crate) const INTERRUPTED: u8 = 130;

/// What an interrupt sets. The next one ends the program, as does the first where it cannot be
/// caught.
pub(crate) fn stop_when_interrupted() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let _ = flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), stop.clone());
    let _ = flag::register(SIGINT, stop.clone());
    stop
}
