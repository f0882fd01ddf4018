//! A drive, as far as the journal on it depends on it.

/// Times of a drive's arm and platters, in ms.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// Seeks from places of data to the journal, the nearest first: of n + 1 of them, number i has
    /// (i / n)² of the data before it.
    pub seeks: Vec<f64>,
    /// The mean seek between two places of the journal.
    pub within: f64,
    /// The mean seek between two places of data.
    pub seek: f64,
    /// From one head to another one.
    pub switch: f64,
    /// A revolution.
    pub revolution: f64,
}

/// The places of the data that is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Order {
    /// Anywhere.
    #[default]
    Random,
    /// In the order of places.
    Sweep(Sweep),
}

/// A part of the accesses to data that goes through it in the order of places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sweep {
    /// The mean distance from one to the next one of a disk, as a part of the data.
    pub(super) apart: f64,
    /// The fraction of them that follow something else on their disk, at any distance.
    pub(super) begins: f64,
}

/// The disks that an entry goes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nearest {
    /// The mean seek to the journal.
    pub(super) seek: f64,
    /// The mean number of them whose heads are not there yet.
    pub(super) moved: f64,
}

impl Drive {
    /// The mean seek between two accesses to data.
    fn seek_of_data(&self, order: Order) -> f64 {
        match order {
            Order::Random => self.seek,
            Order::Sweep(Sweep { apart, begins }) => {
                begins * self.seek + (1.0 - begins) * self.seek_over(apart).clamp(self.switch, self.seek)
            }
        }
    }

    /// The mean seek between the journal and a place of data.
    fn seek_of_journal(&self) -> f64 {
        let steps = (self.seeks.len() - 1) as f64;
        let part = |(step, pair): (usize, &[f64])| {
            (2 * step + 1) as f64 / (steps * steps) * f64::midpoint(pair[0], pair[1])
        };
        self.seeks.windows(2).enumerate().map(part).sum()
    }

    /// An entry goes to the `copies` disks whose heads are nearest, among `equal` ones. Each head
    /// is at the journal with the probability `there`, otherwise at the data: all at the same place
    /// in a sweep.
    pub(super) fn nearest(&self, order: Order, copies: u32, equal: f64, there: f64) -> Nearest {
        let far = |number: f64, among: f64| match order {
            Order::Random => self.seek_over(number / (among + 1.0)).max(self.within),
            Order::Sweep(_) => self.seek_of_journal(),
        };
        // The number of heads at the journal is binomial. With fewer than the entry needs, it goes
        // to the nearest of the others, too.
        let there = there.clamp(0.0, 1.0 - 1e-9);
        let mut term = (1.0 - there).powf(equal);
        let (mut seek, mut moved) = (0.0, 0.0);
        for lacking in (1..=copies).rev() {
            let others = equal - f64::from(copies - lacking);
            let longer = |number: u32| far(number.into(), others) - self.within;
            seek += term * (1..=lacking).map(longer).sum::<f64>();
            moved += term * f64::from(lacking);
            term *= there / (1.0 - there) * others.max(0.0) / f64::from(copies - lacking + 1);
        }
        Nearest { seek: self.within + seek / f64::from(copies), moved }
    }

    /// The seek over this part of the data.
    fn seek_over(&self, part: f64) -> f64 {
        let steps = self.seeks.len() - 1;
        let at = part.clamp(0.0, 1.0).sqrt() * steps as f64;
        let below = (at as usize).min(steps - 1);
        let beyond = at - below as f64;
        self.seeks[below] * (1.0 - beyond) + self.seeks[below + 1] * beyond
    }

    /// By how much the seeks of accesses to data are longer than those between two random places,
    /// if this part of the heads is at the journal, and this part of the others is somewhere else
    /// than data was accessed last.
    pub(super) fn more_seek(&self, order: Order, there: f64, away: f64) -> f64 {
        let elsewhere = away * self.seek + (1.0 - away) * self.seek_of_data(order);
        there * self.seek_of_journal() + (1.0 - there) * elsewhere - self.seek
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeks take 1 ms from head to head, and up to 11 ms.
    fn drive() -> Drive {
        let seeks = (0..=10).map(|step| 1.0 + f64::from(step)).collect();
        Drive { seeks, within: 1.0, seek: 6.0, switch: 1.0, revolution: 10.0 }
    }

    #[test]
    fn entries_go_where_heads_are_at_the_journal() {
        let all = drive().nearest(Order::Random, 2, 10.0, 1.0);
        assert!((all.seek - 1.0).abs() < 1e-6 && all.moved < 1e-6, "{all:?}");
        let none = drive().nearest(Order::Random, 2, 10.0, 0.0);
        // The nearest two of ten: an eleventh of the data away, and two.
        let expected = 1.0 + 10.0 * f64::midpoint((1.0_f64 / 11.0).sqrt(), (2.0_f64 / 11.0).sqrt());
        assert!((none.seek - expected).abs() < 0.05 && (none.moved - 2.0).abs() < 1e-9, "{none:?}");
        let some = drive().nearest(Order::Random, 2, 10.0, 0.1);
        // None with 0.9¹⁰, one with 10 × 0.1 × 0.9⁹.
        assert!((some.moved - (2.0 * 0.348_678 + 0.387_420)).abs() < 1e-5, "{some:?}");
    }

    #[test]
    fn a_sweep_seeks_less_but_for_what_is_between() {
        let order = Order::Sweep(Sweep { apart: 0.01, begins: 0.0 });
        assert!((drive().more_seek(order, 0.0, 0.0) + 4.0).abs() < 1e-9, "2 instead of 6 ms");
        assert!((drive().more_seek(order, 0.0, 0.5) + 2.0).abs() < 1e-9, "half of them come from elsewhere");
        assert!((drive().more_seek(Order::Random, 0.0, 0.7)).abs() < 1e-9);
    }
}
