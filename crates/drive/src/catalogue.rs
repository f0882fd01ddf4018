//! The drives that come with the program: `drives/*.toml`.

macro_rules! catalogue {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../drives/", $name, ".toml")))),*]
    };
}

/// Each drive's file, by its name without `.toml`.
pub const DRIVES: [(&str, &str); 20] = catalogue![
    "amdahl-6380",
    "dec-rz26",
    "hp-c2247a",
    "hp-c2249a",
    "hp-c2490a",
    "hp-c3323a",
    "ibm-0661",
    "ibm-dnes-309170w",
    "intel-dc-s3700",
    "molnar-uw-scsi",
    "quantum-atlas-10k",
    "quantum-atlas-iii",
    "seagate-barracuda",
    "seagate-cheetah-15k5",
    "seagate-cheetah-4lp",
    "seagate-cheetah-9lp",
    "seagate-exos-x20",
    "seagate-st31200w",
    "seagate-st41601n",
    "wd-4tb",
];

/// The file of the drive with this name.
pub fn find(name: &str) -> Option<&'static str> {
    DRIVES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
