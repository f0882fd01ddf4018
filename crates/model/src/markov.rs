//! Continuous-time Markov chains with an end state: the mean time until the end, and the
//! probabilities of the states at a time.
//!
//! The chains are stiff: disks fail once in 10⁵ hours and are repaired in one, and data is lost
//! when several fail within an hour. So rates of 1 give means of 10²⁰ hours. Neither algorithm
//! subtracts, so each result is as exact as the rates, however much these differ. The mean is
//! computed by elimination of states (Grassmann, Taksar and Heyman), the probabilities by
//! uniformization over a short time and repeated squaring.

/// A chain of states with constant transition rates, and one end state, which is never left.
#[derive(Clone, Debug)]
pub struct Chain {
    states: usize,
    /// One row per state: the rates to each state, and last the rate to the end.
    rates: Vec<f64>,
}

/// Why a chain or a query is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ChainError {
    /// The state does not exist.
    #[error("there is no state {state} in a chain of {states} states; count them from 0")]
    Unknown {
        /// The state.
        state: usize,
        /// The number of states.
        states: usize,
    },
    /// A rate is invalid.
    #[error("the rate {rate} at which state {from} is left is none; it must be 0 or more, and finite")]
    Rate {
        /// The state.
        from: usize,
        /// The rate.
        rate: f64,
    },
    /// A time is invalid.
    #[error("{0} is no time to look at a chain; it must be 0 or more, and finite")]
    Time(f64),
}

impl Chain {
    /// States 0 to `states` − 1, without transitions. The memory grows with the square of their
    /// number, and the time with its cube.
    pub fn new(states: usize) -> Chain {
        Chain { states, rates: vec![0.0; states * (states + 1)] }
    }

    /// Adds a rate from `from` to `to` (per unit of time; all rates must use the same unit).
    pub fn go(&mut self, from: usize, to: usize, rate: f64) -> Result<(), ChainError> {
        self.known(to)?;
        self.add(from, to, rate)
    }

    /// Adds a rate from `from` to the end.
    pub fn end(&mut self, from: usize, rate: f64) -> Result<(), ChainError> {
        self.add(from, self.states, rate)
    }

    fn add(&mut self, from: usize, column: usize, rate: f64) -> Result<(), ChainError> {
        self.known(from)?;
        if !rate.is_finite() || rate < 0.0 {
            return Err(ChainError::Rate { from, rate });
        }
        if from != column {
            self.rates[from * (self.states + 1) + column] += rate;
        }
        Ok(())
    }

    fn known(&self, state: usize) -> Result<(), ChainError> {
        (state < self.states).then_some(()).ok_or(ChainError::Unknown { state, states: self.states })
    }

    fn row(&self, state: usize) -> &[f64] {
        &self.rates[state * (self.states + 1)..][..self.states + 1]
    }

    /// The mean time until the end, starting in a state; infinite if the end may never be reached.
    pub fn mean_time(&self, start: usize) -> Result<f64, ChainError> {
        self.known(start)?;
        let order = self.reached(start);
        if order.iter().any(|&state| !self.ends(state)) {
            return Ok(f64::INFINITY);
        }
        Ok(Elimination::of(self, &order).mean_time())
    }

    /// The states that can be reached from `start`, which comes first.
    fn reached(&self, start: usize) -> Vec<usize> {
        let mut found = vec![false; self.states];
        found[start] = true;
        let mut order = vec![start];
        let mut next = 0;
        while next < order.len() {
            let row = self.row(order[next]);
            for state in 0..self.states {
                if row[state] > 0.0 && !found[state] {
                    found[state] = true;
                    order.push(state);
                }
            }
            next += 1;
        }
        order
    }

    /// Whether the end can be reached.
    fn ends(&self, state: usize) -> bool {
        self.reached(state).iter().any(|&state| self.row(state)[self.states] > 0.0)
    }

    /// The probability of each state at a time after the start in `start`; last, the probability of
    /// the end.
    pub fn probabilities(&self, start: usize, time: f64) -> Result<Vec<f64>, ChainError> {
        self.known(start)?;
        if !time.is_finite() || time < 0.0 {
            return Err(ChainError::Time(time));
        }
        let width = self.states + 1;
        let fastest = (0..self.states).map(|state| self.row(state).iter().sum::<f64>()).fold(0.0, f64::max);
        // The binary logarithm of a finite number is below 1024.
        let doublings = (fastest.log2() + time.log2()).ceil().clamp(0.0, 2_048.0) as i32;
        let mut matrix = self.over(time * 0.5f64.powi(doublings), fastest);
        for _ in 0..doublings {
            matrix = matrix.squared();
        }
        Ok(matrix.cells[start * width..][..width].to_vec())
    }

