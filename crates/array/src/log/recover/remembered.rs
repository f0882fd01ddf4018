//! What commit logs hold of a region: its records and intents, which of them tell of a sector, and
//! the parts in which they are redone.

use std::collections::{BTreeMap, BTreeSet};

use parlour_units::{Region, Sector, Sectors, Slot, Unit};

use crate::columns::{Columns, uncovered};
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::{Change, Committed, FoundLog, Intent};
use crate::format::segment::RecordKind;
use crate::geometry::Geometry;
use crate::log::EntryName;

/// A region is compared with its records part by part: a part is of whole stripes, and of no more
/// data than this (4 MiB) unless it is one stripe. So memory, and what a part has to do, are
/// bounded however much was written to a region.
const PART: u64 = 8_192;

/// A record that a commit log holds.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub(super) committed: Committed,
    /// Where its payload is.
    pub(super) slot: Slot,
    pub(super) at: Sector,
    pub(super) name: EntryName,
}

/// What commit logs hold of a region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    /// In the order of sequence numbers.
    pub(super) records: Vec<Remembered>,
    pub(super) intents: Vec<(Intent, EntryName)>,
    /// Stripes before this one are as their records say.
    pub(super) redone: u32,
    /// In one of them more was missing than could be computed.
    pub(super) lost: bool,
    /// Something could not be read: each block is read for itself.
    pub(super) block_by_block: bool,
    /// Blocks that cannot be read (where in the unit they start): they will be what the rest of the
    /// stripe says.
    pub(super) unreadable: BTreeSet<(u32, Unit, Sectors)>,
}

/// Sorts what the members' commit logs hold by region. Leaves out what is in the parity, and what
/// is to be resynced.
pub(crate) fn remember(
    found: Vec<FoundLog>,
    geometry: &Geometry,
    counts: impl Fn(Region, u64) -> bool,
) -> BTreeMap<Region, Recovery> {
    let (start, length) = geometry.commit_part(CommitPart::Records);
    let mut regions: BTreeMap<Region, Recovery> = BTreeMap::new();
    // What a member brought that stood in another slot before is not of this one.
    let counts = |slot: Slot, region: Region, sequence: u64| {
        geometry.layout().commit_slot(region) == Some(slot) && counts(region, sequence)
    };
    for (slot, found) in (0..).map(Slot::new).zip(found) {
        for entry in found.records.entries {
            let name = EntryName { slot, part: CommitPart::Records, number: entry.number };
            let payload = start
                + Sectors::new(entry.at % length.get().max(1))
                + entry.told.header_length(geometry.block());
            for committed in entry.told.records {
                if counts(slot, committed.region, committed.record.sequence) {
                    let at = payload + committed.record.start;
                    let recovery = regions.entry(committed.region).or_default();
                    recovery.records.push(Remembered { committed, slot, at, name });
                }
            }
        }
        for entry in found.intents.entries {
            let name = EntryName { slot, part: CommitPart::Intents, number: entry.number };
            for intent in entry.told.intents {
                if counts(slot, intent.region, intent.newest) {
                    regions.entry(intent.region).or_default().intents.push((intent, name));
                }
            }
        }
    }
    for recovery in regions.values_mut() {
        recovery.records.sort_by_key(|record| record.committed.record.sequence);
    }
    regions
}

/// What the records say of one sector of a unit.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// What was there after the last write of the whole stripe, if there is one.
    pub(super) base: Option<u64>,
    /// Records since: which, and how the sector changed.
    pub(super) links: Vec<(usize, Change)>,
    /// Nothing was written to the stripe here since its last write as a whole.
    pub(super) whole_last: bool,
}

impl Chain {
    /// How many links from the start a sector with this checksum has behind it.
    pub(super) fn position(&self, sum: u64) -> Option<usize> {
        let last = self.links.iter().rposition(|(_, change)| change.new == sum).map(|index| index + 1);
        let first = self.base.or(self.links.first().map(|(_, change)| change.old));
        last.or((first == Some(sum)).then_some(0))
    }
}

impl Committed {
    /// Sectors that are read and compared for it, at the most. (What became zeroes is written, unit
    /// by unit.)
    pub(super) fn weight(&self, units: u16) -> u64 {
        let length = self.record.columns.length().get();
        match self.record.kind {
            RecordKind::Cancel => length * u64::from(units),
            RecordKind::Zero => u64::from(units),
            RecordKind::Update | RecordKind::Overwrite => length * 2,
        }
    }
}

