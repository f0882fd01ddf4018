//! The preread cache: old data that need not be read before it is overwritten (Stodolsky §3, the
//! data "cached").
//!
//! It copies nothing: what a host has just read or written stays in the host's buffer, which is
//! held until it is the oldest and room is needed. What the cache says of a unit is what stands on
//! the members:
//!
//! - a write takes its columns out of the cache when its plan is made, and puts the new content in
//!   when it is done, both under its stripe's lock;
//! - a read puts in what it read only if no write to the stripe was under way or began meanwhile.

use std::collections::{BTreeMap, VecDeque};

use parlour_units::{Sectors, Stripe, Unit};

use crate::buffer::BufferId;
use crate::columns::{Columns, Piece};
use crate::ids::HostId;

/// Buffers longer than this (256 KiB) are not kept: who reads in long runs seldom writes them back
/// in short ones.
const LONGEST: Sectors = Sectors::new(512);

/// Columns of a unit whose content stands in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cached {
    pub(crate) unit: Unit,
    pub(crate) columns: Columns,
    pub(crate) buffer: BufferId,
    /// Where in the buffer the first column stands.
    pub(crate) start: Sectors,
}

impl Cached {
    /// What a piece overwrites, where that is always known, and no payload is there.
    pub(crate) fn known(piece: &Piece) -> Cached {
        let Piece { unit, columns, .. } = *piece;
        Cached { unit, columns, buffer: BufferId::ZEROES, start: Sectors::ZERO }
    }
}

#[derive(Debug)]
struct Kept {
    buffer: BufferId,
    length: Sectors,
    stripes: Vec<Stripe>,
}

/// The cache. See the module.
#[derive(Debug)]
pub(crate) struct PrereadCache {
    limit: Sectors,
    in_use: Sectors,
    by_stripe: BTreeMap<Stripe, Vec<Cached>>,
    /// Oldest first.
    kept: VecDeque<Kept>,
    /// Reads under way, and whether a write has made what they read old.
    reads: BTreeMap<u32, (Vec<Stripe>, bool)>,
}

impl PrereadCache {
    pub(crate) fn new(limit: Sectors) -> PrereadCache {
        PrereadCache {
            limit,
            in_use: Sectors::ZERO,
            by_stripe: BTreeMap::new(),
            kept: VecDeque::new(),
            reads: BTreeMap::new(),
        }
    }

    /// Whether there is a cache, and a buffer of `length` may go into it.
    pub(crate) fn takes(&self, length: Sectors) -> bool {
        !self.limit.is_zero() && length <= LONGEST.min(self.limit)
    }

    pub(crate) fn in_use(&self) -> Sectors {
        self.in_use
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.limit.is_zero()
    }

    /// Fills `found` with what is known of the columns that `pieces` are about to overwrite.
    pub(crate) fn look_up(&self, stripe: Stripe, pieces: &[Piece], found: &mut Vec<Cached>) {
        found.clear();
        let Some(cached) = self.by_stripe.get(&stripe) else { return };
        for piece in pieces {
            let known =
                cached.iter().find(|entry| entry.unit == piece.unit && entry.columns.contain(piece.columns));
            found.extend(known);
        }
    }

    /// What `pieces` overwrite is no longer known; reads of the stripe that are under way read old
    /// data.
    pub(crate) fn forget(&mut self, stripe: Stripe, pieces: &[Piece]) {
        for (stripes, stale) in self.reads.values_mut() {
            *stale |= stripes.contains(&stripe);
        }
        let Some(cached) = self.by_stripe.get_mut(&stripe) else { return };
        cached.retain(|entry| {
            let overwritten =
                |piece: &Piece| piece.unit == entry.unit && !piece.columns.and(entry.columns).is_empty();
            !pieces.iter().any(overwritten)
        });
        if cached.is_empty() {
            self.by_stripe.remove(&stripe);
        }
    }

    /// A read of `stripes` begins; `stale` if a write to one of them is under way.
    pub(crate) fn read_begins(&mut self, host: HostId, stripes: Vec<Stripe>, stale: bool) {
        self.reads.insert(host.0, (stripes, stale));
    }

    /// A read is over. Says whether what it read may be put in.
    pub(crate) fn read_ends(&mut self, host: HostId) -> bool {
        self.reads.remove(&host.0).is_some_and(|(_, stale)| !stale)
    }

    /// Keeps what stands in `buffer`. The caller holds the buffer for the cache and releases what
    /// `released` is given.
    pub(crate) fn keep(
        &mut self,
        buffer: BufferId,
        length: Sectors,
        content: &[(Stripe, Piece)],
        mut released: impl FnMut(BufferId),
    ) {
        let mut stripes: Vec<Stripe> = content.iter().map(|(stripe, _)| *stripe).collect();
        stripes.dedup();
        for (stripe, piece) in content {
            let entry = Cached { unit: piece.unit, columns: piece.columns, buffer, start: piece.host };
            self.by_stripe.entry(*stripe).or_default().push(entry);
        }
        self.in_use += length;
        self.kept.push_back(Kept { buffer, length, stripes });
        while self.in_use > self.limit {
            let oldest = self.kept.pop_front().expect("what is in use is kept");
            self.drop_entries(&oldest);
            self.in_use = self.in_use - oldest.length;
            released(oldest.buffer);
        }
    }

    /// Nothing is known any more: another member stands somewhere, or none.
    pub(crate) fn clear(&mut self, released: impl FnMut(BufferId)) {
        self.reads.values_mut().for_each(|(_, stale)| *stale = true);
        self.by_stripe.clear();
        self.in_use = Sectors::ZERO;
        self.kept.drain(..).map(|kept| kept.buffer).for_each(released);
    }

    fn drop_entries(&mut self, kept: &Kept) {
        for stripe in &kept.stripes {
            let Some(cached) = self.by_stripe.get_mut(stripe) else { continue };
            cached.retain(|entry| entry.buffer != kept.buffer);
            if cached.is_empty() {
                self.by_stripe.remove(stripe);
            }
        }
    }
}
