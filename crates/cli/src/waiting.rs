//! Waits for a task of a server, and shows its progress on a terminal.

use std::thread::sleep;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::console::Console;
use crate::failure::Failure;
use crate::status::{Task, progress};

/// The time between two queries.
const PAUSE: Duration = Duration::from_millis(200);

/// Queries until the task is gone or has stopped. Returns its last state.
///
/// # Errors
/// The errors of `look`.
pub(crate) fn until_done(
    console: Console,
    mut look: impl FnMut() -> Result<Option<Task>, Failure>,
) -> Result<Option<Task>, Failure> {
    let bar = console.shows_progress().then(bar);
    let mut last = None;
    while let Some(task) = look()? {
        last = Some(task);
        if task.stopped {
            break;
        }
        if let Some(bar) = &bar {
            bar.set_length(task.total);
            bar.set_position(task.done);
            bar.set_message(progress(&task));
        }
        sleep(PAUSE);
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(last)
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {msg}").expect("the template is sound");
    ProgressBar::new(1).with_style(style)
}