impl Recovery {
    /// The entries that are kept for the region's records: one name for each.
    pub(crate) fn record_names(&self) -> impl Iterator<Item = EntryName> + '_ {
        self.records.iter().map(|remembered| remembered.name)
    }

    /// Their sequence numbers.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = u64> + '_ {
        self.records.iter().map(|remembered| remembered.committed.record.sequence)
    }

    /// The same for its intents.
    pub(crate) fn intent_names(&self) -> impl Iterator<Item = EntryName> + '_ {
        self.intents.iter().map(|(_, name)| *name)
    }

    /// What is told of `column` of `unit`, by the records `of_stripe`.
    pub(super) fn chain(&self, of_stripe: &[usize], unit: Unit, column: Sectors) -> Chain {
        let sector = Columns::new(column, column + Sectors::new(1));
        let mut chain = Chain::default();
        for index in of_stripe {
            let Committed { record, changes, .. } = &self.records[*index].committed;
            if !record.columns.contain(sector) {
                continue;
            }
            let offset = (column - record.columns.from).get();
            let change = |offset: u64| changes.get(offset as usize).copied();
            if record.kind == RecordKind::Zero {
                // (What it is the last to tell of is not compared.)
                chain = Chain::default();
            } else if record.kind == RecordKind::Cancel {
                let length = record.columns.length().get();
                let base = change(u64::from(unit.get()) * length + offset).map(|change| change.new);
                chain = Chain { base, links: Vec::new(), whole_last: true };
            } else {
                chain.whole_last = false;
                if record.unit == unit {
                    chain.links.extend(change(offset).map(|change| (*index, change)));
                }
            }
        }
        chain
    }

    /// Columns that a zero record of the stripe made zeroes, and no later record of the whole
    /// stripe covers; and which record that is. `of_stripe` are the stripe's records in their
    /// order.
    pub(super) fn zeroed(&self, of_stripe: &[usize]) -> Vec<(usize, Columns)> {
        let mut zeroed: Vec<(usize, Columns)> = Vec::new();
        for index in of_stripe {
            let record = &self.records[*index].committed.record;
            if record.kind == RecordKind::Update {
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

    /// The next part: by stripe, its records in their order. Says, too, whether there are more
    /// behind it.
    pub(super) fn next_part(&self, units: u16) -> (BTreeMap<u32, Vec<usize>>, bool) {
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
            first || sum <= PART
        });
        let end = beyond.map(|(stripe, _)| *stripe).next();
        let rest = end.map(|end| stripes.split_off(&end));
        (stripes, rest.is_some())
    }

    /// Runs of units of `stripes` that are to be compared and can be read, none twice.
    pub(super) fn runs(
        &self,
        stripes: &BTreeMap<u32, Vec<usize>>,
        units: u16,
        block: Sectors,
    ) -> Vec<(u32, Unit, Columns)> {
        let mut parts: Vec<(u32, Unit, Columns)> = Vec::new();
        for index in stripes.values().flatten() {
            let record = &self.records[*index].committed.record;
            let of = match record.kind {
                RecordKind::Cancel => 0..units,
                RecordKind::Zero => continue,
                RecordKind::Update | RecordKind::Overwrite => record.unit.get()..record.unit.get() + 1,
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
        let zeroed: BTreeMap<u32, Vec<Columns>> = stripes
            .iter()
            .map(|(stripe, records)| (*stripe, self.zeroed(records).into_iter().map(|zero| zero.1).collect()))
            .collect();
        kept = kept
            .into_iter()
            .flat_map(|(stripe, unit, columns)| {
                uncovered(columns, &zeroed[&stripe]).into_iter().map(move |columns| (stripe, unit, columns))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::commit_entry::{EntryHeader, Found, Told};
    use crate::format::segment::Record;
    use crate::log::suits::tests::geometry;

    /// A commit log with one record of region 0.
    fn commit_log() -> FoundLog {
        let columns = Columns::new(Sectors::ZERO, Sectors::new(8));
        let (unit, kind, start) = (Unit::new(0), RecordKind::Update, Sectors::ZERO);
        let record = Record { sequence: 9, stripe: 0, unit, kind, columns, start, digest: 0 };
        let changes = vec![Change { old: 1, new: 2 }; 8];
        let told =
            Told { records: vec![Committed { region: Region::new(0), record, changes }], ..Told::default() };
        let records = Found {
            entries: vec![EntryHeader { number: 1, at: 0, tail: 1, previous: 0, told }],
            ..Found::default()
        };
        FoundLog { records, intents: Found::default() }
    }

    #[test]
    fn records_count_only_from_the_commit_log_that_is_their_regions() {
        let geometry = geometry();
        let slot = geometry.layout().commit_slot(Region::new(0)).expect("it has logs");
        for other in 0..4 {
            let empty = || FoundLog { records: Found::default(), intents: Found::default() };
            let mut found: Vec<FoundLog> = (0..4).map(|_| empty()).collect();
            found[other] = commit_log();
            let regions = remember(found, &geometry, |_, _| true);
            assert_eq!(regions.is_empty(), other != slot.as_usize(), "in the log of member {other}");
        }
    }
}
