//! Entry points for the fuzzers. No other code may use them.

use std::path::Path;

use parlour_array::Geometry;

use crate::settings::{ConfigFile, ShapeOptions};

/// Parses `text` as a configuration file, and derives an array and the tuning of a server from it,
/// as `create` and `serve` do.
///
/// # Errors
/// The message that the user would get.
pub fn settle(text: &str) -> Result<Geometry, String> {
    let file = ConfigFile::parse(Path::new("parlour.toml"), text).map_err(|error| error.to_string())?;
    file.tuning.tuning().map_err(|error| error.to_string())?;
    let members = u16::try_from(file.members.len()).ok().filter(|count| *count > 0);
    let shape = ShapeOptions { members, member_size: None, organization: file.array, log: file.log };
    shape.geometry(&[]).map(|(geometry, _)| geometry).map_err(|error| error.to_string())
}
