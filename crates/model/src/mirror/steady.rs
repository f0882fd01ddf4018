//! The steady state of heads if always the nearest one moves.
//!
//! The nearest head moves to the target and stays there. So a head moves with a probability equal
//! to its share of the range, and is then uniform in that share. Heads spread out, and are nearer
//! to their targets than independent ones. There is no closed form: the steady state is iterated on
//! a grid (`grid.rs`).

use super::grid::{Pieces, settle};
use super::{Distance, DistanceError};

/// The steady state of nearest-head choice, over any range, with uniform targets, one read at a
/// time and no writes (a write would move all heads to one position). It depends only on the number
/// of copies, so one value serves any drive.
#[derive(Clone, Debug)]
pub struct SteadyHeads {
    pieces: Pieces,
    /// The factor for the grid's distances.
    stretch: f64,
    mean: f64,
}

/// The largest number of copies for which the grid is fine enough and fast.
const ON_A_GRID: u32 = 4;

/// The cells of the finer of two grids, by number of copies.
const CELLS: [usize; ON_A_GRID as usize + 1] = [0, 64, 64, 40, 24];

impl SteadyHeads {
    /// The steady state for any number of copies. From 3 copies on this takes up to a tenth of a
    /// second; keep the result, which serves any drive.
    ///
    /// Up to 4 copies, the mean distance is extrapolated from two grids to an infinitely fine one:
    /// the error is proportional to the square of the cell size. Beyond 4, its inverse increases
    /// with the copies as it does from 3 to 4, and the distribution is that of 4 copies, scaled. A
    /// million random targets confirm the means within 0.3%, and the probabilities within 0.007, up
    /// to 12 copies.
    pub fn new(copies: u32) -> Result<SteadyHeads, DistanceError> {
        match copies {
            0 => Err(DistanceError::NoCopies),
            1..=ON_A_GRID => Ok(SteadyHeads::on_a_grid(copies)),
            copies => {
                let (three, four) =
                    (SteadyHeads::on_a_grid(ON_A_GRID - 1), SteadyHeads::on_a_grid(ON_A_GRID));
                let rise = 1.0 / four.mean - 1.0 / three.mean;
                let mean = 1.0 / (1.0 / four.mean + rise * f64::from(copies - ON_A_GRID));
                Ok(four.stretched(mean))
            }
        }
    }

    fn on_a_grid(copies: u32) -> SteadyHeads {
        let cells = CELLS[copies as usize];
        let on = |cells| SteadyHeads::from(settle(copies as usize, cells));
        let (coarse, fine) = (on(cells / 2), on(cells));
        let mean = fine.mean + (fine.mean - coarse.mean) / 3.0;
        fine.stretched(mean)
    }

    fn stretched(self, mean: f64) -> SteadyHeads {
        SteadyHeads { stretch: self.stretch * mean / self.mean, mean, ..self }
    }

    /// The mean distance of the nearest head, as a fraction of the range.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The probability that the nearest head is farther away than a fraction of the range: the
    /// parts of the pieces between heads (and ends) that are beyond that distance from each head.
    pub fn beyond(&self, share: f64) -> f64 {
        let share = share / self.stretch;
        let left = |pieces: &[(f64, f64)], off: f64| -> f64 {
            pieces.iter().map(|(length, number)| number * (length - off).max(0.0)).sum()
        };
        left(&self.pieces.edges, share) + left(&self.pieces.gaps, 2.0 * share)
    }

    /// The distance in cylinders, for a range of `cylinders`; accurate from some tens of cylinders
    /// on.
    pub fn distance(&self, cylinders: u32) -> Result<Distance, DistanceError> {
        Distance::of(cylinders, |distance| self.beyond((distance as f64 + 0.5) / f64::from(cylinders)))
    }
}

impl From<Pieces> for SteadyHeads {
    fn from(pieces: Pieces) -> SteadyHeads {
        let squares = |pieces: &[(f64, f64)]| -> f64 {
            pieces.iter().map(|(length, number)| number * length * length).sum()
        };
        // In a piece at an end, distances go from 0 to its length; in a piece between heads, to
        // half its length.
        let mean = squares(&pieces.edges) / 2.0 + squares(&pieces.gaps) / 4.0;
        SteadyHeads { pieces, stretch: 1.0, mean }
    }
}

