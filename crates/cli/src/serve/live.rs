//! What people see while an array is served: what happens, a line each, and on a terminal one line that lives.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parlour_engine::{Pulse, Rates};
use parlour_units::{Bytes, Duration};

use crate::console::{Console, note};
use crate::status::Account;

/// Shows a server's pulse.
pub(crate) struct LiveLine {
    /// The line on the terminal; none where no person looks on.
    line: Option<ProgressBar>,
}

impl LiveLine {
    pub(crate) fn new(console: Console) -> LiveLine {
        let line = console.shows_progress().then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            line.set_style(ProgressStyle::with_template("{wide_msg}").expect("the template is sound"));
            line
        });
        LiveLine { line }
    }

    pub(crate) fn show(&mut self, pulse: &Pulse<'_>) {
        let Some(line) = &self.line else {
            return pulse.events.iter().for_each(|event| note(event));
        };
        if !pulse.events.is_empty() {
            line.suspend(|| pulse.events.iter().for_each(|event| note(event)));
        }
        let health = Account::of_server(&pulse.status()).map_or(String::new(), |account| account.health());
        line.set_message(format!("{health}  {}", rates(&pulse.rates)));
    }

    pub(crate) fn finish(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// Throughput and response time, at the same places in every line.
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
    // Three digits are enough for people.
    let rounded = match nanoseconds {
        0..=999_999 => nanoseconds / 1_000 * 1_000,
        1_000_000..=999_999_999 => nanoseconds / 10_000 * 10_000,
        _ => nanoseconds / 10_000_000 * 10_000_000,
    };
    Duration::from_nanoseconds(rounded).to_string()
}
