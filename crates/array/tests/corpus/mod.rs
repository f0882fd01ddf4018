//! The conformance corpus: cases as data, run against the array with every driver.
//!
//! A case names an array and a list of steps. A driver (here called a world) carries the steps out.
//! After each step the content that hosts read is compared; at the end, the bytes in the members'
//! units, and the number of accesses. They are compared with `cases.toml`, so a change of a layout
//! or of a plan shows with every driver.
#![allow(dead_code, unreachable_pub, reason = "each world uses a part of it")]

pub mod combinations;

use parlour_array::organization::{Consistency, LayoutChoice, NamedOrganization, Organization};
use parlour_array::{Creation, Geometry, LogCreation};
use parlour_units::{Sectors, Slot};
use serde::Deserialize;

/// All cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corpus {
    /// In the order of the file.
    pub case: Vec<Case>,
}

/// One array and what happens to it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The purpose of the case.
    pub name: String,
    /// The organization's name.
    pub organization: String,
    /// A layout other than the organization's usual one.
    pub layout: Option<String>,
    /// Members, spares apart.
    pub members: u16,
    /// Parity groups.
    #[serde(default = "one")]
    pub groups: u16,
    /// The stripe unit, in sectors.
    pub unit: u64,
    /// Sublogs, where there are logs.
    pub sublogs: Option<u16>,
    /// What a crash may cost.
    #[serde(default)]
    pub consistency: Consistency,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// The content of the members' units at the end: a CRC-32C for each member.
    pub members_hold: Vec<String>,
    /// Reads and writes of members on behalf of hosts.
    pub accesses: [u64; 2],
}

fn one() -> u16 {
    1
}

/// One step; all numbers are sectors.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Write a pattern that depends on sector and number: at, length, number.
    Write(u64, u64, u8),
    /// Write zeroes: at, length.
    Zero(u64, u64),
    /// Read and compare with the content that was written: at, length.
    Read(u64, u64),
    /// Flush.
    Flush,
    /// Exclude the member in a slot.
    Fail(u16),
    /// Put a new member into the slot, and wait for its rebuild.
    Replace(u16),
    /// Compare all redundancy; it must fit.
    Scrub,
    /// Stop the array and open it again.
    Restart,
}

/// A driver with an array.
pub trait World {
    /// Whether it holds payload. If not, its reads return nothing, and only answers and accesses
    /// are compared.
    const KNOWS_CONTENTS: bool = true;
    /// Writes and waits.
    fn write(&mut self, at: u64, bytes: &[u8]);
    /// Writes zeroes and waits.
    fn zero(&mut self, at: u64, length: u64);
    /// Reads and waits.
    fn read(&mut self, at: u64, length: u64) -> Vec<u8>;
    /// Flushes and waits.
    fn flush(&mut self);
    /// Excludes a member.
    fn fail(&mut self, slot: u16);
    /// Replaces a member and waits for the rebuild.
    fn replace(&mut self, slot: u16);
    /// Scrubs; returns the mismatches found.
    fn scrub(&mut self) -> u64;
    /// Stops the array and opens it again.
    fn restart(&mut self);
    /// All bytes of the member in `slot`.
    fn member(&mut self, slot: u16) -> Vec<u8>;
    /// Reads and writes of members on behalf of hosts, since the array was first opened.
    fn accesses(&mut self) -> [u64; 2];
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let corpus: Corpus = toml::from_str(include_str!("cases.toml")).expect("the corpus is well formed");
    corpus.case
}

/// Length of each member in a case.
pub const MEMBER: Sectors = Sectors::new(4 * 2_048);

impl Case {
    /// The table's row, with the case's own layout.
    pub fn organization(&self) -> (Organization, u16) {
        let row: &NamedOrganization = Organization::named(&self.organization).expect("a known organization");
        let checks = row.checks.of(self.members);
        let mut organization = row.organization;
        if let Some(layout) = &self.layout {
            let known = LayoutChoice::ALL.iter().find(|choice| format!("{choice:?}") == *layout);
            organization.layout = *known.expect("a known layout");
        }
        // Which copy answers must not depend on when accesses are answered.
        if organization.code == parlour_array::organization::Code::Copy {
            organization.read = parlour_array::organization::ReadChoice::RoundRobin;
        }
        (organization, checks)
    }

    /// The wishes for the logs.
    pub fn log(&self) -> LogCreation {
        LogCreation {
            segment: Some(Sectors::new(32)),
            sublogs: self.sublogs,
            ratio: None,
            regions: Some(u32::from(self.members)),
            track: None,
            writes: None,
            lanes: None,
            journals: 0,
            journal_slots: None,
            journal_copies: None,
        }
    }

    /// The wishes for the array.
    pub fn creation(&self) -> Creation {
        let (organization, checks) = self.organization();
        Creation {
            organization,
            checks,
            members: self.members,
            groups: self.groups,
            width: None,
            domains: None,
            spares: 0,
            unit: Sectors::new(self.unit),
            block: Sectors::new(1),
            member_length: MEMBER,
            log: self.log(),
            consistency: self.consistency,
        }
    }
}

