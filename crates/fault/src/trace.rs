//! What happened in a run, a line each, where that was asked for.

use std::cell::RefCell;
use std::rc::Rc;

use parlour_units::Instant;

/// The trace of a run, if it is recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace(Option<Rc<RefCell<Vec<String>>>>);

impl Trace {
    pub(crate) fn listening() -> Trace {
        Trace(Some(Rc::default()))
    }

    pub(crate) fn note(&self, now: Instant, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.0 {
            let at = now.nanoseconds() as f64 / 1e6;
            lines.borrow_mut().push(format!("{at:>12.3} ms  {}", line()));
        }
    }

    /// The number of lines so far.
    pub(crate) fn length(&self) -> usize {
        self.0.as_ref().map_or(0, |lines| lines.borrow().len())
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.as_ref().map(|lines| lines.borrow().clone()).unwrap_or_default()
    }
}
