//! Explains a wrong command line in one line, in the user's terms.

use std::error::Error;
use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use parlour_units::words::{bad_number, did_you_mean};

use crate::arguments::Arguments;
use crate::failure::Failure;

/// The failure for a clap error about `arguments`, which do not include the program's name.
pub(crate) fn failure(error: &clap::Error, arguments: &[OsString]) -> Failure {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let misuse = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return Failure::NoCommand,
        ErrorKind::UnknownArgument => negative(&words).unwrap_or_else(|| told(error)),
        _ => told(error),
    };
    let see = if misuse.ends_with('?') { " See" } else { "; see" };
    let failure = Failure::Usage(format!("{misuse}{see} '{} --help'", command(&words)));
    let is_check = words.iter().any(|word| word == "status") && words.iter().any(|word| word == "--check");
    if is_check { Failure::CannotTell(Box::new(failure)) } else { failure }
}

/// The first paragraph of clap's message, with this program's wording of numbers and suggestions.
fn told(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let text = text.split("\n\n").next().unwrap_or(text);
    let mut told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(reason) = error.source().map(ToString::to_string)
        && let Some(plain) = bad_number(&reason)
    {
        told = told.replace(&reason, &plain);
    }
    match suggestion(error) {
        Some(meant) => format!("{told}; {}", did_you_mean(&meant)),
        None => told,
    }
}

/// The nearest known word, if clap has found one.
fn suggestion(error: &clap::Error) -> Option<String> {
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(meant) => Some(meant.clone()),
        ContextValue::Strings(several) => several.first().cloned(),
        _ => None,
    })
}

/// Clap treats `-1` as an unknown option. A negative number among the words is the cause.
fn negative(words: &[String]) -> Option<String> {
    let is_number = |word: &str| {
        word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let at = words.iter().position(|word| is_number(word))?;
    let option = at.checked_sub(1).map(|before| words[before].as_str()).filter(|word| word.starts_with('-'));
    let place = option.map_or(String::new(), |option| format!(" for '{option}'"));
    Some(format!("invalid value '{}'{place}: sizes, counts and places are not negative", words[at]))
}

/// The command as far as its words are known, such as `parlour drives show`.
fn command(words: &[String]) -> String {
    let root = Arguments::command();
    let (mut here, mut names) = (&root, vec!["parlour"]);
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        let Some(next) = here.find_subcommand(word) else { break };
        names.push(next.get_name());
        here = next;
    }
    names.join(" ")
}
