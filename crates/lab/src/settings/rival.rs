//! The names of rivals: organizations of others, which are simulated only.

/// A rival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RivalName {
    /// Two parity disks and two log disks that take turns (Bhide and Dias 1992).
    LraidX4,
    /// Segments over RAID 5 (Rosenblum and Ousterhout 1992).
    LogStructured,
    /// Mirrors whose second copies float (Solworth and Orji 1991).
    DistortedMirrors,
    /// Mirrors both of whose copies float at first (Orji and Solworth 1993).
    DoublyDistortedMirrors,
}

impl RivalName {
    /// All of them.
    pub const ALL: [RivalName; 4] = [
        RivalName::LraidX4,
        RivalName::LogStructured,
        RivalName::DistortedMirrors,
        RivalName::DoublyDistortedMirrors,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            RivalName::LraidX4 => "lraid-x4",
            RivalName::LogStructured => "log-structured",
            RivalName::DistortedMirrors => "distorted-mirrors",
            RivalName::DoublyDistortedMirrors => "doubly-distorted-mirrors",
        }
    }

    /// The rival with this name, in upper or lower case.
    pub fn named(name: &str) -> Option<RivalName> {
        let lower = name.to_lowercase();
        RivalName::ALL.into_iter().find(|rival| rival.name() == lower)
    }
}
