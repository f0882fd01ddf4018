//! The seek times of the arm.

use parlour_units::Duration;

/// Seek times by distance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeekCurve {
    /// In nanoseconds, by distance from 0 on.
    times: Box<[u32]>,
}

/// Why a seek curve is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SeekError {
    /// It has fewer than two points.
    #[error("a table of seek times needs two points at least")]
    FewPoints,
    /// Its distances do not increase.
    #[error("distance {0} of the table of seek times is not greater than the one before it")]
    Unordered(u32),
    /// A time is out of range.
    #[error("a seek over {distance} cylinders takes {milliseconds} ms; it must be positive, and below 4 s")]
    Unlikely {
        /// The distance in cylinders.
        distance: u32,
        /// The time.
        milliseconds: f64,
    },
}

impl SeekCurve {
    /// A curve through points of distance and milliseconds: linear between the points, and
    /// extrapolated from the last two. A seek over no distance takes no time.
    pub fn table(points: &[(u32, f64)], cylinders: u32) -> Result<SeekCurve, SeekError> {
        if points.len() < 2 {
            return Err(SeekError::FewPoints);
        }
        if let Some(pair) = points.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            return Err(SeekError::Unordered(pair[1].0));
        }
        let mut next = 1;
        SeekCurve::of(cylinders, |distance| {
            while points[next].0 < distance && next + 1 < points.len() {
                next += 1;
            }
            let ((before, low), (after, high)) = (points[next - 1], points[next]);
            let part = (f64::from(distance) - f64::from(before)) / f64::from(after - before);
            low + part * (high - low)
        })
    }

    /// A curve of `constant + linear · d + root · √d` milliseconds. `d` is the number of cylinders
    /// passed, with or without the last one (Stodolsky et al., figure 12, do not include it).
    pub fn formula(
        (constant, linear, root): (f64, f64, f64),
        destination_counts: bool,
        cylinders: u32,
    ) -> Result<SeekCurve, SeekError> {
        SeekCurve::of(cylinders, |distance| {
            let passed = f64::from(distance - u32::from(!destination_counts));
            constant + linear * passed + root * passed.sqrt()
        })
    }

    fn of(cylinders: u32, mut milliseconds: impl FnMut(u32) -> f64) -> Result<SeekCurve, SeekError> {
        let time = |distance| {
            if distance == 0 {
                return Ok(0);
            }
            let milliseconds = milliseconds(distance);
            let sound = milliseconds > 0.0 && milliseconds < 4_000.0;
            sound
                .then_some((milliseconds * 1e6).round() as u32)
                .ok_or(SeekError::Unlikely { distance, milliseconds })
        };
        let times = (0..cylinders.max(1)).map(time).collect::<Result<_, _>>()?;
        Ok(SeekCurve { times })
    }

    /// The time for a distance in cylinders. A longer distance than the drive has counts as the
    /// longest.
    pub fn time(&self, distance: u32) -> Duration {
        let last = self.times.len() - 1;
        Duration::from_nanoseconds(self.times[(distance as usize).min(last)].into())
    }

    /// The longest distance, in cylinders.
    pub fn longest(&self) -> u32 {
        self.times.len() as u32 - 1
    }

    /// The mean over pairs of cylinders, both drawn independently and uniformly. Distance 0 is
    /// included, and takes no time.
    pub fn mean(&self) -> Duration {
        let cylinders = self.times.len() as f64;
        let weighed = |(distance, time): (usize, &u32)| {
            let pairs = if distance == 0 { cylinders } else { 2.0 * (cylinders - distance as f64) };
            f64::from(*time) * pairs
        };
        let sum: f64 = self.times.iter().enumerate().map(weighed).sum();
        Duration::from_nanoseconds((sum / (cylinders * cylinders)).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stodolsky et al., figure 12; `papers/README.md` on the mean and the maximum.
    #[test]
    fn the_curve_of_the_ibm_0661_has_its_mean_and_its_longest() {
        let curve = SeekCurve::formula((2.0, 0.01, 0.46), false, 949).unwrap();
        assert_eq!(curve.time(0), Duration::ZERO);
        assert_eq!(curve.time(1), Duration::from_millis(2));
        assert!((curve.mean().as_secs_f64() - 12.69e-3).abs() < 5e-6, "{}", curve.mean());
        assert!((curve.time(948).as_secs_f64() - 25.6e-3).abs() < 5e-5, "{}", curve.time(948));
    }

    #[test]
    fn a_table_is_linear_between_its_points_and_beyond() {
        let curve = SeekCurve::table(&[(1, 1.0), (3, 2.0), (5, 2.5)], 9).unwrap();
        let times: Vec<u64> = (0..10).map(|distance| curve.time(distance).nanoseconds() / 1_000).collect();
        assert_eq!(times, [0, 1_000, 1_500, 2_000, 2_250, 2_500, 2_750, 3_000, 3_250, 3_250]);
    }

    #[test]
    fn what_cannot_be_a_curve_is_told() {
        assert_eq!(SeekCurve::table(&[(1, 1.0)], 9), Err(SeekError::FewPoints));
        assert_eq!(SeekCurve::table(&[(2, 1.0), (2, 1.0)], 9), Err(SeekError::Unordered(2)));
        assert!(matches!(SeekCurve::formula((1.0, -1.0, 0.0), true, 9), Err(SeekError::Unlikely { .. })));
    }
}
