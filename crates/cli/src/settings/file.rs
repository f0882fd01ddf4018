//! The configuration file: the same settings as the options, in tables. A key that is not known is refused.
//!
//! ```toml
//! members = ["/dev/sdb", "/dev/sdc", "/dev/sdd"]   # or one directory
//!
//! [array]             # for create
//! organization = "raid5"
//! unit = "64KiB"
//!
//! [log]               # for create
//! sublogs = 2
//!
//! [serving]           # for serve
//! unix = "/run/parlour.sock"
//!
//! [tuning]            # for serve
//! log-memory = "64MiB"
//! ```

use std::path::{Path, PathBuf};

use parlour_array::organization::nearest;
use serde::{Deserialize, Serialize};

use super::{LogSettings, OrganizationSettings, ServingSettings, TuningSettings};

/// All that a configuration file may say.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ConfigFile {
    pub(crate) members: Vec<PathBuf>,
    pub(crate) array: OrganizationSettings,
    pub(crate) log: LogSettings,
    pub(crate) serving: ServingSettings,
    pub(crate) tuning: TuningSettings,
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("{path}: cannot be read: {source}", path = path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path}:{line}: {message}", path = path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
    #[error("{path}: unknown key '{key}'; did you mean '{nearest}'?", path = path.display())]
    UnknownKey { path: PathBuf, key: String, nearest: String },
    #[error("{path}: '{key}' is a table of settings: write [{key}] above them", path = path.display())]
    NotATable { path: PathBuf, key: String },
}

impl ConfigFile {
    /// Reads the file at `path`; none is an empty one.
    ///
    /// # Errors
    /// It cannot be read, or says what is not known.
    pub(crate) fn load(path: Option<&Path>) -> Result<ConfigFile, ConfigError> {
        let Some(path) = path else { return Ok(ConfigFile::default()) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        ConfigFile::parse(path, &text)
    }

    /// Takes `text` as what stands in the file at `path`.
    ///
    /// # Errors
    /// It says what is not known.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<ConfigFile, ConfigError> {
        let table: toml::Table = toml::from_str(text).map_err(|error| syntax(path, text, &error))?;
        check_keys(path, &table)?;
        toml::from_str(text).map_err(|error| syntax(path, text, &error))
    }
}

fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let at = error.span().map_or(0, |span| span.start);
    let line = 1 + text[..at].matches('\n').count();
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    ConfigError::Syntax { path: path.to_owned(), line, message }
}

/// Holds every key against those that the settings have.
fn check_keys(path: &Path, table: &toml::Table) -> Result<(), ConfigError> {
    let known = serde_json::to_value(ConfigFile::default()).expect("settings are plain data");
    let known = known.as_object().expect("a file is a table");
    for (key, value) in table {
        let Some(settings) = known.get(key) else {
            return Err(unknown(path, "", key, known.keys()));
        };
        let Some(settings) = settings.as_object() else { continue };
        let Some(value) = value.as_table() else {
            return Err(ConfigError::NotATable { path: path.to_owned(), key: key.clone() });
        };
        if let Some(wrong) = value.keys().find(|key| !settings.contains_key(*key)) {
            return Err(unknown(path, &format!("{key}."), wrong, settings.keys()));
        }
    }
    Ok(())
}

fn unknown<'a>(path: &Path, table: &str, key: &str, known: impl Iterator<Item = &'a String>) -> ConfigError {
    let nearest = nearest(key, known.map(String::as_str)).expect("every table has keys");
    ConfigError::UnknownKey {
        path: path.to_owned(),
        // A quoted key may hold anything.
        key: format!("{table}{}", key.escape_debug()),
        nearest: format!("{table}{nearest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<ConfigFile, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("parlour.toml");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        ConfigFile::load(Some(&path)).map_err(|error| error.to_string().replace(&shown, "parlour.toml"))
    }

    #[test]
    fn a_file_sets_what_options_set() {
        let file = load("[array]\norganization = \"raid5\"\nunit = \"24KiB\"\n[serving]\ntcp = \"99\"\n");
        let file = file.unwrap();
        assert_eq!(file.array.organization.as_deref(), Some("raid5"));
        assert_eq!(file.array.unit(), "24KiB".parse().unwrap());
        assert_eq!(file.serving.tcp.unwrap().0.to_string(), "127.0.0.1:99");
    }

    #[test]
    fn an_unknown_key_is_refused_naming_the_nearest() {
        let error = load("[tuning]\nlog-memmory = \"1MiB\"\n").unwrap_err();
        assert_eq!(
            error,
            "parlour.toml: unknown key 'tuning.log-memmory'; did you mean 'tuning.log-memory'?"
        );
        let error = load("\"log\\nlog\" = 1\n").unwrap_err();
        assert_eq!(error, r"parlour.toml: unknown key 'log\nlog'; did you mean 'log'?");
        let error = load("[tunning]\n").unwrap_err();
        assert_eq!(error, "parlour.toml: unknown key 'tunning'; did you mean 'tuning'?");
    }

    #[test]
    fn a_bad_value_is_named_with_its_line_on_one_line() {
        let error = load("[array]\n\nunit = \"many\"\n").unwrap_err();
        assert!(error.starts_with("parlour.toml:3: 'many' is not a size"), "{error}");
        assert!(!error.contains('\n'));
        let error = load("[tuning\n").unwrap_err();
        assert!(error.starts_with("parlour.toml:1: "), "{error}");
    }
}
