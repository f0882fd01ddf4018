//! A reintegration as a value: the work that is left, the buffers that are held for it, and the
//! work that a reintegration which a crash cut off has done.

use crate::buffer::BufferId;
use crate::format::commit_entry::{Change, Intent};
use crate::ids::JobId;
use crate::log::EntryName;
use parlour_units::{Region, Sector, Sectors, Slot};
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// A part of a record that is to be added to a check unit.
#[derive(Clone, Copy, Debug)]
pub(in crate::log) struct Apply {
    pub(in crate::log) member: Slot,
    pub(in crate::log) at: Sector,
    pub(in crate::log) length: Sectors,
    pub(in crate::log) segment: u32,
    /// Where the record begins in the segment's payload.
    pub(in crate::log) record: Sectors,
    /// The offset in the segment's payload.
    pub(in crate::log) start: Sectors,
    /// How often it is added: the check unit's coefficient of the record's data unit.
    pub(in crate::log) coefficient: u8,
    /// The check unit starts from zero here.
    pub(in crate::log) overwrites: bool,
}

/// A segment that a step reads, possibly together with others.
#[derive(Clone, Copy, Debug)]
pub(in crate::log) struct SegmentRead {
    pub(in crate::log) segment: u32,
    pub(in crate::log) buffer: BufferId,
    pub(in crate::log) step: u32,
    /// The distance from the start of the access to the segment.
    pub(in crate::log) behind: Sectors,
    /// How much of the segment is read.
    pub(in crate::log) length: Sectors,
}

/// Parity that is read and written in one access.
#[derive(Clone, Debug)]
pub(in crate::log) struct Run {
    pub(in crate::log) member: Slot,
    pub(in crate::log) at: Sector,
    pub(in crate::log) length: Sectors,
    /// The applies of this run, as a range of indices.
    pub(in crate::log) applies: std::ops::Range<usize>,
}

/// A reintegration that is under way.
#[derive(Debug)]
pub(crate) struct Reintegration {
    pub(in crate::log) applies: Vec<Apply>,
    /// Passes that are still to be done, in reverse order.
    pub(in crate::log) passes: Vec<Vec<Run>>,
    /// Segments in memory whose buffers are held.
    pub(in crate::log) held: Vec<(u32, BufferId)>,
    pub(in crate::log) newest: u64,
    /// The roster's turn when it began: members that came later hold nothing that it needs.
    pub(in crate::log) turn: u64,
    /// Buffers of the pass that is running.
    pub(in crate::log) buffers: Vec<BufferId>,
    /// The number of repairs so far.
    pub(in crate::log) parity_repairs: u32,
    /// Sectors that were unreadable in a long access.
    pub(in crate::log) suspects: Vec<Suspect>,
    /// Entries of the commit log with its intents.
    pub(in crate::log) intents: Vec<EntryName>,
    /// Checksums of the intents that were there before, from a reintegration that a crash cut off.
    pub(in crate::log) intended: IntendedParity,
    /// The pass that waits until its intent is durable.
    pub(in crate::log) waiting: Option<JobId>,
    /// At the end it waits for the committed writes of this epoch.
    pub(in crate::log) epoch: usize,
    /// All passes are done.
    pub(in crate::log) finishing: bool,
    /// The number of the flush of all members that covers it.
    pub(in crate::log) flush: u64,
}

/// Sectors of a slot with something unreadable among them: they are accessed block by block, or
/// segment by segment.
#[derive(Clone, Copy, Debug)]
pub(in crate::log) struct Suspect {
    pub(in crate::log) slot: Slot,
    pub(in crate::log) at: Sector,
    pub(in crate::log) length: Sectors,
}

impl Suspect {
    pub(in crate::log) fn overlaps(&self, slot: Slot, at: Sector, length: Sectors) -> bool {
        self.slot == slot && at < self.at + self.length && self.at < at + length
    }
}

/// Whether something unreadable is among these sectors.
pub(in crate::log) fn is_suspect(suspects: &[Suspect], slot: Slot, at: Sector, length: Sectors) -> bool {
    suspects.iter().any(|suspect| suspect.overlaps(slot, at, length))
}

/// Parity that is being compared with the checksums of intents.
#[derive(Debug)]
pub(crate) struct IntentProbe {
    pub(in crate::log) region: Region,
    pub(in crate::log) intents: Vec<Intent>,
    /// Some of it could not be read before.
    pub(in crate::log) again: bool,
}

/// The work that was done by a reintegration that a crash cut off.
#[derive(Debug, Default)]
pub(crate) struct HalfDone {
    /// The number of its newest record.
    pub(in crate::log) newest: u64,
    /// Sectors of parity that contain its records already.
    pub(in crate::log) done: BTreeSet<(Slot, Sector)>,
    /// Entries of the commit log with its intents.
    pub(in crate::log) intents: Vec<EntryName>,
    /// The checksums in these intents.
    pub(in crate::log) intended: IntendedParity,
}

/// The changes of parity that intents describe, by sector of the member.
#[derive(Debug, Default)]
pub(in crate::log) struct IntendedParity(pub(in crate::log) BTreeMap<(Slot, Sector), Change>);

impl HalfDone {
    /// The rest of a suspended reintegration. How much of its parity was written is found out after
    /// the next opening.
    pub(in crate::log) fn of(suspended: &Reintegration) -> HalfDone {
        HalfDone {
            newest: suspended.newest,
            done: BTreeSet::new(),
            intents: suspended.intents.clone(),
            intended: IntendedParity::default(),
        }
    }
}

impl IntendedParity {
    pub(in crate::log) fn new(intents: &[Intent], data: Sectors) -> IntendedParity {
        let of = |intent: &Intent| {
            let (slot, at) = (intent.slot, data + Sectors::new(intent.at));
            let sectors = (0..).map(move |offset| (slot, Sector::ZERO + at + Sectors::new(offset)));
            sectors.zip(intent.changes.clone()).collect::<Vec<_>>()
        };
        IntendedParity(intents.iter().flat_map(of).collect())
    }

    /// Whether all changes of `intent` are among these already.
    pub(in crate::log) fn has(&self, intent: &Intent, data: Sectors) -> bool {
        let is_told = |(offset, change): (u64, &Change)| {
            let sector = Sector::ZERO + data + Sectors::new(intent.at + offset);
            !change.is_one() || self.0.get(&(intent.slot, sector)) == Some(change)
        };
        (0..).zip(&intent.changes).all(is_told)
    }
}
