//! Bases of declustered stripes for numbers of members that have no finite field: drawn, and then
//! mended until each difference of two members appears nearly equally often. The same for failure
//! domains: then no base has more members of a domain than are allowed.
//!
//! All numbers here are part of the format.

/// How many exchanges are tried for each unit of each base, at most.
const TRIES: usize = 200;

/// Failure domains: numbers belong to them in turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) domains: usize,
    /// The greatest number of elements of a base in one domain.
    pub(super) most: usize,
}

impl Bound {
    fn domain(self, element: usize) -> usize {
        element % self.domains
    }

    /// Whether a base with these elements may have one more.
    fn allows(self, mut base: impl Iterator<Item = usize>, element: usize) -> bool {
        let beside = base.by_ref().filter(|other| self.domain(*other) == self.domain(element));
        beside.count() < self.most
    }
}

/// Bases, each of `places` of the numbers below `members`, which are added modulo `members`. The
/// first `units` of a base are those of units, the others those of spare places.
///
/// There is one base less than members, so that each difference can appear equally often; or a few
/// times as many where so many cannot be mended.
pub(super) fn bases(members: usize, (units, places): (usize, usize), bound: Bound) -> Vec<Vec<u8>> {
    let mut numbers = Numbers((members * 64 + places) as u64);
    let wanted = Wanted { members, units, places, bound };
    let mut drawn = Drawn::mended(wanted, members - 1, &mut numbers);
    let times: &[usize] = if units == places { &[2] } else { &[2, 4] };
    for times in times {
        if !drawn.is_even() {
            drawn = Drawn::mended(wanted, times * (members - 1), &mut numbers);
        }
    }
    let base = |order: &Vec<usize>| order[..places].iter().map(|element| *element as u8).collect();
    drawn.orders.iter().map(base).collect()
}

/// What bases are to be.
#[derive(Clone, Copy)]
struct Wanted {
    members: usize,
    units: usize,
    places: usize,
    bound: Bound,
}

struct Drawn {
    wanted: Wanted,
    /// By base: its elements, then all others.
    orders: Vec<Vec<usize>>,
    /// By difference but zero: how many two elements of units have it.
    counts: Vec<i64>,
    /// The same from an element of a unit to one of a spare place.
    to_spare: Vec<i64>,
}

impl Drawn {
    fn new(wanted: Wanted, bases: usize, numbers: &mut Numbers) -> Drawn {
        let Wanted { members, places, bound, .. } = wanted;
        let order = |_| with_base(numbers.shuffled(members), places, bound);
        let orders = (0..bases).map(order).collect();
        let (counts, to_spare) = (vec![0; members], vec![0; members]);
        let mut drawn = Drawn { wanted, orders, counts, to_spare };
        for base in 0..bases {
            for place in 0..places {
                drawn.count(base, place, 0..place, 1);
            }
        }
        drawn
    }

    /// Draws so many bases, and exchanges elements for as long as it helps.
    fn mended(wanted: Wanted, bases: usize, numbers: &mut Numbers) -> Drawn {
        let mut drawn = Drawn::new(wanted, bases, numbers);
        for _ in 0..TRIES * wanted.places * bases {
            if drawn.is_even() {
                break;
            }
            drawn.try_exchange(numbers);
        }
        drawn
    }

    /// Counts the differences between the element at `place` of a base and those at `others`.
    fn count(&mut self, base: usize, place: usize, others: impl Iterator<Item = usize>, by: i64) {
        let (order, Wanted { members, units, .. }) = (&self.orders[base], self.wanted);
        for other in others.filter(|other| *other != place) {
            let difference = (order[place] + members - order[other]) % members;
            match (place < units, other < units) {
                (true, true) => {
                    self.counts[difference] += by;
                    self.counts[members - difference] += by;
                }
                (false, true) => self.to_spare[difference] += by,
                (true, false) => self.to_spare[members - difference] += by,
                (false, false) => {}
            }
        }
    }

    /// Whether each difference appears as often as any other, but for one part in 64. (Members of
    /// one domain have to be together less often than others.)
    fn is_even(&self) -> bool {
        let Wanted { members, bound, .. } = self.wanted;
        let range = |counts: &[i64], within: bool| {
            let of_kind = |difference: &usize| (bound.domain(*difference) == 0) == within;
            let counts = || (1..members).filter(of_kind).map(|difference| counts[difference]);
            (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
        };
        [false, true].into_iter().all(|within| {
            let (least, most) = range(&self.counts, within);
            // What is written to spare places is a small part of what a move does.
            let (least_written, most_written) = range(&self.to_spare, within);
            let part = (least + least_written) / 128;
            most - least <= least / 64 && most_written - least_written <= part.max(1)
        })
    }

    /// The sum of squares: the less, the more even are the counts, of which the sum is fixed.
    fn unevenness(&self) -> i64 {
        self.counts.iter().chain(&self.to_spare).map(|count| count * count).sum()
    }

    /// Exchanges an element of a base for another number, or that of a unit for that of a spare
    /// place, unless the counts get less even.
    fn try_exchange(&mut self, numbers: &mut Numbers) {
        let Wanted { members, units, places, bound } = self.wanted;
        let base = numbers.below(self.orders.len());
        let place = numbers.below(places);
        let first = if place < units { units } else { places };
        if first == members {
            return;
        }
        let other = first + numbers.below(members - first);
        let order = &self.orders[base];
        let left = order[..places].iter().copied().filter(|element| *element != order[place]);
        if other >= places && !bound.allows(left, order[other]) {
            return;
        }
        let before = self.unevenness();
        self.exchange(base, place, other);
        if self.unevenness() > before {
            self.exchange(base, place, other);
        }
    }

    fn exchange(&mut self, base: usize, place: usize, other: usize) {
        self.count_both(base, place, other, -1);
        self.orders[base].swap(place, other);
        self.count_both(base, place, other, 1);
    }

    /// Counts all differences to `place`, and to `other` if it is a place too.
    fn count_both(&mut self, base: usize, place: usize, other: usize, by: i64) {
        let places = self.wanted.places;
        self.count(base, place, 0..places, by);
        if other < places {
            self.count(base, other, (0..places).filter(|between| *between != place), by);
        }
    }
}

/// The same elements in another order: first `width` of them that make a base, as far forward as
/// they are, then all others.
fn with_base(order: Vec<usize>, width: usize, bound: Bound) -> Vec<usize> {
    let (mut base, mut others) = (Vec::new(), Vec::new());
    for element in order {
        let fits = base.len() < width && bound.allows(base.iter().copied(), element);
        if fits { base.push(element) } else { others.push(element) }
    }
    assert_eq!(base.len(), width, "domains with room for so many units");
    base.extend(others);
    base
}

/// Numbers that are drawn, always the same (Steele, Lea and Flood 2014: SplitMix).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (((self.next() >> 32) * end as u64) >> 32) as usize
    }

    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        (1..count).rev().for_each(|last| order.swap(last, self.below(last + 1)));
        order
    }
}
