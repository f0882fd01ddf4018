//! An array's shape: its organization, its sizes, and where everything is placed on a member. The
//! shape is fixed at creation and stored in every superblock. Values that may change from one
//! opening to the next are in [`Tuning`](crate::Tuning).
//!
//! ```text
//! member   0          1 MiB·k                                  end − 1 MiB
//!          ├ metadata ┼ data area: stripe units, parity, logs ──┼ tail ┤
//!          superblock, bitmaps, bad-block logs, tables           superblock's second copy
//! ```

mod creation;
mod sizes;
mod sound;
mod stored;
mod wishes;

use std::collections::BTreeSet;

use parlour_units::{Region, Sector, Sectors, Slot, Stripe, Unit};

use crate::code::{Table, UnitSet};
use crate::format::commit_entry::CommitPart;
use crate::layout::Layout;
use crate::log::Lane;
use crate::organization::{Consistency, Organization};

use sizes::{MAPS_AT, bitmap_length, table_length};

pub(crate) use sizes::SHORTEST_BAD_BLOCK_LOG;
pub use sizes::{ALIGNMENT, MAXIMUM_MEMBERS, SUPERBLOCK};
pub use stored::{Cylinder, StoredGeometry};
pub use wishes::{Creation, CreationError, LogCreation};

/// An array's shape. See the module.
#[derive(Clone, Debug)]
pub struct Geometry {
    stored: StoredGeometry,
    layout: Layout,
    code: Table,
}

impl Geometry {
    /// Computes all values that `creation` leaves open.
    ///
    /// # Errors
    /// The array is not possible.
    pub fn create(creation: &Creation) -> Result<Geometry, CreationError> {
        Geometry::from_settled(creation.settle(None)?, &creation.log)
    }

    /// The same for members whose cylinders are known: there, units may float.
    ///
    /// # Errors
    /// The array is not possible.
    pub fn create_on(creation: &Creation, cylinder: Cylinder) -> Result<Geometry, CreationError> {
        Geometry::from_settled(creation.settle(Some(cylinder))?, &creation.log)
    }

    fn from_settled(stored: StoredGeometry, log: &LogCreation) -> Result<Geometry, CreationError> {
        let geometry = Geometry::from_stored(stored);
        let tolerance = geometry.fault_tolerance();
        let (checks, data) = (stored.checks, geometry.layout.data_units());
        let possible = stored.organization.code.data(checks);
        if geometry.code.has_checks() && !possible.contains(&data) {
            let (least, most) = (*possible.start(), *possible.end());
            return Err(CreationError::BadGrid { checks, data, least, most });
        }
        if let Some(domains) = stored.layout.domains {
            let most = geometry.layout.most_in_a_domain(domains);
            if most > tolerance {
                return Err(CreationError::DomainTooLarge { domains, most, tolerance });
            }
        }
        let journal_copies = creation::journal_copies(log, &stored, tolerance)?;
        Ok(Geometry::from_stored(StoredGeometry { journal_copies, ..stored }))
    }

    /// The shape from its stored values.
    ///
    /// # Panics
    /// If `stored` was not made by [`Geometry::create`]; [`StoredGeometry::is_sound`] checks this.
    pub fn from_stored(stored: StoredGeometry) -> Geometry {
        let layout = Layout::new(stored.organization.layout, stored.details(), stored.layout);
        let code = Table::new(stored.organization.code, layout.data_units(), layout.check_units());
        Geometry { stored, layout, code }
    }

    /// The stored values.
    pub fn stored(&self) -> &StoredGeometry {
        &self.stored
    }

    /// The four choices.
    pub fn organization(&self) -> Organization {
        self.stored.organization
    }

    /// Where units are placed.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same array with another code of as many units.
    #[cfg(test)]
    pub(crate) fn with_code(self, code: Table) -> Geometry {
        Geometry { code, ..self }
    }

    /// How check units follow from data units.
    pub(crate) fn code(&self) -> &Table {
        &self.code
    }

