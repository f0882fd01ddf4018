//! The time until data is lost (Stodolsky §7, figure 20).
//!
//! Disks fail independently, with exponential lifetimes. An array consists of parity groups, each
//! of which survives the failure of some of its disks. In mirroring, a group is a disk and its
//! copies; in RAID 4 and 5, floating parity and parity logging, all disks are one group. Times are
//! in hours, as in the paper; its tables are in years of [`HOURS_PER_YEAR`].

use std::collections::BTreeMap;

use crate::markov::{Chain, ChainError};

/// The hours of a year in figure 20: 365 days and a quarter.
pub const HOURS_PER_YEAR: f64 = 8_766.0;

/// The parity groups of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redundancy {
    groups: u32,
    members: u32,
    tolerance: u32,
}

/// The mean times of a disk, in hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetimes {
    /// `MTTF_disk`: the mean time until a disk fails; 300,000 in figure 20.
    pub failure: f64,
    /// `MTTR_disk`: the mean time in which a failed disk is rebuilt onto a spare; 1 in figure 20.
    pub repair: f64,
}

/// The spare disks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spares {
    /// There is always a spare for a failed disk (figure 20a).
    Pool,
    /// A limited number of spares, which are powered and fail as the other disks do (figure 20b has
    /// one, and 72 hours).
    Kept {
        /// The number of spares.
        spares: u32,
        /// The mean time, in hours, until a replacement for a failed disk arrives. Each one is
        /// ordered separately.
        replacement: f64,
    },
}

/// Why reliability cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ReliabilityError {
    /// There are no groups or disks.
    #[error("{groups} groups of {members} disks are no array; it needs one group of one disk at least")]
    Empty {
        /// Parity groups.
        groups: u32,
        /// Disks per group.
        members: u32,
    },
    /// The tolerance is not below the number of disks of a group.
    #[error(
        "a group of {members} disks cannot survive the failure of {tolerance}; one must be left that holds data"
    )]
    Tolerance {
        /// Disks of a group.
        members: u32,
        /// The number of failures to survive.
        tolerance: u32,
    },
    /// The disks do not form whole groups.
    #[error("{disks} disks are no whole number of groups of {copies} copies; add or take away disks")]
    Copies {
        /// The disks of the array.
        disks: u32,
        /// The copies of each datum.
        copies: u32,
    },
    /// A time is not positive and finite.
    #[error("{what} takes {hours} hours; it must be more than 0, and finite")]
    Time {
        /// The event.
        what: &'static str,
        /// Its time.
        hours: f64,
    },
    /// Fixed repair times of several disks at once are not memoryless.
    #[error(
        "with fixed repair times only arrays that survive one failure at most are modelled, not {0}; take exponential ones"
    )]
    FixedRepair(u32),
    /// The chain has too many states.
    #[error(
        "the chain of this array has more than {MOST_STATES} states; let fewer groups be degraded at once, or keep fewer spares"
    )]
    TooManyStates,
    /// From the chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// The most states; such a chain is solved in about a second.
const MOST_STATES: usize = 1_000;

impl Redundancy {
    /// `groups` of `members` disks each (`G` and `N` of §7). Each group survives the failure of
    /// `tolerance` of its disks.
    pub fn new(groups: u32, members: u32, tolerance: u32) -> Result<Redundancy, ReliabilityError> {
        if groups == 0 || members == 0 {
            return Err(ReliabilityError::Empty { groups, members });
        }
        if tolerance >= members {
            return Err(ReliabilityError::Tolerance { members, tolerance });
        }
        Ok(Redundancy { groups, members, tolerance })
    }

    /// RAID 0 and simple volumes: any failure loses data.
    pub fn nonredundant(disks: u32) -> Result<Redundancy, ReliabilityError> {
        Redundancy::new(1, disks, 0)
    }

    /// Mirroring (RAID 1, 0+1, 10, and with far copies) with 2 copies; or f-copy shadowing (§9)
    /// with more.
    pub fn mirrored(disks: u32, copies: u32) -> Result<Redundancy, ReliabilityError> {
        if copies == 0 || !disks.is_multiple_of(copies) {
            return Err(ReliabilityError::Copies { disks, copies });
        }
        Redundancy::new(disks / copies, copies, copies - 1)
    }

