//! The bytes of a member, in pages that copies of the member share until one of them is written.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;

use parlour_codec::sector::SectorKey;
use parlour_units::Sectors;

use crate::content::SectorBytes;

const PAGE_SECTORS: u64 = 8;

/// A part of a member.
#[derive(Clone, Debug)]
struct Page {
    sectors: [SectorBytes; PAGE_SECTORS as usize],
    digest: OnceCell<u64>,
}

impl Page {
    fn digest(&self, key: &SectorKey) -> u64 {
        *self.digest.get_or_init(|| {
            let mut hash = DefaultHasher::new();
            self.sectors.iter().for_each(|sector| hash.write_u64(key.checksum(sector.bytes())));
            hash.finish()
        })
    }
}

/// The bytes of a member. Sectors that were never written hold one repeated byte.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pages: Vec<Option<Rc<Page>>>,
    blank: SectorBytes,
}

impl Image {
    pub(super) fn new(length: Sectors, fill: u8) -> Image {
        let pages = length.get().div_ceil(PAGE_SECTORS) as usize;
        Image { pages: vec![None; pages], blank: SectorBytes::filled(fill) }
    }

    pub(super) fn sector(&self, sector: u64) -> &SectorBytes {
        match &self.pages[page_of(sector) as usize] {
            Some(page) => &page.sectors[offset(sector)],
            None => &self.blank,
        }
    }

    /// The sectors from `first` to the end of its page, for writing.
    pub(super) fn rest_of_page(&mut self, first: u64) -> &mut [SectorBytes] {
        let blank = &self.blank;
        let fresh = || {
            let sectors = std::array::from_fn(|_| blank.clone());
            Rc::new(Page { sectors, digest: OnceCell::new() })
        };
        let page = Rc::make_mut(self.pages[page_of(first) as usize].get_or_insert_with(fresh));
        page.digest.take();
        &mut page.sectors[offset(first)..]
    }

    /// Gives a sector other content. Returns the former one.
    pub(super) fn replace(&mut self, sector: u64, bytes: SectorBytes) -> SectorBytes {
        std::mem::replace(&mut self.rest_of_page(sector)[0], bytes)
    }

    /// A hash of all content.
    pub(super) fn digest(&self, key: &SectorKey) -> u64 {
        let mut hash = DefaultHasher::new();
        for (index, page) in self.pages.iter().enumerate() {
            if let Some(page) = page {
                hash.write_u64(index as u64);
                hash.write_u64(page.digest(key));
            }
        }
        hash.finish()
    }
}

/// The number of the page that contains `sector`.
pub(super) fn page_of(sector: u64) -> u64 {
    sector / PAGE_SECTORS
}

/// The sectors of a page.
pub(super) fn sectors_of(page: u64) -> std::ops::Range<u64> {
    page * PAGE_SECTORS..(page + 1) * PAGE_SECTORS
}

fn offset(sector: u64) -> usize {
    (sector % PAGE_SECTORS) as usize
}
