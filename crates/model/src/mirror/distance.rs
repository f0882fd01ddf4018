//! The distance of the nearest of several heads from its target.

use parlour_drive::seek::SeekCurve;

/// The distribution of the distance, in cylinders.
#[derive(Clone, Debug, PartialEq)]
pub struct Distance {
    /// The probability that the distance is greater than 0, 1, … cylinders; the last is 0.
    beyond: Vec<f64>,
}

/// Why a distance is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DistanceError {
    /// There are no heads.
    #[error("a mirror of no copies has no head that could be nearest; it needs 1 copy at least")]
    NoCopies,
    /// There are no cylinders.
    #[error("heads move over 1 cylinder at least, not over 0")]
    NoCylinders,
}

impl Distance {
    /// Target and heads are independent and uniform over a range of cylinders. Exact: `P(D > d)` is
    /// the mean over all targets of `(1 − w/C)^N`, where `w` of the `C` cylinders are within d of
    /// the target.
    pub fn independent(copies: u32, cylinders: u32) -> Result<Distance, DistanceError> {
        if copies == 0 {
            return Err(DistanceError::NoCopies);
        }
        let all = cylinders as usize;
        let missed = |within: usize| (1.0 - within as f64 / f64::from(cylinders)).powf(copies.into());
        // The sum over targets with 1, 2, … w cylinders within the distance.
        let mut sums = vec![0.0];
        for within in 1..=all {
            sums.push(sums[within - 1] + missed(within));
        }
        let beyond = |distance: usize| {
            // Targets in the middle have 2d + 1 cylinders within d. Those at an edge have d + 1, d
            // + 2, … as long as the range is cut.
            let most = (2 * distance + 1).min(all);
            let middle = all.saturating_sub(2 * distance) as f64 * missed(most);
            let edges = 2.0 * (sums[most.max(distance + 1) - 1] - sums[distance]);
            (middle + edges) / f64::from(cylinders)
        };
        Distance::of(cylinders, beyond)
    }

    pub(super) fn of(cylinders: u32, beyond: impl Fn(usize) -> f64) -> Result<Distance, DistanceError> {
        if cylinders == 0 {
            return Err(DistanceError::NoCylinders);
        }
        let mut beyond: Vec<f64> = (0..cylinders as usize - 1).map(beyond).collect();
        beyond.push(0.0);
        Ok(Distance { beyond })
    }

    /// The probability that the nearest head is farther away than `cylinders`.
    pub fn beyond(&self, cylinders: u32) -> f64 {
        self.beyond.get(cylinders as usize).copied().unwrap_or(0.0)
    }

    /// The mean, in cylinders.
    pub fn mean(&self) -> f64 {
        self.beyond.iter().sum()
    }

    /// The mean time of the seek, in milliseconds.
    pub fn seek(&self, curve: &SeekCurve) -> f64 {
        let time = |distance: usize| curve.time(distance as u32).as_secs_f64() * 1e3;
        let more = |(distance, beyond): (usize, &f64)| beyond * (time(distance + 1) - time(distance));
        time(0) + self.beyond.iter().enumerate().map(more).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts every target and every position of every head.
    fn counted(copies: u32, cylinders: u32) -> Vec<f64> {
        let all = cylinders.pow(copies);
        let mut farther = vec![0.0; cylinders as usize];
        for target in 0..cylinders {
            for mut places in 0..all {
                let mut nearest = cylinders;
                for _ in 0..copies {
                    nearest = nearest.min(target.abs_diff(places % cylinders));
                    places /= cylinders;
                }
                (0..nearest as usize).for_each(|distance| farther[distance] += 1.0);
            }
        }
        farther.into_iter().map(|count| count / f64::from(all * cylinders)).collect()
    }

    #[test]
    fn independent_heads_are_as_far_as_all_places_counted_say() {
        for (copies, cylinders) in [(1, 1), (1, 9), (2, 1), (2, 2), (2, 10), (2, 11), (3, 8), (4, 7)] {
            let distance = Distance::independent(copies, cylinders).unwrap();
            let counted = counted(copies, cylinders);
            for (cylinder, expected) in counted.iter().enumerate() {
                let found = distance.beyond(cylinder as u32);
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{copies} {cylinders} {cylinder}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_single_heads_mean_seek_is_the_curves() {
        let curve = SeekCurve::formula((2.0, 0.01, 0.46), false, 949).unwrap();
        let seek = Distance::independent(1, 949).unwrap().seek(&curve);
        assert!((seek - curve.mean().as_secs_f64() * 1e3).abs() < 1e-6, "{seek}");
        assert_eq!(format!("{seek:.2}"), "12.69");
    }

    /// On a line the mean is `∫∫ P(D > d)` over distances and targets: 1/3 for one head, 5/24 for
    /// two.
    #[test]
    fn on_many_cylinders_the_mean_is_that_of_a_line() {
        for (copies, share) in [(1, 1.0 / 3.0), (2, 5.0 / 24.0)] {
            let mean = Distance::independent(copies, 10_000).unwrap().mean() / 10_000.0;
            assert!((mean - share).abs() < 1e-4, "{copies}: {mean}");
        }
    }

    #[test]
    fn more_heads_are_nearer_and_none_are_nowhere() {
        let mut before = f64::INFINITY;
        for copies in 1..30 {
            let mean = Distance::independent(copies, 500).unwrap().mean();
            assert!(mean < before);
            before = mean;
        }
        assert_eq!(Distance::independent(0, 5), Err(DistanceError::NoCopies));
        assert_eq!(Distance::independent(5, 0), Err(DistanceError::NoCylinders));
    }
}
