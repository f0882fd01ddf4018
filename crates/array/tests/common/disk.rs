//! A member: its bytes, its cache and its faults.

use std::collections::BTreeMap;

use parlour_array::{Fault, Identity};
use parlour_units::{Sector, Sectors};

use super::Random;

/// A member: its bytes and its faults.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub bytes: Vec<u8>,
    pub dead: bool,
    pub full: bool,
    /// The system has no memory for accesses to its data area.
    pub starved: bool,
    /// It has no room for metadata.
    pub cramped: bool,
    /// Sectors that cannot be read until they are written.
    pub unreadable: std::collections::BTreeSet<u64>,
    /// Sectors that cannot be read even after they were written.
    pub worn: std::collections::BTreeSet<u64>,
    /// The number of further reads of these sectors that fail.
    pub stutters: BTreeMap<u64, u32>,
    pub identity: Identity,
    pub writes: u64,
    /// If there is a volatile cache: what is stable in the sectors that were written since, and
    /// these writes (at, bytes, durable).
    pub stable: Option<BTreeMap<u64, Vec<u8>>>,
    pub cache: Vec<(u64, Vec<u8>, bool)>,
    pub base: usize,
    pub flush_fails: bool,
    pub durable_writes_fail: Option<Fault>,
    /// It answers writes without carrying them out.
    pub drops: bool,
}

impl Disk {
    pub(super) fn can_read(&self, at: Sector, length: Sectors) -> bool {
        let range = at.get()..(at + length).get();
        [&self.unreadable, &self.worn].iter().all(|lost| lost.range(range.clone()).next().is_none())
    }

    /// Tries to read. Returns whether that succeeds.
    pub(super) fn try_read(&mut self, at: Sector, length: Sectors) -> bool {
        let mut clear = true;
        for (_, left) in self.stutters.range_mut(at.get()..(at + length).get()) {
            clear &= *left == 0;
            *left = left.saturating_sub(1);
        }
        clear && self.can_read(at, length)
    }

    /// From now on the disk has a volatile cache. All that was written before is stable.
    pub fn volatile(&mut self) {
        self.stable = Some(BTreeMap::new());
        self.base += self.cache.len();
        self.cache.clear();
    }

    /// A write goes to the cache, if there is one: what it overwrites is kept. It is carried out
    /// after that, or not.
    pub fn note_write(&mut self, at: u64, bytes: &[u8], durable: bool) {
        let Some(stable) = &mut self.stable else { return };
        for sector in at..at + bytes.len() as u64 / 512 {
            let start = sector as usize * 512;
            stable.entry(sector).or_insert_with(|| self.bytes[start..start + 512].to_vec());
        }
        self.cache.push((at, bytes.to_vec(), durable));
    }

    pub fn flush(&mut self, cap: usize) {
        if self.stable.is_none() {
            return;
        }
        let n = cap.saturating_sub(self.base).min(self.cache.len());
        for e in &mut self.cache[..n] {
            e.2 = true;
        }
        self.compact();
    }
    pub fn compact(&mut self) {
        let n = self.cache.iter().take_while(|e| e.2).count();
        let stable = self.stable.as_mut().unwrap();
        self.base += n;
        if n == self.cache.len() {
            self.cache.clear();
            return stable.clear();
        }
        for (at, bytes, _) in self.cache.drain(..n) {
            for (sector, content) in (at..).zip(bytes.chunks(512)) {
                stable.insert(sector, content.to_vec());
            }
        }
    }
    /// A power cut: each sector of each write that is not flushed may be there or not.
    pub fn power_loss(&mut self, random: &mut Random, keep: u64) {
        let mut stable = self.stable.replace(BTreeMap::new()).unwrap();
        for (at, bytes, durable) in self.cache.drain(..) {
            for (sector, content) in (at..).zip(bytes.chunks(512)) {
                if durable || random.below(4) < keep {
                    stable.insert(sector, content.to_vec());
                }
            }
        }
        for (sector, content) in stable {
            self.bytes[sector as usize * 512..][..512].copy_from_slice(&content);
        }
        self.base = 0;
    }
}
