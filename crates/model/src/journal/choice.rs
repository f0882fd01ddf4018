//! The disks that take an entry: those with the fewest accesses, and among equals those whose heads
//! are nearest.
//!
//! The number of accesses at a disk is a birth and death process. An access that is not an entry
//! goes to any disk; an entry goes to a disk as often as that is among those with the fewest, which
//! depends on the distribution that is looked for. So where many accesses are entries, the numbers
//! are nearly equal.
//!
//! In a birth and death process both come by chance. Accesses that all take nearly the same time
//! end by chance only as far as that varies: with the coefficient of variation c, a queue is moved
//! by chance (1 + c²) / 2 times as much (as in Kingman's formula), and what draws it to the others
//! has that much more effect. An entry counts as much as its time.

/// What an entry finds at the disks that it goes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// The mean number of accesses at the last of them.
    pub ahead: f64,
    /// The probability that it has any.
    pub busy: f64,
    /// The mean number of disks among which the distance decides.
    pub equal: f64,
}

/// The disks among which entries choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Their number.
    pub disks: u32,
    /// The number of them that an entry goes to.
    pub copies: u32,
    /// The mean number of accesses at each.
    pub queue: f64,
    /// The fraction of the accesses' time that is entries'.
    pub entries: f64,
    /// The coefficient of variation of an access's time.
    pub variation: f64,
}

/// The rounds in which the distribution is found.
const ROUNDS: usize = 12;
/// Halvings of the interval of the load.
const HALVINGS: usize = 30;

impl Choice {
    /// What an entry finds.
    pub fn chosen(self) -> Chosen {
        let copies = self.copies.min(self.disks).max(1);
        let levels = self.levels();
        let mut chosen = Chosen { ahead: 0.0, busy: 0.0, equal: 0.0 };
        let (mut part, mut found_before) = (0.0, 0.0);
        for (length, level) in levels.iter().enumerate() {
            part += level;
            let (enough, mean) = at_least(self.disks, copies, part.min(1.0));
            chosen.ahead += 1.0 - enough;
            if length == 0 {
                chosen.busy = 1.0 - enough;
            }
            chosen.equal += (enough - found_before) * mean;
            found_before = enough;
        }
        chosen.equal = chosen.equal.max(f64::from(copies));
        chosen
    }

    /// The probability of each number of accesses at a disk.
    fn levels(self) -> Vec<f64> {
        let most = (8.0 * self.queue) as usize + 12;
        let mut weights = vec![1.0; most];
        let noise = f64::midpoint(1.0, self.variation.powi(2));
        let mut levels = vec![1.0];
        for _ in 0..ROUNDS {
            let often = |weight: &f64| (1.0 - self.entries + self.entries * weight).powf(1.0 / noise);
            let often: Vec<f64> = weights.iter().map(often).collect();
            levels = with_mean(self.queue, &often);
            let new = self.weights(&levels);
            weights.iter_mut().zip(new).for_each(|(old, new)| *old = f64::midpoint(*old, new));
        }
        levels
    }

    /// For each level: how much more often an entry goes to a disk there than to any disk.
    fn weights(self, levels: &[f64]) -> Vec<f64> {
        let (others, copies) = (f64::from(self.disks) - 1.0, f64::from(self.copies));
        let mut below = 0.0;
        let weight = |level: &f64| {
            // The number of other disks below is binomial; those at the level share what is left.
            let same = if below < 1.0 { (level / (1.0 - below)).min(1.0) } else { 1.0 };
            let mut term = (1.0 - below).max(0.0).powf(others);
            let odds = below / (1.0 - below).max(1e-9);
            let mut taken = 0.0;
            for count in 0..self.copies {
                let count = f64::from(count);
                taken += term * ((copies - count) / (1.0 + (others - count).max(0.0) * same)).min(1.0);
                term *= odds * (others - count).max(0.0) / (count + 1.0);
            }
            below = (below + level).min(1.0);
            taken * f64::from(self.disks) / copies
        };
        levels.iter().map(weight).collect()
    }
}

/// The distribution with this mean, in which each level's probability is that before it times the
/// load times `often`.
fn with_mean(mean: f64, often: &[f64]) -> Vec<f64> {
    let mean_of = |load: f64| {
        let (mut level, mut sum, mut levels) = (1.0, 0.0, 0.0);
        for (number, often) in often.iter().enumerate() {
            sum += level;
            levels += number as f64 * level;
            level *= load * often;
        }
        levels / sum
    };
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if mean_of(middle) < mean { low = middle } else { high = middle }
    }
    let load = f64::midpoint(low, high);
    let next = |level: &mut f64, often: &f64| {
        let this = *level;
        *level *= load * often;
        Some(this)
    };
    let mut levels: Vec<f64> = often.iter().scan(1.0, next).collect();
    let sum: f64 = levels.iter().sum();
    levels.iter_mut().for_each(|level| *level /= sum);
    levels
}

/// The probability that at least `copies` of `disks` are such as each is with the probability
/// `part`; and their mean number then.
fn at_least(disks: u32, copies: u32, part: f64) -> (f64, f64) {
    let n = f64::from(disks);
    let odds = part / (1.0 - part).max(1e-12);
    let mut term = (1.0 - part).max(1e-12).powf(n);
    let (mut fewer, mut of_fewer) = (0.0, 0.0);
    for count in 0..copies {
        fewer += term;
        of_fewer += term * f64::from(count);
        term *= odds * (n - f64::from(count)) / f64::from(count + 1);
    }
    let enough = (1.0 - fewer).max(0.0);
    let mean = if enough > 1e-12 { (n * part - of_fewer) / enough } else { f64::from(copies) };
    (enough, mean.clamp(f64::from(copies), n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(disks: u32, queue: f64, entries: f64) -> Chosen {
        Choice { disks, copies: 2, queue, entries, variation: 1.0 }.chosen()
    }

    #[test]
    fn idle_disks_are_all_equal() {
        let chosen = chosen(10, 0.0, 0.0);
        assert!(chosen.ahead < 1e-6 && (chosen.equal - 10.0).abs() < 1e-3, "{chosen:?}");
    }

    #[test]
    fn of_two_disks_both_take_the_entry() {
        // The longer of two geometric queues, each 3 in the mean.
        let chosen = chosen(2, 3.0, 0.0);
        assert!((chosen.ahead - 4.714).abs() < 0.1, "{chosen:?}");
    }

    #[test]
    fn of_many_disks_some_have_little_to_do() {
        let chosen = chosen(22, 3.0, 0.0);
        assert!(chosen.ahead < 0.1 && (4.0..8.0).contains(&chosen.equal), "{chosen:?}");
    }

    #[test]
    fn equal_times_make_queues_more_equal() {
        let of = |variation| Choice { disks: 10, copies: 2, queue: 5.0, entries: 0.25, variation }.chosen();
        assert!(of(0.0).ahead > of(1.0).ahead + 1.0, "{:?}, {:?}", of(0.0), of(1.0));
    }

    #[test]
    fn many_entries_make_queues_equal() {
        assert!(chosen(10, 5.0, 0.5).ahead > chosen(10, 5.0, 0.1).ahead + 1.0);
        assert!(chosen(10, 5.0, 1.0).ahead > 4.0, "{:?}", chosen(10, 5.0, 1.0));
    }
}
