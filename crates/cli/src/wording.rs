//! Texts that several commands use.

use std::path::Path;

use parlour_array::Geometry;

use crate::console::counted;
use crate::settings::describe;

/// A description of an array with so many journal devices, in one sentence.
pub(crate) fn sentence(geometry: &Geometry, journals: usize) -> String {
    format!(
        "{}, {}, {} for data",
        describe(geometry.stored()),
        devices(geometry.members().into(), journals),
        geometry.capacity(),
    )
}

/// "5 members", "5 members and 2 journal devices".
pub(crate) fn devices(members: usize, journals: usize) -> String {
    let members = counted(members as u64, "member");
    match journals {
        0 => members,
        _ => format!("{members} and {}", counted(journals as u64, "journal device")),
    }
}

/// A path, quoted for a shell if necessary.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// A duration in seconds as text.
pub(crate) fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}