    /// One group with check units: RAID 4, 5 and 6, floating data and parity, parity logging, and
    /// their extensions to more failures (§9). A log is on other disks than the data and parity it
    /// is for, so it fails as a part of the group.
    pub fn checked(disks: u32, tolerance: u32) -> Result<Redundancy, ReliabilityError> {
        Redundancy::new(1, disks, tolerance)
    }

    /// All disks.
    pub fn disks(&self) -> f64 {
        f64::from(self.groups) * f64::from(self.members)
    }
}

impl Lifetimes {
    fn check(self) -> Result<Lifetimes, ReliabilityError> {
        time("a disk's life", self.failure)?;
        time("a disk's repair", self.repair)?;
        Ok(self)
    }
}

fn time(what: &'static str, hours: f64) -> Result<f64, ReliabilityError> {
    (hours > 0.0 && hours.is_finite()).then_some(hours).ok_or(ReliabilityError::Time { what, hours })
}

/// The mean time to data loss, in hours, with an unlimited pool of spares and exponential repair
/// times.
///
/// For arrays that survive one failure this is §7's formula; for more failures it is an extension
/// in which all failed disks of a group are repaired at the same time. The result for one group is
/// exact. Several groups are assumed to lose data independently and with exponential times, which
/// is practically exact if repair is much faster than failure.
pub fn mttdl(redundancy: Redundancy, lifetimes: Lifetimes) -> Result<f64, ReliabilityError> {
    let Lifetimes { failure, repair } = lifetimes.check()?;
    let mut sum = 0.0;
    // The mean time from one failure to the next: until some event, plus, if it is a repair, the
    // time to fail again.
    let mut step = 0.0;
    for failed in 0..=redundancy.tolerance {
        step = failure / f64::from(redundancy.members - failed) * (1.0 + f64::from(failed) / repair * step);
        sum += step;
    }
    Ok(sum / f64::from(redundancy.groups))
}

/// The mean time to data loss, in hours, with an unlimited pool of spares and the fixed repair time
/// `lifetimes.repair`. For arrays that survive at most one failure.
pub fn mttdl_with_fixed_repair(
    redundancy: Redundancy,
    lifetimes: Lifetimes,
) -> Result<f64, ReliabilityError> {
    let Lifetimes { failure, repair } = lifetimes.check()?;
    let first = failure / f64::from(redundancy.members);
    let groups = f64::from(redundancy.groups);
    match redundancy.tolerance {
        0 => Ok(first / groups),
        1 => {
            let second = failure / f64::from(redundancy.members - 1);
            let lost = -(-repair / second).exp_m1();
            Ok((first / lost + second) / groups)
        }
        tolerance => Err(ReliabilityError::FixedRepair(tolerance)),
    }
}

/// `R(t)`: the probability that no data is lost within a time, from the mean time to data loss in
/// the same unit (§7).
pub fn survival(time: f64, mttdl: f64) -> f64 {
    (-time / mttdl).exp()
}

/// An array as a Markov chain: disks, spares, and orders of replacements.
///
/// A failed disk is rebuilt onto a spare as soon as there is one, the groups with the most failures
/// first. For each failed disk or spare a replacement is ordered, which becomes a spare. A spare
/// may fail while a disk is being rebuilt onto it.
#[derive(Clone, Debug)]
pub struct SparedArray {
    chain: Chain,
}

/// The number of failed disks of each degraded group, in decreasing order; and the number of good
/// spares, if they are limited.
type State = (Vec<u32>, u32);

impl SparedArray {
    /// At most `degraded_at_once` groups are degraded at a time: failures in others during that
    /// time are ignored. With 1 the result is within 0.02% of figure 20(b), for which the paper
    /// names no model. With at least the number of groups, nothing is ignored.
    pub fn new(
        redundancy: Redundancy,
        lifetimes: Lifetimes,
        spares: Spares,
        degraded_at_once: u32,
    ) -> Result<SparedArray, ReliabilityError> {
        let lifetimes = lifetimes.check()?;
        if let Spares::Kept { replacement, .. } = spares {
            time("a disk's replacement", replacement)?;
        }
        let groups = degraded_at_once.clamp(1, redundancy.groups) as usize;
        let rules = Rules { redundancy, lifetimes, spares, groups };
        Ok(SparedArray { chain: rules.chain()? })
    }

