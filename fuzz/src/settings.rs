//! Fuzzes configuration files: valid settings give an array with a valid geometry; invalid settings
//! give an error message of one line.

use parlour_array::Geometry;

/// Interprets the bytes as the text of a configuration file.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parlour::fuzzing::settle(text) {
        Ok(geometry) => check(&geometry),
        Err(message) => {
            assert!(!message.is_empty() && !message.contains('\n'), "one line: {message:?}");
        }
    }
}

fn check(geometry: &Geometry) {
    assert!(geometry.stored().is_sound(), "{:?}", geometry.stored());
    assert!(!geometry.capacity().is_zero());
    assert!(geometry.table_at(2) <= geometry.data_start(), "metadata ends before the data");
}