    /// The transition probabilities over a time in which the fastest state is left at most once on
    /// average: `Σ e^(−x) x^k/k! U^k`. `U` has the transition probabilities of one step; steps
    /// occur at the fastest state's rate, and `x` is their mean number.
    fn over(&self, time: f64, fastest: f64) -> Matrix {
        let width = self.states + 1;
        let mut moment = Matrix::one(width);
        for state in 0..self.states {
            let row = self.row(state);
            let left: f64 = row.iter().sum();
            for (column, rate) in row.iter().enumerate() {
                if *rate > 0.0 {
                    moment.cells[state * width + column] = rate / fastest;
                }
            }
            moment.cells[state * width + state] = (1.0 - left / fastest).max(0.0);
        }
        let moments = fastest * time;
        // Horner's rule from the 24th term on: 1/24! is below the precision of 1. Terms beyond the
        // depth of a chain add nothing that the earlier terms lack.
        let terms = TERMS.max(width);
        let mut sum = Matrix::one(width);
        for term in (1..=terms).rev() {
            sum = sum.times(&moment);
            sum.scale(moments / term as f64);
            for state in 0..width {
                sum.cells[state * width + state] += 1.0;
            }
        }
        sum.normalize();
        sum
    }
}

/// The number of terms of the exponential series, for a number up to 1, that are above the
/// precision.
const TERMS: usize = 24;

/// Gaussian elimination without subtraction. When a state is removed, transitions into it continue
/// at once to its successors, and the time spent in it is added to its predecessors.
struct Elimination {
    states: usize,
    /// The rates between the remaining states; the last column is the end.
    rates: Vec<f64>,
    /// The time that passes for each unit of time in a state: its own, and that in removed states
    /// that follow.
    worth: Vec<f64>,
}

impl Elimination {
    fn of(chain: &Chain, order: &[usize]) -> Elimination {
        let states = order.len();
        let mut rates = Vec::with_capacity(states * (states + 1));
        for &from in order {
            let row = chain.row(from);
            rates.extend(order.iter().map(|&to| row[to]));
            rates.push(row[chain.states]);
        }
        Elimination { states, rates, worth: vec![1.0; states] }
    }

    fn mean_time(mut self) -> f64 {
        for state in (1..self.states).rev() {
            self.take_out(state);
        }
        self.worth[0] / self.rates[self.states]
    }

    fn take_out(&mut self, state: usize) {
        let width = self.states + 1;
        let (kept, taken) = self.rates.split_at_mut(state * width);
        let taken = &taken[..width];
        let end = taken[self.states];
        let left = taken[..state].iter().sum::<f64>() + end;
        for from in 0..state {
            let row = &mut kept[from * width..][..width];
            let share = row[state] / left;
            if share == 0.0 {
                continue;
            }
            for to in (0..state).filter(|&to| to != from) {
                row[to] += share * taken[to];
            }
            row[self.states] += share * end;
            self.worth[from] += share * self.worth[state];
        }
    }
}

/// A square matrix of probabilities, row by row.
struct Matrix {
    width: usize,
    cells: Vec<f64>,
}

impl Matrix {
    fn one(width: usize) -> Matrix {
        let mut cells = vec![0.0; width * width];
        cells.iter_mut().step_by(width + 1).for_each(|cell| *cell = 1.0);
        Matrix { width, cells }
    }

    fn times(&self, other: &Matrix) -> Matrix {
        let mut cells = vec![0.0; self.cells.len()];
        for (row, product) in self.cells.chunks(self.width).zip(cells.chunks_mut(self.width)) {
            for (factor, line) in
                row.iter().zip(other.cells.chunks(self.width)).filter(|(factor, _)| **factor != 0.0)
            {
                product.iter_mut().zip(line).for_each(|(cell, value)| *cell += factor * value);
            }
        }
        Matrix { width: self.width, cells }
    }

    /// The matrix for twice the time.
    fn squared(&self) -> Matrix {
        let mut product = self.times(self);
        product.normalize();
        product
    }

    fn scale(&mut self, factor: f64) {
        self.cells.iter_mut().for_each(|cell| *cell *= factor);
    }