/// The pattern that write `number` puts at sector `at`.
fn pattern(at: u64, number: u8) -> Vec<u8> {
    (0..512u64)
        .map(|byte| (at.wrapping_mul(131) ^ byte.wrapping_mul(7) ^ (u64::from(number) * 29)) as u8)
        .collect()
}

/// Carries out a case; returns the content of the members and the number of accesses.
pub fn run<W: World>(case: &Case, world: &mut W) -> (Option<Vec<String>>, [u64; 2]) {
    let geometry = Geometry::create(&case.creation()).expect("the corpus asks for possible arrays");
    run_steps(&case.name, &geometry, &case.steps, world)
}

/// Carries out `steps` with an array of this geometry; returns the same as [`run`].
pub fn run_steps<W: World>(
    name: &str,
    geometry: &Geometry,
    steps: &[Step],
    world: &mut W,
) -> (Option<Vec<String>>, [u64; 2]) {
    let mut flat = vec![0u8; geometry.capacity().bytes().as_usize()];
    let range = |at: u64, length: u64| at as usize * 512..(at + length) as usize * 512;
    for step in steps {
        match *step {
            Step::Write(at, length, number) => {
                let bytes: Vec<u8> = (at..at + length).flat_map(|sector| pattern(sector, number)).collect();
                flat[range(at, length)].copy_from_slice(&bytes);
                world.write(at, &bytes);
            }
            Step::Zero(at, length) => {
                flat[range(at, length)].fill(0);
                world.zero(at, length);
            }
            Step::Read(at, length) => {
                let read = world.read(at, length);
                assert!(!W::KNOWS_CONTENTS || read == flat[range(at, length)], "{name}: {step:?}");
            }
            Step::Flush => world.flush(),
            Step::Fail(slot) => world.fail(slot),
            Step::Replace(slot) => world.replace(slot),
            Step::Scrub => assert_eq!(world.scrub(), 0, "{name}: mismatches"),
            Step::Restart => world.restart(),
        }
    }
    let accesses = world.accesses();
    if geometry.fault_tolerance() > 0 {
        assert_eq!(world.scrub(), 0, "{name}: all redundancy fits in the end");
    }
    let all = world.read(0, geometry.capacity().get());
    if !W::KNOWS_CONTENTS {
        return (None, accesses);
    }
    assert!(all == flat, "{name}: what is read in the end");
    let slots = 0..geometry.members();
    let held = slots.map(|slot| held(geometry, slot, &world.member(slot))).collect();
    (Some(held), accesses)
}

/// CRC-32C of the units of a member, without logs and gaps.
fn held(geometry: &Geometry, slot: u16, bytes: &[u8]) -> String {
    let layout = geometry.layout();
    let mut checksum = 0;
    for stripe in (0..layout.stripes()).map(parlour_units::Stripe::new) {
        for unit in layout.units() {
            let found = layout.locate(stripe, unit);
            if found.slot == Slot::new(slot) {
                let at = (geometry.data_start() + found.at.from_start()).bytes() as usize;
                let unit = &bytes[at..at + layout.unit_length().bytes().as_usize()];
                checksum = parlour_codec::checksum::crc32c_append(checksum, unit);
            }
        }
    }
    format!("{checksum:08x}")
}

/// Carries out all cases with the drivers that `world` makes; then again with each of two bugs, one
/// in a layout and one in a plan, and each bug must be noticed. (Without payload a wrong place is
/// not noticed.)
#[cfg(feature = "planted-bugs")]
pub fn run_all_with_bugs<W: World>(mut world: impl FnMut(&Creation) -> W) {
    use parlour_array::{Bug, plant};
    let is_noticed = |bug: &Bug| W::KNOWS_CONTENTS || *bug != Bug::ParityRotatesAstray;
    for bug in Bug::WITHOUT_FAULTS.into_iter().filter(is_noticed) {
        plant(Some(bug));
        let noticed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run_all(&mut world)));
        plant(None);
        assert!(noticed.is_err(), "{bug:?} passed the corpus");
    }
    run_all(world);
}

/// Carries out all cases with the drivers that `world` makes, and compares with the recorded
/// results.
pub fn run_all<W: World>(mut world: impl FnMut(&Creation) -> W) {
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        let (held, accesses) = run(case, &mut world(&case.creation()));
        let held = held.unwrap_or_else(|| case.members_hold.clone());
        if held != case.members_hold || accesses != case.accesses {
            wrong.push(format!("{}:\nmembers_hold = {held:?}\naccesses = {accesses:?}", case.name));
        }
    }
    println!("{} cases", cases.len());
    assert!(wrong.is_empty(), "not as recorded:\n{}", wrong.join("\n\n"));
}