    /// The mean time, in hours, until data loss, starting with all disks and spares good.
    pub fn mttdl(&self) -> Result<f64, ReliabilityError> {
        Ok(self.chain.mean_time(0)?)
    }

    /// The probability of data loss within `hours`, starting with all disks and spares good. It is
    /// exact even if it is small.
    pub fn loss(&self, hours: f64) -> Result<f64, ReliabilityError> {
        Ok(self.chain.probabilities(0, hours)?.last().copied().unwrap_or(0.0))
    }

    /// `R(t)`: the probability of no data loss within `hours`.
    pub fn survival(&self, hours: f64) -> Result<f64, ReliabilityError> {
        Ok(1.0 - self.loss(hours)?)
    }
}

/// The transitions of the chain and their rates.
struct Rules {
    redundancy: Redundancy,
    lifetimes: Lifetimes,
    spares: Spares,
    groups: usize,
}

impl Rules {
    /// The chain of all states that can be reached from the state without failures, which is the
    /// first.
    fn chain(&self) -> Result<Chain, ReliabilityError> {
        let whole = (Vec::new(), self.kept());
        let mut numbers = BTreeMap::from([(whole.clone(), 0)]);
        let mut states = vec![whole];
        let mut moves = Vec::new();
        let mut next = 0;
        while next < states.len() {
            for (to, rate) in self.moves(&states[next]) {
                let to = to.map(|state| {
                    *numbers.entry(state).or_insert_with_key(|state| {
                        states.push(state.clone());
                        states.len() - 1
                    })
                });
                moves.push((next, to, rate));
            }
            if states.len() > MOST_STATES {
                return Err(ReliabilityError::TooManyStates);
            }
            next += 1;
        }
        let mut chain = Chain::new(states.len());
        for (from, to, rate) in moves {
            match to {
                Some(to) => chain.go(from, to, rate)?,
                None => chain.end(from, rate)?,
            }
        }
        Ok(chain)
    }

    fn kept(&self) -> u32 {
        match self.spares {
            Spares::Pool => 0,
            Spares::Kept { spares, .. } => spares,
        }
    }

    /// The transitions from a state, and their rates; none as the target is data loss.
    fn moves(&self, state: &State) -> Vec<(Option<State>, f64)> {
        let mut moves = self.failures(state);
        match self.spares {
            Spares::Pool => moves.extend(self.rebuilds(state, u32::MAX, 0)),
            Spares::Kept { spares, replacement } => {
                let (failed, good) = state;
                moves.extend(self.rebuilds(state, *good, 1));
                if *good > 0 {
                    moves.push((Some((failed.clone(), good - 1)), f64::from(*good) / self.lifetimes.failure));
                }
                if *good < spares {
                    let missing = spares - good + failed.iter().sum::<u32>();
                    moves.push((Some((failed.clone(), good + 1)), f64::from(missing) / replacement));
                }
            }
        }
        moves
    }

    fn failures(&self, (failed, good): &State) -> Vec<(Option<State>, f64)> {
        let Redundancy { groups, members, tolerance } = self.redundancy;
        let one_of = |disks: f64| disks / self.lifetimes.failure;
        let mut moves = Vec::new();
        if failed.len() < self.groups {
            let whole = f64::from(groups) - failed.len() as f64;
            moves.push((self.with(failed, None, *good), one_of(whole * f64::from(members))));
        }
        for (group, gone) in failed.iter().enumerate() {
            let state = if *gone < tolerance { self.with(failed, Some(group), *good) } else { None };
            moves.push((state, one_of(f64::from(members - gone))));
        }
        moves
    }

    /// The state after one more failure, in a group that is degraded already or in another.
    fn with(&self, failed: &[u32], group: Option<usize>, good: u32) -> Option<State> {
        let mut failed = failed.to_vec();
        match group {
            Some(group) => failed[group] += 1,
            None if self.redundancy.tolerance == 0 => return None,
            None => failed.push(1),
        }
        failed.sort_unstable_by(|one, other| other.cmp(one));
        Some((failed, good))
    }

