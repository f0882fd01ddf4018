//! Blocks that are read from the platters into the buffer, track by track, computed only as far as
//! needed.

use std::collections::VecDeque;

use parlour_units::{Duration, Instant};

use crate::mechanics::{Arm, Mechanics, Parts, Way};

/// The blocks of one track.
#[derive(Clone, Copy, Debug)]
struct Flow {
    first: u64,
    blocks: u64,
    /// When the arm arrived.
    settled: Instant,
    begins: Instant,
    ends: Instant,
    /// When the first wanted block passes, and how many of the first blocks pass last; zero if the
    /// blocks pass in order.
    turn: (Instant, u64),
    arm: Arm,
}

impl Flow {
    /// When the block with index `index` has been read.
    fn ready(&self, index: u64) -> Instant {
        match self.turn {
            (_, 0) => self.begins + self.pass(index + 1),
            (_, last) if index < last => self.begins + self.pass(self.blocks - last + index + 1),
            (turn, last) => turn + self.pass(index - last + 1),
        }
    }

    /// When all blocks up to index `index` have been read.
    fn complete(&self, index: u64) -> Instant {
        let (_, last) = self.turn;
        if last > 0 && index >= last { self.ends } else { self.ready(index) }
    }

    /// The time in which `blocks` of its blocks pass.
    fn pass(&self, blocks: u64) -> Duration {
        let whole = self.ends.since(self.begins).nanoseconds();
        Duration::from_nanoseconds(whole * blocks / self.blocks)
    }

    /// The number of blocks that have passed at `at`, if they begin to pass at `from`.
    fn passed(&self, from: Instant, at: Instant) -> u64 {
        let whole = self.ends.since(self.begins).nanoseconds();
        at.since(from).nanoseconds() * self.blocks / whole.max(1)
    }

    /// The number of blocks from the first on that have been read at `at`, without gaps.
    fn there(&self, at: Instant) -> u64 {
        match self.turn {
            (_, 0) => self.passed(self.begins, at).min(self.blocks),
            _ if at >= self.ends => self.blocks,
            (_, last) => self.passed(self.begins + self.pass(self.blocks - last), at),
        }
    }

    /// When the sector that is passing at `at` has passed.
    fn sector_ends(&self, at: Instant) -> Instant {
        let (turn, _) = self.turn;
        turn + self.pass(self.passed(turn, at) + 1)
    }
}

/// A range of blocks that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    flows: VecDeque<Flow>,
    /// The first block that is in no flow yet, and the block at which reading ends.
    next: u64,
    limit: u64,
    arm: Arm,
    now: Instant,
}

impl Stream {
    /// Reads from `block` to `limit`. The arm begins to move at `at`.
    pub(crate) fn new(arm: Arm, at: Instant, block: u64, limit: u64) -> Stream {
        Stream { flows: VecDeque::new(), next: block, limit, arm, now: at }
    }

    /// Extends the range to `limit`, if that is further. A stream that had ended continues at `at`.
    pub(crate) fn extend(&mut self, at: Instant, limit: u64) {
        if limit > self.limit {
            if self.next == self.limit {
                self.now = self.now.max(at);
            }
            self.limit = limit;
        }
    }

    /// When all blocks up to `block`, which is before the limit, have been read. Adds the times of
    /// the mechanical parts to `parts`, if they were not computed before.
    pub(crate) fn ready(&mut self, mechanics: &Mechanics, block: u64, parts: &mut Parts) -> Instant {
        while self.next <= block {
            self.flow(mechanics, parts);
        }
        match self.flows.iter().find(|flow| (flow.first..flow.first + flow.blocks).contains(&block)) {
            Some(flow) => flow.complete(block - flow.first),
            None => Instant::ZERO,
        }
    }

    fn flow(&mut self, mechanics: &Mechanics, parts: &mut Parts) {
        assert!(
            self.next < self.limit,
            "block {} is wanted of a stream that ends at {}",
            self.next,
            self.limit
        );
        let pass = mechanics.pass(&mut self.arm, self.now, Way::Read, self.next, self.limit - self.next);
        let settled = self.now + pass.parts.seek;
        self.flows.push_back(Flow {
            first: self.next,
            blocks: pass.blocks,
            settled,
            begins: pass.begins,
            ends: pass.ends,
            turn: pass.turn,
            arm: self.arm,
        });
        (self.next, self.now) = (self.next + pass.blocks, pass.ends);
        *parts += pass.parts;
    }

    /// The first block that has not been read at `at`. Removes completed flows.
    pub(crate) fn reach(&mut self, mechanics: &Mechanics, at: Instant) -> u64 {
        while self.next < self.limit && self.now <= at {
            self.flow(mechanics, &mut Parts::default());
        }
        while self.flows.len() > 1 && self.flows[1].turn.0 <= at {
            self.flows.pop_front();
        }
        self.flows.front().map_or(self.next, |flow| flow.first + flow.there(at))
    }

    /// Stops at `at`. Returns the position of the arm, and when it can leave.
    pub(crate) fn stop(&mut self, mechanics: &Mechanics, at: Instant, within_sector: bool) -> (Arm, Instant) {
        self.reach(mechanics, at);
        let Some(flow) = self.flows.front() else { return (self.arm, at.max(self.now)) };
        if at >= flow.ends {
            // A seek that has begun is completed.
            return self.flows.get(1).map_or((flow.arm, at), |next| (next.arm, next.settled.max(at)));
        }
        let free = match at > flow.turn.0 && !within_sector {
            true => flow.sector_ends(at),
            false => at.max(flow.settled),
        };
        (flow.arm, free)
    }

    /// When the heads arrived on the first track that is still stored.
    pub(crate) fn arrived(&self) -> Option<Instant> {
        self.flows.front().map(|flow| flow.settled)
    }

    /// Whether reading continues to `block`.
    pub(crate) fn goes_on(&self, block: u64) -> bool {
        block < self.limit
    }

    /// The parts of the range `from..to` that pass in order: for each the first and the last block,
    /// and when these have been read.
    pub(crate) fn stretches(&self, from: u64, to: u64) -> impl Iterator<Item = [(u64, Instant); 2]> + '_ {
        self.flows.iter().flat_map(move |flow| {
            let (middle, end) = (flow.first + flow.turn.1, flow.first + flow.blocks);
            let stretch = move |(first, end): (u64, u64)| {
                let (first, end) = (first.max(from), end.min(to));
                let at = |block: u64| (block, flow.ready(block - flow.first));
                (first < end).then(|| [first, end - 1].map(at))
            };
            [(flow.first, middle), (middle, end)].into_iter().filter_map(stretch)
        })
    }

    /// The position of the arm after the last computed flow.
    pub(crate) fn arm(&self) -> Arm {
        self.arm
    }
}
