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
    /// In the order of places: all that is under way is in this part of the data.
    Sweep(f64),
}

impl Drive {
    /// The mean seek between two accesses to data. In a sweep, one half of what is under way reads,
    /// and the other half writes behind it: mostly, an access is half of the way from the one
    /// before.
    fn seek_of_data(&self, order: Order) -> f64 {
        match order {
            Order::Random => self.seek,
            Order::Sweep(part) => self.seek_over(part / 2.0).max(self.switch),
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

    /// The mean seek of an entry on the `copies` disks whose heads are nearest, among `equal` ones.
    /// Heads are at the journal with the probability `there`, otherwise at the data: all at the
    /// same place in a sweep.
    pub(super) fn seek_of_nearest(&self, order: Order, copies: u32, equal: f64, there: f64) -> f64 {
        let seek = |number: u32| {
            let part = f64::from(number) / (equal + 1.0);
            match order {
                _ if part <= there => self.within,
                Order::Random => self.seek_over((part - there) / (1.0 - there)).max(self.within),
                Order::Sweep(_) => self.seek_of_journal(),
            }
        };
        (1..=copies).map(seek).sum::<f64>() / f64::from(copies)
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
    /// if this fraction of all accesses are entries.
    pub(super) fn more_seek(&self, order: Order, entries: f64) -> f64 {
        entries * self.seek_of_journal() + (1.0 - entries) * self.seek_of_data(order) - self.seek
    }
}