#[cfg(test)]
mod tests {
    use parlour_drive::seek::SeekCurve;

    use super::*;
    use crate::draws::uniform;

    /// The distances to random targets, from a fixed seed, as fractions of the range.
    fn drawn(copies: usize, targets: usize) -> Vec<f64> {
        let mut draw = uniform();
        let mut heads: Vec<f64> = (0..copies).map(|head| (head as f64 + 0.5) / copies as f64).collect();
        let mut read = || {
            let target = draw();
            let nearer = |one: &&mut f64, other: &&mut f64| {
                (**one - target).abs().total_cmp(&(**other - target).abs())
            };
            let nearest = heads.iter_mut().min_by(nearer).unwrap();
            let distance = (*nearest - target).abs();
            *nearest = target;
            distance
        };
        (0..targets).map(|_| read()).collect()
    }

    #[test]
    fn distances_are_those_of_a_million_drawn_targets() {
        for copies in [1, 2, 3, 4, 5, 6, 8, 10, 12] {
            let steady = SteadyHeads::new(copies).unwrap();
            let drawn = drawn(copies as usize, 1_000_000);
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((steady.mean() / mean - 1.0).abs() < 0.003, "{copies}: {} {mean}", steady.mean());
            for times in [0.25, 0.5, 1.0, 2.0, 3.0] {
                let farther = drawn.iter().filter(|distance| **distance > times * mean).count() as f64;
                let (beyond, farther) = (steady.beyond(times * mean), farther / drawn.len() as f64);
                let near = if copies > ON_A_GRID { 0.007 } else { 0.002 };
                assert!((beyond - farther).abs() < near, "{copies} {times}: {beyond} {farther}");
            }
        }
    }

    /// Random cylinders, from a fixed seed, on Stodolsky's drive.
    #[test]
    fn seeks_are_as_long_as_those_of_drawn_cylinders() {
        let curve = SeekCurve::formula((2.0, 0.01, 0.46), false, 949).unwrap();
        for copies in [2, 4] {
            let mut draw = uniform();
            let mut heads = vec![474_u32; copies as usize];
            let reads = 400_000;
            let mut sum = 0.0;
            for _ in 0..reads {
                let target = (draw() * 949.0) as u32;
                let nearest = heads.iter_mut().min_by_key(|head| head.abs_diff(target)).unwrap();
                sum += curve.time(nearest.abs_diff(target)).as_secs_f64() * 1e3;
                *nearest = target;
            }
            let mean = sum / f64::from(reads);
            let seek = SteadyHeads::new(copies).unwrap().distance(949).unwrap().seek(&curve);
            assert!((seek / mean - 1.0).abs() < 0.004, "{copies}: {seek} {mean}");
        }
    }

    #[test]
    fn a_single_head_is_where_the_last_target_was() {
        let steady = SteadyHeads::new(1).unwrap();
        assert!((steady.mean() - 1.0 / 3.0).abs() < 1e-9);
        let exact = Distance::independent(1, 900).unwrap();
        let found = steady.distance(900).unwrap();
        for cylinders in 0..900 {
            assert!((found.beyond(cylinders) - exact.beyond(cylinders)).abs() < 2e-4, "{cylinders}");
        }
    }

    #[test]
    fn steady_heads_are_nearer_than_independent_ones_and_farther_than_spread_ones() {
        for copies in [2, 3, 4, 10] {
            let steady = SteadyHeads::new(copies).unwrap().distance(1_000).unwrap().mean() / 1e3;
            let independent = Distance::independent(copies, 1_000).unwrap().mean() / 1e3;
            let spread = 1.0 / f64::from(4 * copies);
            assert!(spread < steady && steady < independent, "{copies}: {spread} {steady} {independent}");
        }
    }

    #[test]
    fn the_distribution_is_as_long_as_its_mean_says() {
        for copies in [2, 3, 4, 7] {
            let steady = SteadyHeads::new(copies).unwrap();
            let mean = steady.distance(5_000).unwrap().mean() / 5e3;
            assert!((mean / steady.mean() - 1.0).abs() < 1e-4, "{copies}: {mean}");
            assert!((steady.beyond(0.0) - 1.0).abs() < 2e-3);
        }
        assert_eq!(SteadyHeads::new(0).unwrap_err(), DistanceError::NoCopies);
    }
}