    /// The number of members, without spares and journal devices.
    pub fn members(&self) -> u16 {
        self.layout.members()
    }

    /// The number of slots for journal devices, vacant ones among them.
    pub fn journal_slots(&self) -> u16 {
        self.stored.journal_slots
    }

    /// The number of slots, of members and of journal devices.
    pub fn slot_count(&self) -> u16 {
        self.members() + self.journal_slots()
    }

    /// All slots: those of members, then those of journal devices.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.slot_count()).map(Slot::new)
    }

    /// Whether `slot` is for a journal device, which holds entries and metadata and no units.
    pub fn is_for_journal(&self, slot: Slot) -> bool {
        slot.get() >= self.members()
    }

    /// The groups of places on which entries of the commit log stand together: the parity groups,
    /// then the journal devices.
    pub(crate) fn commit_groups(&self) -> u16 {
        self.layout.groups() + u16::from(self.journal_slots() > 0)
    }

    /// The slots of such a group.
    pub(crate) fn commit_slots_of(&self, group: u16) -> impl Iterator<Item = Slot> + use<> {
        let members = self.members();
        let of_group = members / self.layout.groups();
        let (start, end) = match group < self.layout.groups() {
            true => (group * of_group, (group + 1) * of_group),
            false => (members, members + self.journal_slots()),
        };
        (start..end).map(Slot::new)
    }

    /// The group of places to which `slot` belongs.
    pub(crate) fn commit_group_of(&self, slot: Slot) -> u16 {
        if self.is_for_journal(slot) { self.layout.groups() } else { self.layout.group_of_slot(slot) }
    }

    /// The failure domain of `slot`, as far as domains are larger than what may be lost: elsewhere
    /// any members may be, and each counts as a domain by itself.
    pub(crate) fn domain_of(&self, slot: Slot) -> u16 {
        let StoredGeometry { layout, organization, .. } = &self.stored;
        let declustered = organization.layout.is_declustered() && !self.is_for_journal(slot);
        layout.domains.filter(|_| declustered).map_or(slot.get(), |domains| slot.get() % domains)
    }

    /// Whether the members in these slots are of one failure domain, and may be lost together.
    pub fn share_a_domain(&self, slot: Slot, other: Slot) -> bool {
        self.domain_of(slot) == self.domain_of(other)
    }

    /// The number of failure domains that `slots` are in.
    pub(crate) fn count_domains(&self, slots: impl Iterator<Item = Slot>) -> usize {
        slots.map(|slot| self.domain_of(slot)).collect::<BTreeSet<u16>>().len()
    }

    /// The block size.
    pub fn block(&self) -> Sectors {
        Sectors::new(self.stored.block)
    }

    /// The length of the data that hosts can store.
    pub fn capacity(&self) -> Sectors {
        self.layout.capacity()
    }

    /// The number of members, whichever they are, that may fail without loss of data.
    pub fn fault_tolerance(&self) -> u16 {
        self.code.tolerance()
    }

    /// Whether the data of all slots that are `lost` can be had from the others. The units of slots
    /// that are `moved` are in spare room, and not in these slots.
    pub(crate) fn survives(&self, lost: impl Fn(Slot) -> bool, moved: impl Fn(Slot) -> bool) -> bool {
        let slots = || (0..self.members()).map(Slot::new);
        let lost_beside = |slot: Slot| {
            let beside = slots().filter(|other| lost(*other) && self.layout.share_stripes(slot, *other));
            beside.count()
        };
        if slots().all(|slot| lost_beside(slot) <= usize::from(self.fault_tolerance())) {
            return true;
        }
        // Entries of the commit log stand in one domain of a group more than the tolerance, so they
        // may stand on these alone.
        let domains = |group| self.count_domains(self.commit_slots_of(group).filter(|slot| lost(*slot)));
        let hit = || (0..self.layout.groups()).map(domains).max().unwrap_or(0);
        if self.is_journaled() && hit() > usize::from(self.fault_tolerance()) {
            return false;
        }
        let Some(samples) = self.layout.samples() else { return false };
        self.all_lose(samples, (lost, moved), |units| self.code.recovers(units))
    }

    /// Whether `holds` is true of what each of these stripes loses with the slots that are `lost`;
    /// slots that are `moved` have their units in spare room.
    pub(crate) fn all_lose(
        &self,
        mut stripes: impl Iterator<Item = Stripe>,
        (lost, moved): (impl Fn(Slot) -> bool, impl Fn(Slot) -> bool),
        holds: impl Fn(UnitSet) -> bool,
    ) -> bool {
        // Most stripes lose the same units as others.
        let mut known = BTreeSet::new();
        stripes.all(|stripe| {
            let gone = |unit: &Unit| {
                let home = self.layout.locate(stripe, *unit).slot;
                lost(if moved(home) { self.layout.spare(stripe, 0).slot } else { home })
            };
            let units = self.layout.units().filter(gone).collect();
            !known.insert(units) || holds(units)
        })
    }

    /// The data units from which a check unit of a stripe is computed, each with its coefficient
    /// over GF(2⁸) (1 for exclusive or, and for a copy).
    pub fn terms(&self, check: Unit) -> impl Iterator<Item = (Unit, u8)> + '_ {
        self.code.encode(check)
    }

    /// Whether the content of `unit` of a stripe can be computed without the units that are
    /// `missing`.
    pub fn can_compute(&self, unit: Unit, missing: impl Fn(Unit) -> bool) -> bool {
        let missing = self.layout.units().filter(|unit| missing(*unit)).collect();
        self.code.decode(unit, missing).is_some()
    }

    /// Whether check units are copies that answer reads. (The parity of a stripe with one data unit
    /// has the same content, but may be behind its log.)
    pub fn keeps_copies(&self) -> bool {
        self.stored.organization.keeps_copies()
    }

    /// Whether check units are parity, which stands in for data that is lost.
    pub fn keeps_parity(&self) -> bool {
        self.code.has_checks() && !self.keeps_copies()
    }

    /// Whether updates of parity go to a log first.
    pub fn is_logged(&self) -> bool {
        self.stored.organization.is_logged()
    }

    /// Whether units are written to a free position.
    pub fn floats(&self) -> bool {
        self.stored.organization.floats()
    }

    /// Where the data area starts on each member.
    pub fn data_start(&self) -> Sector {
        Sector::new(self.stored.data_start)
    }

    /// The sector of the member for a sector of its data area.
    pub(crate) fn absolute(&self, at: Sector) -> Sector {
        self.data_start() + at.from_start()
    }

    /// A stripe's region, and its number in the region.
    pub(crate) fn region_of(&self, stripe: Stripe) -> (Region, u32) {
        let (region, index) = self.layout().region_of(stripe);
        (region, index as u32)
    }

    /// The least length of a member.
    pub fn least_member_length(&self) -> Sectors {
        self.least_length(Slot::new(0))
    }

    /// The least length of what stands in `slot`. A journal device has no data area.
    pub fn least_length(&self, slot: Slot) -> Sectors {
        self.stored.least_length(slot)
    }

    /// Where the superblock's two copies are on a member of `length`.
    pub fn superblocks_at(length: Sectors) -> [Sector; 2] {
        [Sector::ZERO, Sector::ZERO + (length.round_down(ALIGNMENT) - ALIGNMENT)]
    }

    /// Length of a write-intent bitmap; each member holds two.
    pub fn bitmap_length(&self) -> Sectors {
        bitmap_length(self.layout.region_count())
    }

    /// Where write-intent bitmap `bank` (0 or 1) is.
    pub fn bitmap_at(&self, bank: usize) -> Sector {
        Sector::ZERO + MAPS_AT + self.bitmap_length() * bank as u64
    }

    /// Length of a log segment's header, if there are logs.
    pub fn log_header_length(&self) -> Option<Sectors> {
        let segment = Sectors::new(self.layout.logs()?.shape().segment);
        Some(crate::format::segment::header_length(segment, self.block()))
    }

    /// Length of a table of the regions' logs; each member of an array that records updates holds
    /// two. Zero in other arrays.
    pub fn table_length(&self) -> Sectors {
        match self.records_updates() {
            true => table_length(self.layout.region_count()),
            false => Sectors::ZERO,
        }
    }

    /// Whether updates are recorded: in the regions' logs, in the commit log, or in both.
    pub fn records_updates(&self) -> bool {
        self.layout.logs().is_some() || self.is_journaled()
    }

    /// Where table `bank` (0 or 1) is: behind the bitmaps.
    pub fn table_at(&self, bank: usize) -> Sector {
        self.bitmap_at(2) + self.table_length() * bank as u64
    }

    /// Where bad-block log `bank` (0 or 1) is (behind the tables), and its length. `None` if the
    /// array was created without room for it.
    pub fn bad_block_log_at(&self, bank: usize) -> Option<(Sector, Sectors)> {
        let first = self.table_at(2);
        let length = Sectors::new(self.stored.bad_block_log);
        let end = first + length * 2;
        let room = end + self.commit_log().1 <= self.data_start();
        room.then(|| (first + length * bank as u64, length))
    }

    /// What a crash may cost.
    pub fn consistency(&self) -> Consistency {
        self.stored.consistency
    }

    /// Whether records are durable before the data that they describe.
    pub fn is_journaled(&self) -> bool {
        self.stored.consistency.is_journal()
    }

    /// Where each member's areas of the commit log start, and their length; zero without a commit
    /// log. They end where the data area starts.
    pub fn commit_log(&self) -> (Sector, Sectors) {
        let length = self.stored.commit_log + self.stored.write_log;
        (Sector::new(self.stored.data_start - length), Sectors::new(length))
    }

    /// The number of members on which an entry of the commit log stands: one more than may be lost.
    pub fn commit_copies(&self) -> u16 {
        self.fault_tolerance() + 1
    }

    /// The number of journal devices on which an entry stands instead.
    pub fn journal_copies(&self) -> u16 {
        match self.stored.journal_copies {
            0 => self.commit_copies(),
            copies => copies.min(self.commit_copies()),
        }
    }

    /// The number of places on which an entry in this group stands.
    pub(crate) fn copies_in(&self, group: u16) -> u16 {
        if group < self.layout.groups() { self.commit_copies() } else { self.journal_copies() }
    }

    /// Where `part` of the commit log starts, and its length.
    pub fn commit_part(&self, part: CommitPart) -> (Sector, Sectors) {
        let start = self.commit_log().0;
        let intents = Sectors::new(self.stored.intent_log);
        let records = Sectors::new(self.stored.commit_log) - intents;
        match part {
            CommitPart::Records => (start, records),
            CommitPart::Intents => (start + records, intents),
            CommitPart::Writes => (start + records + intents, Sectors::new(self.stored.write_log)),
        }
    }

    /// The lengths of the lanes of `part`, in the order of their places.
    pub fn lane_lengths(&self, part: CommitPart) -> Vec<Sectors> {
        (0..self.lanes(part)).map(|lane| self.lane(part, lane).1).collect()
    }

    /// Where each lane of the commit log starts, and its length: rings that are written in order.
    pub fn commit_lanes(&self) -> impl Iterator<Item = (Sector, Sectors)> + '_ {
        let lanes = move |part: &CommitPart| {
            let part = *part;
            (0..self.lanes(part)).map(move |lane| self.lane(part, lane))
        };
        self.commit_parts().iter().flat_map(lanes)
    }

    /// The length of the shortest lane of writes; zero without write-back.
    pub(crate) fn lane_of_writes(&self) -> Sectors {
        if self.writes_back() { self.lane(CommitPart::Writes, 0).1 } else { Sectors::ZERO }
    }

    /// Where an entry stands on each of its members that starts at `at`, counted in sectors since
    /// its lane was new.
    pub(crate) fn entry_at(&self, part: CommitPart, lane: Lane, at: u64) -> Sector {
        let (start, length) = self.lane(part, lane.as_usize() as u64);
        start + Sectors::new(at % length.get())
    }

    /// The number of lanes of `part`.
    fn lanes(&self, part: CommitPart) -> u64 {
        match part {
            CommitPart::Intents => 1,
            CommitPart::Records | CommitPart::Writes => self.stored.lanes.into(),
        }
    }

    /// Where a lane starts, and its length. The last one has what is left.
    fn lane(&self, part: CommitPart, lane: u64) -> (Sector, Sectors) {
        let (start, length) = self.commit_part(part);
        let lanes = self.lanes(part);
        let each = Sectors::new(length.get() / lanes).round_down(self.block());
        let before = each * lane;
        let own = if lane + 1 == lanes { length - before } else { each };
        (start + before, own)
    }

    /// The streams of the commit log.
    pub fn commit_parts(&self) -> &'static [CommitPart] {
        match (self.is_journaled(), self.writes_back()) {
            (false, _) => &[],
            (true, false) => &CommitPart::ALL[..2],
            (true, true) => &CommitPart::ALL,
        }
    }

    /// Whether a write is acknowledged when its data is durable in the commit log, and not only
    /// when it is in its place.
    pub fn writes_back(&self) -> bool {
        self.stored.write_log > 0
    }
}

