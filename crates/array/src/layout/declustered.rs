//! Declustered parity: stripes are narrower than the array, so that a failed member's work falls
//! on all others (Holland and Gibson 1992). `docs/decisions/declustering.md` explains the choices.
//!
//! Members are the elements of a group. A *base* is a set of as many members as a stripe has units.
//! All of its translates, one for each element, are stripes: a *set* of as many stripes as there
//! are members. In a set each member holds each unit exactly once; so each is as many rows of all
//! members as a stripe has units. Over the sets of a *period*, any two members are together in the
//! same number of stripes, or nearly.
//!
//! A stripe may have *spare places* behind its units, on further members. A base has an element for
//! each of them too, so all of this is true of them as well.
//!
//! All of this is part of the format: a change moves the data of arrays that exist.

use std::sync::Arc;

use super::drawn::{self, Bound};
use super::field::Field;
use super::rule::{Facts, Placing, Room, Stripes};

/// Parity is declustered.
pub(super) const DECLUSTERED: Facts = Facts {
    stripes: Stripes::ManyDataUnits,
    room: Room::Units,
    least_placeable: 3,
    copies_are_far: false,
    placing: Placing::Declustered,
};

/// The number of stripes of so many `places` on `members` of `rows` units each: whole sets.
pub(super) fn stripes(members: u64, places: u64, rows: u64) -> u64 {
    rows / places * members
}

/// What a stripe consists of.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfStripe {
    /// Data units.
    pub(super) data: u64,
    /// Data units and check units.
    pub(super) units: u64,
    /// Units and spare places.
    pub(super) places: u64,
}

/// Where units are placed.
#[derive(Clone, Debug)]
pub(super) struct Declustered {
    members: usize,
    /// Units and spare places of a stripe.
    places: usize,
    group: Group,
    sets: Arc<[Set]>,
}

/// A base and its translates.
#[derive(Clone, Debug)]
struct Set {
    /// The member of each unit and spare place in the translate by zero.
    base: Vec<u8>,
    /// By stripe: by which element the base is translated.
    shifts: Vec<u8>,
    /// The inverse: by element, the stripe.
    turns: Vec<u8>,
}

impl Declustered {
    /// Stripes of such units and places over `members`, with no more of them in a failure domain
    /// than `bound` says.
    pub(super) fn new(members: u64, of_stripe: OfStripe, bound: Bound) -> Declustered {
        let members = members as usize;
        let (units, places) = (of_stripe.units as usize, of_stripe.places as usize);
        let steps = steps(members, of_stripe.data as usize);
        // (Products with elements of a field spread over domains as they like.)
        let (group, sets) = match Field::of(members).filter(|_| bound.domains == members) {
            Some(field) => of_field(&field, (units, places), &steps),
            None => {
                let set = |base| Set::new(base, steps.clone());
                (
                    Group { radix: members, digits: 1 },
                    drawn::bases(members, (units, places), bound).into_iter().map(set).collect(),
                )
            }
        };
        Declustered { members, places, group, sets }
    }

    /// The number of stripes after which units are placed on the same members again.
    pub(super) fn period(&self) -> u64 {
        (self.sets.len() * self.members) as u64
    }

    /// The member and row of `unit` of `stripe`; spare places are numbered on behind units. On each
    /// member, rows have the order of stripes.
    pub(super) fn locate(&self, stripe: u64, unit: u64) -> (u64, u64) {
        let (number, turn) = (stripe / self.members as u64, (stripe % self.members as u64) as usize);
        let set = self.set(number);
        let member = self.group.add(set.base[unit as usize].into(), set.shifts[turn].into());
        let before = self.turns_on(set, member).filter(|(other, _)| *other < turn).count();
        (member as u64, number * self.places as u64 + before as u64)
    }

    /// The stripe and unit at `row` of `member`: the inverse of [`Declustered::locate`].
    pub(super) fn occupant(&self, member: u64, row: u64) -> (u64, u64) {
        let (number, before) = (row / self.places as u64, (row % self.places as u64) as usize);
        let mut turns: Vec<(usize, usize)> = self.turns_on(self.set(number), member as usize).collect();
        let (_, (turn, unit), _) = turns.select_nth_unstable(before);
        (number * self.members as u64 + *turn as u64, *unit as u64)
    }

    /// The set with this number, counted over all periods.
    fn set(&self, number: u64) -> &Set {
        &self.sets[(number % self.sets.len() as u64) as usize]
    }

    /// For each unit and spare place, the stripe of `set` for which `member` holds it.
    fn turns_on(&self, set: &Set, member: usize) -> impl Iterator<Item = (usize, usize)> {
        let shift = move |start: &u8| self.group.subtract(member, usize::from(*start));
        set.base.iter().map(move |start| usize::from(set.turns[shift(start)])).zip(0..)
    }
}

