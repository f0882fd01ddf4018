//! An array's years in service, and what it loses in them.
//!
//! Losses are rare, so they are not waited for. Lives of arrays are drawn as they are; but from
//! each first failure of one on, several courses of events are drawn until the array is whole
//! again, in which further failures are more frequent (failure biasing). Each course counts by its
//! likelihood over that with which it was drawn. Expectations are right that way, whatever the
//! frequency.

use parlour_workload::random::Random;

use super::array_life::{ArrayLife, Next};
use super::assumed::Assumed;
use super::exposure::Exposure;

/// The courses that are drawn from each first failure on.
const COURSES: u32 = 4;
/// The failures that are to be expected until a course ends.
const WANTED: f64 = 1.0;

/// What an array loses in its years, in the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Losses {
    /// Drives that failed.
    pub(super) failures: f64,
    /// Times at which the array was not whole, and data was lost.
    pub(super) times: f64,
    /// Those at which more members were missing than some stripe survives.
    pub(super) by_members: f64,
    /// Those at which a sector could not be read that was needed.
    pub(super) by_sectors: f64,
    /// Bytes of hosts.
    pub(super) bytes: f64,
}

impl Losses {
    fn add(&mut self, other: Losses, times: f64) {
        self.failures += other.failures * times;
        self.times += other.times * times;
        self.by_members += other.by_members * times;
        self.by_sectors += other.by_sectors * times;
        self.bytes += other.bytes * times;
    }
}

/// What is lost at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Harm {
    /// Data units, per stripe.
    units: f64,
    /// The unreadable sectors to be expected that cost data.
    costly: f64,
    /// The data sectors that they cost.
    sectors: f64,
}

/// The probabilities that a course has lost nothing so far.
#[derive(Clone, Copy, Debug)]
struct Unharmed {
    at_all: f64,
    by_members: f64,
    by_sectors: f64,
}

impl Default for Unharmed {
    fn default() -> Unharmed {
        Unharmed { at_all: 1.0, by_members: 1.0, by_sectors: 1.0 }
    }
}

/// The probability that something happens now, and for the first time.
fn first_of(unharmed: &mut f64, probability: f64) -> f64 {
    let first = *unharmed * probability;
    *unharmed -= first;
    first
}

/// Draws missions.
#[derive(Debug)]
pub(super) struct Missions<'a> {
    assumed: &'a Assumed,
    /// The same without shelves: these fail in every mission, and count by their rates.
    drives_only: Assumed,
    exposure: Exposure<'a>,
    members: usize,
    /// The bytes of one data unit of each stripe.
    unit_bytes: f64,
    sector_bytes: f64,
}

impl<'a> Missions<'a> {
    pub(super) fn new(assumed: &'a Assumed, geometry: &'a parlour_array::Geometry, seed: u64) -> Self {
        let layout = geometry.layout();
        let unit_bytes = layout.unit_length().bytes().get() as f64 * layout.stripes() as f64;
        Missions {
            assumed,
            drives_only: Assumed { together: Vec::new(), ..assumed.clone() },
            exposure: Exposure::of(geometry, assumed.unreadable > 0.0, seed),
            members: usize::from(geometry.members()),
            unit_bytes,
            sector_bytes: geometry.block().bytes().get() as f64,
        }
    }

    /// One array's years.
    pub(super) fn draw(&mut self, random: &mut Random) -> Losses {
        let drives_only = self.drives_only.clone();
        let mut losses = self.while_whole();
        let (of_drives, weight) = self.by_drives(ArrayLife::new(&drives_only, self.members), random);
        losses.add(of_drives, weight);
        if !self.assumed.together.is_empty() {
            losses.add(self.by_shelves(ArrayLife::new(&drives_only, self.members), random), 1.0);
        }
        losses
    }

    /// What follows from first failures of single drives, in a life in which at least one fails;
    /// and the probability of such a life.
    fn by_drives(&mut self, mut life: ArrayLife<'_>, random: &mut Random) -> (Losses, f64) {
        let hours = self.assumed.hours;
        let mut losses = Losses::default();
        let (mut next, probability) = life.wait_for_first(hours, random);
        loop {
            match next {
                Next::End => return (losses, probability),
                Next::Fails(_) => {
                    losses.failures += 1.0;
                    if life.is_whole() {
                        losses.add(self.courses(&life, next, random), 1.0);
                    }
                }
                _ => {}
            }
            life.happen(next);
            next = life.wait(hours, None, random).next;
        }
    }

