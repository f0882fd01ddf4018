//! `parlour reproduce`: the papers' numbers and figures beside the program's own results.

mod error;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use parlour_lab::reproduce::Verdict;
use parlour_lab::reproduce::kind::{Kind, OF_ALL};
use parlour_lab::reproduce::pace::Pace;
use parlour_lab::reproduce::page::{page, percent};
use parlour_lab::reproduce::paper::{Paper, UnknownPaper};
use parlour_lab::reproduce::plan::Plan;
use parlour_lab::reproduce::report::{Chapter, Number, Report};
use parlour_lab::reproduce::value::{Value, half_width};

use crate::console::{Columns, Console, counted};
use crate::failure::Failure;
pub(crate) use error::ReproduceError;

/// Reproduce the numbers of five papers on disk arrays, and say whether they agree
///
/// Each printed number is computed by a model, simulated, or both, and compared by one rule for its
/// kind. With --report, the papers' figures are drawn as well.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The papers: chen, hauser, molnar, stodolsky, varki, or all [default: all]
    #[arg(value_name = "PAPER")]
    papers: Vec<Choice>,
    /// Simulate a twentieth of the requests: takes a minute or two, with wide intervals
    #[arg(long)]
    quick: bool,
    /// Write a page with all numbers and figures to this directory (index.html)
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

/// A paper, or all of them.
#[derive(Clone, Copy, Debug)]
enum Choice {
    All,
    One(Paper),
}

impl FromStr for Choice {
    type Err = UnknownPaper;

