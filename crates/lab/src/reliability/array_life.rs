//! One array over the years: drives fail, are replaced and rebuilt.

use parlour_workload::random::Random;

use super::assumed::Assumed;

/// A slot's drive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drive {
    /// It holds all that belongs on it.
    Whole { since: f64 },
    /// It failed, and there is no other yet.
    Awaited,
    /// It is being rebuilt, from the first stripe to the last.
    Rebuilding { since: f64, until: f64 },
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// The drive in a slot fails.
    Fails(usize),
    /// All drives of a shelf fail together.
    Shelf(usize),
    /// A new drive arrives.
    Arrival,
    /// A drive holds all that belongs on it.
    Rebuilt(usize),
    /// Nothing until the end.
    End,
}

/// An array at a time.
#[derive(Clone, Debug)]
pub(super) struct ArrayLife<'a> {
    assumed: &'a Assumed,
    /// In hours, from the first day on.
    pub(super) now: f64,
    drives: Vec<Drive>,
    /// Spares in their places.
    spares: u32,
    /// When ordered drives arrive, in order.
    arrivals: Vec<f64>,
}

/// An event to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) next: Next,
    /// The logarithm of the event's true density over that with which it was drawn.
    pub(super) log_weight: f64,
}

impl<'a> ArrayLife<'a> {
    /// A new array.
    pub(super) fn new(assumed: &'a Assumed, members: usize) -> ArrayLife<'a> {
        let drives = vec![Drive::Whole { since: 0.0 }; members];
        ArrayLife { assumed, now: 0.0, drives, spares: assumed.spares, arrivals: Vec::new() }
    }

    /// The first failure of a new array, if there is one before `end`; and the probability that
    /// there is.
    pub(super) fn wait_for_first(&mut self, end: f64, random: &mut Random) -> (Next, f64) {
        let (life, drives) = (self.assumed.life, self.drives.len());
        let probability = -(-life.hazard(0.0, end) * drives as f64).exp_m1();
        let hazard = -(-random.part_of_one() * probability).ln_1p() / drives as f64;
        self.now = life.until(0.0, hazard).min(end);
        (Next::Fails(random.below(drives as u64) as usize), probability)
    }

    /// The same array under other assumptions.
    pub(super) fn under<'b>(&self, assumed: &'b Assumed) -> ArrayLife<'b> {
        let ArrayLife { now, spares, .. } = *self;
        let (drives, arrivals) = (self.drives.clone(), self.arrivals.clone());
        ArrayLife { assumed, now, drives, spares, arrivals }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.drives.iter().all(|drive| matches!(drive, Drive::Whole { .. }))
    }

    /// The slots whose content is not there as a whole, and for each the part that is rebuilt.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = (u16, f64)> {
        self.drives.iter().enumerate().filter_map(|(slot, drive)| match *drive {
            Drive::Whole { .. } => None,
            Drive::Awaited => Some((slot as u16, 0.0)),
            Drive::Rebuilding { since, until } => {
                Some((slot as u16, ((self.now - since) / (until - since)).clamp(0.0, 1.0)))
            }
        })
    }

    /// The time at which the array is whole if nothing else fails.
    fn whole_at(&self) -> f64 {
        let mut arrivals = self.arrivals.iter();
        let ends = self.drives.iter().map(|drive| match *drive {
            Drive::Whole { .. } => self.now,
            Drive::Rebuilding { until, .. } => until,
            Drive::Awaited => arrivals.next().map_or(self.now, |at| at + self.assumed.rebuild),
        });
        ends.fold(self.now, f64::max)
    }

    /// Draws the next event, at `end` at the latest, and waits until then. While the array is not
    /// whole, failures are made as frequent as lets `wanted` of them be expected until it is whole;
    /// the weight makes up for it.
    pub(super) fn wait(&mut self, end: f64, wanted: Option<f64>, random: &mut Random) -> Step {
        let is_whole = self.is_whole();
        let stress = if is_whole { 1.0 } else { self.assumed.while_degraded };
        let boost = wanted.filter(|_| !is_whole).map_or(1.0, |wanted| {
            let expected = self.hazard(self.whole_at().min(end) - self.now, stress);
            if expected > 0.0 { (wanted / expected).max(1.0) } else { 1.0 }
        });
        let (mut at, mut next) = self.foreseen(end);
        for (slot, drive) in self.drives.iter().enumerate() {
            if let Some(age) = self.age(drive) {
                let drawn = random.exponential(1.0) / (boost * stress);
                let fails = self.now + self.assumed.life.until(age, drawn);
                if fails < at {
                    (at, next) = (fails, Next::Fails(slot));
                }
            }
        }
        for (shelf, together) in self.assumed.together.iter().enumerate() {
            let fails = self.now + random.exponential(1.0) / (boost * together.per_hour);
            if fails < at {
                (at, next) = (fails, Next::Shelf(shelf));
            }
        }
        let mut log_weight = (boost - 1.0) * self.hazard(at - self.now, stress);
        if matches!(next, Next::Fails(_) | Next::Shelf(_)) {
            log_weight -= boost.ln();
        }
        self.now = at;
        Step { next, log_weight }
    }

    /// The failures to be expected in the next hours.
    fn hazard(&self, hours: f64, stress: f64) -> f64 {
        let of_drives = self.drives.iter().filter_map(|drive| self.age(drive));
        let of_drives: f64 = of_drives.map(|age| self.assumed.life.hazard(age, hours)).sum();
        let of_shelves: f64 = self.assumed.together.iter().map(|together| together.per_hour * hours).sum();
        of_drives * stress + of_shelves
    }

    fn age(&self, drive: &Drive) -> Option<f64> {
        match *drive {
            Drive::Awaited => None,
            Drive::Whole { since } | Drive::Rebuilding { since, .. } => Some(self.now - since),
        }
    }

    /// The first of the events that are already certain.
    fn foreseen(&self, end: f64) -> (f64, Next) {
        let (mut at, mut next) = (end, Next::End);
        if let Some(arrival) = self.arrivals.first().filter(|arrival| **arrival < at) {
            (at, next) = (*arrival, Next::Arrival);
        }
        for (slot, drive) in self.drives.iter().enumerate() {
            if let Drive::Rebuilding { until, .. } = *drive
                && until < at
            {
                (at, next) = (until, Next::Rebuilt(slot));
            }
        }
        (at, next)
    }

    /// The event happens.
    pub(super) fn happen(&mut self, next: Next) {
        match next {
            Next::Fails(slot) => self.fail(slot),
            Next::Shelf(shelf) => self.fail_together(shelf),
            Next::Arrival => {
                self.arrivals.remove(0);
                self.spares += 1;
                self.use_spares();
            }
            Next::Rebuilt(slot) => {
                if let Drive::Rebuilding { since, .. } = self.drives[slot] {
                    self.drives[slot] = Drive::Whole { since };
                }
            }
            Next::End => {}
        }
    }

    fn fail_together(&mut self, shelf: usize) {
        for slot in &self.assumed.together[shelf].members {
            if self.drives[usize::from(*slot)] != Drive::Awaited {
                self.fail(usize::from(*slot));
            }
        }
    }

    /// A drive fails, and another is ordered.
    fn fail(&mut self, slot: usize) {
        self.drives[slot] = Drive::Awaited;
        self.arrivals.push(self.now + self.assumed.replacement);
        self.use_spares();
    }

    fn use_spares(&mut self) {
        for drive in self.drives.iter_mut().filter(|drive| **drive == Drive::Awaited) {
            if self.spares == 0 {
                break;
            }
            self.spares -= 1;
            *drive = Drive::Rebuilding { since: self.now, until: self.now + self.assumed.rebuild };
        }
    }
}
