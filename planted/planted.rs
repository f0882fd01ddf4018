//! Known bugs that can be planted, one at a time, to test the tests themselves.
//!
//! Only the copy of the workspace that `cargo xtask planted` makes has this file.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::effect::Action;
use crate::plan::Plan;

mod bugs;

pub use bugs::Bug;

// The copy and the workspace share a target directory. The feature keeps apart what is built from
// them.
#[cfg(not(feature = "planted-bugs"))]
compile_error!("the copy with planted bugs is built without its default features");

// Released programs are built without debug assertions.
#[cfg(not(debug_assertions))]
compile_error!("the copy with planted bugs is for tests: it is built with debug assertions only");

/// The number of the bug that is planted; 0 if there is none.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// Plants `bug` in all arrays of this process, instead of the one before.
pub fn plant(bug: Option<Bug>) {
    CHOSEN.store(bug.map_or(0, |bug| bug as u8), Ordering::SeqCst);
}

/// Whether `bug` is planted.
pub fn is_planted(bug: Bug) -> bool {
    CHOSEN.load(Ordering::Relaxed) == bug as u8
}

/// Makes no write of `plan` durable.
pub(crate) fn undurable(plan: &mut Plan) {
    for step in &mut plan.steps {
        if let Action::Write { durable, .. } = &mut step.action {
            *durable = false;
        }
    }
}
