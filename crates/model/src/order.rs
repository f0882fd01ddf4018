//! The expected maximum of several times: when the last of k sub-requests is done (Varki and Wang
//! §2.2).
//!
//! The paper assumes normal positioning times, and takes `p + σ √(2 ln k)` as the maximum of k of
//! them. Here σ is the standard deviation (the text says coefficient of variation), and the
//! logarithm is natural. This is the leading term for large k, and far too large for small k: 1.18
//! σ instead of 0.56 σ for k = 2. So this module also has the exact maximum of normal, exponential
//! and uniform times, and of measured or computed times.
//!
//! All times are independent of one another, and have the same unit; the rest of the crate uses
//! milliseconds.

use std::num::NonZeroU32;
use std::sync::OnceLock;

/// A distribution of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Printed { mean: f64, deviation: f64 },
    Normal { mean: f64, deviation: f64 },
    Exponential { mean: f64 },
    Uniform { low: f64, high: f64 },
    Empirical(Vec<Piece>),
}

/// Times that are uniform between two values, or all equal. The pieces are in increasing order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    low: f64,
    high: f64,
    /// The fraction of all times in this and earlier pieces.
    up_to: f64,
}

/// Why a distribution is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// A number is not a time or a deviation.
    #[error("{name}: {value} is not possible; use a finite number that is not negative")]
    Number {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The upper end is below the lower end.
    #[error("times from {low} to {high}: the upper end must not be below the lower")]
    Ends {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// There are no times.
    #[error("a distribution is made of one time at least")]
    Empty,
    /// The numbers of bins and counts differ.
    #[error("{edges} edges of bins do not go with {counts} counts; there must be one edge more than counts")]
    Bins {
        /// The number of edges.
        edges: usize,
        /// The number of counts.
        counts: usize,
    },
}

fn sound(name: &'static str, value: f64) -> Result<f64, DistributionError> {
    let possible = value.is_finite() && value >= 0.0;
    possible.then_some(value).ok_or(DistributionError::Number { name, value })
}

impl Distribution {
    /// Normal times with the maximum as the paper prints it (§2.2): `mean + deviation · √(2 ln k)`.
    ///
    /// # Errors
    /// A parameter is negative or not finite.
    pub fn printed(mean: f64, deviation: f64) -> Result<Distribution, DistributionError> {
        let (mean, deviation) = (sound("mean", mean)?, sound("deviation", deviation)?);
        Ok(Distribution(Kind::Printed { mean, deviation }))
    }

    /// Normal times, with their exact maximum.
    ///
    /// # Errors
    /// A parameter is negative or not finite.
    pub fn normal(mean: f64, deviation: f64) -> Result<Distribution, DistributionError> {
        let (mean, deviation) = (sound("mean", mean)?, sound("deviation", deviation)?);
        Ok(Distribution(Kind::Normal { mean, deviation }))
    }

    /// Exponential times.
    ///
    /// # Errors
    /// The mean is negative or not finite.
    pub fn exponential(mean: f64) -> Result<Distribution, DistributionError> {
        Ok(Distribution(Kind::Exponential { mean: sound("mean", mean)? }))
    }

    /// Uniform times between `low` and `high`.
    ///
    /// # Errors
    /// An end is negative or not finite, or the upper end is below the lower.
    pub fn uniform(low: f64, high: f64) -> Result<Distribution, DistributionError> {
        let (low, high) = (sound("low", low)?, sound("high", high)?);
        (low <= high)
            .then_some(Distribution(Kind::Uniform { low, high }))
            .ok_or(DistributionError::Ends { low, high })
    }

    /// Measured times in any order, all equally likely.
    ///
    /// # Errors
    /// There are none, or one is negative or not finite.
    pub fn sample(times: &[f64]) -> Result<Distribution, DistributionError> {
        Distribution::weighted(times.iter().map(|time| (1.0, *time)))
    }

    /// Times with weights, in any order.
    ///
    /// # Errors
    /// There are none, or a time or weight is negative or not finite.
    pub fn weighted(times: impl Iterator<Item = (f64, f64)>) -> Result<Distribution, DistributionError> {
        let check = |(weight, time)| Ok((sound("weight", weight)?, sound("time", time)?));
        let mut sorted = times.map(check).collect::<Result<Vec<_>, _>>()?;
        sorted.retain(|(weight, _)| *weight > 0.0);
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        let all: f64 = sorted.iter().map(|(weight, _)| weight).sum();
        let pieces = sorted.into_iter().scan(0.0, |below, (weight, time)| {
            *below += weight;
            Some(Piece { low: time, high: time, up_to: *below / all })
        });
        Distribution::of(pieces.collect())
    }

    /// Times counted in bins: one count for each bin between two edges. Within a bin they are
    /// uniform.
    ///
    /// # Errors
    /// There are no times, edges decrease or are negative, or a count is negative.
    pub fn histogram(edges: &[f64], counts: &[f64]) -> Result<Distribution, DistributionError> {
        if edges.len() != counts.len() + 1 {
            return Err(DistributionError::Bins { edges: edges.len(), counts: counts.len() });
        }
        let all: f64 = counts.iter().sum();
        let (mut pieces, mut below) = (Vec::with_capacity(counts.len()), 0.0);
        for (edges, count) in edges.windows(2).zip(counts) {
            let (low, high) = (sound("edge", edges[0])?, sound("edge", edges[1])?);
            if high < low {
                return Err(DistributionError::Ends { low, high });
            }
            below += sound("count", *count)?;
            if *count > 0.0 {
                pieces.push(Piece { low, high, up_to: below / all });
            }
        }
        Distribution::of(pieces)
    }

    fn of(pieces: Vec<Piece>) -> Result<Distribution, DistributionError> {
        if pieces.is_empty() {
            Err(DistributionError::Empty)
        } else {
            Ok(Distribution(Kind::Empirical(pieces)))
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        match &self.0 {
            Kind::Printed { mean, .. } | Kind::Normal { mean, .. } | Kind::Exponential { mean } => *mean,
            Kind::Uniform { low, high } => f64::midpoint(*low, *high),
            Kind::Empirical(pieces) => parts(pieces).map(|(piece, part)| part * piece.middle()).sum(),
        }
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        match &self.0 {
            Kind::Printed { deviation, .. } | Kind::Normal { deviation, .. } => *deviation,
            Kind::Exponential { mean } => *mean,
            Kind::Uniform { low, high } => (high - low) / 12.0_f64.sqrt(),
            Kind::Empirical(pieces) => {
                let mean = self.mean();
                let square =
                    |piece: Piece| (piece.middle() - mean).powi(2) + (piece.high - piece.low).powi(2) / 12.0;
                parts(pieces).map(|(piece, part)| part * square(piece)).sum::<f64>().sqrt()
            }
        }
    }

    /// A coarser form of the times, with weights: for measured or computed times, the middle of
    /// each bin.
    pub(crate) fn middles(&self) -> Vec<(f64, f64)> {
        match &self.0 {
            Kind::Empirical(pieces) => parts(pieces).map(|(piece, part)| (part, piece.middle())).collect(),
            _ => vec![(1.0, self.mean())],
        }
    }

    /// The time below which the fraction `part` of all times lies; `part` is limited to 0 to 1. (A
    /// quantile of normal times may be negative.)
    pub fn quantile(&self, part: f64) -> f64 {
        let part = part.clamp(0.0, 1.0);
        match &self.0 {
            Kind::Printed { mean, deviation } | Kind::Normal { mean, deviation } => {
                mean + deviation * normal_quantile(part)
            }
            Kind::Exponential { mean } => -mean * (-part).ln_1p(),
            Kind::Uniform { low, high } => low + (high - low) * part,
            Kind::Empirical(pieces) => empirical_quantile(pieces, part),
        }
    }

    /// The mean of the largest of `siblings` times.
    pub fn expected_maximum(&self, siblings: NonZeroU32) -> f64 {
        let count = f64::from(siblings.get());
        match &self.0 {
            Kind::Printed { mean, deviation } => mean + deviation * (2.0 * count.ln()).sqrt(),
            Kind::Normal { mean, deviation } => mean + deviation * normal_maximum(count),
            Kind::Exponential { mean } => {
                mean * (1..=siblings.get()).map(|rank| 1.0 / f64::from(rank)).sum::<f64>()
            }
            Kind::Uniform { low, high } => low + (high - low) * count / (count + 1.0),
            Kind::Empirical(pieces) => empirical_maximum(pieces, count),
        }
    }
}

impl Piece {
    fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

/// The pieces, with the fraction of times in each.
fn parts(pieces: &[Piece]) -> impl Iterator<Item = (Piece, f64)> + '_ {
    pieces.iter().scan(0.0, |below, piece| {
        let part = piece.up_to - *below;
        *below = piece.up_to;
        Some((*piece, part))
    })
}

/// Within a piece, F is linear.
fn empirical_quantile(pieces: &[Piece], part: f64) -> f64 {
    let at = pieces.partition_point(|piece| piece.up_to < part).min(pieces.len() - 1);
    let below = at.checked_sub(1).map_or(0.0, |before| pieces[before].up_to);
    let Piece { low, high, up_to } = pieces[at];
    low + (high - low) * ((part - below) / (up_to - below)).clamp(0.0, 1.0)
}

/// A fraction of times over which Fᵏ is practically linear.
const SMALL: f64 = 1e-6;

/// ∫ x dFᵏ, piece by piece: F is linear in each.
fn empirical_maximum(pieces: &[Piece], count: f64) -> f64 {
    let (mut sum, mut below, mut below_power) = (0.0, 0.0_f64, 0.0);
    for piece in pieces {
        let up_to_power = piece.up_to.powf(count);
        let (width, part) = (piece.high - piece.low, piece.up_to - below);
        // The mean of Fᵏ over the piece. For a small piece it is Fᵏ in its middle, which loses no
        // digits.
        let inside = match part > SMALL {
            true => (up_to_power * piece.up_to - below_power * below) / ((count + 1.0) * part),
            false => f64::midpoint(piece.up_to, below).powf(count),
        };
        sum += piece.high * up_to_power - piece.low * below_power - width * inside;
        (below, below_power) = (piece.up_to, up_to_power);
    }
    sum
}

/// The step of the table of the normal distribution.
const STEP: f64 = 0.125;
/// Up to 10 standard deviations.
const POINTS: usize = 81;

/// For standard normal times: ∫₀^∞ (1 − Φᵏ − (1 − Φ)ᵏ) by the trapezoid rule, which for such a
/// smooth function is exact to the last digits.
fn normal_maximum(count: f64) -> f64 {
    static TAILS: OnceLock<[f64; POINTS]> = OnceLock::new();
    let tails = TAILS.get_or_init(|| std::array::from_fn(|index| normal_tail(index as f64 * STEP)));
    let value = |tail: &f64| -(count * (-tail).ln_1p()).exp_m1() - tail.powf(count);
    STEP * (value(&tails[0]) / 2.0 + tails[1..].iter().map(value).sum::<f64>())
}

/// The inverse of Φ, by bisection within the tabulated range; beyond it, the range's end.
fn normal_quantile(part: f64) -> f64 {
    let tail = part.min(1.0 - part);
    let (mut low, mut high) = (0.0, (POINTS - 1) as f64 * STEP);
    while high - low > f64::EPSILON * high {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if normal_tail(middle) > tail { low = middle } else { high = middle }
    }
    if part < 0.5 { -high } else { high }
}

/// 1 − Φ(x) for x ≥ 0: Φ = ½ + φ (x + x³/3 + x⁵/(3·5) + …).
fn normal_tail(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term > sum * f64::EPSILON {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    (0.5 - density * sum).max(0.0)
}