    /// The rebuilds onto good spares, as long as there are failed disks. A rebuild uses up its
    /// spare.
    fn rebuilds(&self, (failed, good): &State, mut spares: u32, used: u32) -> Vec<(Option<State>, f64)> {
        let mut moves = Vec::new();
        for (group, gone) in failed.iter().enumerate() {
            let rebuilt = (*gone).min(spares);
            spares -= rebuilt;
            if rebuilt > 0 {
                let mut failed = failed.clone();
                failed[group] -= 1;
                failed.sort_unstable_by(|one, other| other.cmp(one));
                failed.retain(|gone| *gone > 0);
                moves.push((Some((failed, good - used)), f64::from(rebuilt) / self.lifetimes.repair));
            }
        }
        moves
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::draws::uniform;

    /// Figure 20.
    const LIGHTNING: Lifetimes = Lifetimes { failure: 300_000.0, repair: 1.0 };
    const ONE_SPARE: Spares = Spares::Kept { spares: 1, replacement: 72.0 };

    fn mirroring() -> Redundancy {
        Redundancy::mirrored(22, 2).unwrap()
    }

    fn parity_logging() -> Redundancy {
        Redundancy::checked(22, 1).unwrap()
    }

    fn near(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() <= relative, "{found} is not {expected}");
    }

    fn percent(share: f64, places: usize) -> String {
        format!("{:.places$}", 100.0 * share)
    }

    /// st.mttdl.mirror, st.mttdl.pl, st.mttdl.nr: the figure truncates to whole years.
    #[test]
    fn figure_20a_follows_from_the_formula() {
        let years = |redundancy| mttdl(redundancy, LIGHTNING).unwrap() / HOURS_PER_YEAR;
        assert_eq!(years(mirroring()).floor(), 466_683.0);
        assert_eq!(years(parity_logging()).floor(), 22_226.0);
        assert_eq!(mttdl(Redundancy::nonredundant(22).unwrap(), LIGHTNING).unwrap().floor(), 13_636.0);
    }

    /// st.life
    #[test]
    fn a_disk_lives_more_than_34_years() {
        let years = LIGHTNING.failure / HOURS_PER_YEAR;
        assert!(years > 34.0 && years < 35.0);
    }

    /// st.rela.*, st.relb.*, st.rel.nr.*
    #[test]
    fn figure_20s_reliabilities_follow_from_its_means() {
        for (mttdl, five, ten) in [
            (466_683.0, "99.999", "99.998"),
            (22_226.0, "99.978", "99.955"),
            (389_688.0, "99.999", "99.997"),
            (18_568.4, "99.973", "99.946"),
        ] {
            assert_eq!(
                (percent(survival(5.0, mttdl), 3).as_str(), percent(survival(10.0, mttdl), 3).as_str()),
                (five, ten)
            );
        }
        let nonredundant = mttdl(Redundancy::nonredundant(22).unwrap(), LIGHTNING).unwrap() / HOURS_PER_YEAR;
        assert_eq!(percent(survival(5.0, nonredundant), 0), "4");
        assert!(survival(10.0, nonredundant) < 0.02);
    }

    /// st.mttdl1.*: the paper names no model, so the digits cannot be reproduced; the errata state
    /// an agreement of 0.2%.
    #[test]
    fn figure_20b_follows_from_a_spare_that_can_fail() {
        let years = |redundancy| {
            SparedArray::new(redundancy, LIGHTNING, ONE_SPARE, 1).unwrap().mttdl().unwrap() / HOURS_PER_YEAR
        };
        near(years(mirroring()), 389_688.0, 2e-4);
        near(years(parity_logging()), 18_568.4, 3e-4);
    }

