//! What defines distorted mirrors.

use parlour_units::Sectors;

use super::surface::Cylinders;

/// What defines distorted mirrors.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of disks: pairs of them.
    pub members: u16,
    /// The length of each.
    pub length: Sectors,
    /// The stripe unit, which is what floats.
    pub unit: Sectors,
    /// Their cylinders.
    pub cylinders: Cylinders,
    /// The tracks of a cylinder for masters; the others are for slaves and free.
    pub master_tracks: u16,
    /// Of doubly distorted mirrors: the memory for masters that are not in their places.
    pub doubly: Option<Sectors>,
}