impl Set {
    fn new(base: Vec<u8>, shifts: Vec<u8>) -> Set {
        let mut turns = vec![0; shifts.len()];
        (0..).zip(&shifts).for_each(|(turn, shift)| turns[usize::from(*shift)] = turn);
        Set { base, shifts, turns }
    }
}

/// The order in which a base is translated: in steps of the data units of a stripe, or a little
/// more, so that successive data units are on different members for as long as possible.
fn steps(members: usize, data: usize) -> Vec<u8> {
    let step = (data..).find(|step| gcd(*step, members) == 1).expect("a prime above them is coprime");
    (0..members).map(|turn| (turn * step % members) as u8).collect()
}

/// A base, multiplied by each element: then each difference of two elements appears equally often.
/// As a difference and its negative are those of the same two members, half of the multipliers are
/// enough where these two are not the same; but not from a unit to a spare place, which is another
/// way than back.
fn of_field(field: &Field, (units, places): (usize, usize), steps: &[u8]) -> (Group, Arc<[Set]>) {
    let half = field.radix() != 2 && units == places;
    let multipliers = if half { (field.size() - 1) / 2 } else { field.size() - 1 };
    // Of a prime number of members, neighbours: then members take data in turn. Elsewhere
    // neighbours may be a subgroup, and all stripes of a member in a set on the same few others.
    let is_prime = field.digits() == 1;
    let set = |power: usize| {
        let times = |element: usize| field.times_power(element, power) as u8;
        let base = (0..places).map(|unit| times(if is_prime { unit } else { field.element(unit) })).collect();
        Set::new(base, steps.iter().map(|step| times(usize::from(*step))).collect())
    };
    let group = Group { radix: field.radix(), digits: field.digits() };
    (group, (0..multipliers).map(set).collect())
}

/// Numbers below `radix ^ digits`, which are added digit by digit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) radix: usize,
    pub(super) digits: u32,
}

impl Group {
    pub(super) fn add(self, a: usize, b: usize) -> usize {
        self.by_digit(a, b, |a, b| a + b)
    }

    fn subtract(self, a: usize, b: usize) -> usize {
        self.by_digit(a, b, |a, b| a + self.radix - b)
    }