    /// Each row must sum to 1, so that rounding errors do not accumulate over many doublings.
    fn normalize(&mut self) {
        for row in self.cells.chunks_mut(self.width) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|cell| *cell /= sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() <= relative, "{found} is not {expected}");
    }

    /// A component that fails and is repaired. The chain ends when a second one fails in the
    /// meantime.
    fn pair(failing: f64, repair: f64, second: f64) -> Chain {
        let mut chain = Chain::new(2);
        chain.go(0, 1, failing).unwrap();
        chain.go(1, 0, repair).unwrap();
        chain.end(1, second).unwrap();
        chain
    }

    #[test]
    fn a_single_state_ends_exponentially() {
        let mut chain = Chain::new(1);
        chain.end(0, 0.25).unwrap();
        near(chain.mean_time(0).unwrap(), 4.0, 1e-15);
        for time in [0.0, 1e-9, 0.5, 4.0, 100.0] {
            let ended = chain.probabilities(0, time).unwrap()[1];
            assert!((ended + (-0.25 * time).exp_m1()).abs() <= 1e-13 * ended, "{time}: {ended}");
        }
    }

    /// The two-state chain's characteristic equation is quadratic.
    #[test]
    fn two_states_end_as_their_eigenvalues_say() {
        let (a, b, c) = (0.7, 3.0, 0.2);
        let chain = pair(a, b, c);
        near(chain.mean_time(0).unwrap(), (a + b + c) / (a * c), 1e-14);
        let root = ((a + b + c) * (a + b + c) - 4.0 * a * c).sqrt();
        let (slow, fast) = ((a + b + c - root) / 2.0, (a + b + c + root) / 2.0);
        for time in [0.1, 1.0, 10.0, 60.0] {
            let alive = (fast * (-slow * time).exp() - slow * (-fast * time).exp()) / (fast - slow);
            near(1.0 - chain.probabilities(0, time).unwrap()[2], alive, 1e-11);
        }
    }

    #[test]
    fn rates_a_million_million_apart_cost_no_digits() {
        // Four failures in a row, each a million times rarer than its repair. The mean from state
        // to state is a sum of positive terms, so it can be computed in another way without loss of
        // digits.
        let (failing, repair) = (1e-6, 1e6);
        let mut chain = Chain::new(4);
        let mut step = 0.0;
        let mut mean = 0.0;
        for state in 0..4 {
            if state > 0 {
                chain.go(state, state - 1, repair).unwrap();
            }
            step = (1.0 + if state > 0 { repair * step } else { 0.0 }) / failing;
            mean += step;
        }
        (0..3).for_each(|state| chain.go(state, state + 1, failing).unwrap());
        chain.end(3, failing).unwrap();
        near(chain.mean_time(0).unwrap(), mean, 1e-13);
        // Long before the mean, and long after the repairs, the probability of the end is the
        // fraction of the mean that has passed.
        near(chain.probabilities(0, 1e3).unwrap()[4], 1e3 / mean, 1e-6);
    }

    #[test]
    fn probabilities_are_those_of_small_steps() {
        let mut chain = Chain::new(3);
        for (from, to, rate) in [(0, 1, 0.9), (1, 2, 0.4), (2, 0, 1.5), (1, 0, 0.3)] {
            chain.go(from, to, rate).unwrap();
        }
        chain.end(2, 0.2).unwrap();
        // Fourth-order Runge-Kutta steps on p' = p·Q.
        let slope = |p: [f64; 4]| {
            [
                -0.9 * p[0] + 0.3 * p[1] + 1.5 * p[2],
                0.9 * p[0] - 0.7 * p[1],
                0.4 * p[1] - 1.7 * p[2],
                0.2 * p[2],
            ]
        };
        let along = |p: [f64; 4], k: [f64; 4], step: f64| std::array::from_fn(|i| p[i] + step * k[i]);
        let mut p = [1.0, 0.0, 0.0, 0.0];
        let step = 0.001;
        for _ in 0..7_000 {
            let first = slope(p);
            let second = slope(along(p, first, step / 2.0));
            let third = slope(along(p, second, step / 2.0));
            let fourth = slope(along(p, third, step));
            p = std::array::from_fn(|i| {
                p[i] + step / 6.0 * (first[i] + 2.0 * second[i] + 2.0 * third[i] + fourth[i])
            });
        }
        let found = chain.probabilities(0, 7.0).unwrap();
        assert!((0..4).all(|i| (found[i] - p[i]).abs() < 1e-10), "{found:?} {p:?}");
    }

    #[test]
    fn the_mean_is_the_integral_of_being_alive() {
        let chain = pair(0.7, 3.0, 0.8);
        let step = 0.01;
        let integral: f64 = (0..20_000)
            .map(|i| step * (1.0 - chain.probabilities(0, (f64::from(i) + 0.5) * step).unwrap()[2]))
            .sum();
        near(chain.mean_time(0).unwrap(), integral, 1e-4);
    }

    #[test]
    fn a_chain_that_may_be_caught_never_ends() {
        let mut chain = Chain::new(3);
        chain.end(0, 1.0).unwrap();
        chain.go(0, 1, 1e-9).unwrap();
        assert_eq!(chain.mean_time(0), Ok(f64::INFINITY));
        assert_eq!(chain.mean_time(2), Ok(f64::INFINITY));
        assert!(chain.probabilities(0, 1e3).unwrap()[1] > 0.0);
    }

    #[test]
    fn what_is_no_chain_is_told() {
        let mut chain = Chain::new(2);
        assert_eq!(chain.go(0, 2, 1.0), Err(ChainError::Unknown { state: 2, states: 2 }));
        assert_eq!(chain.end(5, 1.0), Err(ChainError::Unknown { state: 5, states: 2 }));
        assert_eq!(chain.go(0, 1, -1.0), Err(ChainError::Rate { from: 0, rate: -1.0 }));
        assert!(matches!(chain.end(0, f64::NAN), Err(ChainError::Rate { .. })));
        assert_eq!(chain.probabilities(0, -1.0), Err(ChainError::Time(-1.0)));
        assert_eq!(Chain::new(0).mean_time(0), Err(ChainError::Unknown { state: 0, states: 0 }));
    }
}
