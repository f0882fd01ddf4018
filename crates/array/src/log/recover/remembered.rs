//! What the commit log holds of a region after a crash: its records and intents, which of them name
//! a given sector, and the parts in which they are redone.

use std::collections::{BTreeMap, BTreeSet};

use parlour_units::{Region, Sector, Sectors, Slot, Unit};

use crate::columns::{Columns, uncovered};
use crate::context::Context;
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::{Change, Committed, Intent};
use crate::format::segment::{Record, RecordKind};
use crate::geometry::Geometry;
use crate::log::EntryName;
use crate::log::found::{FoundEntry, FoundLog};

/// A record that the commit log holds.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub(super) committed: Committed,
    /// The slots on whose members its payload is, and where it is there.
    pub(super) slots: Vec<Slot>,
    pub(super) at: Sector,
    pub(super) name: EntryName,
}

impl Remembered {
    /// The slot from which its payload is read. Another member may have taken one of them
    /// meanwhile.
    pub(super) fn slot(&self, cx: &Context) -> Slot {
        let stands = |slot: &&Slot| cx.roster.member_since(**slot, 0).is_some();
        let slot = self.slots.iter().find(stands).or(self.slots.first());
        *slot.expect("a copy of an entry that was found")
    }
}

/// Whether a region waits for a table that says that it is redone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::log) enum Settling {
    /// It does not, or is not redone.
    #[default]
    No,
    /// The table may not say it yet: blocks are still to be put on the bad-block log.
    Unlisted,
    /// The next table says it.
    Listed,
}

/// The content of the commit log that concerns one region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// Records, in the order of sequence numbers.
    pub(super) records: Vec<Remembered>,
    pub(super) intents: Vec<(Intent, EntryName)>,
    /// Records, by index, of whose content nothing counts any more: it is replaced by later ones.
    pub(super) superseded: BTreeSet<usize>,
    /// Stripes before this one have been redone.
    pub(super) redone: u32,
    /// Records up to this sequence number were redone by an earlier recovery. What stands where
    /// they wrote is not compared with them.
    pub(in crate::log) landed: u64,
    /// In one of the redone stripes, a write of the whole stripe was cut off.
    pub(super) torn: bool,
    /// Blocks of data units (with the distance from the start of the unit) in stripes whose write
    /// was cut off. They were not there, and too little was to compute them.
    pub(super) lost: BTreeSet<(u32, Unit, Sectors)>,
    /// Whether the region waits for a table that says that all is redone.
    pub(in crate::log) settling: Settling,
    /// An access failed: from now on each block is read by itself.
    pub(super) block_by_block: bool,
    /// Blocks that cannot be read (with the distance from the start of the unit): they are computed
    /// from the rest of the stripe.
    pub(super) unreadable: BTreeSet<(u32, Unit, Sectors)>,
    /// Blocks that cannot be read and whose content is recorded: they are written without being
    /// read.
    pub(super) unread: BTreeSet<(u32, Unit, Sectors)>,
}

/// Sorts the content of the commit log by region. Leaves out records that are in the parity, and
/// regions that are to be resynced.
pub(crate) fn remember(
    found: FoundLog,
    geometry: &Geometry,
    counts: impl Fn(Region, u64) -> bool,
) -> BTreeMap<Region, Recovery> {
    let mut regions: BTreeMap<Region, Recovery> = BTreeMap::new();
    for FoundEntry { lane, header, slots } in found.records.lanes.into_iter().flat_map(|lane| lane.entries) {
        let name = EntryName { part: CommitPart::Records, number: header.number };
        let payload = geometry.entry_at(CommitPart::Records, lane, header.at)
            + header.content.header_length(geometry.block());
        for committed in header.content.records {
            if counts(committed.region, committed.record.sequence) {
                let at = payload + committed.record.start;
                let recovery = regions.entry(committed.region).or_default();
                recovery.records.push(Remembered { committed, slots: slots.clone(), at, name });
            }
        }
    }
    for FoundEntry { header, .. } in found.intents.lanes.into_iter().flat_map(|lane| lane.entries) {
        let name = EntryName { part: CommitPart::Intents, number: header.number };
        for intent in header.content.intents {
            if counts(intent.region, intent.newest) {
                regions.entry(intent.region).or_default().intents.push((intent, name));
            }
        }
    }
    for recovery in regions.values_mut() {
        recovery.records.sort_by_key(|record| record.committed.record.sequence);
    }
    regions
}

/// The history of one sector of a unit, as the records describe it.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The sector's checksum after the last full-stripe write, if there is one.
    pub(super) base: Option<u64>,
    /// Later records: the index of each, and how it changed the sector.
    pub(super) links: Vec<(usize, Change)>,
    /// No record came after the last full-stripe write of this stripe at this column.
    pub(super) whole_last: bool,
    /// The one link holds the sector's content: nothing before it counts.
    pub(super) is_content: bool,
}