    fn by_digit(self, a: usize, b: usize, of: impl Fn(usize, usize) -> usize) -> usize {
        let scales = (0..self.digits).map(|digit| self.radix.pow(digit));
        scales.map(|scale| of(a / scale % self.radix, b / scale % self.radix) % self.radix * scale).sum()
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many stripes of a period each two members share: the least and the greatest number.
    fn shared(layout: &Declustered) -> (u64, u64) {
        shared_by(layout, |_, _| true)
    }

    /// The same of some pairs.
    fn shared_by(layout: &Declustered, counts: impl Fn(usize, usize) -> bool) -> (u64, u64) {
        let members = layout.members;
        let mut shared = vec![0; members * members];
        for stripe in 0..layout.period() {
            let of: Vec<u64> = (0..layout.places as u64).map(|unit| layout.locate(stripe, unit).0).collect();
            for one in &of {
                of.iter().for_each(|other| shared[*one as usize * members + *other as usize] += 1);
            }
        }
        let pairs = (0..members).flat_map(|one| (0..one).map(move |other| (one, other)));
        let pairs = pairs.filter(|(one, other)| counts(*one, *other));
        let counts: Vec<u64> = pairs.map(|(one, other)| shared[one * members + other]).collect();
        (*counts.iter().min().expect("pairs"), *counts.iter().max().expect("pairs"))
    }

    fn of(members: usize, width: usize) -> Declustered {
        with_spares(members, width, 0)
    }

    fn with_spares(members: usize, units: usize, spares: usize) -> Declustered {
        let of_stripe =
            OfStripe { data: units as u64 - 1, units: units as u64, places: (units + spares) as u64 };
        Declustered::new(members as u64, of_stripe, Bound { domains: members, most: 1 })
    }

    /// A change of this number means that arrays that exist are read wrongly.
    #[test]
    fn units_are_where_they_were_when_arrays_were_created() {
        let mut digest = 0u64;
        for (members, width) in [(5, 3), (9, 6), (12, 6), (16, 10), (24, 10), (25, 7), (60, 6), (63, 31)] {
            let layout = of(members, width);
            for stripe in 0..layout.period() + 1 {
                for unit in 0..width as u64 {
                    let (member, row) = layout.locate(stripe, unit);
                    digest = (digest ^ (row << 8 | member)).wrapping_mul(0x0100_0000_01b3).rotate_left(5);
                }
            }
        }
        assert_eq!(digest, 0x9744_f666_c4f4_51b6);
    }

    /// The same of failure domains and of spare places.
    #[test]
    fn units_and_spare_places_are_where_they_were_in_domains_too() {
        let digest = |layout: &Declustered| {
            let mut digest = 0u64;
            for stripe in 0..layout.period() + 1 {
                for place in 0..layout.places as u64 {
                    let (member, row) = layout.locate(stripe, place);
                    digest = (digest ^ (row << 8 | member)).wrapping_mul(0x0100_0000_01b3).rotate_left(5);
                }
            }
            digest
        };
        let in_domains = |members: u64, units: u64, places: u64, domains: usize, most: usize| {
            let of_stripe = OfStripe { data: units - most as u64, units, places };
            Declustered::new(members, of_stripe, Bound { domains, most })
        };
        let domains = [(12, 6, 6, 3, 2), (24, 10, 10, 6, 2), (24, 10, 11, 6, 2), (12, 5, 6, 3, 2)];
        let of_domains = domains.map(|(members, units, places, domains, most)| {
            digest(&in_domains(members, units, places, domains, most))
        });
        assert_eq!(
            of_domains,
            [1933805637674679083, 10714170486601811382, 16132987016441834913, 11066911536300568872]
        );
        let spares = [(5, 3), (8, 7), (9, 6), (12, 6), (24, 10), (25, 7), (60, 6)];
        assert_eq!(
            spares.map(|(members, units)| digest(&with_spares(members, units, 1))),
            [
                1574903821317797031,
                3545335998935916324,
                17313205989089658697,
                16760957602464181382,
                615429538277489320,
                12935742496445062241,
                2388457044664286697
            ]
        );
    }

    #[test]
    fn each_member_holds_each_unit_once_in_a_set() {
        for (members, width) in [(5, 3), (12, 6), (16, 10), (27, 8)] {
            let layout = of(members, width);
            for set in 0..layout.period() / members as u64 + 1 {
                let stripes = set * members as u64..(set + 1) * members as u64;
                for unit in 0..width as u64 {
                    let mut on: Vec<u64> =
                        stripes.clone().map(|stripe| layout.locate(stripe, unit).0).collect();
                    on.sort_unstable();
                    assert_eq!(on, (0..members as u64).collect::<Vec<u64>>());
                }
            }
        }
    }

    /// Holland and Gibson's sixth criterion, where the number of members is a prime.
    #[test]
    fn as_many_data_units_in_a_row_as_there_are_members_are_on_all_of_them() {
        for (members, width) in [(7, 4), (11, 6), (13, 4), (23, 10)] {
            let (layout, data) = (of(members, width), width as u64 - 1);
            for first in 0..layout.period() / members as u64 {
                // (Within a set; between sets there are fewer.)
                let from = first * members as u64 * data;
                let on = |number: u64| layout.locate(number / data, number % data).0;
                for start in from..from + (data - 1) * members as u64 {
                    let mut on: Vec<u64> = (start..start + members as u64).map(on).collect();
                    on.sort_unstable();
                    on.dedup();
                    assert_eq!(on.len(), members, "{members} members, width {width}, from {start}");
                }
            }
        }
    }

    /// While the stripes of one set are rebuilt, many members work.
    #[test]
    fn a_members_stripes_in_a_set_are_on_many_others() {
        for (members, width) in
            [(8, 4), (16, 4), (16, 8), (25, 5), (27, 9), (32, 8), (49, 7), (64, 8), (64, 16)]
        {
            let layout = &of(members, width);
            for set in 0..layout.period() / members as u64 {
                let stripes = set * members as u64..(set + 1) * members as u64;
                let slots = |stripe| (0..width as u64).map(move |unit| layout.locate(stripe, unit).0);
                let mut partners: Vec<u64> =
                    stripes.filter(|stripe| slots(*stripe).any(|slot| slot == 0)).flat_map(slots).collect();
                partners.sort_unstable();
                partners.dedup();
                // (Where minus is plus, two differences are one.)
                let pairs = width * (width - 1) / if members.is_multiple_of(2) { 2 } else { 1 };
                let most = (members - 1).min(pairs);
                assert!(
                    (partners.len() - 1) * 3 >= most * 2,
                    "{members}, {width}: {} of {most}",
                    partners.len() - 1
                );
            }
        }
    }

    #[test]
    fn where_members_are_a_power_of_a_prime_any_two_share_the_same_number_of_stripes() {
        for members in [4, 5, 7, 8, 9, 11, 13, 16, 17, 25, 27, 31, 32] {
            for width in [3, members / 2, members - 1].into_iter().filter(|width| *width >= 3) {
                let (least, most) = shared(&of(members, width));
                assert_eq!(least, most, "{members} members, width {width}");
            }
        }
    }

    #[test]
    fn no_stripe_has_more_units_in_a_domain_than_are_allowed() {
        for (members, width, domains, most) in
            [(12, 6, 3, 2), (12, 4, 4, 1), (16, 6, 4, 2), (24, 10, 6, 2), (25, 8, 5, 2), (60, 10, 6, 2)]
        {
            let bound = Bound { domains, most };
            let (units, data) = (width as u64, (width - most) as u64);
            let layout = Declustered::new(members as u64, OfStripe { data, units, places: units }, bound);
            for stripe in 0..layout.period() {
                let mut counts = vec![0; domains];
                (0..width as u64)
                    .for_each(|unit| counts[layout.locate(stripe, unit).0 as usize % domains] += 1);
                assert!(
                    counts.iter().all(|count| *count <= most),
                    "{members}, {width}, {domains}: {counts:?}"
                );
            }
            for within in [false, true] {
                let of_kind = |one: usize, other: usize| (one % domains == other % domains) == within;
                let (least, most) = shared_by(&layout, of_kind);
                assert!(most - least <= 1, "{members}, {width}, {domains}: {least} to {most}");
            }
        }
    }

    #[test]
    fn elsewhere_any_two_share_nearly_the_same_number_of_stripes() {
        for members in [6, 10, 12, 14, 15, 18, 20, 21, 22, 24, 26, 28, 30, 33, 36, 40, 48, 60, 63] {
            for width in [3, 4, 5, 8, 10, members / 2, members - 1] {
                if (3..members).contains(&width) {
                    let (least, most) = shared(&of(members, width));
                    let spread = (most - least) as f64 / least as f64;
                    assert!(spread <= 0.035, "{members} members, width {width}: {least} to {most}");
                }
            }
        }
    }

    /// For a member, how often each other holds a unit of its stripes, and a spare place of them:
    /// the least and the greatest number of each, over all pairs.
    fn work_of_a_move(layout: &Declustered, units: usize) -> [(u64, u64); 2] {
        let members = layout.members;
        let (mut reads, mut writes) = (vec![0; members * members], vec![0; members * members]);
        for stripe in 0..layout.period() {
            let on: Vec<u64> =
                (0..layout.places as u64).map(|place| layout.locate(stripe, place).0).collect();
            for lost in &on[..units] {
                let pair = |other: &u64| *lost as usize * members + *other as usize;
                on[..units].iter().for_each(|other| reads[pair(other)] += 1);
                on[units..].iter().for_each(|other| writes[pair(other)] += 1);
            }
        }
        [reads, writes].map(|counts| {
            let others = counts.iter().enumerate().filter(|(pair, _)| pair / members != pair % members);
            let counts = || others.clone().map(|(_, count)| *count);
            (counts().min().expect("pairs"), counts().max().expect("pairs"))
        })
    }

    #[test]
    fn in_a_rebuild_to_spare_places_all_members_read_and_write_the_same() {
        for (members, units) in [(7, 3), (8, 4), (8, 7), (9, 5), (9, 8), (16, 10), (25, 10), (27, 8)] {
            let [reads, writes] = work_of_a_move(&with_spares(members, units, 1), units);
            assert_eq!(reads.0, reads.1, "{members} members, width {units}: reads");
            assert_eq!(writes.0, writes.1, "{members} members, width {units}: writes");
        }
    }

    #[test]
    fn elsewhere_they_read_and_write_nearly_the_same() {
        for (members, units) in
            [(6, 3), (6, 5), (10, 4), (10, 9), (12, 6), (14, 8), (20, 10), (24, 10), (40, 8), (60, 10)]
        {
            let [reads, writes] = work_of_a_move(&with_spares(members, units, 1), units);
            let (least, most) = (reads.0 + writes.0, reads.1 + writes.1);
            let spread = (most - least) as f64 / least as f64;
            assert!(spread <= 0.02, "{members} members, width {units}: {reads:?}, {writes:?}");
        }
    }

    #[test]
    fn each_member_holds_each_spare_place_once_in_a_set() {
        let layout = with_spares(12, 6, 1);
        for set in 0..layout.period() / 12 {
            let mut on: Vec<u64> =
                (set * 12..(set + 1) * 12).map(|stripe| layout.locate(stripe, 6).0).collect();
            on.sort_unstable();
            assert_eq!(on, (0..12).collect::<Vec<u64>>());
        }
        for member in 0..12 {
            for row in 0..7 * 11 {
                let (stripe, place) = layout.occupant(member, row);
                assert_eq!(layout.locate(stripe, place), (member, row));
            }
        }
    }
}
