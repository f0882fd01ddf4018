//! The tables of medians, ranges and ratios.

use comfy_table::Table;

use super::fio::{Job, Measured};
use super::targets::{Accesses, Target};
use crate::table::of_numbers;

#[derive(Debug, Clone, Default)]
struct Cell {
    rates: Vec<f64>,
    accesses: Accesses,
    requests: u64,
}

/// All results.
#[derive(Debug)]
pub(super) struct Results {
    rows: Vec<(String, Vec<Cell>, u64)>,
    jobs: Vec<Job>,
}

impl Results {
    pub(super) fn new(targets: &[Target], jobs: &[Job]) -> Results {
        let row = |target: &Target| (target.name(), vec![Cell::default(); jobs.len()], 0);
        Results { rows: targets.iter().map(row).collect(), jobs: jobs.to_vec() }
    }

    pub(super) fn add(
        &mut self,
        row: usize,
        column: usize,
        measured: Measured,
        before: Option<Accesses>,
        after: Option<Accesses>,
    ) {
        let cell = &mut self.rows[row].1[column];
        cell.rates.push(measured.rate);
        if let (Some(before), Some(after)) = (before, after) {
            cell.accesses.count += after.count - before.count;
            cell.accesses.bytes += after.bytes - before.bytes;
            cell.requests += measured.requests;
        }
    }

    pub(super) fn note_memory(&mut self, row: usize, memory: Option<u64>) {
        self.rows[row].2 = self.rows[row].2.max(memory.unwrap_or(0));
    }

    /// The row that ratios refer to: a server without an array, if it was measured.
    fn reference(&self) -> Option<&(String, Vec<Cell>, u64)> {
        let name = Target::NbdkitMemory.name();
        self.rows.iter().find(|row| row.0 == name).or(self.rows.first())
    }

    /// Returns the tables as text: rates with their ranges, ratios to the reference, accesses per
    /// request.
    pub(super) fn render(&self, title: &str) -> String {
        let rates = self.table(|_, cell| cell.show());
        let ratios = self.table(|column, cell| {
            let reference = self.reference().map_or(0.0, |row| row.1[column].median());
            format!("{:.2}", cell.median() / reference)
        });
        let accesses = self.table(|column, cell| match (self.jobs[column].writes(), cell.requests) {
            (true, 1..) => {
                let per = |total: u64| total as f64 / cell.requests as f64;
                format!("{:.2} / {:.1}", per(cell.accesses.count), per(cell.accesses.bytes) / 1_024.0)
            }
            _ => String::new(),
        });
        let memory: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.2 > 0)
            .map(|row| format!("{} {} MiB", row.0, row.2 >> 20))
            .collect();
        let reference = self.reference().map_or("", |row| row.0.as_str());
        format!(
            "{title}: requests/s (sequential: MiB/s), median [least–most]\n{rates}\n\
             {title}: median ÷ median of {reference}\n{ratios}\n\
             {title}: member accesses / KiB moved, for each write of a host (all classes)\n{accesses}\n\
             {title}: the most anonymous memory: {}\n",
            memory.join(", ")
        )
    }

    fn table(&self, show: impl Fn(usize, &Cell) -> String) -> Table {
        let names = self.jobs.iter().map(|job| job.name.to_owned());
        let mut table = of_numbers(std::iter::once(String::new()).chain(names));
        for (name, cells, _) in &self.rows {
            let shown = cells.iter().enumerate().map(|(column, cell)| show(column, cell));
            table.add_row(std::iter::once(name.clone()).chain(shown));
        }
        table
    }
}

impl Cell {
    fn sorted(&self) -> Vec<f64> {
        let mut rates = self.rates.clone();
        rates.sort_by(f64::total_cmp);
        rates
    }

    fn median(&self) -> f64 {
        median(&self.sorted())
    }

    fn show(&self) -> String {
        let rates = self.sorted();
        match (rates.first(), rates.last()) {
            (Some(least), Some(most)) => {
                format!("{} [{}–{}]", number(median(&rates)), number(*least), number(*most))
            }
            _ => String::new(),
        }
    }
}

/// The median of sorted values.
pub(super) fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
    }
}

fn number(value: f64) -> String {
    if value >= 10_000.0 { format!("{:.1}k", value / 1_000.0) } else { format!("{value:.0}") }
}