impl StoredGeometry {
    /// The number of members, without spares and journal devices.
    pub(crate) fn members(&self) -> u16 {
        self.layout.group_members * self.layout.groups
    }

    /// The least length of what stands in `slot`.
    pub(crate) fn least_length(&self, slot: Slot) -> Sectors {
        let journal = (self.members()..self.members() + self.journal_slots).contains(&slot.get());
        match journal {
            // (Where units float, the data area begins at a cylinder. The superblock must not.)
            true => Sectors::new(self.data_start).round_up(ALIGNMENT) + ALIGNMENT,
            false => Sectors::new(self.data_start + self.layout.length) + ALIGNMENT,
        }
    }

    /// The usual name of the organization.
    pub fn organization_name(&self) -> &'static str {
        let stripe = self.layout.width.unwrap_or(self.layout.group_members);
        self.organization.name(self.checks, stripe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A journal's entries stand on one member more than may be lost: three absent members may be
    /// all that holds the newest ones, though no stripe has units on all three.
    #[test]
    fn with_a_journal_no_array_survives_more_losses_than_its_tolerance() {
        for consistency in [Consistency::Bitmap, Consistency::Journal] {
            let raid6 = Organization::named("raid6").expect("a known organization").organization;
            let layout = raid6.layout.declustered().expect("its parity moves");
            let wishes = Creation {
                organization: Organization { layout, ..raid6 },
                checks: 2,
                members: 24,
                groups: 1,
                width: Some(4),
                domains: None,
                spares: 0,
                unit: Sectors::new(8),
                block: Sectors::new(8),
                member_length: Sectors::new(21 * 2_048),
                log: LogCreation::default(),
                consistency,
            };
            let geometry = Geometry::create(&wishes).expect("a possible array");
            let layout = geometry.layout();
            let stripes = 0..layout.stripes();
            let on = |stripe| layout.units().map(move |unit| layout.locate(Stripe::new(stripe), unit).slot);
            let together = |slots: [u16; 3]| {
                stripes.clone().any(|stripe| {
                    let held: Vec<Slot> = on(stripe).collect();
                    slots.iter().all(|slot| held.contains(&Slot::new(*slot)))
                })
            };
            let apart = (2..24).find(|third| !together([0, 1, *third])).expect("a triple without a stripe");
            let lost = [0, 1, apart].map(Slot::new);
            assert_eq!(
                geometry.survives(|slot| lost.contains(&slot), |_| false),
                consistency == Consistency::Bitmap
            );
        }
    }
}
