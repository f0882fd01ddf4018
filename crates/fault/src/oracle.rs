//! The oracle: what each sector may hold.
//!
//! A sector is a register with concurrent writers. Its history is a list of writes, with the ticks
//! at which each began, was answered, and was *gone*: overwritten by a write that began after it
//! was answered, or ruled out by a read. A read may return a write that was not gone when the read
//! began. A power cut is like a read that began when the last completed flush began, except for
//! content that a durable write has overwritten. Content that is read after a power cut stays.
//!
//! Copies that are not yet equal to the first copy promise less. Content that a read of the first
//! copy has ruled out may still be on another copy. It becomes visible if the first copy is lost
//! before the others have been updated, or before a flush and a power cut.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use parlour_array::Geometry;
use parlour_units::{Region, Slot};

use crate::content::{SectorBytes, Value};
use crate::promises::Promises;
use crate::request::Range;
use crate::violation::Violation;

/// The tick of an event that has not happened yet.
const OPEN: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    value: Value,
    /// The tick of its submission, which also identifies it.
    began: u64,
    ended: u64,
    gone: u64,
    /// A power cut cannot bring it back.
    dead: bool,
    /// A power cut cannot bring it back unless a member is lost from which its sector was read.
    outlived: bool,
    /// A read of one copy has ruled it out while the other copies were not yet updated: these may
    /// still hold it.
    doubted: bool,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is done.
    Done,
    /// It is done and durable.
    Durably,
    /// It may be done completely, in part, or not at all.
    Perhaps,
}

/// The oracle, described in the module's documentation.
#[derive(Clone, Debug)]
pub(crate) struct Oracle {
    promises: Promises,
    sectors: Vec<Vec<Entry>>,
    initial: Value,
    tick: u64,
    /// The tick at which the last completed flush began, or of the last power cut.
    floor: u64,
    /// The tick of the last power cut; zero if there was none.
    cut: u64,
    /// A member was excluded since the last power cut.
    excluded: bool,
    /// Reads that began before this tick may have used a copy that differed from the others and is
    /// lost now.
    gone_copy: u64,
    /// Content that was present at the last power cut, and is read now, is on stable storage.
    stable: bool,
    /// Unpromised content may differ from read to read until it is written.
    doubts_stay: bool,
    /// The ticks at which reads under way began, and the number of reads for each.
    reads: BTreeMap<u64, u32>,
}

impl Oracle {
    pub(crate) fn new(capacity: u64, initial: Value, promises: Promises) -> Oracle {
        Oracle {
            promises,
            sectors: vec![Vec::new(); capacity as usize],
            initial,
            tick: 1,
            floor: 0,
            cut: 0,
            excluded: false,
            gone_copy: 0,
            stable: false,
            doubts_stay: false,
            reads: BTreeMap::new(),
        }
    }

    /// From now on unpromised content may differ from read to read until it is written.
    pub(crate) fn let_doubts_stay(&mut self) {
        self.doubts_stay = true;
    }

