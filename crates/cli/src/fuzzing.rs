//! What fuzzers reach of the program. It is for them alone: nothing else may rely on it.

use std::path::Path;

use parlour_array::Geometry;

use crate::settings::{ConfigFile, ShapeOptions};

/// Takes `text` as a configuration file and settles an array by it, and the tuning of a server, as
/// `create` and `serve` do.
///
/// # Errors
/// What people would be told.
pub fn settle(text: &str) -> Result<Geometry, String> {
    let file = ConfigFile::parse(Path::new("parlour.toml"), text).map_err(|error| error.to_string())?;
    file.tuning.tuning().map_err(|error| error.to_string())?;
    let members = u16::try_from(file.members.len()).ok().filter(|count| *count > 0);
    let shape = ShapeOptions { members, member_size: None, organization: file.array, log: file.log };
    shape.geometry(&[]).map_err(|error| error.to_string())
}
