//! `parlour status`: how an array is.

use std::path::PathBuf;

use clap::Args;
use parlour_engine::control::Request;
use serde_json::Value;

use crate::console::Console;
use crate::control::{self, CommandError, DEFAULT_DIRECTORY};
use crate::failure::Failure;
use crate::status::{Account, Offline, served_text};

/// Show how an array is
///
/// Asks the array's server; if nobody serves it, its members' superblocks are read.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The array's directory, its members, or its server's control socket
    #[arg(value_name = "PATH", default_value = DEFAULT_DIRECTORY)]
    array: Vec<PathBuf>,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    match ask(&options.array) {
        Ok(mut answer) => {
            let account = Account::parse(&answer).map_err(CommandError::from)?;
            if let Some(object) = answer.as_object_mut() {
                object.insert("served".into(), Value::Bool(true));
            }
            console.answer(&answer, || served_text(&account))?;
        }
        Err(error) if error.is_not_served() => {
            let offline = Offline::look(&options.array)?;
            console.answer(&offline, || offline.text())?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Asks the first server that answers: only the member that was named first has the socket beside it.
fn ask(paths: &[PathBuf]) -> Result<Value, CommandError> {
    let mut refused = None;
    for path in paths {
        match control::call(path, &Request::Status) {
            Ok(answer) => return Ok(answer),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.expect("a path is named, if only the default one"))
}
