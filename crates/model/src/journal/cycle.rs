//! The stage over time: what is staged, and what is destaged, as a fluid that follows the rules of
//! the array step by step.
//!
//! - A batch begins when the entries in use take a quarter of some lane and half of the batch
//!   before is done. It takes up all that is staged, and goes on where that one was.
//! - As many destages are under way as the array allows, or as are left of the batch.
//! - Entries are forgotten in order, when what is destaged is flushed: as a batch begins. The
//!   oldest one in use was staged just behind the place where destages were by then, when they had
//!   been there before.
//! - While a batch is destaged, entries may take 3/8 of the stream: an eighth of that at once, and
//!   the rest evenly. Hosts that ask for more are slowed down.
//!
//! Disks serve in the order of arrival: destages that begin together are read together, and only
//! then written. So after a pause the first one ends when all were read.

use std::collections::VecDeque;

/// What disks do while so many destages are under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) under_way: f64,
    /// Destages that end, and writes that hosts would stage, in a ms.
    pub(super) destaged: f64,
    pub(super) asked: f64,
    /// The part of the stream that a staged write takes.
    pub(super) takes: f64,
    /// How much fuller the fullest lane is than all are in the mean.
    pub(super) fullest: f64,
    /// The part of the time for which a disk is busy.
    pub(super) busy: f64,
}

impl Rates {
    fn between(self, other: Rates, part: f64) -> Rates {
        let mean = |one: f64, other: f64| one + part * (other - one);
        Rates {
            under_way: mean(self.under_way, other.under_way),
            destaged: mean(self.destaged, other.destaged),
            asked: mean(self.asked, other.asked),
            takes: mean(self.takes, other.takes),
            fullest: mean(self.fullest, other.fullest),
            busy: mean(self.busy, other.busy),
        }
    }
}

/// A stage.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// By the number of destages under way, from 0 to the most.
    pub(super) rates: Vec<Rates>,
    /// The number of phases of a destage: of accesses that are begun together.
    pub(super) phases: usize,
}

/// What happens in the mean.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// Writes that are staged, in a ms.
    pub(super) staged: f64,
    pub(super) busy: f64,
    /// Destages that begin while they go through all places once. It is the mean for seeks, which
    /// take longer as the square root of a short distance.
    pub(super) in_sweep: f64,
}

/// A batch begins when this part of a lane is in use.
pub(super) const QUARTER: f64 = 0.25;
/// What entries may take during a batch, and the part of that which they may take at once.
const DURING: f64 = 0.375;
const AT_ONCE: f64 = 0.125;
/// The part of the stream that is filled or destaged in a step.
const STEP: f64 = 1.0 / 1_500.0;
/// The number of streams that are followed, and of steps at most. What comes before half of the
/// former does not count.
const STREAMS: f64 = 24.0;
const MOST_STEPS: usize = 200_000;

impl Stage {
    /// The means of a long time.
    pub(super) fn passed(&self) -> Passed {
        let (mut cycle, mut counted) = (Cycle::default(), Counted::default());
        for _ in 0..MOST_STEPS {
            let rates = self.at(cycle.under_way);
            let time = STEP / (rates.asked.max(rates.destaged) * rates.takes).max(f64::MIN_POSITIVE);
            cycle.step(self, rates, time);
            if cycle.filled > STREAMS {
                break;
            }
            if cycle.filled > STREAMS / 2.0 {
                counted.add(time, rates.busy, &cycle);
            }
        }
        counted.mean(&cycle)
    }

    fn at(&self, under_way: f64) -> Rates {
        let above = self.rates.partition_point(|rates| rates.under_way < under_way);
        let Some(high) = self.rates.get(above) else { return self.rates[self.rates.len() - 1] };
        let Some(low) = above.checked_sub(1).map(|below| self.rates[below]) else { return *high };
        low.between(*high, (under_way - low.under_way) / (high.under_way - low.under_way))
    }

    fn most(&self) -> f64 {
        self.rates.last().map_or(0.0, |rates| rates.under_way)
    }
}

/// The state at a moment. Places are counted in sweeps: from one whole number to the next one all
/// are gone through once.
#[derive(Clone, Debug, Default)]
struct Cycle {
    /// All writes that were staged so far, and the parts of the stream that they took.
    staged: f64,
    filled: f64,
    /// Where destages begin, where those end that are done, and those that were flushed.
    begun: f64,
    done: f64,
    flushed: f64,
    /// The batch: what was staged when it began, where it ends, its size, what of it is not begun,
    /// and the part of the stream that was taken since.
    taken: f64,
    end: f64,
    size: f64,
    waiting: f64,
    admitted: f64,
    /// Destages under way.
    under_way: f64,
    /// Accesses at the disks in their order: the phase, where they are, and how many.
    queue: VecDeque<(usize, f64, f64)>,
    /// Where destages began, what was staged then, and what that took of the stream.
    history: Vec<(f64, f64, f64)>,
    /// All destages that began so far, and the sum of the square roots of the distances from each
    /// to the next one.
    destages: f64,
    roots: f64,
}