    /// The same by hand: with or without a failed disk, with or without a spare. The linear
    /// equations of the four means are solved by elimination.
    #[test]
    fn a_single_spare_is_a_chain_of_four_states() {
        let (failure, repair, replacement) = (1.0 / 300_000.0, 1.0, 1.0 / 72.0);
        for (groups, members) in [(11.0, 2.0), (1.0, 22.0)] {
            let (first, second) = (groups * members * failure, (members - 1.0) * failure);
            // whole = 1/out + (first·degraded + failure·bare)/out, and so on; each is substituted
            // into the others until only `whole` is left.
            let out =
                [first + failure, second + repair + failure, first + replacement, second + 2.0 * replacement];
            let mut means = [0.0; 4];
            // Gauss-Seidel iteration would take 10⁹ rounds. So the two fast states are solved
            // exactly, and the rest in two unknowns: degraded = a0 + a1·bare, stranded = b0 +
            // b1·bare, by substitution.
            let loop_share = failure * 2.0 * replacement / (out[1] * out[3]);
            let a0 = (1.0 / out[1] + failure / out[1] / out[3]) / (1.0 - loop_share);
            let a1 = repair / out[1] / (1.0 - loop_share);
            let (b0, b1) = (1.0 / out[3] + 2.0 * replacement / out[3] * a0, 2.0 * replacement / out[3] * a1);
            // bare·out2 = 1 + first·stranded + replacement·whole; whole·out0 = 1 + first·degraded +
            // failure·bare
            let (c0, c1) = ((1.0 + first * b0) / (out[2] - first * b1), replacement / (out[2] - first * b1));
            means[0] = (1.0 + first * (a0 + a1 * c0) + failure * c0) / (out[0] - (first * a1 + failure) * c1);
            let redundancy = Redundancy::new(groups as u32, members as u32, 1).unwrap();
            let chain = SparedArray::new(redundancy, LIGHTNING, ONE_SPARE, 1).unwrap();
            near(chain.mttdl().unwrap(), means[0], 1e-8);
        }
    }

    #[test]
    fn the_formula_is_the_chain_of_one_group() {
        for tolerance in 0..=3 {
            let redundancy = Redundancy::checked(22, tolerance).unwrap();
            let chain = SparedArray::new(redundancy, LIGHTNING, Spares::Pool, 1).unwrap();
            near(chain.mttdl().unwrap(), mttdl(redundancy, LIGHTNING).unwrap(), 1e-13);
        }
    }

    #[test]
    fn the_formula_of_several_groups_is_nearly_the_chain_of_all() {
        for (copies, off) in [(2, 1e-4), (3, 1e-4)] {
            let redundancy = Redundancy::mirrored(24, copies).unwrap();
            let chain = SparedArray::new(redundancy, LIGHTNING, Spares::Pool, 12).unwrap();
            near(chain.mttdl().unwrap(), mttdl(redundancy, LIGHTNING).unwrap(), off);
        }
    }

    /// §7: `((2N − 1)·MTTF·MTTR + MTTF²) / (G·N·(N − 1)·MTTR)`.
    #[test]
    fn the_formula_is_the_printed_one() {
        for (groups, members, lifetimes) in
            [(1, 22, LIGHTNING), (7, 5, Lifetimes { failure: 10.0, repair: 3.0 })]
        {
            let Lifetimes { failure, repair } = lifetimes;
            let (g, n) = (f64::from(groups), f64::from(members));
            let printed =
                ((2.0 * n - 1.0) * failure * repair + failure * failure) / (g * n * (n - 1.0) * repair);
            near(mttdl(Redundancy::new(groups, members, 1).unwrap(), lifetimes).unwrap(), printed, 1e-13);
        }
    }

    /// Random lifetimes, from a fixed seed.
    #[test]
    fn fixed_repair_times_lose_data_as_drawn_lives_do() {
        let redundancy = Redundancy::checked(4, 1).unwrap();
        let lifetimes = Lifetimes { failure: 100.0, repair: 12.0 };
        let mut draw = uniform();
        let mut exponential = |mean: f64| -mean * draw().ln();
        let lives = 100_000;
        let mut sum = 0.0;
        for _ in 0..lives {
            loop {
                sum += exponential(100.0 / 4.0);
                let second = exponential(100.0 / 3.0);
                sum += second.min(12.0);
                if second < 12.0 {
                    break;
                }
            }
        }
        near(mttdl_with_fixed_repair(redundancy, lifetimes).unwrap(), sum / f64::from(lives), 0.01);
    }

