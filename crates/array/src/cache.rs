//! The preread cache: old data that need not be read before it is overwritten (Stodolsky §3, the
//! data "cached").
//!
//! The cache copies nothing. Data that a host has just read or written stays in the host's buffer,
//! which is held until it is the oldest and room is needed. The content of the cache is always
//! equal to that of the members:
//!
//! - A write takes its columns out of the cache when its plan is made, and puts the new content in
//!   when it is done, both under its stripe's lock.
//! - A read puts its data in only if no write to the stripe was under way or began meanwhile.

use std::collections::{BTreeMap, VecDeque};

use parlour_units::{Sectors, Stripe, Unit};

use crate::buffer::BufferId;
use crate::columns::{Columns, Piece};
use crate::ids::HostId;

/// Longer buffers (256 KiB) are not kept: data of long reads is seldom written back in short
/// writes.
const LONGEST: Sectors = Sectors::new(512);

/// Columns of a unit whose content is in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cached {
    pub(crate) unit: Unit,
    pub(crate) columns: Columns,
    pub(crate) buffer: BufferId,
    /// Where the first column starts in the buffer.
    pub(crate) start: Sectors,
}

impl Cached {
    /// Cached zeroes for the old data of a piece, for arrays without payload in which old data
    /// always counts as known.
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
    /// The buffers, oldest first.
    kept: VecDeque<Kept>,
    /// Reads under way, each with its stripes and whether a write has made its data stale.
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

    /// Fills `found` with the cached columns that `pieces` are about to overwrite.
    pub(crate) fn look_up(&self, stripe: Stripe, pieces: &[Piece], found: &mut Vec<Cached>) {
        found.clear();
        let Some(cached) = self.by_stripe.get(&stripe) else { return };
        for piece in pieces {
            let known =
                cached.iter().find(|entry| entry.unit == piece.unit && entry.columns.contain(piece.columns));
            found.extend(known);
        }
    }

    /// Drops the columns that `pieces` overwrite, and marks reads of the stripe that are under way
    /// as stale.
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

    /// A read has ended. Returns whether its data may be put in.
    pub(crate) fn read_ends(&mut self, host: HostId) -> bool {
        self.reads.remove(&host.0).is_some_and(|(_, stale)| !stale)
    }

    /// Keeps the content of `buffer`. The caller holds the buffer for the cache, and releases the
    /// buffers that `released` gets.
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

    /// Empties the cache: the member in some slot has changed.
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
