//! What is known to be wrong with the members: the faults that were injected and are not repaired
//! yet, and what the array has reported as lost.

use std::collections::BTreeSet;
use std::ops::Range;

use parlour_units::Stripe;

use crate::damage::Damage;

/// The defects of the members.
#[derive(Debug, Default)]
pub(crate) struct Defects {
    /// Sectors that were unreadable since full redundancy was last restored: disk and sector.
    read_errors: Vec<(usize, u64)>,
    /// Check units may not have fitted while there were such sectors: regions were unsynced, or the
    /// array crashed.
    unsure: bool,
    /// Damage that is done before the array is opened again: slots, their disks, and the damage.
    pending: Vec<(u16, usize, Damage)>,
    /// Columns of stripes with wrong parity, which a scrub must find.
    wrong_parity: BTreeSet<(Stripe, u64)>,
    /// The entries of the array's bad-block log: stripes, and columns in sectors.
    given_up: BTreeSet<(Stripe, u64)>,
    /// Sectors of the array that it called lost.
    lost: BTreeSet<u64>,
    /// Columns of stripes of which all data was being written when the array crashed. If a member
    /// is gone too, its part may be lost.
    cut_off: BTreeSet<(Stripe, u64)>,
    /// A scrub must find a mismatch.
    rotting: bool,
    /// The array may report a member as older, or a log as damaged: there was a crash while a
    /// member was missing, or a sequence number was reported as implausible.
    behind: bool,
}

/// Unreadable sectors.
impl Defects {
    /// A sector of `disk` cannot be read.
    pub(crate) fn add_read_error(&mut self, disk: usize, sector: u64) {
        self.read_errors.push((disk, sector));
    }

    pub(crate) fn has_read_errors(&self) -> bool {
        !self.read_errors.is_empty()
    }

    pub(crate) fn has_read_errors_on(&self, disk: Option<usize>) -> bool {
        self.read_errors.iter().any(|(on, _)| Some(*on) == disk)
    }

    /// Whether one of these sectors of `disk` could not be read.
    pub(crate) fn has_read_errors_in(&self, disk: Option<usize>, sectors: &Range<u64>) -> bool {
        self.read_errors.iter().any(|(on, sector)| Some(*on) == disk && sectors.contains(sector))
    }

    /// Check units may not fit now, if `doubtful`, and not all data could be read.
    pub(crate) fn doubt(&mut self, doubtful: bool) {
        self.unsure |= doubtful;
    }

    /// Whether check units may not have fitted while there were unreadable sectors.
    pub(crate) fn is_unsure(&self) -> bool {
        self.unsure
    }

    /// Everything can be read and has full redundancy.
    pub(crate) fn forget_read_errors(&mut self) {
        self.read_errors.clear();
        self.unsure = false;
    }
}

/// Wrong content.
impl Defects {
    /// The member in `slot` is to be damaged before the array is opened again.
    pub(crate) fn add_pending_damage(&mut self, slot: u16, disk: usize, damage: Damage) {
        self.pending.push((slot, disk, damage));
    }

    /// The number of damages that are still to be done.
    pub(crate) fn pending_damage(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn has_pending_damage(&self, disk: Option<usize>) -> bool {
        self.pending.iter().any(|(_, of, _)| Some(*of) == disk)
    }

    /// The damage that is done now.
    pub(crate) fn take_pending_damage(&mut self) -> Vec<(u16, usize, Damage)> {
        std::mem::take(&mut self.pending)
    }

    /// Parity is wrong at these columns.
    pub(crate) fn add_wrong_parity(&mut self, columns: Vec<(Stripe, u64)>) {
        self.wrong_parity.extend(columns);
    }

    pub(crate) fn has_wrong_parity(&self) -> bool {
        !self.wrong_parity.is_empty()
    }

    pub(crate) fn is_wrong_parity(&self, column: &(Stripe, u64)) -> bool {
        self.wrong_parity.contains(column)
    }

    /// The stripes with wrong parity.
    pub(crate) fn stripes_with_wrong_parity(&self) -> impl Iterator<Item = Stripe> + '_ {
        self.wrong_parity.iter().map(|(stripe, _)| *stripe)
    }

    /// All parity was computed anew.
    pub(crate) fn forget_wrong_parity(&mut self) {
        self.wrong_parity.clear();
    }

    /// A unit rots, or does so no more.
    pub(crate) fn set_rotting(&mut self, rotting: bool) {
        self.rotting = rotting;
    }

    /// Whether a scrub may find mismatches.
    pub(crate) fn may_mismatch(&self) -> bool {
        self.rotting || self.has_wrong_parity()
    }
}

/// What the array may or did report.
impl Defects {
    /// The array has given up a column of a stripe.
    pub(crate) fn give_up(&mut self, stripe: Stripe, column: u64) {
        self.given_up.insert((stripe, column));
    }

    pub(crate) fn gave_up(&self, stripe: Stripe, column: u64) -> bool {
        self.given_up.contains(&(stripe, column))
    }

    pub(crate) fn gave_up_any_of(&self, stripe: Stripe) -> bool {
        self.given_up.range((stripe, 0)..=(stripe, u64::MAX)).next().is_some()
    }

    pub(crate) fn gave_up_any(&self) -> bool {
        !self.given_up.is_empty()
    }

    /// The array has called a sector lost.
    pub(crate) fn lose(&mut self, sector: u64) {
        self.lost.insert(sector);
    }

    pub(crate) fn lost_any_of(&self, sectors: std::ops::Range<u64>) -> bool {
        self.lost.range(sectors).next().is_some()
    }

    /// Whether the array gave something up or called it lost.
    pub(crate) fn cost_any(&self) -> bool {
        self.gave_up_any() || !self.lost.is_empty()
    }

    /// All data at these columns was being written when the array crashed.
    pub(crate) fn set_cut_off(&mut self, columns: BTreeSet<(Stripe, u64)>) {
        self.cut_off = columns;
    }

    pub(crate) fn all_cut_off(&self) -> &BTreeSet<(Stripe, u64)> {
        &self.cut_off
    }

    pub(crate) fn was_cut_off(&self, stripe: Stripe, column: u64) -> bool {
        self.cut_off.contains(&(stripe, column))
    }

    /// The array has recovered from its crashes.
    pub(crate) fn forget_cut_off(&mut self) {
        self.cut_off.clear();
    }

    /// The array's bad-block log is empty.
    pub(crate) fn forget_given_up(&mut self) {
        self.given_up.clear();
        self.lost.clear();
    }

    /// Whether the array may report a member as older, or a log as damaged.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    pub(crate) fn set_behind(&mut self, behind: bool) {
        self.behind = behind;
    }
}
