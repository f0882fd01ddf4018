//! Drives by name: of the catalogue, or of a file.

use std::path::{Path, PathBuf};

use parlour_drive::catalogue;
use parlour_drive::description::{Description, DescriptionError};
use parlour_units::words::{did_you_mean, meant};

/// Why there is no such drive.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// It is in no catalogue.
    #[error("there is no drive '{0}', and no file of that name; {hint}", hint = suggestion(.0))]
    Unknown(String),
    /// Its file cannot be read.
    #[error("{path}: cannot be read: {source}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Its file describes none.
    #[error("{name}: {source}")]
    Description {
        /// The drive, or its file.
        name: String,
        /// What is wrong.
        source: DescriptionError,
    },
}

/// The drives of the catalogue that `name` may stand for, or how to list all.
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

/// What describes the drive of this name; a file is looked for from `directory` on.
///
/// # Errors
/// There is no such drive, or none can be so.
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
    // What is wrong with it is said at once.
    description.blocks().map_err(wrong)?;
    description.electronics().map_err(wrong)?;
    Ok(description)
}
