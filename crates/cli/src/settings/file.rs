//! The configuration file: the same settings as the options, in tables. A key that is not known is
//! refused.
//!
//! ```toml
//! members = ["/dev/sdb", "/dev/sdc", "/dev/sdd"]   # or one directory
//! journals = ["/dev/nvme0n1", "/dev/nvme1n1"]      # if there are journal devices
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
//! [timeouts]          # for serve
//! access-timeout = "30s"
//!
//! [tuning]            # for serve
//! log-memory = "64MiB"
//! ```

use std::path::{Path, PathBuf};

use parlour_lab::file::{self, FileError};
use serde::{Deserialize, Serialize};

use super::{LogSettings, OrganizationSettings, ServingSettings, TimeoutSettings, TuningSettings};

/// The content of a configuration file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ConfigFile {
    pub(crate) members: Vec<PathBuf>,
    pub(crate) journals: Vec<PathBuf>,
    pub(crate) array: OrganizationSettings,
    pub(crate) log: LogSettings,
    pub(crate) serving: ServingSettings,
    pub(crate) timeouts: TimeoutSettings,
    pub(crate) tuning: TuningSettings,
}

impl ConfigFile {
    /// Reads the file at `path`. Without a path, returns an empty configuration.
    ///
    /// # Errors
    /// The file cannot be read, or has unknown keys or values.
    pub(crate) fn load(path: Option<&Path>) -> Result<ConfigFile, FileError> {
        match path {
            Some(path) => ConfigFile::parse(path, &file::read(path)?),
            None => Ok(ConfigFile::default()),
        }
    }

    /// Parses `text` as the content of the file at `path`.
    ///
    /// # Errors
    /// It has unknown keys or values.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<ConfigFile, FileError> {
        file::parse(path, text)
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
    fn an_unknown_key_is_refused_naming_the_one_that_was_meant_or_all() {
        let error = load("[tuning]\nlog-memmory = \"1MiB\"\n").unwrap_err();
        assert_eq!(
            error,
            "parlour.toml: unknown key 'tuning.log-memmory'; did you mean 'tuning.log-memory'?"
        );
        let error = load("\"log\\nlog\" = 1\n").unwrap_err();
        assert_eq!(
            error,
            r"parlour.toml: unknown key 'log\nlog'; there are members, journals, array, log, serving, timeouts, tuning"
        );
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
