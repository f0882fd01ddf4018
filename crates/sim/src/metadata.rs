//! The array's metadata on a member. There is no payload, but an array that is opened again reads
//! its metadata.

use std::collections::BTreeMap;

use parlour_units::{Sector, Sectors};

const SECTOR: usize = 512;
/// Superblocks, headers and entries are written in blocks of this many sectors. Most of them end
/// with zeroes.
const PAGE_SECTORS: u64 = 8;
const PAGE: usize = SECTOR * PAGE_SECTORS as usize;

/// Everything that was last written as metadata. All other sectors read as zeroes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata {
    /// By page: its content, without most of the zeroes at its end.
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Metadata {
    /// Writes bytes, which are whole sectors.
    pub(crate) fn write(&mut self, at: Sector, bytes: &[u8]) {
        let mut rest = bytes;
        let mut at = at.get();
        while !rest.is_empty() {
            let start = (at % PAGE_SECTORS) as usize * SECTOR;
            let (now, later) = rest.split_at(rest.len().min(PAGE - start));
            self.write_page(at / PAGE_SECTORS, start, now);
            at += (now.len() / SECTOR) as u64;
            rest = later;
        }
    }

    fn write_page(&mut self, page: u64, start: usize, bytes: &[u8]) {
        let held = self.pages.entry(page).or_default();
        let end = start + bytes.len();
        if end < held.len() {
            held[start..end].copy_from_slice(bytes);
        } else {
            held.resize(start, 0);
            held.extend_from_slice(&bytes[..used(bytes)]);
            held.truncate(used(held));
        }
        if held.is_empty() {
            self.pages.remove(&page);
        }
    }

    /// Removes metadata that was overwritten by something else or by zeroes.
    pub(crate) fn forget(&mut self, at: Sector, length: Sectors) {
        let (first, end) = (at.get(), at.get() + length.get());
        let touched = self.pages.range(first / PAGE_SECTORS..end.div_ceil(PAGE_SECTORS));
        let touched: Vec<u64> = touched.map(|(page, _)| *page).collect();
        for page in touched {
            let (from, to) = cut(page, first, end);
            self.write_page(page, from, &[0; PAGE][..to - from]);
        }
    }

    /// Whether there is any metadata in a range.
    pub(crate) fn holds_any(&self, at: Sector, length: Sectors) -> bool {
        let (first, end) = (at.get(), at.get() + length.get());
        self.pages.range(first / PAGE_SECTORS..end.div_ceil(PAGE_SECTORS)).next().is_some()
    }

    /// Reads whole sectors.
    pub(crate) fn read(&self, at: Sector, bytes: &mut [u8]) {
        bytes.fill(0);
        let (first, end) = (at.get(), at.get() + (bytes.len() / SECTOR) as u64);
        for (page, held) in self.pages.range(first / PAGE_SECTORS..end.div_ceil(PAGE_SECTORS)) {
            let (from, to) = cut(*page, first, end);
            let to = to.min(held.len());
            if from < to {
                let start = (page * PAGE_SECTORS) as usize * SECTOR + from - first as usize * SECTOR;
                bytes[start..start + to - from].copy_from_slice(&held[from..to]);
            }
        }
    }

    /// Reads sectors into a new vector.
    pub(crate) fn read_out(&self, at: Sector, length: Sectors) -> Vec<u8> {
        let mut bytes = vec![0; length.bytes().as_usize()];
        self.read(at, &mut bytes);
        bytes
    }
}

/// The length of `bytes` without the zeroes at the end; a few zeroes may remain.
fn used(bytes: &[u8]) -> usize {
    let blank = |chunk: &&[u8]| chunk.iter().fold(0, |all, byte| all | byte) == 0;
    bytes.len() - bytes.rchunks(64).take_while(blank).map(<[u8]>::len).sum::<usize>()
}

/// The bytes of a page between two sectors.
fn cut(page: u64, first: u64, end: u64) -> (usize, usize) {
    let base = page * PAGE_SECTORS;
    let byte = |sector: u64| (sector.clamp(base, base + PAGE_SECTORS) - base) as usize * SECTOR;
    (byte(first), byte(end))
}

#[cfg(test)]
mod tests {
    use parlour_workload::random::Random;

    use super::*;

    #[test]
    fn it_reads_as_a_flat_memory_does() {
        const SECTORS: u64 = 100;
        for seed in 0..50 {
            let (mut metadata, mut random) = (Metadata::default(), Random::new(seed));
            let mut flat = vec![0; SECTORS as usize * SECTOR];
            for _ in 0..200 {
                let at = random.below(SECTORS);
                let length = 1 + random.below(20.min(SECTORS - at));
                let range = at as usize * SECTOR..(at + length) as usize * SECTOR;
                if random.below(3) == 0 {
                    flat[range].fill(0);
                    metadata.forget(Sector::new(at), Sectors::new(length));
                } else {
                    let used = random.below(range.len() as u64 + 1) as usize;
                    let mut bytes = vec![0; range.len()];
                    bytes[..used].fill_with(|| random.below(4) as u8);
                    flat[range].copy_from_slice(&bytes);
                    metadata.write(Sector::new(at), &bytes);
                }
                let at = random.below(SECTORS);
                let length = Sectors::new(1 + random.below(SECTORS - at));
                let read = metadata.read_out(Sector::new(at), length);
                assert!(read == flat[at as usize * SECTOR..][..read.len()], "seed {seed}");
            }
            metadata.forget(Sector::ZERO, Sectors::new(SECTORS));
            assert!(metadata.pages.is_empty(), "what holds nothing takes no memory");
        }
    }
}
