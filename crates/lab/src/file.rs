//! Reads files of settings: TOML in which unknown keys are refused.

use std::path::{Path, PathBuf};

use parlour_units::words::{bad_value, did_you_mean, meant};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a file of settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file does not exist, or cannot be read.
    #[error("{path}: cannot be read: {source}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not valid TOML, or a value is invalid for its key.
    #[error("{path}:{line}: {message}", path = .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The key is unknown.
    #[error("{path}: unknown key '{key}'; {hint}", path = .path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key, with its table.
        key: String,
        /// A similar key, or the list of all keys.
        hint: String,
    },
    /// A table of settings is given as another kind of value.
    #[error("{path}: '{key}' is a table of settings: write [{key}] above them", path = .path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
        /// The table.
        key: String,
    },
}

/// Returns the content of a file.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> Result<String, FileError> {
    std::fs::read_to_string(path).map_err(|source| FileError::Unreadable { path: path.to_owned(), source })
}

/// Parses `text`, the content of the file at `path`. The known keys are those of `T`'s default.
///
/// # Errors
/// The text is not valid TOML, has an unknown key, or has an invalid value.
pub fn parse<T: Default + Serialize + DeserializeOwned>(path: &Path, text: &str) -> Result<T, FileError> {
    let table: toml::Table = toml::from_str(text).map_err(|error| syntax(path, text, &error))?;
    check_keys::<T>(path, &table)?;
    toml::from_str(text).map_err(|error| syntax(path, text, &error))
}

/// Checks each key of a table against the keys of the settings.
pub(crate) fn check_keys<T: Default + Serialize>(path: &Path, table: &toml::Table) -> Result<(), FileError> {
    let known = serde_json::to_value(T::default()).expect("settings are plain data");
    check_table(path, "", table, &known)
}

fn check_table(path: &Path, prefix: &str, table: &toml::Table, known: &Value) -> Result<(), FileError> {
    let Some(known) = known.as_object() else { return Ok(()) };
    table.iter().try_for_each(|(key, value)| match known.get(key) {
        Some(known) => check_value(path, &format!("{prefix}{key}"), value, known),
        None => {
            let known = || known.keys().map(String::as_str);
            let hint = match meant(key, known()) {
                Some(meant) => did_you_mean(&format!("{prefix}{meant}")),
                None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
            };
            // A quoted key can contain any character.
            let key = format!("{prefix}{}", key.escape_debug());
            Err(FileError::UnknownKey { path: path.to_owned(), key, hint })
        }
    })
}

/// Checks a table, or each table of a list, against the keys of its settings. Any other value is
/// not checked here.
fn check_value(path: &Path, key: &str, value: &toml::Value, known: &Value) -> Result<(), FileError> {
    let settings = match known {
        Value::Array(several) => several.first().filter(|one| one.is_object()),
        one => Some(one).filter(|one| one.is_object()),
    };
    let Some(settings) = settings else { return Ok(()) };
    let prefix = format!("{key}.");
    match value {
        toml::Value::Table(table) => check_table(path, &prefix, table, settings),
        toml::Value::Array(several) if known.is_array() && several.iter().all(toml::Value::is_table) => {
            several
                .iter()
                .filter_map(toml::Value::as_table)
                .try_for_each(|table| check_table(path, &prefix, table, settings))
        }
        _ => Err(FileError::NotATable { path: path.to_owned(), key: key.to_owned() }),
    }
}

pub(crate) fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> FileError {
    let at = error.span().map_or(0, |span| span.start);
    let line = 1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    let message = match bad_value(&message) {
        Some(told) => key_of(text, line).map_or(told.clone(), |key| format!("{key}: {told}")),
        None => message,
    };
    FileError::Syntax { path: path.to_owned(), line, message }
}

/// The key that a line assigns a value to.
fn key_of(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line - 1)?.split_once('=')?;
    let key = key.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.\"".contains(c);
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}
