//! Background work of disks that comes in bursts: each keeps some disks busy for a while.
//!
//! With open arrivals, an access that meets a burst of length T waits for T/2 in the mean. A closed
//! population of processes cannot do worse than stand still: with a process that meets the burst
//! after τ in the mean, the burst costs it
//!
//! > D(T) = T − τ (1 − e^(−T/τ)),
//!
//! which is T²/2τ for a short burst, as with open arrivals, and T − τ for a long one. So the part
//! D/T of a burst counts as time that stands still, and the rest as accesses among others.
//!
//! After a burst on p of n disks, the processes that it has stopped are all at these p. Until they
//! are spread again, the others have less to do: about for half of the time in which the p disks
//! serve those that are too many.

use crate::fork_join::Beside;

/// Bursts of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// The number of them for each request.
    pub often: f64,
    /// The number of disks on which each comes at the same time.
    pub disks: f64,
    /// The time of each of these disks, in ms.
    pub each: f64,
}

/// What requests cause in the background.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Later {
    /// By kind.
    pub bursts: Vec<Burst>,
}

/// What bursts are to a closed population.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Felt {
    /// Accesses among the others.
    pub beside: Beside,
    /// The part of the time for which processes stand still.
    pub still: f64,
    /// The part of the time for which a disk is busy with bursts, standing still or not.
    pub busy: f64,
}

/// Processes that meet bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// Requests a ms.
    pub rate: f64,
    /// The number of disks.
    pub disks: f64,
    /// The number of those that a request needs.
    pub needed: f64,
    /// The time from a request of a process to its next one, in ms.
    pub cycle: f64,
    /// The mean time of an access, in ms.
    pub service: f64,
    /// What goes to the disks with the fewest accesses.
    pub choosing: Choosing,
}

/// Accesses that choose the disks with the fewest others. In a burst a disk is chosen like others
/// until one more access waits there; what has come until then is held up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choosing {
    /// The number of such accesses a ms, at disks that are busy.
    pub rate: f64,
    /// All processes stand still when so many are held up.
    pub most: u32,
}

/// The largest part of the time for which processes stand still.
const MOST_STILL: f64 = 0.95;

impl Later {
    /// The disk time of a request, over all disks.
    pub fn time(&self) -> f64 {
        self.bursts.iter().map(|burst| burst.often * burst.disks * burst.each).sum()
    }

    /// The same of the squares of times.
    pub fn squares(&self) -> f64 {
        self.bursts.iter().map(|burst| burst.often * burst.disks * burst.each.powi(2)).sum()
    }

    /// What they are to processes: nothing, while these request nothing.
    pub fn felt(&self, by: Population) -> Felt {
        let mut felt = Felt::default();
        if by.rate <= 0.0 {
            return felt;
        }
        for burst in &self.bursts {
            let begun = by.rate * burst.often;
            let meets = (by.needed * burst.disks / by.disks).clamp(1e-9, 1.0);
            let after = by.cycle / meets;
            let alone = by.disks / (by.rate * by.needed).max(1e-9);
            let held_up = by.choosing.rate * burst.disks / by.disks * alone;
            let all = at_least(held_up, by.choosing.most);
            let stopped = 1.0 - (-burst.each / after).exp();
            let processes = by.rate * by.cycle * stopped;
            let too_many = processes * (1.0 / burst.disks - 1.0 / by.disks).max(0.0);
            let spreading = too_many * by.service * (1.0 - burst.disks / by.disks).max(0.0) / 2.0;
            let cost_of = |after: f64| burst.each - after * (1.0 - (-burst.each / after).exp());
            let cost = all * cost_of(alone.min(after)) + (1.0 - all) * cost_of(after);
            let on_disk = begun * burst.disks / by.disks;
            let among = on_disk * (burst.each - cost);
            felt.still += begun * (cost + spreading * cost / burst.each);
            felt.busy += on_disk * burst.each;
            let beside = Beside { busy: among, work: 0.0, ordered: among, accesses: on_disk };
            felt.beside = felt.beside + beside;
        }
        felt.still = felt.still.min(MOST_STILL);
        felt
    }
}

/// The probability that a Poisson number with this mean is at least `least`, which is not 0.
fn at_least(mean: f64, least: u32) -> f64 {
    let (mut term, mut fewer) = ((-mean).exp(), 0.0);
    for count in 0..least {
        fewer += term;
        term *= mean / f64::from(count + 1);
    }
    if least == 0 { 0.0 } else { (1.0 - fewer).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn felt(each: f64, often: f64) -> Felt {
        let later = Later { bursts: vec![Burst { often, disks: 1.0, each }] };
        later.felt(Population {
            rate: 0.1,
            disks: 10.0,
            needed: 2.0,
            cycle: 100.0,
            service: 0.0,
            choosing: Choosing::default(),
        })
    }

    #[test]
    fn short_bursts_are_accesses_among_others() {
        let Felt { beside, still, busy } = felt(10.0, 0.1);
        assert!((busy - 0.01).abs() < 1e-9 && beside.busy > 0.99 * busy, "{beside:?} of {busy}");
        // As with open arrivals: of 0.01 a ms, each has 50 ms² of waiting, which one in 500 ms
        // meets.
        assert!((still - 0.01 * 50.0 / 500.0).abs() < 1e-5, "{still}");
    }

    #[test]
    fn without_requests_there_are_no_bursts() {
        let later = Later { bursts: vec![Burst { often: 0.1, disks: 1.0, each: 10.0 }] };
        let choosing = Choosing::default();
        let by =
            Population { rate: 0.0, disks: 10.0, needed: 1.0, cycle: f64::INFINITY, service: 1.0, choosing };
        assert_eq!(later.felt(by), Felt::default());
    }

    #[test]
    fn during_long_bursts_processes_stand_still() {
        let Felt { still, .. } = felt(10_000.0, 0.000_1);
        assert!((still - 0.000_01 * 9_500.0).abs() < 1e-9, "{still}");
    }
}
