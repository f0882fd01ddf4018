//! What an array loses with a set of members: asked of its layout and its code, stripe by stripe.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parlour_array::Geometry;
use parlour_units::{Slot, Stripe, Unit};

/// The stripes that are looked at. A larger array has one at random in each of so many equal parts.
const SAMPLES: u64 = 1 << 16;

/// What is known of sets of missing slots is forgotten beyond this number, and of lacking units.
const MOST_KNOWN: usize = 1 << 16;

/// Slots whose content is missing, in order.
pub(super) type Missing = Vec<u16>;

/// The places of a stripe: of its units, and of the log that completes its check units.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Places {
    units: Vec<u16>,
    /// For each sublog, the slots of its copies.
    logs: Vec<Vec<u16>>,
}

/// What is lost with a set of members, as parts of all stripes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Loss {
    /// Data units that cannot be computed, per stripe.
    pub(super) units: f64,
    /// By slot, if sectors matter and no units are lost: what an unreadable sector on it costs.
    pub(super) beside: Vec<Beside>,
}

/// The cost of an unreadable sector on one slot, which may be anywhere on it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Beside {
    /// The probability that it costs data.
    pub(super) probability: f64,
    /// The mean number of data sectors that it costs.
    pub(super) sectors: f64,
}

/// The stripes of an array, and what they lose.
#[derive(Debug)]
pub(super) struct Exposure<'a> {
    geometry: &'a Geometry,
    /// Equal stripes are counted.
    stripes: Vec<(Places, f64)>,
    /// The units on each slot, per stripe.
    held: Vec<f64>,
    /// Whether unreadable sectors matter.
    sectors: bool,
    known: HashMap<Missing, Loss>,
    /// The data units of a stripe that cannot be computed, by the units that are lacking.
    decoded: HashMap<Missing, f64>,
}

