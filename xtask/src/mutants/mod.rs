//! `cargo xtask mutants`: makes small changes to the array's code, one at a time, and checks that a
//! test fails.
//!
//! cargo-mutants lists the changes. It would build the tests anew for each of them. Here one build
//! of a copy of the workspace contains all changes ([`weave`]), and an environment variable enables
//! one of them. So a change costs seconds, and all code of logging, recovery, plans and rebuild can
//! be judged ([`judge`]).

mod build;
mod error;
mod found;
mod judge;
mod weave;

use std::path::PathBuf;

use clap::Args;
use comfy_table::Table;

use crate::table::of_numbers;
pub(crate) use error::MutantsError;
use found::Mutant;
use judge::Verdict;

/// The modules in which every change must be caught: codes, logging, recovery, plans, repair,
/// rebuild, bad blocks, the information that is kept for returning members, and the routing between
/// these.
const MODULES: [&str; 19] = [
    "crates/array/src/code",
    "crates/array/src/core.rs",
    "crates/array/src/durable/bad_blocks.rs",
    "crates/array/src/durable/bitmap.rs",
    "crates/array/src/durable/mod.rs",
    "crates/array/src/durable/returning.rs",
    "crates/array/src/exec/failures.rs",
    "crates/array/src/log",
    "crates/array/src/maintenance/rebuild.rs",
    "crates/array/src/metadata.rs",
    "crates/array/src/plan",
    "crates/array/src/read",
    "crates/array/src/rooms.rs",
    "crates/array/src/roster",
    "crates/array/src/stripe/blind.rs",
    "crates/array/src/stripe/build.rs",
    "crates/array/src/stripe/outcome.rs",
    "crates/array/src/stripe/repair.rs",
    "crates/array/src/update",
];

/// What to change, and how long to look.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only files and folders that begin so
    #[arg(long = "module", value_name = "PATH", value_delimiter = ',')]
    modules: Vec<String>,
    /// Only this part of the changes: `2/8` is the second of eight
    #[arg(long, value_name = "PART/OF", value_parser = part)]
    part: Option<(usize, usize)>,
    /// Only the changes of these numbers
    #[arg(long = "number", value_name = "NUMBER", value_delimiter = ',')]
    numbers: Vec<u32>,
    /// Seeds of the fault tester that look for each
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// Where verdicts are kept, a line each, to go on from there: of the same sources and tests
    #[arg(long, value_name = "FILE")]
    verdicts: Option<PathBuf>,
}

fn part(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((part, of)) if 1 <= part && part <= of => Ok((part, of)),
        _ => Err("two numbers are wanted, as 2/8".to_owned()),
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), MutantsError> {
    let modules: Vec<String> = match &arguments.modules[..] {
        [] => MODULES.map(str::to_owned).to_vec(),
        some => some.to_vec(),
    };
    let mutants = found::all(&modules)?;
    let built = build::build(&mutants)?;
    let chosen: Vec<&Mutant> = mutants.iter().filter(|one| arguments.means(one)).collect();
    if chosen.is_empty() {
        return Err(MutantsError::Nothing);
    }
    let verdicts = judge::judge(&chosen, &built, arguments.seeds, arguments.verdicts.as_deref())?;
    println!("{}", table(&chosen, &verdicts));
    for (mutant, _) in
        chosen.iter().zip(&verdicts).filter(|(_, verdict)| matches!(verdict, Verdict::Survived))
    {
        println!("survived: {} {}", mutant.number, mutant.name);
    }
    Ok(())
}

impl Arguments {
    fn means(&self, mutant: &Mutant) -> bool {
        let number = mutant.number as usize;
        let in_part = self.part.is_none_or(|(part, of)| number % of == part - 1);
        in_part && (self.numbers.is_empty() || self.numbers.contains(&mutant.number))
    }
}

/// The table of caught changes for each file.
fn table(mutants: &[&Mutant], verdicts: &[Verdict]) -> Table {
    let mut table = of_numbers([
        "file",
        "changes",
        "do not compile",
        "caught",
        "survived",
        "caught of those that compile",
    ]);
    let mut files: Vec<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    files.dedup();
    for file in files {
        table.add_row(row(file, mutants, verdicts, |mutant| mutant.file == file));
    }
    table.add_row(row("all", mutants, verdicts, |_| true));
    table
}

fn row(
    name: &str,
    mutants: &[&Mutant],
    verdicts: &[Verdict],
    counts: impl Fn(&Mutant) -> bool,
) -> [String; 6] {
    let of: Vec<&Verdict> = mutants
        .iter()
        .zip(verdicts)
        .filter(|(mutant, _)| counts(mutant))
        .map(|(_, verdict)| verdict)
        .collect();
    let number = |is: fn(&Verdict) -> bool| of.iter().filter(|verdict| is(verdict)).count();
    let caught = number(|verdict| matches!(verdict, Verdict::Caught(_)));
    let survived = number(|verdict| matches!(verdict, Verdict::Survived));
    let share = match caught + survived {
        0 => "-".to_owned(),
        judged => format!("{:.1}%", 100.0 * caught as f64 / judged as f64),
    };
    let unviable = of.len() - caught - survived;
    [
        name.to_owned(),
        of.len().to_string(),
        unviable.to_string(),
        caught.to_string(),
        survived.to_string(),
        share,
    ]
}

#[cfg(test)]
mod tests {
    use super::MODULES;
    use crate::workspace::root;

    /// Renamed files fell out of the list, and were not judged any more.
    #[test]
    fn each_module_that_is_judged_is_there() {
        let gone = MODULES.iter().filter(|module| !root().join(module).exists());
        assert_eq!(gone.collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
