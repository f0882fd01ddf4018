//! `parlour status`: shows the state of an array.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use parlour_engine::control::Request;
use serde_json::{Value, json};

use crate::console::{Console, note, print};
use crate::control::{self, CommandError, DEFAULT_DIRECTORY, Found};
use crate::failure::{CANNOT_TELL, Failure};
use crate::status::{Account, Health, Offline, Verdict, judge, served_text};

/// Show the state of an array
///
/// The first line is the verdict: healthy, degraded or at risk, the reason, and the remedy. The
/// state comes from the array's server, or, if the array is not served, from its members'
/// superblocks. Without an argument: the array in ./parlour-data, or else all arrays that are
/// served on this machine.
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct Options {
    /// The array's directory, its members, or its server's control socket; several arrays are all
    /// shown
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The array, as for other commands: one of these, or the name of one that is served
    #[arg(long, short = 'a', value_name = "ARRAY")]
    array: Vec<PathBuf>,
    /// Print only the verdict, and exit with 0 if healthy, 1 degraded, 2 at risk, 3 unknown
    #[arg(long)]
    check: bool,
}

const CHECK_HELP: &str = "Exit status with --check: 0 healthy, 1 degraded, 2 at risk (data is lost, may read wrong, or cannot \
                          be written), 3 it cannot be told. Of several arrays the worst counts.";

/// The state of one array.
struct Shown {
    json: Value,
    name: String,
    verdict: Verdict,
    text: String,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<ExitCode, Failure> {
    let cannot_tell = |failure| match options.check {
        true => Failure::CannotTell(Box::new(failure)),
        false => failure,
    };
    let (shown, mut failures) = look(options).map_err(cannot_tell)?;
    if shown.is_empty() && !failures.is_empty() {
        return Err(cannot_tell(failures.remove(0)));
    }
    let worst = shown.iter().map(|shown| shown.verdict.state).max().unwrap_or(Health::Healthy);
    match (console.json, options.check) {
        (true, _) => console.answer(&json_of(&shown), String::new)?,
        (false, true) => {
            let line = |shown: &Shown| format!("{}: {}\n", shown.name, shown.verdict.sentence);
            print(&shown.iter().map(line).collect::<String>())?;
        }
        (false, false) => {
            let texts: Vec<&str> = shown.iter().map(|shown| shown.text.as_str()).collect();
            print(&texts.join("\n"))?;
        }
    }
    // The arrays that could be examined are printed above.
    failures.iter().for_each(|failure| note(failure));
    Ok(match (failures.is_empty(), options.check) {
        (true, true) => ExitCode::from(worst.exit_status()),
        (true, false) => ExitCode::SUCCESS,
        (false, true) => ExitCode::from(CANNOT_TELL),
        (false, false) => ExitCode::FAILURE,
    })
}

/// The JSON of one array, or of several in a list.
fn json_of(shown: &[Shown]) -> Value {
    match shown {
        [one] => one.json.clone(),
        several => json!({ "arrays": several.iter().map(|one| one.json.clone()).collect::<Vec<_>>() }),
    }
}

/// The state of all requested arrays, and the failures for arrays that could not be examined.
fn look(options: &Options) -> Result<(Vec<Shown>, Vec<Failure>), Failure> {
    let named: Vec<PathBuf> = options.paths.iter().chain(&options.array).cloned().collect();
    let found = if named.is_empty() { control::find_any()? } else { control::find(&named)? };
    let only = found.len() == 1;
    let (mut shown, mut failures) = (Vec::new(), Vec::new());
    for found in &found {
        let looked = match found {
            Found::Served(socket) => served(socket, &naming(&named, socket, only)),
            Found::Idle(members) => idle(members),
        };
        match looked {
            Ok(array) => shown.push(array),
            Err(failure) => failures.push(failure),
        }
    }
    Ok((shown, failures))
}

/// The option with which other commands name the array of `socket`: the user's own text, if it
/// names only this array.
fn naming(named: &[PathBuf], socket: &Path, only: bool) -> String {
    match named {
        [] if only && Path::new(DEFAULT_DIRECTORY).is_dir() => String::new(),
        [one] if only => control::naming(one),
        _ => control::naming(socket),
    }
}

fn served(socket: &Path, naming: &str) -> Result<Shown, Failure> {
    let mut json = control::ask(socket, &Request::Status)?;
    let account = Account::parse(&json).map_err(CommandError::from)?;
    let verdict = judge(&account, naming);
    if let Some(object) = json.as_object_mut() {
        object.insert("served".into(), Value::Bool(true));
        object.insert("control".into(), json!(socket));
        object.insert("verdict".into(), json!(verdict));
    }
    let text = served_text(&account, &verdict);
    Ok(Shown { json, name: account.name, verdict, text })
}

fn idle(members: &[PathBuf]) -> Result<Shown, Failure> {
    let offline = Offline::look(members)?;
    Ok(Shown {
        json: json!(offline),
        name: offline.name().to_owned(),
        verdict: offline.verdict().clone(),
        text: offline.text(),
    })
}
