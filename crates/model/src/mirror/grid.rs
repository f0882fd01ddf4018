//! Nearest-head choice on a grid: the probability of each set of head positions after many reads.

/// The lengths of the pieces of the range, as fractions of it, each with the mean number of pieces
/// of that length.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// Between an end of the range and the head next to it.
    pub(super) edges: Vec<(f64, f64)>,
    /// Between two heads.
    pub(super) gaps: Vec<(f64, f64)>,
}

/// Sets of head positions in order: x₀ ≤ x₁ ≤ … on the grid. A set's number is the sum of `(xᵢ + i
/// choose i + 1)`, so that only one term changes when one head moves.
struct Grid {
    heads: usize,
    cells: usize,
    /// By head and position.
    terms: Vec<Vec<usize>>,
    sets: usize,
}

/// The steady state of a number of heads (at least 1) on a grid.
pub(super) fn settle(heads: usize, cells: usize) -> Pieces {
    let grid = Grid::new(heads, cells);
    let mut now = vec![1.0 / grid.sets as f64; grid.sets];
    let mut then = vec![0.0; grid.sets];
    loop {
        then.fill(0.0);
        (0..heads).for_each(|head| grid.move_head(head, &now, &mut then));
        let changed: f64 = now.iter().zip(&then).map(|(now, then)| (now - then).abs()).sum();
        std::mem::swap(&mut now, &mut then);
        if changed < SETTLED {
            return grid.pieces(&now);
        }
    }
}

/// The sum of all changes of a round at which iteration stops. Further rounds would change about
/// ten times as much.
const SETTLED: f64 = 1e-7;

impl Grid {
    fn new(heads: usize, cells: usize) -> Grid {
        let choose = |from: usize, of: usize| (0..of).fold(1, |value, i| value * (from - i) / (i + 1));
        let term = |head: usize, place: usize| if place == 0 { 0 } else { choose(place + head, head + 1) };
        let terms = (0..heads).map(|head| (0..cells).map(|place| term(head, place)).collect()).collect();
        Grid { heads, cells, terms, sets: choose(cells + heads - 1, heads) }
    }

    fn number(&self, places: &[usize]) -> usize {
        self.part(0, places)
    }

    /// The part of the number from consecutive heads, from the index of the first one on.
    fn part(&self, first: usize, places: &[usize]) -> usize {
        self.terms[first..].iter().zip(places).map(|(terms, place)| terms[*place]).sum()
    }

    /// Calls `with` for each ordered set of positions.
    fn each(&self, heads: usize, mut with: impl FnMut(&[usize])) {
        let mut places = vec![0; heads];
        loop {
            with(&places);
            let may_rise =
                |head: &usize| places[*head] < places.get(head + 1).copied().unwrap_or(self.cells - 1);
            let Some(rises) = (0..heads).find(may_rise) else {
                return;
            };
            places[rises] += 1;
            places[..rises].fill(0);
        }
    }

    /// Computes the new probability of each set if one head is the nearest. The others stay, so all
    /// changes are along lines. A position y is reached from any x that is nearer to y than the
    /// neighbours a and b: `2y − b < x < 2y − a`; at equal distances by half.
    fn move_head(&self, head: usize, now: &[f64], then: &mut [f64]) {
        let terms = &self.terms[head];
        let target = 1.0 / self.cells as f64;
        let mut sums = vec![0.0; self.cells + 1];
        self.each(self.heads - 1, |others| {
            let below = head.checked_sub(1).map(|below| others[below]);
            let above = others.get(head).copied();
            let base = self.part(0, &others[..head]) + self.part(head + 1, &others[head..]);
            let (from, to) = (below.unwrap_or(0), above.unwrap_or(self.cells - 1));
            sums[from] = 0.0;
            for place in from..=to {
                sums[place + 1] = sums[place] + now[base + terms[place]];
            }
            // The sum below x, plus half of that at x.
            let up_to = |x: usize| if x > to { sums[to + 1] } else { (sums[x] + sums[x + 1]) / 2.0 };
            for place in from..=to {
                let up = below.map_or(sums[to + 1], |below| up_to(2 * place - below));
                let down = above
                    .and_then(|above| (2 * place).checked_sub(above))
                    .map_or(0.0, |x| if x < from { 0.0 } else { up_to(x) });
                then[base + terms[place]] += (up - down) * target;
            }
        });
    }

    fn pieces(&self, probabilities: &[f64]) -> Pieces {
        let cell = 1.0 / self.cells as f64;
        // Heads are in the middle of their cells.
        let mut edges: Vec<(f64, f64)> =
            (0..self.cells).map(|cells| ((cells as f64 + 0.5) * cell, 0.0)).collect();
        let mut gaps: Vec<(f64, f64)> = (0..self.cells).map(|cells| (cells as f64 * cell, 0.0)).collect();
        self.each(self.heads, |places| {
            let probability = probabilities[self.number(places)];
            edges[places[0]].1 += probability;
            edges[self.cells - 1 - places[self.heads - 1]].1 += probability;
            places.windows(2).for_each(|pair| gaps[pair[1] - pair[0]].1 += probability);
        });
        Pieces { edges, gaps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_has_a_number_of_its_own() {
        for (heads, cells) in [(1, 7), (2, 5), (3, 6), (4, 4)] {
            let grid = Grid::new(heads, cells);
            let mut numbers = Vec::new();
            grid.each(heads, |places| numbers.push(grid.number(places)));
            assert!(numbers.iter().copied().eq(0..grid.sets));
        }
    }

    /// Every set and every target, one by one.
    #[test]
    fn lines_move_what_targets_move_one_by_one() {
        let grid = Grid::new(3, 7);
        let mut now: Vec<f64> = (0..grid.sets).map(|set| (set * set % 11) as f64 + 1.0).collect();
        let all: f64 = now.iter().sum();
        now.iter_mut().for_each(|probability| *probability /= all);
        let mut expected = vec![0.0; grid.sets];
        grid.each(3, |places| {
            for target in 0..7_usize {
                let distance = |head: usize| target.abs_diff(places[head]);
                let nearest = (0..3).map(distance).min().unwrap();
                // Of heads at one position, the outermost on the target's side moves; at the
                // target's own position it does not matter which one.
                let mut movers: Vec<usize> = (0..3).filter(|head| distance(*head) == nearest).collect();
                movers.dedup_by_key(|head| places[*head]);
                for mover in &movers {
                    let mut moved = places.to_vec();
                    moved[*mover] = target;
                    moved.sort_unstable();
                    expected[grid.number(&moved)] += now[grid.number(places)] / 7.0 / movers.len() as f64;
                }
            }
        });
        let mut then = vec![0.0; grid.sets];
        (0..3).for_each(|head| grid.move_head(head, &now, &mut then));
        assert!(
            then.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-15),
            "{then:?} {expected:?}"
        );
    }
}
