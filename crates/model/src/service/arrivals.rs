//! The time of an access after the seek, as a function of where on its first track the request
//! begins and where the heads arrive.
//!
//! A drive that takes a track's sectors in any order begins with the next wanted sector. If the
//! heads arrive outside the wanted sectors, nothing changes: the first one passes, and then the
//! others. If they arrive among the wanted sectors, the rest of these passes first, and the missed
//! ones follow after a revolution. The host still gets blocks in order: the bus waits for the first
//! block, whatever has passed before it, and then sends all that is in the buffer. Read-ahead does
//! not change this: a wanted block is available when it has passed.

use parlour_drive::electronics::Electronics;

use super::moments::milliseconds;
use super::positioning::Latency;
use super::tracks::{Start, Tracks};

/// A class of accesses with equal times after the seek.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// The fraction of accesses in this class.
    pub(super) weight: f64,
    /// Their time in addition to the transfer.
    pub(super) latency: Latency,
    /// The time from the first sector on, in ms; if it depends on where the heads arrive, the
    /// shortest.
    pub(super) transfer: f64,
}

/// The number of parts into which the wanted sectors of the first track are divided, for heads that
/// arrive among them.
const PARTS: u32 = 4;

/// The transfer from the platters to the host, in ms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bus {
    /// The time of a block.
    block: f64,
    /// The time to take the bus.
    preparation: f64,
    /// The number of blocks that must be in the buffer before the bus is taken.
    awaited: f64,
}

impl Bus {
    /// The bus for a read of `blocks`.
    pub(super) fn of(electronics: &Electronics, blocks: u64) -> Bus {
        let Electronics { buffer, overheads, bus: (block, _) } = electronics;
        let room = buffer.segment_blocks.max(1).min(blocks);
        Bus {
            block: milliseconds(*block),
            preparation: milliseconds(overheads.reselect + overheads.data_preparation),
            awaited: (room as f64 * buffer.read_watermark).floor().max(1.0),
        }
    }

    /// The time from when the first block begins to pass until the host has all blocks, if all
    /// blocks pass in `passes` and the awaited ones in `awaited`.
    fn handed_on(&self, blocks: f64, passes: f64, awaited: f64) -> f64 {
        (awaited + self.preparation + blocks * self.block).max(passes + self.block)
    }
}

impl Tracks {
    /// The transfer time of a read whose blocks pass in `passes`: the bus begins when the blocks
    /// that the drive waits for have passed.
    pub(super) fn handed_on(&self, bus: &Bus, blocks: u64, passes: f64) -> f64 {
        bus.handed_on(blocks as f64, passes, self.mean_passing(bus.awaited as u64))
    }

    /// Accesses that wait for their first sector.
    pub(super) fn in_order(&self, blocks: u64, transfer: impl Fn(f64) -> f64) -> Vec<Case> {
        let latency = Latency { from: 0.0, to: self.sectors_pass(self.sectors) };
        let of = |(weight, crossed)| Case { weight, latency, transfer: transfer(crossed) };
        self.crossings(blocks).into_iter().filter(|(weight, _)| *weight > 0.0).map(of).collect()
    }

    /// Accesses that begin with any sector; with a `bus`, until the host has all blocks.
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
            // The heads wait for the beginning of a sector.
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

    /// The time until everything is done, if the heads arrive when `gone` of the wanted sectors
    /// have passed, the last one partly: counted from when that one has passed, minus a revolution.
    fn late(&self, start: &Start, gone: f64, blocks: f64, bus: Option<&Bus>) -> f64 {
        let last = self.after_first(start, self.sectors_pass(start.first - gone).max(0.0));
        let Some(bus) = bus else { return last };
        let awaited = self.sectors_pass(bus.awaited.min(gone) - gone);
        let from_first = awaited + bus.preparation + blocks * bus.block;
        let from_gone = (blocks - gone + 1.0) * bus.block;
        from_first.max(from_gone).max(last + bus.block)
    }
}
