//! A reintegration as a value: what is still to be done, what is held for it, and what one that a
//! crash cut off has done.

use crate::buffer::BufferId;
use crate::format::commit_entry::{Change, Intent};
use crate::ids::JobId;
use crate::log::EntryName;
use parlour_units::{Sector, Sectors, Slot};
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// A record's part that is to be xored into the parity.
#[derive(Clone, Copy, Debug)]
pub(in crate::log) struct Apply {
    pub(in crate::log) member: Slot,
    pub(in crate::log) at: Sector,
    pub(in crate::log) length: Sectors,
    pub(in crate::log) segment: u32,
    /// Where in the segment's payload.
    pub(in crate::log) start: Sectors,
    /// Parity starts from zero here.
    pub(in crate::log) overwrites: bool,
}

/// A segment that a step reads, perhaps with others.
#[derive(Clone, Copy, Debug)]
pub(in crate::log) struct SegmentRead {
    pub(in crate::log) segment: u32,
    pub(in crate::log) buffer: BufferId,
    pub(in crate::log) step: u32,
    /// How far behind the start of the access it starts.
    pub(in crate::log) behind: Sectors,
    /// How much of it is read.
    pub(in crate::log) length: Sectors,
}

/// Parity that is read and written in one access.
#[derive(Clone, Debug)]
pub(in crate::log) struct Run {
    pub(in crate::log) member: Slot,
    pub(in crate::log) at: Sector,
    pub(in crate::log) length: Sectors,
    /// A range of the applies.
    pub(in crate::log) applies: std::ops::Range<usize>,
}

/// A reintegration that is under way.
#[derive(Debug)]
pub(crate) struct Reintegration {
    pub(in crate::log) applies: Vec<Apply>,
    /// What is still to be done, last first.
    pub(in crate::log) passes: Vec<Vec<Run>>,
    /// Segments in memory, kept from going away.
    pub(in crate::log) held: Vec<(u32, BufferId)>,
    pub(in crate::log) newest: u64,
    /// When it was begun: members that came later hold nothing that it needs.
    pub(in crate::log) turn: u64,
    /// Buffers of the pass that runs.
    pub(in crate::log) buffers: Vec<BufferId>,
    /// Sectors of parity that a reintegration before a crash has brought up to date.
    pub(in crate::log) done: BTreeSet<(Slot, Sector)>,
    /// Times that something had to be mended.
    pub(in crate::log) parity_repairs: u32,
    /// What was unreadable in a long access.
    pub(in crate::log) suspects: Vec<Suspect>,
    /// Entries of the commit log that tell of parity which is being rewritten.
    pub(in crate::log) intents: Vec<EntryName>,
    /// What those tell that were there before.
    pub(in crate::log) told: ToldParity,
    /// The pass that waits until its intent is durable.
    pub(in crate::log) waiting: Option<JobId>,
    /// Committed writes of this epoch are waited for in the end.
    pub(in crate::log) epoch: usize,
    /// All passes are done.
    pub(in crate::log) finishing: bool,
    /// The flush of all members that covers it.
    pub(in crate::log) flush: u64,
}

/// Sectors of a slot that hold something unreadable: what is there is accessed block by block, or
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

/// What a reintegration that a crash cut off has done.
#[derive(Debug, Default)]
pub(crate) struct HalfDone {
    /// It was about the records up to this one.
    pub(in crate::log) newest: u64,
    /// Sectors of parity that hold them already.
    pub(in crate::log) done: BTreeSet<(Slot, Sector)>,
    /// Entries of the commit log that say so.
    pub(in crate::log) intents: Vec<EntryName>,
    /// What they tell.
    pub(in crate::log) told: ToldParity,
}

/// What intents tell of parity, by sector of the member.
#[derive(Debug, Default)]
pub(in crate::log) struct ToldParity(pub(in crate::log) BTreeMap<(Slot, Sector), Change>);

impl HalfDone {
    /// What is left of one that was suspended. How far it got is seen when it is taken up again,
    /// after an opening.
    pub(in crate::log) fn of(suspended: &Reintegration) -> HalfDone {
        HalfDone {
            newest: suspended.newest,
            done: BTreeSet::new(),
            intents: suspended.intents.clone(),
            told: ToldParity::default(),
        }
    }
}

impl ToldParity {
    pub(in crate::log) fn new(intents: &[Intent], data: Sectors) -> ToldParity {
        let of = |intent: &Intent| {
            let (slot, at) = (intent.slot, data + Sectors::new(intent.at));
            let sectors = (0..).map(move |offset| (slot, Sector::ZERO + at + Sectors::new(offset)));
            sectors.zip(intent.changes.clone()).collect::<Vec<_>>()
        };
        ToldParity(intents.iter().flat_map(of).collect())
    }

    /// Whether all that `intent` says will change is told of already.
    pub(in crate::log) fn has(&self, intent: &Intent, data: Sectors) -> bool {
        let is_told = |(offset, change): (u64, &Change)| {
            let sector = Sector::ZERO + data + Sectors::new(intent.at + offset);
            !change.is_one() || self.0.get(&(intent.slot, sector)) == Some(change)
        };
        (0..).zip(&intent.changes).all(is_told)
    }
}