    fn now(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    fn whole(initial: Value) -> Entry {
        Entry { value: initial, began: 0, ended: 0, gone: OPEN, dead: false, outlived: false, doubted: false }
    }

    /// A write of `value` is submitted. Returns its tick.
    pub(crate) fn write_begins(&mut self, range: Range, value: Value) -> u64 {
        let began = self.now();
        let oldest_read = self.reads.keys().next().copied().unwrap_or(OPEN);
        let (floor, initial) = (self.floor, self.initial);
        for entries in &mut self.sectors[range.sectors()] {
            if entries.is_empty() {
                entries.push(Oracle::whole(initial));
            }
            // An entry that neither a read under way nor a power cut can show any more is removed.
            entries
                .retain(|e| e.gone > oldest_read || !e.dead && (e.outlived || e.doubted || e.gone > floor));
            entries.push(Entry {
                value,
                began,
                ended: OPEN,
                gone: OPEN,
                dead: false,
                outlived: false,
                doubted: false,
            });
        }
        began
    }

    /// A write has been answered.
    pub(crate) fn write_ends(&mut self, range: Range, began: u64, written: Written) {
        let now = self.now();
        for entries in &mut self.sectors[range.sectors()] {
            for entry in entries.iter_mut() {
                if entry.began == began {
                    entry.ended = now;
                } else if entry.ended < began && written != Written::Perhaps {
                    // A write that a read had ruled out is overwritten on all members only now.
                    let ruled_out = entry.outlived || entry.doubted;
                    entry.gone = if ruled_out { now } else { entry.gone.min(now) };
                    (entry.outlived, entry.doubted) = (false, false);
                    entry.dead |= written == Written::Durably;
                }
            }
        }
    }

    /// A read is submitted. Returns its tick.
    pub(crate) fn read_begins(&mut self) -> u64 {
        let began = self.now();
        *self.reads.entry(began).or_default() += 1;
        began
    }

    /// A read has failed.
    pub(crate) fn read_fails(&mut self, began: u64) {
        self.reads.remove(&began);
    }

    /// A read has returned `sectors`, perhaps from `one_copy` to which the others are not yet
    /// equal.
    pub(crate) fn read_ends(
        &mut self,
        range: Range,
        began: u64,
        sectors: &[SectorBytes],
        one_copy: bool,
    ) -> Result<(), Violation> {
        self.reads.remove(&began);
        for (sector, content) in (range.at..).zip(sectors) {
            self.see(sector, content.whose(sector), began, one_copy)?;
        }
        Ok(())
    }

    fn see(&mut self, sector: u64, value: Value, began: u64, one_copy: bool) -> Result<(), Violation> {
        let (initial, cut, gone_copy) = (self.initial, self.cut, self.gone_copy);
        let entries = &mut self.sectors[sector as usize];
        if entries.is_empty() && value == initial {
            return Ok(());
        }
        let fits = |entry: &Entry| entry.value == value && entry.gone > began;
        let any_stays = |entry: &Entry| entry.value == Value::ANY && entry.gone > began;
        if self.doubts_stay && entries.iter().any(any_stays) {
            return Ok(());
        }
        if !entries.iter().any(fits) {
            // Unpromised content is known from its first read on.
            let any = entries.iter_mut().find(|entry| entry.value == Value::ANY && entry.gone > began);
            match any {
                Some(entry) if entry.began >= began => {}
                Some(entry) => entry.value = value,
                None => return Err(self.wrong(sector, value, began)),
            }
        }
        let entries = &mut self.sectors[sector as usize];
        let settled = entries.iter().filter(|entry| fits(entry)).all(|entry| entry.ended < began);
        if settled && began >= gone_copy && entries.len() > 1 {
            // The content read was present at the power cut; a later flush does not make it more
            // durable.
            let left = cut > 0 && entries.iter().filter(|e| fits(e)).all(|e| e.ended <= cut);
            let ruled_out = |entry: &&mut Entry| !fits(entry) && entry.ended < began && entry.gone > began;
            for entry in entries.iter_mut().filter(ruled_out) {
                entry.gone = began;
                entry.outlived |= left && entry.ended <= cut;
                entry.doubted |= one_copy;
            }
        }
        Ok(())
    }

    fn wrong(&self, sector: u64, found: Value, began: u64) -> Violation {
        let entries = &self.sectors[sector as usize];
        let mut allowed: Vec<String> = entries
            .iter()
            .filter(|entry| entry.gone > began)
            .map(|entry| match entry.ended {
                OPEN => format!("{} (under way)", entry.value),
                _ => entry.value.to_string(),
            })
            .collect();
        if entries.is_empty() {
            allowed.push(self.initial.to_string());
        }
        Violation::WrongContent { sector, found: found.to_string(), allowed: allowed.join(", ") }
    }

    /// A flush is submitted. Returns its tick.
    pub(crate) fn flush_begins(&mut self) -> u64 {
        self.now()
    }

    /// A flush has succeeded.
    pub(crate) fn flush_ends(&mut self, began: u64) {
        self.floor = self.floor.max(began);
    }

    /// A member was excluded. Content that was read from it may be lost with it at the next power
    /// cut; or at once, if it was `not_copied` to the other members yet.
    pub(crate) fn member_excluded(&mut self, not_copied: bool) {
        if self.promises.read_outlasts_members {
            return;
        }
        (self.stable, self.excluded) = (false, true);
        if not_copied {
            self.gone_copy = self.now();
            let doubted = self.sectors.iter_mut().flatten().filter(|entry| entry.doubted || entry.outlived);
            doubted.for_each(|entry| (entry.gone, entry.outlived, entry.doubted) = (OPEN, false, false));
        }
    }

    /// The array has crashed, with a power cut or without; perhaps while other copies were
    /// `not_copied` from the first one. Requests under way may be done completely, in part, or not
    /// at all.
    pub(crate) fn crash(&mut self, power: bool, not_copied: bool) {
        let now = self.now();
        let (floor, stays, excluded) = (self.floor, self.stable, self.excluded);
        let doubts = !power || not_copied || excluded;
        self.reads.clear();
        for entries in self.sectors.iter_mut().filter(|entries| !entries.is_empty()) {
            let lasts = |entry: &Entry| entry.outlived || entry.gone > floor;
            entries.retain(|entry| !entry.dead && (lasts(entry) || entry.doubted && doubts));
            for entry in entries.iter_mut() {
                entry.ended = entry.ended.min(now);
                if power && !(stays && entry.outlived) && (lasts(entry) || excluded) {
                    (entry.gone, entry.outlived, entry.doubted) = (OPEN, false, false);
                }
            }
        }
        if power {
            (self.floor, self.cut, self.stable, self.excluded) = (now, now, true, false);
        }
    }

    /// A hash of the oracle's state. It depends only on the order of the ticks.
    pub(crate) fn digest(&self) -> u64 {
        let of_entry = |entry: &Entry| [entry.began, entry.ended, entry.gone];
        let mut ticks = vec![self.floor, self.cut, self.gone_copy];
        ticks.extend(self.reads.keys());
        ticks.extend(self.sectors.iter().flatten().flat_map(of_entry));
        ticks.sort_unstable();
        ticks.dedup();
        let rank = |tick: u64| ticks.binary_search(&tick).expect("all ticks were collected");
        let mut hash = DefaultHasher::new();
        (rank(self.floor), rank(self.cut), rank(self.gone_copy), self.stable, self.excluded).hash(&mut hash);
        for (tick, count) in &self.reads {
            (rank(*tick), count).hash(&mut hash);
        }
        for (sector, entries) in self.sectors.iter().enumerate() {
            for entry in entries {
                let ranks = of_entry(entry).map(rank);
                (sector, entry.value, ranks, entry.dead, entry.outlived, entry.doubted).hash(&mut hash);
            }
        }
        hash.finish()
    }

    /// Allows any content of the data that `slots` hold in `regions`.
    pub(crate) fn forgive_members(
        &mut self,
        geometry: &Geometry,
        slots: &[Slot],
        regions: impl Iterator<Item = Region>,
    ) {
        let layout = geometry.layout();
        let unit_length = layout.unit_length().get();
        for region in regions {
            for stripe in (0..).map_while(|index| layout.stripe_in(region, index)) {
                let lost = layout.units().filter(|unit| {
                    // (What has been moved may be lost with the member of its spare place.)
                    let spare = || layout.spares() > 0 && slots.contains(&layout.spare(stripe, 0).slot);
                    let home = layout.locate(stripe, *unit).slot;
                    layout.is_data(*unit) && (slots.contains(&home) || spare())
                });
                for unit in lost {
                    let number = stripe.get() * u64::from(layout.data_units()) + u64::from(unit.get());
                    let first = number * unit_length;
                    (first..first + unit_length).for_each(|sector| self.forgive(sector));
                }
            }
        }
    }

    /// Allows any content of `sector` until it is written.
    fn forgive(&mut self, sector: u64) {
        let now = self.tick;
        let any = Entry {
            value: Value::ANY,
            began: now,
            ended: now,
            gone: OPEN,
            dead: false,
            outlived: false,
            doubted: false,
        };
        let entries = &mut self.sectors[sector as usize];
        entries.retain(|entry| entry.ended == OPEN);
        entries.push(any);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parlour_array::organization::Consistency;

    const ALL: Range = Range { at: 0, length: 1 };

    fn oracle() -> Oracle {
        Oracle::new(1, Value::ZERO, Promises::of(Consistency::Bitmap))
    }

    fn write(oracle: &mut Oracle, number: u64, how: Written) {
        let began = oracle.write_begins(ALL, Value::written(number));
        oracle.write_ends(ALL, began, how);
    }

    fn reads(oracle: &mut Oracle, value: Value) -> bool {
        let began = oracle.read_begins();
        ends(oracle, began, value)
    }

    fn ends(oracle: &mut Oracle, began: u64, value: Value) -> bool {
        oracle.read_ends(ALL, began, &[SectorBytes::written(value, 0)], false).is_ok()
    }

    #[test]
    fn a_read_sees_the_last_write_or_one_under_way() {
        let mut oracle = oracle();
        write(&mut oracle, 1, Written::Done);
        assert!(!reads(&mut oracle, Value::ZERO));
        let second = oracle.write_begins(ALL, Value::written(2));
        assert!(reads(&mut oracle, Value::written(1)) && reads(&mut oracle, Value::written(2)));
        assert!(reads(&mut oracle, Value::written(1)));
        oracle.write_ends(ALL, second, Written::Done);
        assert!(!reads(&mut oracle, Value::written(1)) && reads(&mut oracle, Value::written(2)));
    }

    #[test]
    fn of_two_writes_at_once_either_stays_and_a_read_decides() {
        let mut oracle = oracle();
        let a = oracle.write_begins(ALL, Value::written(1));
        let b = oracle.write_begins(ALL, Value::written(2));
        let early = oracle.read_begins();
        oracle.write_ends(ALL, b, Written::Done);
        oracle.write_ends(ALL, a, Written::Done);
        assert!(ends(&mut oracle, early, Value::ZERO));
        assert!(!reads(&mut oracle, Value::ZERO));
        assert!(reads(&mut oracle, Value::written(2)));
        assert!(!reads(&mut oracle, Value::written(1)));
    }

    #[test]
    fn a_power_cut_leaves_the_last_flushed_or_a_later_write() {
        let mut oracle = oracle();
        write(&mut oracle, 1, Written::Done);
        let flush = oracle.flush_begins();
        write(&mut oracle, 2, Written::Done);
        oracle.flush_ends(flush);
        write(&mut oracle, 3, Written::Perhaps);
        oracle.crash(true, false);
        assert!(!reads(&mut oracle, Value::ZERO));
        assert!(reads(&mut oracle, Value::written(1)));
        assert!(!reads(&mut oracle, Value::written(2)), "once read it does not change");
        oracle.crash(true, false);
        assert!(reads(&mut oracle, Value::written(1)) && !reads(&mut oracle, Value::written(3)));
    }

    #[test]
    fn a_durable_write_survives_without_a_flush_and_a_kill_takes_nothing() {
        let mut oracle = oracle();
        write(&mut oracle, 1, Written::Done);
        write(&mut oracle, 2, Written::Durably);
        write(&mut oracle, 3, Written::Done);
        oracle.crash(false, false);
        assert!(!reads(&mut oracle, Value::written(2)));
        oracle.crash(true, false);
        assert!(!reads(&mut oracle, Value::written(1)));
        assert!(reads(&mut oracle, Value::written(2)));
    }

    #[test]
    fn where_nothing_is_promised_the_first_read_decides() {
        let mut oracle = oracle();
        write(&mut oracle, 1, Written::Done);
        oracle.forgive(0);
        assert!(reads(&mut oracle, Value::fill(9)) && !reads(&mut oracle, Value::written(1)));
    }
}
