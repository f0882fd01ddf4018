//! The array's metadata on a member. There is no payload, but an array that is opened again reads
//! its metadata.

use std::collections::BTreeMap;

use parlour_units::{Sector, Sectors};

const SECTOR: usize = 512;
/// Superblocks, headers and entries are written in blocks of up to this many sectors. Most of them
/// end with zeroes.
const PAGE_SECTORS: u64 = 8;
const PAGE: usize = SECTOR * PAGE_SECTORS as usize;
/// Zeroes are left out in chunks of this many bytes.
const CHUNK: usize = 64;

/// Everything that was last written as metadata. All other sectors read as zeroes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata {
    /// By page.
    pages: BTreeMap<u64, Held>,
}

/// The content of a page, without most of the zeroes at its ends. Millions of headers take no more
/// memory than they need.
#[derive(Clone, Debug, Default)]
struct Held {
    /// Where it starts in the page.
    start: usize,
    bytes: Box<[u8]>,
}

impl Held {
    fn of(page: &[u8; PAGE]) -> Held {
        let end = used(page);
        let chunks = page[..end].chunks(CHUNK).take_while(|chunk| is_blank(chunk));
        let start = chunks.map(<[u8]>::len).sum();
        Held { start, bytes: page[start..end].into() }
    }

    fn end(&self) -> usize {
        self.start + self.bytes.len()
    }

    fn page(&self) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        page[self.start..self.end()].copy_from_slice(&self.bytes);
        page
    }
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
        if held.start < start && end < held.end() {
            held.bytes[start - held.start..end - held.start].copy_from_slice(bytes);
            return;
        }
        let mut content = held.page();
        content[start..end].copy_from_slice(bytes);
        *held = Held::of(&content);
        if held.bytes.is_empty() {
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
            let (from, to) = (from.max(held.start), to.min(held.end()));
            if from < to {
                let start = (page * PAGE_SECTORS) as usize * SECTOR + from - first as usize * SECTOR;
                let part = &held.bytes[from - held.start..to - held.start];
                bytes[start..start + to - from].copy_from_slice(part);
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
    let blank = bytes.rchunks(CHUNK).take_while(|chunk| is_blank(chunk));
    bytes.len() - blank.map(<[u8]>::len).sum::<usize>()
}

fn is_blank(chunk: &[u8]) -> bool {
    chunk.iter().fold(0, |all, byte| all | byte) == 0
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
