//! Tests that no number of the catalogue changes by accident.
//!
//! The fingerprint of all numbers of each drive is stored here. For each number it is also tested
//! that a change by 2% changes the fingerprint, and changes the time of some access.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::BTreeSet;
use std::fmt::Write;

use parlour_drive::angle::Angle;
use parlour_drive::catalogue::{DRIVES, find};
use parlour_drive::description::{Description, DescriptionError};
use parlour_drive::drive::{Drive, Served};
use parlour_drive::mechanics::Way;
use parlour_units::{Duration, Instant};
use toml::Value;

/// The fingerprint of each drive when it was last compared with its source. Renaming a field of the
/// model also changes the fingerprints.
const FINGERPRINTS: [(&str, u64); DRIVES.len()] = [
    ("amdahl-6380", 0xa44e_ab19_7efa_3c6f),
    ("dec-rz26", 0x603b_3f30_9a68_3d28),
    ("hp-c2247a", 0x71fd_9948_180d_48c9),
    ("hp-c2249a", 0x9686_539c_c650_d809),
    ("hp-c2490a", 0xd86a_7fad_a6ec_2b39),
    ("hp-c3323a", 0x24c0_6568_65ed_855f),
    ("ibm-0661", 0xa3a4_19e5_0e0c_348e),
    ("ibm-dnes-309170w", 0x546d_6315_73f3_b106),
    ("intel-dc-s3700", 0x18ee_6b9b_6eed_c038),
    ("molnar-uw-scsi", 0x2a3f_e298_78ea_54fb),
    ("quantum-atlas-10k", 0xe867_f3ac_9ba8_0d3b),
    ("quantum-atlas-iii", 0xfa6f_78fd_466a_44fd),
    ("seagate-barracuda", 0xeb8d_a5c5_8264_4dc0),
    ("seagate-cheetah-15k5", 0x30b4_fc3b_cf13_8d51),
    ("seagate-cheetah-4lp", 0x66ae_4ccd_dc16_d410),
    ("seagate-cheetah-9lp", 0xc584_cda8_0232_9453),
    ("seagate-exos-x20", 0x79a3_1034_5756_9b00),
    ("seagate-st31200w", 0xc2aa_c70f_2b0d_fb19),
    ("seagate-st41601n", 0xf0ff_7ace_17c5_97e1),
    ("wd-4tb", 0x0daf_6a0a_0a9e_4888),
];

/// The FNV-1a hash of the text that is written.
struct Fingerprint(u64);

impl Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        Ok(())
    }
}

/// The fingerprint of all parameters of a drive.
fn fingerprint(description: &Description) -> Result<u64, DescriptionError> {
    let mut print = Fingerprint(0xcbf2_9ce4_8422_2325);
    match description.solid()? {
        Some(solid) => write!(print, "{solid:?}").unwrap(),
        None => {
            let mechanics = description.mechanics(Angle::default())?;
            write!(print, "{:?} {:?}", mechanics, description.electronics()?).unwrap();
        }
    }
    Ok(print.0)
}

#[test]
fn every_drive_is_the_one_that_was_compared_with_its_source() {
    for ((name, text), (known, print)) in DRIVES.into_iter().zip(FINGERPRINTS) {
        assert_eq!(name, known);
        let found = fingerprint(&Description::parse(text).unwrap()).unwrap();
        assert_eq!(
            found, print,
            "a number of drives/{name}.toml is not what it was: if its source says so, its fingerprint is {found:#018x}"
        );
    }
}

/// The path from a file's root to a number.
type Path = Vec<Step>;

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The paths of all numbers of a drive, including times, but without the demerit figure of
/// DiskSim's model.
fn numbers(value: &Value) -> Vec<Path> {
    let below = |step: Step, value: &Value| {
        let deeper = numbers(value).into_iter();
        deeper.map(move |path| [vec![step.clone()], path].concat()).collect::<Vec<_>>()
    };
    match value {
        Value::Table(table) => table
            .iter()
            .filter(|(key, _)| !["name", "source", "note", "disksim_rms_ms"].contains(&key.as_str()))
            .flat_map(|(key, value)| below(Step::Key(key.clone()), value))
            .collect(),
        // The fourth value of a strip is its direction.
        Value::Array(strip) if strip.len() == 6 && strip[1].is_float() => {
            let others = strip.iter().enumerate().filter(|(index, _)| *index != 3);
            others.flat_map(|(index, value)| below(Step::Index(index), value)).collect()
        }
        Value::Array(several) => {
            several.iter().enumerate().flat_map(|(index, value)| below(Step::Index(index), value)).collect()
        }
        Value::String(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => vec![Vec::new()],
        Value::Integer(_) | Value::Float(_) => vec![Vec::new()],
        _ => Vec::new(),
    }
}

fn at<'a>(mut value: &'a mut Value, path: &Path) -> &'a mut Value {
    for step in path {
        value = match step {
            Step::Key(key) => &mut value[key.as_str()],
            Step::Index(index) => &mut value[*index],
        };
    }
    value
}

/// The value increased by 2%; a whole number by at least 1. None for zero.
fn more(value: &Value) -> Option<Value> {
    match value {
        Value::Integer(number) if *number != 0 => Some(Value::Integer(number + (number.abs() / 50).max(1))),
        Value::Float(number) if *number != 0.0 => Some(Value::Float(number * 1.02)),
        Value::String(text) => {
            let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
            let number: f64 = text[..digits].parse().unwrap();
            (number != 0.0).then(|| Value::String(format!("{:.9}{}", number * 1.02, &text[digits..])))
        }
        _ => None,
    }
}

