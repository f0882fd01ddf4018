//! The output of a server: one line per event, and on a terminal a live status line.

use std::io;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parlour_engine::{Pulse, Rates};
use parlour_units::{Bytes, Duration};

use super::outlet::{Outlet, Screen};
use crate::console::{self, Console, note};
use crate::status::{Account, brief};

/// How long the server waits at its end until its output is written.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

/// Prints messages and the status without waiting for the reader.
pub(crate) struct Live {
    /// Standard error.
    notes: Outlet,
    /// Standard output.
    answers: Outlet,
    /// Whether a live status line is shown.
    lives: bool,
}

impl Live {
    /// # Errors
    /// No thread can be started.
    pub(crate) fn new(console: Console) -> io::Result<Live> {
        let lives = console.shows_progress();
        let notes = Outlet::new("standard-error", Terminal { line: lives.then(line) })?;
        Ok(Live { notes, answers: Outlet::new("standard-output", Output)?, lives })
    }

    /// Prints a message for people.
    pub(crate) fn note(&self, line: &str) {
        self.notes.say(line);
    }

    /// Prints the requested answer on standard output.
    pub(crate) fn answer(&self, text: &str) {
        self.answers.say(text);
    }

    pub(crate) fn show(&self, pulse: &Pulse<'_>) {
        pulse.events.iter().for_each(|event| self.note(event));
        if self.lives {
            let health = Account::of_server(&pulse.status()).map_or(String::new(), |account| brief(&account));
            self.notes.show(format!("{health}  {}", rates(&pulse.rates)));
        }
    }

    pub(crate) fn finish(&self) {
        self.notes.close(PATIENCE);
        self.answers.close(PATIENCE);
    }
}

fn line() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    line.set_style(ProgressStyle::with_template("{wide_msg}").expect("the template is sound"));
    line
}

/// Standard error, with the live status line if there is one.
struct Terminal {
    line: Option<ProgressBar>,
}

impl Screen for Terminal {
    fn line(&mut self, text: &str) {
        match &self.line {
            Some(line) => line.suspend(|| note(&text)),
            None => note(&text),
        }
    }

    fn status(&mut self, status: &str) {
        if let Some(line) = &self.line {
            line.set_message(status.to_owned());
        }
    }

    fn clear(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// Standard output. The server continues if it cannot be written.
struct Output;

impl Screen for Output {
    fn line(&mut self, text: &str) {
        let _ = console::print(text);
    }

    fn status(&mut self, _: &str) {}

    fn clear(&mut self) {}
}

/// Throughput and response time, at fixed columns.
pub(crate) fn rates(rates: &Rates) -> String {
    let per_second = |count: u64| if rates.seconds > 0.0 { count as f64 / rates.seconds } else { 0.0 };
    let bytes = |moved: Bytes| Bytes::new(per_second(moved.get()) as u64);
    let (median, p99) = match rates.response {
        Some(times) => (time(times.median), time(times.p99)),
        None => ("-".to_owned(), "-".to_owned()),
    };
    format!(
        "read {:>6.0}/s {:>9}/s  write {:>6.0}/s {:>9}/s  in {median:>6}, 99% {p99:>6}",
        per_second(rates.reads),
        bytes(rates.read),
        per_second(rates.writes),
        bytes(rates.written),
    )
}

fn time(nanoseconds: u64) -> String {
    // Three significant digits are enough.
    let rounded = match nanoseconds {
        0..=999_999 => nanoseconds / 1_000 * 1_000,
        1_000_000..=999_999_999 => nanoseconds / 10_000 * 10_000,
        _ => nanoseconds / 10_000_000 * 10_000_000,
    };
    Duration::from_nanoseconds(rounded).to_string()
}
