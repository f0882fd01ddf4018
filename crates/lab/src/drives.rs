//! Finds a drive by name: a drive of the catalogue, or a description file.

use std::path::{Path, PathBuf};

use parlour_drive::catalogue;
use parlour_drive::description::{Description, DescriptionError};
use parlour_units::words::{did_you_mean, meant};

/// Why a drive cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The catalogue has no such drive, and there is no such file.
    #[error("there is no drive '{0}', and no file of that name; {hint}", hint = suggestion(.0))]
    Unknown(String),
    /// The file cannot be read.
    #[error("{path}: cannot be read: {source}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file does not describe a valid drive.
    #[error("{name}: {source}")]
    Description {
        /// The drive's name, or the file.
        name: String,
        /// What is wrong.
        source: DescriptionError,
    },
}

/// The hint for an unknown `name`: the similar names of the catalogue, or how to list all drives.
fn suggestion(name: &str) -> String {
    let (lower, names) = (name.to_lowercase(), || catalogue::DRIVES.iter().map(|(drive, _)| *drive));
    let part_of = names().filter(|drive| !lower.is_empty() && drive.contains(&lower));
    let part_of: Vec<&str> = part_of.collect();
    if part_of.len() > 1 {
        return format!("there are {}", part_of.join(", "));
    }
    match part_of.first().copied().or_else(|| meant(&lower, names())) {
        Some(meant) => did_you_mean(meant),
        None => "'parlour drives' lists those that there are".to_owned(),
    }
}

/// Returns the description of the drive `name`. A file is looked for relative to `directory`.
///
/// # Errors
/// There is no such drive, or its description is invalid.
pub fn find(name: &str, directory: &Path) -> Result<Description, FindError> {
    let text = match catalogue::find(name) {
        Some(text) => text.to_owned(),
        None => {
            let path = directory.join(name);
            match std::fs::read_to_string(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Err(FindError::Unknown(name.to_owned()));
                }
                Err(source) => return Err(FindError::Unreadable { path, source }),
                Ok(text) => text,
            }
        }
    };
    let wrong = |source| FindError::Description { name: name.to_owned(), source };
    let description = Description::parse(&text).map_err(wrong)?;
    // Errors in a description are reported now, not when the drive is first used.
    description.blocks().map_err(wrong)?;
    description.electronics().map_err(wrong)?;
    Ok(description)
}
