//! The cache of a member: which writes are not durable, and what a power cut leaves of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::image::{Image, page_of, sectors_of};
use crate::content::SectorBytes;
use crate::random::Keyed;

/// The content of a write, by sector.
pub(crate) type Content = Vec<(u64, SectorBytes)>;

/// The number of writes that no later flush makes durable.
const LOST: u64 = u64::MAX;

/// The content of a sector before a write that is not durable yet.
#[derive(Clone, Debug)]
struct Before {
    sector: u64,
    write: u64,
    bytes: SectorBytes,
}

/// The writes that are not durable. The image holds their content; the cache holds what it
/// replaced.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    /// By page: the content before each write that is not durable, oldest first.
    before: BTreeMap<u64, Vec<Before>>,
    /// Vectors for such lists, kept for their capacity.
    spare: Vec<Vec<Before>>,
    /// The number of writes so far.
    writes: u64,
}

impl Cache {
    /// Begins a new write, to which later calls of `keep` belong.
    pub(super) fn begin_write(&mut self) {
        self.writes += 1;
    }

    /// The number of writes so far.
    pub(super) fn written(&self) -> u64 {
        self.writes
    }

    /// A part of the current write has `replaced` content of one page, from sector `first` on.
    /// Returns the sector after the last one.
    pub(super) fn keep(&mut self, first: u64, replaced: impl Iterator<Item = SectorBytes>) -> u64 {
        let (write, spare) = (self.writes, &mut self.spare);
        let of_page = self.before.entry(page_of(first));
        let versions = of_page.or_insert_with(|| spare.pop().unwrap_or_default());
        let mut end = first;
        for bytes in replaced {
            versions.push(Before { sector: end, write, bytes });
            end += 1;
        }
        end
    }

    /// Sectors of one page were written durably: nothing older comes back.
    pub(super) fn settle(&mut self, sectors: Range<u64>) {
        if let Some(versions) = self.before.get_mut(&page_of(sectors.start)) {
            versions.retain(|version| !sectors.contains(&version.sector));
        }
    }

    /// The first `writes` writes have become durable.
    pub(super) fn flushed(&mut self, writes: u64) {
        let spare = &mut self.spare;
        self.before.retain(|_, versions| {
            // A durable write over a lost write makes the sector durable.
            let lost = versions.iter().any(|version| version.write == LOST);
            let covered = versions.iter().filter(|version| lost && version.write <= writes);
            let covered: BTreeSet<u64> = covered.map(|version| version.sector).collect();
            let over = |version: &Before| match version.write {
                LOST => covered.contains(&version.sector),
                write => write <= writes,
            };
            versions.retain(|version| !over(version));
            if versions.is_empty() {
                spare.push(std::mem::take(versions));
                return false;
            }
            true
        });
    }

    /// A flush has failed: no later flush makes its writes durable.
    pub(super) fn flush_failed(&mut self) {
        self.before.values_mut().flatten().for_each(|version| version.write = LOST);
    }

    /// The sectors that hold content which is not durable.
    pub(super) fn sectors(&self) -> Vec<u64> {
        self.before.values().flatten().map(|version| version.sector).collect()
    }

    /// The writes that are not durable, oldest first.
    pub(super) fn unflushed(&self, image: &Image) -> Vec<Content> {
        let mut writes: BTreeMap<u64, Content> = BTreeMap::new();
        for (sector, versions) in self.versions() {
            // The content before a write is what the previous write wrote.
            let later = versions.iter().skip(1).map(|before| before.bytes.clone());
            let contents = later.chain([image.sector(sector).clone()]);
            for (before, content) in versions.iter().zip(contents) {
                writes.entry(before.write).or_default().push((sector, content));
            }
        }
        writes.into_values().collect()
    }

    /// By sector: the content before each write that is not durable, oldest first.
    fn versions(&self) -> BTreeMap<u64, Vec<&Before>> {
        let mut sectors: BTreeMap<u64, Vec<&Before>> = BTreeMap::new();
        for version in self.before.values().flatten() {
            sectors.entry(version.sector).or_default().push(version);
        }
        sectors
    }

    /// Power fails. `key` determines what is left of each sector that was not flushed.
    pub(super) fn power_cut(&mut self, image: &mut Image, key: Keyed, kept: Kept) {
        for (page, versions) in std::mem::take(&mut self.before) {
            for sector in sectors_of(page) {
                let of_sector = || versions.iter().filter(|version| version.sector == sector);
                let count = of_sector().count();
                if count == 0 {
                    continue;
                }
                let index = match kept {
                    Kept::Nothing => 0,
                    Kept::All => count,
                    Kept::Some => (key.of(&[sector]) % (count as u64 + 1)) as usize,
                };
                if let Some(version) = of_sector().nth(index) {
                    image.replace(sector, version.bytes.clone());
                }
            }
        }
    }
}

/// What a power cut leaves of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Nothing,
    All,
    Some,
}

impl Kept {
    pub(crate) fn draw(number: u64) -> Kept {
        match number % 4 {
            0 => Kept::Nothing,
            1 => Kept::All,
            _ => Kept::Some,
        }
    }

    /// Whether a sector of a write in flight is written.
    pub(crate) fn lands(self, drawn: u64) -> bool {
        match self {
            Kept::Nothing => false,
            Kept::All => true,
            Kept::Some => drawn & 1 == 1,
        }
    }
}