    fn from_str(name: &str) -> Result<Choice, UnknownPaper> {
        if name == "all" { Ok(Choice::All) } else { name.parse().map(Choice::One) }
    }
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let pace = if options.quick { Pace::Quick } else { Pace::Full };
    let plan = Plan::new(&options.papers(), pace).map_err(ReproduceError::from)?;
    // If the report cannot be written, this is reported before the long computation.
    let file = options.report.as_deref().map(open).transpose()?;
    let bar = console.progress(plan.runs());
    let report = plan.carry_out(|| {
        if let Some(bar) = &bar {
            bar.inc(1);
        }
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if let Some(path) = &file {
        let written = fs::write(path, page(&report));
        written.map_err(|source| ReproduceError::Report { path: path.clone(), source })?;
    }
    console.answer(&report, || text(&report, file.as_deref()))?;
    Ok(())
}

impl Options {
    fn papers(&self) -> Vec<Paper> {
        let all = self.papers.is_empty() || self.papers.iter().any(|choice| matches!(choice, Choice::All));
        let chosen = self.papers.iter().filter_map(|choice| match choice {
            Choice::All => None,
            Choice::One(paper) => Some(*paper),
        });
        if all { Paper::ALL.into() } else { chosen.collect() }
    }
}

/// The path of the report. An existing report stays until the new one is written.
fn open(directory: &Path) -> Result<PathBuf, ReproduceError> {
    let path = directory.join("index.html");
    let opened = fs::create_dir_all(directory)
        .and_then(|()| fs::OpenOptions::new().create(true).append(true).open(&path));
    match opened {
        Ok(_) => Ok(path),
        Err(source) => Err(ReproduceError::Report { path: directory.to_owned(), source }),
    }
}

fn text(report: &Report, file: Option<&Path>) -> String {
    let mut text = "When a number agrees:\n".to_owned();
    let width = Kind::ALL.map(|kind| kind.name().len()).into_iter().max().unwrap_or(0);
    for rule in &report.rules {
        text += &format!("  {:width$}  {}\n", rule.kind.name(), rule.rule);
    }
    text += &format!("{OF_ALL}\n\nVerdicts:\n");
    let width = Verdict::ALL.map(|verdict| verdict.name().len()).into_iter().max().unwrap_or(0);
    for verdict in Verdict::ALL {
        text += &format!("  {:width$}  {}\n", verdict.name(), verdict.meaning());
    }
    for chapter in &report.papers {
        text += &format!("\n{}: {}\n\n{}", chapter.authors, chapter.title, table(chapter));
        text += &remarks(chapter);
    }
    text += &format!("\n{}", summary(report));
    if report.quick {
        text += "\nSimulations were shortened (--quick): numbers may differ for that reason alone.\n";
    }
    match file {
        Some(path) => text + &format!("\nFigures: {}\n", path.display()),
        None => text + "\nFigures: --report DIR draws them.\n",
    }
}

const HEADER: [&str; 10] =
    ["", "quantity", "kind", "published", "model", "simulated", "±", "unit", "difference", "verdict"];

fn table(chapter: &Chapter) -> String {
    let mut columns = Columns::new(HEADER).right([3, 4, 5, 6, 8]);
    for number in &chapter.numbers {
        columns.row(cells(number));
    }
    columns.text()
}

fn cells(number: &Number) -> [String; HEADER.len()] {
    let valued = |value: Option<Value>| value.map_or(String::new(), |value| value.beside(&number.published));
    [
        number.id.clone(),
        shortened(&number.quantity),
        number.kind.name().to_owned(),
        number.published.clone(),
        valued(number.model),
        valued(number.simulated),
        number.interval.map_or(String::new(), half_width),
        number.unit.clone(),
        number.difference.map_or(String::new(), percent),
        match &number.repeats {
            Some(first) => format!("{} (repeats {first})", number.verdict.name()),
            None => number.verdict.name().to_owned(),
        },
    ]
}

/// The most characters of a quantity in the table. The report page shows all of them.
const QUANTITY: usize = 44;

fn shortened(quantity: &str) -> String {
    if quantity.chars().count() <= QUANTITY {
        return quantity.to_owned();
    }
    let cut: String = quantity.chars().take(QUANTITY - 1).collect();
    // The text is cut between words if possible.
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    format!("{}…", cut.trim_end_matches([',', ';', ':']))
}

/// Numbers with the same remark.
struct Remark<'a> {
    verdict: Verdict,
    erratum: Option<&'a str>,
    why: &'a str,
    ids: Vec<&'a str>,
}

/// The most names in one line. The table has all of them.
const NAMES: usize = 4;

/// The remarks on the verdicts, each once with all numbers that it applies to.
fn remarks(chapter: &Chapter) -> String {
    let mut remarks: Vec<Remark<'_>> = Vec::new();
    for number in &chapter.numbers {
        let erratum = number.erratum.as_deref();
        for why in &number.why {
            let same = remarks.iter_mut().find(|remark| {
                remark.verdict == number.verdict && remark.why == why && remark.erratum == erratum
            });
            match same {
                Some(remark) => remark.ids.push(&number.id),
                None => remarks.push(Remark { verdict: number.verdict, erratum, why, ids: vec![&number.id] }),
            }
        }
    }
    remarks.sort_by_key(|remark| Verdict::ALL.iter().position(|verdict| *verdict == remark.verdict));
    let undrawn = chapter.figures.iter().filter(|figure| figure.missing.is_some()).count();
    let figures = match undrawn {
        0 => String::new(),
        undrawn => format!("  {} not drawn\n", counted(undrawn as u64, "figure")),
    };
    let lines: String = remarks.iter().map(Remark::line).collect::<String>() + &figures;
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

impl Remark<'_> {
    fn line(&self) -> String {
        let mut names = self.ids.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
        if self.ids.len() > NAMES {
            names += &format!(" and {} more", self.ids.len() - NAMES);
        }
        let erratum = self.erratum.map_or(String::new(), |id| format!(" ({id})"));
        format!("  {}{erratum}: {names}: {}\n", self.verdict.name(), self.why)
    }
}

/// The count of each verdict, by kind of number.
fn summary(report: &Report) -> String {
    let header = ["kind"].into_iter().chain(Verdict::ALL.map(Verdict::name)).chain(["all"]);
    let mut columns = Columns::new(header).right(1..Verdict::ALL.len() + 2);
    let summary = &report.summary;
    for kind in Kind::ALL {
        let counts = Verdict::ALL.map(|verdict| summary.count(kind, verdict).to_string());
        columns
            .row([kind.name().to_owned()].into_iter().chain(counts).chain([summary.kind(kind).to_string()]));
    }
    let counts = Verdict::ALL.map(|verdict| summary.verdict(verdict).to_string());
    columns.row(["all".to_owned()].into_iter().chain(counts).chain([summary.all().to_string()]));
    columns.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_quantities_are_cut_between_words() {
        assert_eq!(shortened("mean seek"), "mean seek");
        let long = "average retrieval time, 3-disk RAID 0+1, stripe width 160 KB, 162.5 KB files";
        assert_eq!(shortened(long), "average retrieval time, 3-disk RAID 0+1…");
    }
}
