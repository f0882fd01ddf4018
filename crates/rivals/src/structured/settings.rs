//! What defines a log-structured array.

use parlour_units::Sectors;

/// What defines the array.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of disks.
    pub members: u16,
    /// The length of each.
    pub length: Sectors,
    /// The unit that is mapped.
    pub unit: Sectors,
    /// The part of a segment on each member.
    pub segment: Sectors,
    /// Hosts' data as a part of what segments hold.
    pub utilization: f64,
    /// The memory for hosts' writes.
    pub memory: Sectors,
    /// Whether memory is lost with the power.
    pub volatile: bool,
}
