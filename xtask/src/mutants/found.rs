//! The changes that cargo-mutants finds.

use std::process::Stdio;

use serde_json::Value;

use super::error::MutantsError;
use crate::command::CommandError;
use crate::workspace::cargo;

/// One small change.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Which one it is, from 1 on; the same as long as the sources are.
    pub(crate) number: u32,
    /// What it is, with its place.
    pub(crate) name: String,
    /// Below the workspace's root.
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// Where what is replaced begins: line and column, counted from 1, the columns in characters.
    pub(crate) start: (usize, usize),
    /// What stands there instead.
    pub(crate) replacement: String,
}

/// What is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Genre {
    /// All that a function does.
    Body,
    /// What stands between two operands.
    BinaryOperator,
    /// What stands before one.
    UnaryOperator,
    /// When an arm counts.
    Guard,
    /// An arm.
    Arm,
    /// A field that is set, with others as they were.
    Field,
}

impl Genre {
    fn named(name: &str) -> Option<Genre> {
        Some(match name {
            "FnValue" => Genre::Body,
            "BinaryOperator" => Genre::BinaryOperator,
            "UnaryOperator" => Genre::UnaryOperator,
            "MatchArmGuard" => Genre::Guard,
            "MatchArm" => Genre::Arm,
            "StructField" => Genre::Field,
            _ => return None,
        })
    }
}

/// All changes to the files below `modules`.
pub(crate) fn all(modules: &[String]) -> Result<Vec<Mutant>, MutantsError> {
    let mut command = cargo(&["mutants", "--list", "--json", "--package", "parlour-array"]);
    for module in modules {
        let pattern = if module.ends_with(".rs") { module.clone() } else { format!("{module}/**") };
        command.args(["--file", &pattern]);
    }
    let line = "cargo mutants --list".to_owned();
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| CommandError::NotStarted { line: line.clone(), source })?;
    if !output.status.success() {
        return Err(CommandError::Failed { line, status: output.status }.into());
    }
    let list: Vec<Value> =
        serde_json::from_slice(&output.stdout).map_err(|error| MutantsError::List(error.to_string()))?;
    (1..).zip(&list).map(|(number, value)| mutant(number, value)).collect()
}

fn mutant(number: u32, value: &Value) -> Result<Mutant, MutantsError> {
    let wrong = |what: &str| MutantsError::List(format!("a mutant has no {what}"));
    let text = |key: &'static str| value[key].as_str().map(str::to_owned).ok_or_else(|| wrong(key));
    let place = |key: &'static str| {
        let number = value["span"]["start"][key].as_u64().ok_or_else(|| wrong(key))?;
        usize::try_from(number).map_err(|_| wrong(key))
    };
    let genre = text("genre")?;
    Ok(Mutant {
        number,
        name: text("name")?,
        file: text("file")?,
        genre: Genre::named(&genre).ok_or_else(|| MutantsError::List(format!("what is a {genre}")))?,
        start: (place("line")?, place("column")?),
        replacement: text("replacement")?,
    })
}
