//! What an access costs once the arm is there, by where on its first track it begins and where the
//! heads arrive.
//!
//! A drive that takes a track's sectors in any order begins with the one that comes next. Where
//! that is none that is wanted, nothing is different: the first one passes, and the others behind
//! it. Where the heads arrive amid what is wanted, the rest of it passes first, and what had gone
//! by follows after a revolution. A host gets blocks in their order all the same: the bus waits for
//! the first block, whatever has passed before it, and then sends what is there. What is read ahead
//! changes nothing of this: a block that is wanted is there when it has passed.

use parlour_drive::electronics::Electronics;

use super::moments::milliseconds;
use super::positioning::Latency;
use super::tracks::{Start, Tracks};

/// Accesses that cost alike, after the arm is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// How many of all.
    pub(super) weight: f64,
    /// What they cost on top of the transfer.
    pub(super) latency: Latency,
    /// From the first sector on, in ms; where that depends on where heads arrive, the shortest.
    pub(super) transfer: f64,
}

/// Parts of what is wanted of the first track that are told apart where heads arrive amid it.
const PARTS: u32 = 4;

/// From the platters to the host, in ms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bus {
    /// A block.
    block: f64,
    /// Taking the bus.
    preparation: f64,
    /// How many blocks must be there before it is taken.
    awaited: f64,
}

impl Bus {
    /// For a read of so many blocks.
    pub(super) fn of(electronics: &Electronics, blocks: u64) -> Bus {
        let Electronics { buffer, overheads, bus: (block, _) } = electronics;
        let room = buffer.segment_blocks.max(1).min(blocks);
        Bus {
            block: milliseconds(*block),
            preparation: milliseconds(overheads.reselect + overheads.data_preparation),
            awaited: (room as f64 * buffer.read_watermark).floor().max(1.0),
        }
    }

    /// From when the first of so many blocks begins to pass until the host has all, if they take
    /// `passes` to pass, and what is awaited of them `awaited`.
    fn handed_on(&self, blocks: f64, passes: f64, awaited: f64) -> f64 {
        (awaited + self.preparation + blocks * self.block).max(passes + self.block)
    }
}

impl Tracks {
    /// A read's transfer, if its blocks take `passes` to pass: the bus begins when so much is there
    /// as the drive waits for.
    pub(super) fn handed_on(&self, bus: &Bus, blocks: u64, passes: f64) -> f64 {
        bus.handed_on(blocks as f64, passes, self.mean_passing(bus.awaited as u64))
    }

    /// Accesses whose first sector is waited for.
    pub(super) fn in_order(&self, blocks: u64, transfer: impl Fn(f64) -> f64) -> Vec<Case> {
        let latency = Latency { from: 0.0, to: self.sectors_pass(self.sectors) };
        let of = |(weight, crossed)| Case { weight, latency, transfer: transfer(crossed) };
        self.crossings(blocks).into_iter().filter(|(weight, _)| *weight > 0.0).map(of).collect()
    }

    /// Accesses that begin with whatever comes first; with a `bus`, until the host has all.
    pub(super) fn in_any_order(&self, blocks: u64, bus: Option<&Bus>) -> Vec<Case> {
        let starts = self.starts(blocks);
        starts.iter().flat_map(|start| self.begun_anywhere(start, blocks as f64, bus)).collect()
    }

    fn begun_anywhere(&self, start: &Start, blocks: f64, bus: Option<&Bus>) -> Vec<Case> {
        let (revolution, sector) = (self.sectors_pass(self.sectors), self.sectors_pass(1.0));
        let passes = self.sectors_pass(start.first) + self.after_first(start, 0.0);
        let in_order = match bus {
            Some(bus) => bus.handed_on(blocks, passes, self.sectors_pass(bus.awaited)),
            None => passes,
        };
        let amid = start.first / self.sectors;
        let outside = (1.0 - amid, in_order, in_order + (1.0 - amid) * revolution);
        let others = (start.first - 1.0).max(0.0);
        let gone = |number: u32| 1.0 + others * f64::from(number) / f64::from(PARTS);
        let within = (0..PARTS).map(|number| {
            let late = |number| self.late(start, gone(number), blocks, bus);
            let [one, other] = [number, number + 1].map(late);
            let from = revolution + one.min(other);
            // The heads wait for a sector to begin.
            (amid / f64::from(PARTS), from, from + (one - other).abs() + sector)
        });
        let parts: Vec<_> = [outside].into_iter().chain(within).collect();
        let transfer = parts.iter().fold(in_order, |least, (_, from, _)| least.min(*from));
        let case = |(weight, from, to): (f64, f64, f64)| {
            let latency = Latency { from: from - transfer, to: to - transfer };
            Case { weight: start.weight * weight, latency, transfer }
        };
        parts.into_iter().map(case).collect()
    }

    /// What it takes until all is done, if the heads arrive when `gone` of the sectors that are
    /// wanted have gone by, the last of them in part: from when that one has passed on, less a
    /// revolution.
    fn late(&self, start: &Start, gone: f64, blocks: f64, bus: Option<&Bus>) -> f64 {
        let last = self.after_first(start, self.sectors_pass(start.first - gone).max(0.0));
        let Some(bus) = bus else { return last };
        let awaited = self.sectors_pass(bus.awaited.min(gone) - gone);
        let from_first = awaited + bus.preparation + blocks * bus.block;
        let from_gone = (blocks - gone + 1.0) * bus.block;
        from_first.max(from_gone).max(last + bus.block)
    }
}
