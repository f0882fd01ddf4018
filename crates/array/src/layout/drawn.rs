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

/// Bases, each of `width` of the numbers below `members`, which are added modulo `members`.
///
/// There is one base less than members, so that each difference can appear equally often; or twice
/// as many where so many cannot be mended.
pub(super) fn bases(members: usize, width: usize, bound: Bound) -> Vec<Vec<u8>> {
    let mut numbers = Numbers((members * 64 + width) as u64);
    let once = Drawn::mended((members, width, bound), members - 1, &mut numbers);
    let drawn = match once.is_even() {
        true => once,
        false => Drawn::mended((members, width, bound), 2 * (members - 1), &mut numbers),
    };
    let base = |order: &Vec<usize>| order[..width].iter().map(|element| *element as u8).collect();
    drawn.orders.iter().map(base).collect()
}

struct Drawn {
    members: usize,
    width: usize,
    bound: Bound,
    /// By base: its elements, then all others.
    orders: Vec<Vec<usize>>,
    /// By difference but zero: how many two elements of a base have it.
    counts: Vec<i64>,
}

impl Drawn {
    fn new((members, width, bound): (usize, usize, Bound), bases: usize, numbers: &mut Numbers) -> Drawn {
        let order = |_| with_base(numbers.shuffled(members), width, bound);
        let orders = (0..bases).map(order).collect();
        let mut drawn = Drawn { members, width, bound, orders, counts: vec![0; members] };
        for base in 0..bases {
            for place in 0..width {
                drawn.count(base, place, 0..place, 1);
            }
        }
        drawn
    }

    /// Draws so many bases, and exchanges elements for as long as it helps.
    fn mended((members, width, bound): (usize, usize, Bound), bases: usize, numbers: &mut Numbers) -> Drawn {
        let mut drawn = Drawn::new((members, width, bound), bases, numbers);
        for _ in 0..TRIES * width * bases {
            if drawn.is_even() {
                break;
            }
            drawn.try_exchange(numbers);
        }
        drawn
    }

    /// Counts the differences between the element at `place` of a base and those at `others`.
    fn count(&mut self, base: usize, place: usize, others: std::ops::Range<usize>, by: i64) {
        let order = &self.orders[base];
        for other in others.filter(|other| *other != place) {
            let difference = (order[place] + self.members - order[other]) % self.members;
            self.counts[difference] += by;
            self.counts[self.members - difference] += by;
        }
    }

    /// Whether each difference appears as often as any other, but for one part in 64. (Members of
    /// one domain have to be together less often than others.)
    fn is_even(&self) -> bool {
        let even = |within: bool| {
            let of_kind = |difference: &usize| (self.bound.domain(*difference) == 0) == within;
            let counts = || (1..self.members).filter(of_kind).map(|difference| self.counts[difference]);
            let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
            most - least <= least / 64
        };
        even(false) && even(true)
    }

    /// The sum of squares: the less, the more even are the counts, of which the sum is fixed.
    fn unevenness(&self) -> i64 {
        self.counts.iter().map(|count| count * count).sum()
    }

    /// Exchanges an element of a base for another number, unless the counts get less even.
    fn try_exchange(&mut self, numbers: &mut Numbers) {
        let (members, width) = (self.members, self.width);
        let base = numbers.below(self.orders.len());
        let (place, other) = (numbers.below(width), width + numbers.below(members - width));
        let order = &self.orders[base];
        let left = order[..width].iter().copied().filter(|element| *element != order[place]);
        if !self.bound.allows(left, order[other]) {
            return;
        }
        let before = self.unevenness();
        self.exchange(base, place, other);
        if self.unevenness() > before {
            self.exchange(base, place, other);
        }
    }

    fn exchange(&mut self, base: usize, place: usize, other: usize) {
        self.count(base, place, 0..self.width, -1);
        self.orders[base].swap(place, other);
        self.count(base, place, 0..self.width, 1);
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
