//! What defines an LRAID-X4 array.

use parlour_units::Sectors;

/// What defines the array.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of disks; four of them are for parity and logs.
    pub members: u16,
    /// The length of each.
    pub length: Sectors,
    /// The stripe unit, and the size of an update.
    pub unit: Sectors,
    /// The memory for updates and for merging.
    pub memory: Sectors,
    /// Whether old data is known without being read.
    pub old_data_known: bool,
    /// Whether old data is read in the access that writes the new.
    pub combined: bool,
}