impl Cycle {
    /// One step of time.
    fn step(&mut self, stage: &Stage, rates: Rates, time: f64) {
        self.serve(stage, rates.destaged * stage.phases as f64 * time);
        let left = self.waiting + self.under_way;
        let used = self.filled - self.at(self.flushed - 1.0).1;
        if left * 2.0 <= self.size && used * rates.fullest >= QUARTER {
            self.begin_batch();
        }
        self.begin(stage);
        self.admit(rates.asked * time, rates.takes);
        self.history.push((self.begun, self.staged, self.filled));
    }

    /// The disks serve so many accesses.
    fn serve(&mut self, stage: &Stage, mut accesses: f64) {
        while accesses > 0.0
            && let Some((phase, place, count)) = self.queue.pop_front()
        {
            let served = count.min(accesses);
            accesses -= served;
            if served < count {
                self.queue.push_front((phase, place, count - served));
            }
            if phase + 1 < stage.phases {
                self.queue.push_back((phase + 1, place, served));
            } else {
                self.under_way = (self.under_way - served).max(0.0);
                self.done = place;
            }
        }
        if self.queue.is_empty() {
            (self.under_way, self.done) = (0.0, self.begun);
        }
    }

    fn begin_batch(&mut self) {
        let before = self.taken;
        self.taken = self.staged;
        // (What was staged since lies anywhere: also where this sweep has been.)
        self.waiting += self.taken - before;
        self.end = self.begun + 1.0;
        (self.size, self.admitted) = (self.waiting + self.under_way, 0.0);
        self.flushed = self.done;
    }

    /// Destages begin, as many as may be under way.
    fn begin(&mut self, stage: &Stage) {
        let count = (stage.most() - self.under_way).min(self.waiting).max(0.0);
        // Of those places that come next, what was staged since destages were there.
        let density = (self.taken - self.at(self.begun - 1.0).0).max(1.0);
        if count > 0.0 {
            self.waiting -= count;
            let all = self.waiting < 1e-9;
            let to = if all { self.end } else { (self.begun + count / density).min(self.end) };
            self.roots += (count * (to - self.begun)).sqrt();
            self.begun = to;
            self.under_way += count;
            self.destages += count;
            self.queue.push_back((0, self.begun, count));
        }
    }

    /// Hosts stage what they ask for, as far as they are not slowed down.
    fn admit(&mut self, asked: f64, takes: f64) {
        let left = self.waiting + self.under_way;
        let done = if self.size > 0.0 { (1.0 - left / self.size).max(0.0) } else { 1.0 };
        let most = DURING * (AT_ONCE + (1.0 - AT_ONCE) * done);
        let may = if left > 0.0 { (most - self.admitted).max(0.0) / takes } else { asked };
        let staged = asked.min(may);
        self.staged += staged;
        self.filled += staged * takes;
        self.admitted += staged * takes;
    }

    /// What was staged when destages were at this place, and what of the stream was taken.
    fn at(&self, place: f64) -> (f64, f64) {
        match self.history.partition_point(|(begun, ..)| *begun <= place) {
            0 => (0.0, 0.0),
            count => (self.history[count - 1].1, self.history[count - 1].2),
        }
    }
}

/// Sums over time.
#[derive(Clone, Debug, Default)]
struct Counted {
    time: f64,
    busy: f64,
    from: Option<Cycle>,
}

impl Counted {
    fn add(&mut self, time: f64, busy: f64, cycle: &Cycle) {
        let from = || Cycle { queue: VecDeque::new(), history: Vec::new(), ..cycle.clone() };
        self.from.get_or_insert_with(from);
        (self.time, self.busy) = (self.time + time, self.busy + time * busy);
    }

    fn mean(self, to: &Cycle) -> Passed {
        let time = self.time.max(f64::MIN_POSITIVE);
        let from = self.from.unwrap_or_default();
        Passed {
            staged: (to.staged - from.staged) / time,
            busy: self.busy / time,
            in_sweep: ((to.destages - from.destages) / (to.roots - from.roots).max(1e-9)).powi(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of 1,000 writes. Hosts ask for `asked` writes a ms; 10 destages a ms end when 100
    /// are under way.
    fn passed(asked: f64) -> Passed {
        let rates = |under_way: f64| Rates {
            under_way,
            destaged: under_way / 10.0,
            asked,
            takes: 1e-3,
            fullest: 1.0,
            busy: under_way / 100.0,
        };
        Stage { rates: [0.0, 10.0, 100.0].map(rates).to_vec(), phases: 2 }.passed()
    }

    #[test]
    fn hosts_that_ask_for_little_have_it_and_disks_are_idle_between_batches() {
        let Passed { staged, busy, .. } = passed(1.0);
        assert!((staged - 1.0).abs() < 0.01, "{staged} a ms");
        assert!((busy - 0.1).abs() < 0.02, "{busy} busy");
    }

    #[test]
    fn hosts_that_ask_for_more_are_slowed_down_to_the_pace_of_destages() {
        let Passed { staged, busy, .. } = passed(50.0);
        assert!((staged - 10.0).abs() < 0.3 && busy > 0.97, "{staged} a ms, {busy} busy");
    }

    #[test]
    fn more_begins_in_a_sweep_if_more_is_staged() {
        assert!(passed(50.0).in_sweep > passed(8.0).in_sweep, "{:?}, {:?}", passed(50.0), passed(8.0));
    }

    #[test]
    fn hosts_that_ask_for_nothing_get_nothing() {
        assert!(passed(0.0).staged.abs() < 1e-9);
    }
}