    /// What follows from failures of shelves while the array is whole: each fails once, at a time
    /// of its own. (While it is not whole, they are in the courses.)
    fn by_shelves(&mut self, mut life: ArrayLife<'_>, random: &mut Random) -> Losses {
        let Assumed { together, hours, .. } = self.assumed;
        let mut shelves: Vec<(f64, usize)> =
            (0..together.len()).map(|shelf| (random.part_of_one() * hours, shelf)).collect();
        shelves.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut losses = Losses::default();
        for (at, shelf) in shelves {
            loop {
                let next = life.wait(at, None, random).next;
                if next == Next::End {
                    break;
                }
                life.happen(next);
            }
            let often = together[shelf].per_hour * hours;
            losses.failures += often * together[shelf].members.len() as f64;
            if life.is_whole() {
                losses.add(self.courses(&life, Next::Shelf(shelf), random), often);
            }
        }
        losses
    }

    /// Without redundancy each sector that cannot be read costs data, though all members are there.
    fn while_whole(&mut self) -> Losses {
        if self.assumed.unreadable == 0.0 {
            return Losses::default();
        }
        let harm = self.harm(&ArrayLife::new(self.assumed, self.members));
        let found = self.assumed.unreadable_per_hour * self.assumed.hours / self.assumed.unreadable;
        let (times, bytes) = (harm.costly * found, harm.sectors * found * self.sector_bytes);
        Losses { times, by_sectors: times, bytes, ..Losses::default() }
    }

    /// The mean of several courses that begin with a failure.
    fn courses(&mut self, whole: &ArrayLife<'_>, first: Next, random: &mut Random) -> Losses {
        let mut losses = Losses::default();
        for _ in 0..COURSES {
            let course = self.course(whole.under(self.assumed), first, random);
            losses.add(course, 1.0 / f64::from(COURSES));
        }
        losses
    }

    /// What is lost from a failure on until the array is whole again, or its years are over.
    fn course(&mut self, mut life: ArrayLife<'a>, first: Next, random: &mut Random) -> Losses {
        let (mut losses, mut log_weight, mut unharmed) = (Losses::default(), 0.0_f64, Unharmed::default());
        let mut next = first;
        loop {
            if matches!(next, Next::Fails(_) | Next::Shelf(_)) {
                let before = self.harm(&life);
                life.happen(next);
                let after = self.harm(&life);
                let weight = log_weight.exp();
                losses.bytes += weight * self.bytes(before, after);
                let by_members = f64::from(u8::from(after.units > before.units));
                let by_sectors = -(-(after.costly - before.costly).max(0.0)).exp_m1();
                let either = 1.0 - (1.0 - by_members) * (1.0 - by_sectors);
                losses.times += weight * first_of(&mut unharmed.at_all, either);
                losses.by_members += weight * first_of(&mut unharmed.by_members, by_members);
                losses.by_sectors += weight * first_of(&mut unharmed.by_sectors, by_sectors);
            } else {
                life.happen(next);
            }
            if life.is_whole() || next == Next::End {
                return losses;
            }
            let step = life.wait(self.assumed.hours, Some(WANTED), random);
            log_weight += step.log_weight;
            next = step.next;
        }
    }

    /// What is lost now. Stripes are rebuilt in order, so a rebuilt member is missing in the later
    /// ones only.
    fn harm(&mut self, life: &ArrayLife<'_>) -> Harm {
        let mut incomplete: Vec<(u16, f64)> = life.incomplete().collect();
        incomplete.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mut harm = Harm::default();
        for count in 0..=incomplete.len() {
            let from = if count == 0 { 0.0 } else { incomplete[count - 1].1 };
            let to = incomplete.get(count).map_or(1.0, |(_, rebuilt)| *rebuilt);
            if to <= from {
                continue;
            }
            let mut missing: Vec<u16> = incomplete[..count].iter().map(|(slot, _)| *slot).collect();
            missing.sort_unstable();
            let loss = self.exposure.loss(&missing);
            harm.units += (to - from) * loss.units;
            for (slot, beside) in loss.beside.iter().enumerate() {
                // (A drive that was just written has no old errors.)
                if incomplete.iter().all(|(other, _)| usize::from(*other) != slot) {
                    harm.costly += (to - from) * self.assumed.unreadable * beside.probability;
                    harm.sectors += (to - from) * self.assumed.unreadable * beside.sectors;
                }
            }
        }
        harm
    }

    /// What a failure costs.
    fn bytes(&self, before: Harm, after: Harm) -> f64 {
        let units = (after.units - before.units).max(0.0) * self.unit_bytes;
        units + (after.sectors - before.sectors).max(0.0) * self.sector_bytes
    }
}