impl<'a> Exposure<'a> {
    /// `sectors` says whether unreadable sectors matter.
    pub(super) fn of(geometry: &'a Geometry, sectors: bool, seed: u64) -> Exposure<'a> {
        let stripes = geometry.layout().stripes();
        let count = stripes.min(SAMPLES);
        let mut random = parlour_workload::random::Random::new(seed);
        let mut counted = BTreeMap::<Places, u64>::new();
        for part in 0..count {
            let from = u128::from(part) * u128::from(stripes) / u128::from(count);
            let to = u128::from(part + 1) * u128::from(stripes) / u128::from(count);
            let stripe = from as u64 + random.below((to - from) as u64);
            *counted.entry(Places::of(geometry, Stripe::new(stripe))).or_default() += 1;
        }
        let mut held = vec![0.0; usize::from(geometry.members())];
        let stripes: Vec<(Places, f64)> =
            counted.into_iter().map(|(places, times)| (places, times as f64 / count as f64)).collect();
        for (places, share) in &stripes {
            places.units.iter().for_each(|slot| held[usize::from(*slot)] += share);
        }
        Exposure { geometry, stripes, held, sectors, known: HashMap::new(), decoded: HashMap::new() }
    }

    /// What is lost while `missing` is.
    pub(super) fn loss(&mut self, missing: &[u16]) -> &Loss {
        if !self.known.contains_key(missing) {
            let loss = self.compute(missing);
            if self.known.len() >= MOST_KNOWN {
                self.known.clear();
            }
            self.known.insert(missing.to_vec(), loss);
        }
        &self.known[missing]
    }

    fn compute(&mut self, missing: &[u16]) -> Loss {
        let mut gone = vec![false; usize::from(self.geometry.members())];
        missing.iter().for_each(|slot| gone[usize::from(*slot)] = true);
        let mut loss = Loss::default();
        let tolerance = usize::from(self.geometry.fault_tolerance());
        if missing.len() < tolerance + usize::from(!self.sectors) {
            return loss;
        }
        let stripes = std::mem::take(&mut self.stripes);
        let hit = |(places, _): &&(Places, f64)| places.count(&gone) >= tolerance;
        let hit: Vec<&(Places, f64)> = stripes.iter().filter(hit).collect();
        loss.units = hit.iter().map(|(places, share)| share * self.lost(places, &gone)).sum();
        // (Beside units, sectors are little.)
        if self.sectors && loss.units == 0.0 {
            loss.beside.resize(gone.len(), Beside::default());
            for (places, share) in hit {
                self.add_sectors(&mut loss.beside, places, *share, &mut gone);
            }
        }
        self.stripes = stripes;
        loss
    }

    /// Adds what unreadable sectors of a stripe cost, which has lost no data so far.
    fn add_sectors(&mut self, beside: &mut [Beside], places: &Places, share: f64, gone: &mut [bool]) {
        for slot in places.left(gone) {
            gone[slot] = true;
            let sectors = self.lost(places, gone);
            gone[slot] = false;
            if sectors > 0.0 {
                beside[slot].probability += share / self.held[slot];
                beside[slot].sectors += share / self.held[slot] * sectors;
            }
        }
    }

    /// The data units of a stripe that cannot be computed.
    fn lost(&mut self, places: &Places, gone: &[bool]) -> f64 {
        let layout = self.geometry.layout();
        let is_gone = |slot: &u16| gone[usize::from(*slot)];
        // Without a sublog, the check units lack what it holds.
        let incomplete = places.logs.iter().any(|copies| copies.iter().all(is_gone));
        let units = layout.units().zip(&places.units);
        let lacks = units.filter(|(unit, slot)| is_gone(slot) || (incomplete && !layout.is_data(*unit)));
        let lacking: Missing = lacks.map(|(unit, _)| unit.get()).collect();
        if lacking.len() <= usize::from(self.geometry.fault_tolerance()) {
            return 0.0;
        }
        if let Some(lost) = self.decoded.get(&lacking) {
            return *lost;
        }
        let lacks = |unit: Unit| lacking.contains(&unit.get());
        let lost = layout
            .units()
            .filter(|unit| layout.is_data(*unit) && lacks(*unit) && !self.geometry.can_compute(*unit, lacks));
        let lost = lost.count() as f64;
        if self.decoded.len() >= MOST_KNOWN {
            self.decoded.clear();
        }
        self.decoded.insert(lacking, lost);
        lost
    }
}

impl Places {
    fn of(geometry: &Geometry, stripe: Stripe) -> Places {
        let layout = geometry.layout();
        let units = layout.units().map(|unit| layout.locate(stripe, unit).slot.get()).collect();
        let logs = layout.logs().map_or(Vec::new(), |regions| {
            let (region, _) = layout.region_of(stripe);
            let copies = |sublog| {
                let slots = (0..regions.log_copies())
                    .filter_map(|copy| layout.sublog_slot(region, sublog, copy).map(Slot::get));
                slots.collect::<Vec<u16>>()
            };
            let sublogs = regions.shape().sublogs;
            (0..sublogs).map(copies).collect::<BTreeSet<_>>().into_iter().collect()
        });
        Places { units, logs }
    }

    /// The slots that hold something of the stripe, each once.
    fn slots(&self) -> impl Iterator<Item = usize> {
        self.units.iter().chain(self.logs.iter().flatten()).map(|slot| usize::from(*slot))
    }

    /// How much of the stripe is gone: units and sublogs.
    fn count(&self, gone: &[bool]) -> usize {
        self.slots().filter(|slot| gone[*slot]).count()
    }

    /// The slots that hold units, and are not gone.
    fn left(&self, gone: &[bool]) -> Vec<usize> {
        let units = self.units.iter().map(|slot| usize::from(*slot));
        let mut left: Vec<usize> = units.filter(|slot| !gone[*slot]).collect();
        left.sort_unstable();
        left.dedup();
        left
    }
}
