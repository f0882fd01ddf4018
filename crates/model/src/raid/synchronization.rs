//! The additional time for waiting for the last of several disks (§7.1.1).

use parlour_drive::seek::SeekCurve;

use crate::mirror::Distance;

/// The mean latency until the last of several disks has rotated to its data, in the unit of
/// `revolution`: `N/(N+1)` of a revolution.
pub fn latest_rotation(disks: u32, revolution: f64) -> f64 {
    f64::from(disks) / (f64::from(disks) + 1.0) * revolution
}

/// The additional latency of several disks, compared with the mean latency of one.
pub fn rotation_penalty(disks: u32, revolution: f64) -> f64 {
    latest_rotation(disks.max(1), revolution) - revolution / 2.0
}

/// The distribution of a seek and the following rotation, in milliseconds. Exact: it is linear
/// between the times at which the seek of some distance ends, or a revolution after that.
#[derive(Clone, Debug)]
pub struct Positioning {
    /// The seek times and their probabilities, in order of times.
    seeks: Vec<(f64, f64)>,
    revolution: f64,
}

/// The time of a revolution is not positive and finite.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a revolution of {0} ms is none; it must be more than 0, and finite")]
pub struct RevolutionError(f64);

impl Positioning {
    /// For a drive with this distribution of seek distances (for random cylinders:
    /// `Distance::independent(1, cylinders)`).
    pub fn new(
        distance: &Distance,
        curve: &SeekCurve,
        revolution: f64,
    ) -> Result<Positioning, RevolutionError> {
        if !revolution.is_finite() || revolution <= 0.0 {
            return Err(RevolutionError(revolution));
        }
        let mut before = 1.0;
        let mut seeks = Vec::new();
        for cylinders in 0..=curve.longest() {
            let beyond = if cylinders < curve.longest() { distance.beyond(cylinders) } else { 0.0 };
            seeks.push((curve.time(cylinders).as_secs_f64() * 1e3, before - beyond));
            before = beyond;
        }
        seeks.sort_by(|one, other| one.0.total_cmp(&other.0));
        Ok(Positioning { seeks, revolution })
    }

    /// A revolution, in milliseconds.
    pub fn revolution(&self) -> f64 {
        self.revolution
    }

    /// The mean seek.
    pub fn seek(&self) -> f64 {
        self.seeks.iter().map(|(time, probability)| time * probability).sum()
    }

    /// The mean seek and half a revolution.
    pub fn mean(&self) -> f64 {
        self.seek() + self.revolution / 2.0
    }

    /// The mean time until the last of several disks is positioned, with independent seeks and
    /// rotations; 0 for no disk.
    pub fn latest(&self, disks: u32) -> f64 {
        if disks == 0 {
            return 0.0;
        }
        // The slope of the distribution increases where a seek may end, and decreases a revolution
        // later.
        let ends = |(time, probability): &(f64, f64), off: f64, sign: f64| {
            (time + off, sign * probability / self.revolution)
        };
        let mut knots: Vec<(f64, f64)> = self.seeks.iter().map(|seek| ends(seek, 0.0, 1.0)).collect();
        knots.extend(self.seeks.iter().map(|seek| ends(seek, self.revolution, -1.0)));
        knots.sort_by(|one, other| one.0.total_cmp(&other.0));
        // ∫ 1 − F^k, where F is 0 up to the first knot.
        let mut mean = knots[0].0;
        let (mut height, mut slope) = (0.0, 0.0);
        for pair in knots.windows(2) {
            slope += pair[0].1;
            let width = pair[1].0 - pair[0].0;
            let next: f64 = height + slope * width;
            mean += width * (1.0 - mean_power(height, next.clamp(height, 1.0), disks));
            height = next.clamp(height, 1.0);
        }
        mean
    }

    /// The additional positioning time of several disks, compared with the mean of one.
    pub fn penalty(&self, disks: u32) -> f64 {
        self.latest(disks.max(1)) - self.mean()
    }

    /// The probability that several disks with the same seek distance have all rotated to their
    /// data within a time.
    pub fn within(&self, time: f64, disks: u32) -> f64 {
        let turned = |seek: f64| ((time - seek) / self.revolution).clamp(0.0, 1.0);
        self.seeks.iter().map(|(seek, probability)| probability * turned(*seek).powf(f64::from(disks))).sum()
    }

    /// The time within which a fraction of accesses is positioned, with as many disks as in
    /// [`Positioning::within`]; 0.9 gives the 90th percentile. The fraction is limited to 0 to 1.
    pub fn quantile(&self, share: f64, disks: u32) -> f64 {
        self.quantile_with(share, disks, &[(0.0, 1.0)])
    }

    /// The same, followed by something that takes one of several times (in milliseconds, with
    /// weights), independent of the positioning.
    pub fn quantile_with(&self, share: f64, disks: u32, after: &[(f64, f64)]) -> f64 {
        let all: f64 = after.iter().map(|(_, weight)| weight).sum();
        let within = |time: f64| -> f64 {
            let parts = after.iter().map(|(more, weight)| weight * self.within(time - more, disks));
            parts.sum::<f64>() / all
        };
        let longest = self.seeks.last().map_or(0.0, |(time, _)| *time) + self.revolution;
        let (mut low, mut high) =
            (0.0, after.iter().fold(0.0_f64, |most, (more, _)| most.max(*more)) + longest);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if within(middle) < share { low = middle } else { high = middle }
        }
        high
    }
}

