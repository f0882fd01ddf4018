//! All combinations of choices that an array may have: layout, code, number of check units, update,
//! read, consistency, and when a write is acknowledged. Each carries out the same steps: healthy,
//! with as many members lost at once as it survives, and after they were replaced.

use std::collections::BTreeMap;

use parlour_array::organization::{Code, Consistency, LayoutChoice, Organization, ReadChoice, Update};
use parlour_array::{Creation, CreationError, Cylinder, Geometry, LogCreation};
use parlour_units::Sectors;

use super::{Step, World, run_steps};

/// The cylinders of members, where they have some.
pub const CYLINDER: Cylinder = Cylinder { track: 48, tracks: 4 };

/// A combination, and the smallest array that has it.
#[derive(Debug)]
pub struct Combination {
    pub name: String,
    pub creation: Creation,
    pub geometry: Geometry,
}

/// All combinations.
#[derive(Debug, Default)]
pub struct Combinations {
    pub admitted: Vec<Combination>,
    /// Why choices of a layout, a code, an update and a read do not go together, and how many.
    pub refused: BTreeMap<String, usize>,
}

impl Combinations {
    /// All combinations of arrays that `create` can create.
    pub fn all(create: impl Fn(&Creation) -> Result<Geometry, CreationError>) -> Combinations {
        let mut all = Combinations::default();
        for organization in organizations() {
            match organization.check() {
                Err(reason) => *all.refused.entry(reason.to_string()).or_default() += 1,
                Ok(()) => all.admit(organization, &create),
            }
        }
        all
    }

    /// Adds the arrays with these four choices.
    fn admit(
        &mut self,
        organization: Organization,
        create: &impl Fn(&Creation) -> Result<Geometry, CreationError>,
    ) {
        // (Mirrors may have as many copies as there are members.)
        let checks: Vec<u16> =
            organization.checks().take(if organization.keeps_copies() { 3 } else { 16 }).collect();
        let spares = if organization.layout.is_declustered() { 0..=1 } else { 0..=0 };
        for checks in checks {
            for (spares, (consistency, write_back)) in
                spares.clone().flat_map(|spares| ACKNOWLEDGED.map(|how| (spares, how)))
            {
                if !organization.takes(consistency) {
                    continue;
                }
                let wishes = wishes(organization, checks, spares, consistency, write_back);
                let possible =
                    wishes.into_iter().find_map(|creation| Some((create(&creation).ok()?, creation)));
                if let Some((geometry, creation)) = possible {
                    let Organization { layout, code, update, read } = organization;
                    let name = format!(
                        "{layout:?} {code:?} {update:?} {read:?}, {checks} check units, {spares} spares, {}, write-back {write_back}",
                        consistency.name()
                    );
                    self.admitted.push(Combination { name, creation, geometry });
                }
            }
        }
    }

    /// Carries out the steps with each second combination, from the first or from the second on.
    /// (So two tests run at the same time.)
    pub fn run<W: World>(&self, half: Half, world: impl Fn(&Creation) -> W) {
        println!(
            "{} combinations are admitted; of four choices, these do not go together:",
            self.admitted.len()
        );
        self.refused.iter().for_each(|(reason, count)| println!("{count:5}  {reason}"));
        for one in self.admitted.iter().skip(half as usize).step_by(2) {
            let mut world = world(&one.creation);
            run_steps(&one.name, &one.geometry, &steps(&one.geometry), &mut world);
        }
    }
}

/// A half of all combinations.
#[derive(Clone, Copy, Debug)]
pub enum Half {
    First,
    Second,
}

/// Consistency, and whether writes are acknowledged from the journal.
const ACKNOWLEDGED: [(Consistency, bool); 3] =
    [(Consistency::Bitmap, false), (Consistency::Journal, false), (Consistency::Journal, true)];

/// Every choice of a layout, a code, an update and a read, without those that only tests have.
fn organizations() -> impl Iterator<Item = Organization> {
    let codes = || Code::ALL.iter().filter(|code| format!("{code:?}") != "Halves");
    let layouts = LayoutChoice::ALL.iter().filter(|layout| format!("{layout:?}") != "Mirrored");
    layouts.flat_map(move |layout| {
        codes().flat_map(move |code| {
            Update::ALL.into_iter().flat_map(move |update| {
                let of = move |read| Organization { layout: *layout, code: *code, update, read };
                ReadChoice::ALL.map(of)
            })
        })
    })
}

/// Arrays with these choices, from the smallest.
fn wishes(
    organization: Organization,
    checks: u16,
    spares: u16,
    consistency: Consistency,
    write_back: bool,
) -> Vec<Creation> {
    let mut all = Vec::new();
    for members in 2..=24 {
        let widths: Vec<Option<u16>> = match organization.layout.is_declustered() {
            true => (3..members).map(Some).collect(),
            false => vec![None],
        };
        for (width, mebibytes) in
            widths.into_iter().flat_map(|width| [4, 8, 16].map(|length| (width, length)))
        {
            let journal = consistency.is_journal();
            let log = LogCreation {
                segment: Some(Sectors::new(32)),
                regions: Some(u32::from(members)),
                writes: journal.then_some(Sectors::new(if write_back { 512 } else { 0 })),
                ..LogCreation::default()
            };
            all.push(Creation {
                organization,
                checks,
                members,
                groups: 1,
                width,
                domains: None,
                spares,
                unit: Sectors::new(8),
                block: Sectors::new(1),
                member_length: Sectors::new(mebibytes * 2_048),
                log,
                consistency,
            });
        }
    }
    all
}

/// Small and large writes, zeroes and reads, here and there, before as many members fail as may be
/// lost, while they are missing, and after each was replaced. All is read after each failure.
/// (Where units float, their places die with the server.)
fn steps(geometry: &Geometry) -> Vec<Step> {
    let members = geometry.members();
    let gone = || members - geometry.fault_tolerance()..members;
    let write = |at, length, number| Step::Write(at, length, number);
    let capacity = geometry.capacity().get();
    let anywhere = |number: u8| {
        let place = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let length = 1 + place % 100;
        write(place % (capacity - length), length, number)
    };
    let mut steps = vec![write(0, 1, 1), write(3, 9, 2), write(10, 100, 3), Step::Flush, Step::Read(0, 300)];
    steps.extend([Step::Zero(20, 30), write(24, 8, 4)]);
    steps.extend((10..30).map(anywhere));
    for slot in gone() {
        steps.extend([Step::Fail(slot), Step::Read(0, capacity)]);
    }
    steps.extend([write(2, 40, 5), write(250, 5, 6), Step::Flush, Step::Read(0, 300)]);
    steps.extend((30..40).map(anywhere));
    steps.push(Step::Read(0, capacity));
    steps.extend(gone().map(Step::Replace));
    steps.push(write(60, 60, 7));
    steps.extend((!geometry.floats()).then_some(Step::Restart));
    steps.extend([Step::Read(0, capacity), write(100, 3, 8)]);
    steps
}