    #[test]
    fn fixed_and_exponential_repairs_differ_little_if_they_are_fast() {
        near(
            mttdl_with_fixed_repair(mirroring(), LIGHTNING).unwrap(),
            mttdl(mirroring(), LIGHTNING).unwrap(),
            1e-5,
        );
        assert_eq!(
            mttdl_with_fixed_repair(Redundancy::checked(9, 2).unwrap(), LIGHTNING),
            Err(ReliabilityError::FixedRepair(2))
        );
    }

    #[test]
    fn losses_come_exponentially_where_repair_is_fast() {
        let chain = SparedArray::new(parity_logging(), LIGHTNING, Spares::Pool, 1).unwrap();
        let years = 10.0 * HOURS_PER_YEAR;
        near(chain.loss(years).unwrap(), -(-years / chain.mttdl().unwrap()).exp_m1(), 1e-4);
        near(chain.survival(years).unwrap(), survival(years, chain.mttdl().unwrap()), 1e-7);
    }

    #[test]
    fn each_spare_and_each_failure_survived_helps() {
        let years = |tolerance, spares| {
            let redundancy = Redundancy::checked(22, tolerance).unwrap();
            SparedArray::new(redundancy, LIGHTNING, spares, 1).unwrap().mttdl().unwrap()
        };
        for tolerance in 1..=3 {
            let mut before = 0.0;
            for spares in 0..4 {
                let now = years(tolerance, Spares::Kept { spares, replacement: 72.0 });
                assert!(now > before, "{tolerance} {spares}: {before} {now}");
                before = now;
            }
            assert!(years(tolerance, Spares::Pool) > before);
            assert!(years(tolerance, Spares::Pool) > 100.0 * years(tolerance - 1, Spares::Pool));
        }
    }

    #[test]
    fn spares_that_are_replaced_at_once_are_a_pool() {
        let spares = Spares::Kept { spares: 3, replacement: 1e-6 };
        let kept = SparedArray::new(mirroring(), LIGHTNING, spares, 2).unwrap().mttdl().unwrap();
        let pool = SparedArray::new(mirroring(), LIGHTNING, Spares::Pool, 2).unwrap().mttdl().unwrap();
        near(kept, pool, 1e-4);
    }

    #[test]
    fn what_is_no_array_is_told() {
        assert!(matches!(Redundancy::new(0, 4, 1), Err(ReliabilityError::Empty { .. })));
        assert!(matches!(Redundancy::checked(3, 3), Err(ReliabilityError::Tolerance { .. })));
        assert!(matches!(Redundancy::mirrored(5, 2), Err(ReliabilityError::Copies { .. })));
        assert!(matches!(Redundancy::mirrored(5, 0), Err(ReliabilityError::Copies { .. })));
        let never = Lifetimes { failure: 0.0, repair: 1.0 };
        assert!(matches!(mttdl(mirroring(), never), Err(ReliabilityError::Time { .. })));
        let large = Redundancy::mirrored(4_000, 4).unwrap();
        assert_eq!(
            SparedArray::new(large, LIGHTNING, ONE_SPARE, 1_000).unwrap_err(),
            ReliabilityError::TooManyStates
        );
    }

    proptest! {
        #[test]
        fn data_is_safer_where_disks_live_longer_and_repair_is_faster(
            members in 2_u32..40, groups in 1_u32..20, tolerance in 1_u32..4, failure in 1e3..1e6, repair in 0.1..100.0,
        ) {
            let redundancy = Redundancy::new(groups, members + tolerance, tolerance).unwrap();
            let time = |redundancy, failure, repair| mttdl(redundancy, Lifetimes { failure, repair }).unwrap();
            let base = time(redundancy, failure, repair);
            prop_assert!(time(redundancy, failure * 1.02, repair) > base);
            prop_assert!(time(redundancy, failure, repair * 1.02) < base);
            let less = Redundancy::new(groups, members + tolerance, tolerance - 1).unwrap();
            prop_assert!(time(less, failure, repair) < base);
        }
    }
}
