//! The output of commands: tables, JSON, and progress on a terminal.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use parlour_units::words::without_numbers;
use serde::Serialize;

/// The form of a command's answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    /// Print JSON on standard output instead of text.
    pub(crate) json: bool,
}

impl Console {
    /// Prints `value` as JSON if this was requested, else the text.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn answer<T: Serialize>(self, value: &T, text: impl FnOnce() -> String) -> io::Result<()> {
        if self.json {
            let mut json = serde_json::to_string_pretty(value)?;
            json.push('\n');
            print(&json)
        } else {
            print(&text())
        }
    }

    /// Whether progress may be shown: standard error is a terminal, and the output is not JSON.
    pub(crate) fn shows_progress(self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// A progress bar whose message describes the work, if progress may be shown.
    pub(crate) fn work(self) -> Option<ProgressBar> {
        self.shows_progress().then(|| {
            let style = ProgressStyle::with_template("{bar:20} {msg}").expect("the template is sound");
            let bar = ProgressBar::new(1).with_style(style);
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        })
    }

    /// A progress bar for a number of runs, if progress may be shown.
    pub(crate) fn progress(self, runs: usize) -> Option<ProgressBar> {
        self.shows_progress().then(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {elapsed}, {eta} left");
            let bar = ProgressBar::new(runs as u64).with_style(style.expect("the template is sound"));
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        })
    }
}

/// Prints `text`. A reader that closes the pipe is not an error.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// A table without frames, indented by two columns.
pub(crate) struct Columns {
    table: Table,
    /// The right-aligned columns, for numbers.
    right: Vec<usize>,
}

impl Columns {
    pub(crate) fn new(header: impl IntoIterator<Item = impl Into<String>>) -> Columns {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(header.into_iter().map(Into::into));
        Columns { table, right: Vec::new() }
    }

    /// Right-aligns columns, as is usual for numbers.
    pub(crate) fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Columns {
        self.right.extend(columns);
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.table.add_row(cells.into_iter().map(Into::into));
    }

    /// The table as text, without trailing blanks.
    pub(crate) fn text(mut self) -> String {
        for index in &self.right {
            if let Some(column) = self.table.column_mut(*index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self.table.lines().map(|line| format!(" {}\n", line.trim_end())).collect()
    }
}

/// `1 member`, `5 members`.
pub(crate) fn counted(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Prints a message on standard error for people, although nothing has failed.
pub(crate) fn note(line: &dyn Display) {
    // The system's error numbers do not help the user.
    let line = without_numbers(&line.to_string());
    // A server continues if its standard error cannot be written (a full disk, a closed pipe).
    let _ = writeln!(io::stderr(), "parlour: {line}");
}