/// The number of bisections after which the interval is shorter than a millionth of a nanosecond.
const HALVINGS: u32 = 48;

/// The mean of `F^k` along a straight line of F from `low` to `high`.
fn mean_power(low: f64, high: f64, power: u32) -> f64 {
    let k = f64::from(power);
    let rise = high - low;
    if rise * k < 1e-3 * high {
        // The quotient below would lose digits; Simpson's rule is exact enough here.
        return (low.powf(k) + 4.0 * ((low + high) / 2.0).powf(k) + high.powf(k)) / 6.0;
    }
    if high <= 0.0 {
        return 0.0;
    }
    (high.powf(k + 1.0) - low.powf(k + 1.0)) / ((k + 1.0) * rise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::SteadyHeads;

    /// The Amdahl 6380 with the curve of its drive file. The text gives the mean, and the 3.6 ms
    /// imply the standard deviation (an erratum).
    fn curve() -> SeekCurve {
        SeekCurve::formula((4.97, 0.0, 0.632), true, 885).unwrap()
    }

    fn amdahl() -> Positioning {
        Positioning::new(&Distance::independent(1, 885).unwrap(), &curve(), 1e3 / 60.0).unwrap()
    }

    /// ch.sync10
    #[test]
    fn ten_disks_turn_ten_elevenths_of_a_revolution() {
        assert_eq!(format!("{:.2}", latest_rotation(10, 16.7)), "15.18");
        assert_eq!(format!("{:.2}", rotation_penalty(10, 16.7)), "6.83");
        assert_eq!(rotation_penalty(1, 16.7), 0.0);
    }

    #[test]
    fn the_mean_seek_is_15_ms() {
        assert_eq!(format!("{:.1}", amdahl().seek()), "15.0");
        assert!((amdahl().seek() - curve().mean().as_secs_f64() * 1e3).abs() < 1e-6);
        assert!((amdahl().latest(1) - amdahl().mean()).abs() < 1e-9);
    }

    /// ch.3.6
    #[test]
    fn the_later_of_two_accesses_is_3_6_ms_later() {
        assert_eq!(format!("{:.1}", amdahl().penalty(2)), "3.6");
    }

    /// ch.saving, ch.savedrop: 3 to 4 ms were measured; the text gives only the curve's mean of 15
    /// ms.
    #[test]
    fn the_nearer_of_two_heads_saves_3_ms_in_the_steady_state() {
        let saved = |distance: Distance| format!("{:.1}", amdahl().seek() - distance.seek(&curve()));
        assert_eq!(saved(Distance::independent(2, 885).unwrap()), "2.3");
        assert_eq!(saved(SteadyHeads::new(2).unwrap().distance(885).unwrap()), "3.1");
    }

    /// Every pair of distances, and every pair of a thousand angles.
    #[test]
    fn the_latest_is_that_of_all_cases_counted() {
        let curve = SeekCurve::table(&[(1, 3.0), (2, 7.0), (3, 8.5)], 4).unwrap();
        let positioning = Positioning::new(&Distance::independent(1, 4).unwrap(), &curve, 10.0).unwrap();
        let chances = [4.0, 6.0, 4.0, 2.0].map(|pairs| pairs / 16.0);
        let times = [0.0, 3.0, 7.0, 8.5];
        let angles = 400;
        let mut sum = 0.0;
        for (one, first) in chances.iter().zip(times) {
            for (other, second) in chances.iter().zip(times) {
                for angle in 0..angles {
                    let time = first + (f64::from(angle) + 0.5) / f64::from(angles) * 10.0;
                    let later: f64 = (0..angles)
                        .map(|angle| (second + (f64::from(angle) + 0.5) / f64::from(angles) * 10.0).max(time))
                        .sum();
                    sum += one * other * later / f64::from(angles * angles);
                }
            }
        }
        assert!((positioning.latest(2) - sum).abs() < 1e-3, "{} {sum}", positioning.latest(2));
    }

    #[test]
    fn without_seeks_only_rotations_are_synchronized() {
        let still = SeekCurve::table(&[(1, 1.0), (2, 1.0)], 1).unwrap();
        let positioning = Positioning::new(&Distance::independent(1, 1).unwrap(), &still, 16.7).unwrap();
        for disks in [1, 2, 10, 1_000] {
            assert!((positioning.latest(disks) - latest_rotation(disks, 16.7)).abs() < 1e-9, "{disks}");
        }
        assert!((positioning.quantile(0.9, 1) - 0.9 * 16.7).abs() < 1e-9);
    }

    #[test]
    fn quantiles_are_where_the_distribution_reaches_them() {
        for disks in [1, 10] {
            for share in [0.1, 0.5, 0.9, 0.99] {
                let time = amdahl().quantile(share, disks);
                assert!((amdahl().within(time, disks) - share).abs() < 1e-9);
            }
        }
        assert!(amdahl().quantile(2.0, 1).is_finite() && amdahl().quantile(-1.0, 1) < 1e-9);
    }

    #[test]
    fn the_last_of_more_disks_is_later_but_not_later_than_the_longest() {
        let mut before = 0.0;
        for disks in 1..40 {
            let latest = amdahl().latest(disks);
            assert!(latest > before && latest < curve().time(884).as_secs_f64() * 1e3 + 1e3 / 60.0);
            before = latest;
        }
        assert_eq!(amdahl().latest(0), 0.0);
        let distance = Distance::independent(1, 885).unwrap();
        assert_eq!(Positioning::new(&distance, &curve(), 0.0).unwrap_err(), RevolutionError(0.0));
    }
}