/// The drive with one number increased. The result may be invalid.
fn changed(file: &Value, path: &Path) -> Option<Result<Description, toml::de::Error>> {
    let mut file = file.clone();
    let number = at(&mut file, path);
    *number = more(number)?;
    Some(file.try_into())
}

/// The most numbers of a file that are tried.
const TRIED: usize = 400;

/// Numbers that are in the source but have no effect because the drive does not use them, by their
/// key.
const WITHOUT_EFFECT: [(&str, &str, &str); 3] = [
    ("dec-rz26", "table", "the last seek but one goes to its last cylinder"),
    ("hp-c2247a", "slips", "among the spares"),
    ("wd-4tb", "table", "seeks over more cylinders than it has"),
];

#[test]
fn two_parts_in_a_hundred_of_any_number_make_another_drive() {
    for (name, text) in DRIVES {
        let file: Value = toml::from_str(text).unwrap();
        let before = fingerprint(&Description::parse(text).unwrap()).unwrap();
        let paths = numbers(&file);
        for path in paths.iter().step_by(paths.len().div_ceil(TRIED)) {
            let Some(other) = changed(&file, path) else { continue };
            let after = other.ok().and_then(|other| fingerprint(&other).ok());
            let known = |(drive, key, _): &(&str, &str, &str)| {
                *drive == name && path.contains(&Step::Key((*key).to_owned()))
            };
            let excused = WITHOUT_EFFECT.iter().any(known);
            assert!(excused || after != Some(before), "{name}: {path:?} could be another");
        }
    }
}

/// The times of many kinds of accesses, beginning at any angle.
fn served(description: &Description) -> Result<Vec<Served>, DescriptionError> {
    const ROUNDS: u64 = 1_500;
    let mut drive = Drive::new(description.mechanics(Angle::default())?, description.electronics()?);
    let revolution = drive.mechanics().spindle.revolution;
    let half = drive.mechanics().surface.blocks() / 2;
    let (at_once, later) = (Duration::ZERO, revolution * 5);
    let (mut served, mut now) = (Vec::new(), Instant::ZERO);
    for round in 0..ROUNDS {
        let mut serve = |wait: Duration, way, block, count| {
            let done = drive.serve(now + wait, way, block, count);
            now = done.done;
            served.push(done);
        };
        let phase = Duration::from_nanoseconds(revolution.nanoseconds() * round / ROUNDS);
        let (here, there) = (round * 34_567 % half, half + round * 12_377 % (half - 10_000));
        let count = 1 + round % 64;
        // Sequential, elsewhere, and at the old position again.
        serve(later + phase, Way::Read, here, 8);
        serve(at_once, Way::Read, here + 8, 8);
        serve(later, Way::Read, here + 16, 8);
        serve(later, Way::Read, there + 4_000, 300);
        serve(later + phase, Way::Write, there, 8);
        serve(at_once, Way::Write, there + 8, count);
        serve(at_once, Way::Write, there + 8 + count, 64);
        serve(later, Way::Read, there + 8, 4);
        serve(later, Way::Read, there + 4_296, 8);
        // At the current position of the arm, at all angles.
        serve(later, Way::Read, here, 1);
        serve(later + phase, Way::Read, here + 10_000, 1);
        serve(later + phase, Way::Write, here + 10_000, count);
        serve(at_once, Way::Write, here + 9_980, count);
        serve(at_once, Way::Write, here + 9_990, 8);
    }
    Ok(served)
}

/// Drives that together use all keys.
const DIFFERENT: [&str; 5] =
    ["hp-c2247a", "hp-c2490a", "quantum-atlas-10k", "seagate-cheetah-9lp", "seagate-st31200w"];

/// Keys for which a change of 2% changes no access of these drives.
const UNNOTICED: [(&str, &str); 4] = [
    ("mechanics.cylinders", "what lies behind the last zone holds no blocks"),
    ("overheads.read_disconnect", "it is over before a sector has passed"),
    (
        "overheads.second_write.first_disconnect",
        "less than a microsecond, which the wait for the sector swallows",
    ),
    ("overheads.second_write.second_disconnect", "the sector is written later"),
];

/// The path of a number, without array indices.
fn key(path: &Path) -> String {
    let keys = path.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    keys.collect::<Vec<_>>().join(".")
}

#[test]
fn two_parts_in_a_hundred_of_a_key_change_some_access() {
    let (mut tried, mut noticed) = (BTreeSet::new(), BTreeSet::new());
    for name in DIFFERENT {
        let text = find(name).unwrap();
        let before = served(&Description::parse(text).unwrap()).unwrap();
        let file: Value = toml::from_str(text).unwrap();
        // The values of tables and zones are tested above.
        let single = |path: &Path| {
            !["mechanics.seek.table", "zone"].iter().any(|key_of| key(path).starts_with(key_of))
        };
        for path in numbers(&file).into_iter().filter(single) {
            let Some(other) = changed(&file, &path) else { continue };
            tried.insert(key(&path));
            if served(&other.unwrap()).unwrap() != before {
                noticed.insert(key(&path));
            }
        }
    }
    let unnoticed: Vec<&String> = tried.difference(&noticed).collect();
    assert_eq!(unnoticed, UNNOTICED.map(|(key, _)| key));
}
