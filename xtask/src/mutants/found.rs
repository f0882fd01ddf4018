//! Lists the changes that cargo-mutants proposes.

use std::process::Stdio;

use serde_json::Value;

use super::error::MutantsError;
use crate::command::CommandError;
use crate::workspace::cargo;

/// One small change.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Its number, from 1; it stays the same as long as the sources do.
    pub(crate) number: u32,
    /// Its description, with the place.
    pub(crate) name: String,
    /// The path below the workspace's root.
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// The start of the replaced text: line and column, both from 1, the column in characters.
    pub(crate) start: (usize, usize),
    /// The text that replaces it.
    pub(crate) replacement: String,
}

/// The kind of the replaced text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Genre {
    /// The body of a function.
    Body,
    /// An operator between two operands.
    BinaryOperator,
    /// An operator before an operand.
    UnaryOperator,
    /// The guard of a match arm.
    Guard,
    /// A match arm.
    Arm,
    /// A field of a struct expression with a base.
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

/// Returns all changes to the files below `modules`.
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