impl Chain {
    /// How many links of the chain a sector with this checksum already contains.
    pub(super) fn position(&self, sum: u64) -> Option<usize> {
        if self.is_content {
            return Some(self.links.iter().filter(|(_, change)| change.new == sum).count());
        }
        let last = self.links.iter().rposition(|(_, change)| change.new == sum).map(|index| index + 1);
        let first = self.base.or(self.links.first().map(|(_, change)| change.old));
        last.or((first == Some(sum)).then_some(0))
    }
}

impl Committed {
    /// The greatest number of sectors that are read and compared for the record. (Units that became
    /// zeroes are not read but written.)
    pub(super) fn weight(&self, units: u16) -> u64 {
        let length = self.record.columns.length().get();
        match self.record.kind {
            RecordKind::Cancel => length * u64::from(units),
            RecordKind::Zero => u64::from(units),
            RecordKind::Void => 1,
            RecordKind::Update | RecordKind::Overwrite | RecordKind::Content => length * 2,
        }
    }
}

impl Recovery {
    /// The entries that are kept for the region's records: one name per record.
    pub(crate) fn record_names(&self) -> impl Iterator<Item = EntryName> + '_ {
        self.records.iter().map(|remembered| remembered.name)
    }

    /// The entry `name` also stands in `slots` now.
    pub(in crate::log) fn copied(&mut self, name: EntryName, slots: &[Slot]) {
        for remembered in self.records.iter_mut().filter(|remembered| remembered.name == name) {
            remembered.slots.extend(slots);
        }
    }

    /// The sequence numbers of the region's records.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = u64> + '_ {
        self.records.iter().map(|remembered| remembered.committed.record.sequence)
    }

    /// Whether a reintegration was cut off.
    pub(in crate::log) fn has_intents(&self) -> bool {
        !self.intents.is_empty()
    }

    /// The entries that are kept for the region's intents: one name per intent.
    pub(crate) fn intent_names(&self) -> impl Iterator<Item = EntryName> + '_ {
        self.intents.iter().map(|(_, name)| *name)
    }

    pub(super) fn record(&self, index: usize) -> &Record {
        &self.records[index].committed.record
    }

    /// Finds the records whose content is replaced as a whole by later ones: it need not be read.
    pub(in crate::log) fn find_superseded(&mut self) {
        let mut replaced: BTreeMap<(u32, Option<Unit>), Vec<Columns>> = BTreeMap::new();
        for index in (0..self.records.len()).rev() {
            let Record { stripe, unit, kind, columns, .. } = *self.record(index);
            let of = match kind {
                RecordKind::Update | RecordKind::Overwrite => continue,
                RecordKind::Content | RecordKind::Void => Some(unit),
                RecordKind::Cancel | RecordKind::Zero => None,
            };
            let by = |of: Option<Unit>| replaced.get(&(stripe, of)).into_iter().flatten().copied();
            let later: Vec<Columns> = by(of).chain(by(None)).collect();
            if uncovered(columns, &later).is_empty() {
                self.superseded.insert(index);
            } else {
                replaced.entry((stripe, of)).or_default().push(columns);
            }
        }
    }

    /// Whether the payload of this record is needed.
    pub(super) fn needs_payload(&self, index: usize) -> bool {
        !self.record(index).payload().is_zero() && !self.superseded.contains(&index)
    }

    /// Whether data is to be compared with this record.
    fn is_to_redo(&self, index: usize) -> bool {
        self.records[index].committed.record.sequence > self.landed
    }

    /// The chain of `column` of `unit`, from the records `of_stripe`.
    pub(super) fn chain(&self, of_stripe: &[usize], unit: Unit, column: Sectors) -> Chain {
        let sector = Columns::new(column, column + Sectors::new(1));
        let mut chain = Chain::default();
        for index in of_stripe.iter().filter(|index| self.is_to_redo(**index)) {
            let Committed { record, changes, .. } = &self.records[*index].committed;
            if !record.columns.contain(sector) {
                continue;
            }
            let offset = (column - record.columns.from).get();
            let change = |offset: u64| changes.get(offset as usize).copied();
            match record.kind {
                // (A column whose last record is a zero record is not compared.)
                RecordKind::Zero => chain = Chain::default(),
                RecordKind::Cancel => {
                    let length = record.columns.length().get();
                    let base = change(u64::from(unit.get()) * length + offset).map(|change| change.new);
                    chain = Chain { base, whole_last: true, ..Chain::default() };
                }
                RecordKind::Content if record.unit == unit => {
                    let links = change(offset).map(|change| (*index, change)).into_iter().collect();
                    chain = Chain { links, is_content: true, ..Chain::default() };
                }
                // (It was computed since from what the other units hold.)
                RecordKind::Void if record.unit == unit => chain = Chain::default(),
                RecordKind::Content | RecordKind::Void => {}
                RecordKind::Update | RecordKind::Overwrite => {
                    chain.whole_last = false;
                    if record.unit == unit {
                        chain.links.extend(change(offset).map(|change| (*index, change)));
                    }
                }
            }
        }
        chain
    }

    /// Whether the content of a whole block is recorded, from the records `of_stripe`.
    pub(super) fn holds_content(&self, of_stripe: &[usize], unit: Unit, block: Columns) -> bool {
        let mut columns = (block.from.get()..block.to.get()).map(Sectors::new);
        columns.all(|column| self.chain(of_stripe, unit, column).is_content)
    }

    /// Columns of `unit` that a zero record of the stripe zeroed and that no later record replaces,
    /// each with the index of the zero record. `of_stripe` are the stripe's records in order.
    pub(super) fn zeroed(&self, of_stripe: &[usize], unit: Unit) -> Vec<(usize, Columns)> {
        let mut zeroed: Vec<(usize, Columns)> = Vec::new();
        for index in of_stripe.iter().filter(|index| self.is_to_redo(**index)) {
            let record = self.record(*index);
            let replaces = match record.kind {
                RecordKind::Update => false,
                RecordKind::Content | RecordKind::Void => record.unit == unit,
                RecordKind::Overwrite | RecordKind::Cancel | RecordKind::Zero => true,
            };
            if !replaces {
                continue;
            }
            let left = |(zero, columns): (usize, Columns)| {
                uncovered(columns, &[record.columns]).into_iter().map(move |columns| (zero, columns))
            };
            zeroed = zeroed.into_iter().flat_map(left).collect();
            if record.kind == RecordKind::Zero {
                zeroed.push((*index, record.columns));
            }
        }
        zeroed
    }

    /// The next part: its records in order, by stripe; and whether more parts follow.
    pub(super) fn next_part(&self, units: u16, most: Sectors) -> (BTreeMap<u32, Vec<usize>>, bool) {
        let mut stripes: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, remembered) in self.records.iter().enumerate() {
            let stripe = remembered.committed.record.stripe;
            if stripe >= self.redone {
                stripes.entry(stripe).or_default().push(index);
            }
        }
        let mut sum = 0;
        let weight = |index: &usize| self.records[*index].committed.weight(units);
        let beyond = stripes.iter().skip_while(|(_, records)| {
            let first = sum == 0;
            sum += records.iter().map(weight).sum::<u64>().max(1);
            first || sum <= most.get()
        });
        let end = beyond.map(|(stripe, _)| *stripe).next();
        let rest = end.map(|end| stripes.split_off(&end));
        (stripes, rest.is_some())
    }

    /// Runs of units of `stripes` that are to be compared and can be read; no sector occurs twice.
    pub(super) fn runs(
        &self,
        stripes: &BTreeMap<u32, Vec<usize>>,
        units: u16,
        block: Sectors,
    ) -> Vec<(u32, Unit, Columns)> {
        let mut parts: Vec<(u32, Unit, Columns)> = Vec::new();
        for index in stripes.values().flatten().filter(|index| self.is_to_redo(**index)) {
            let record = &self.records[*index].committed.record;
            let of = match record.kind {
                RecordKind::Cancel => 0..units,
                RecordKind::Zero | RecordKind::Void => continue,
                RecordKind::Update | RecordKind::Overwrite | RecordKind::Content => {
                    record.unit.get()..record.unit.get() + 1
                }
            };
            parts.extend(of.map(|unit| (record.stripe, Unit::new(unit), record.columns)));
        }
        parts.sort_unstable();
        let mut kept: Vec<(u32, Unit, Columns)> = Vec::with_capacity(parts.len());
        for (stripe, unit, columns) in parts {
            match kept.last_mut() {
                Some((s, u, last)) if (*s, *u) == (stripe, unit) && last.to >= columns.from => {
                    last.to = last.to.max(columns.to);
                }
                _ => kept.push((stripe, unit, columns)),
            }
        }
        kept = kept
            .into_iter()
            .flat_map(|(stripe, unit, columns)| {
                let zeroed = self.zeroed(&stripes[&stripe], unit);
                let zeroed: Vec<Columns> = zeroed.into_iter().map(|zero| zero.1).collect();
                uncovered(columns, &zeroed).into_iter().map(move |columns| (stripe, unit, columns))
            })
            .collect();
        if self.block_by_block {
            kept = kept
                .into_iter()
                .flat_map(|(stripe, unit, columns)| {
                    let starts = (columns.from.get()..columns.to.get())
                        .step_by(block.get() as usize)
                        .map(Sectors::new);
                    starts.map(move |from| (stripe, unit, Columns::new(from, from + block)))
                })
                .collect();
        }
        kept.retain(|(stripe, unit, columns)| !self.unreadable.contains(&(*stripe, *unit, columns.from)));
        kept
    }
}
