//! Moves of failed slots into distributed spare room.
//!
//! A slot is *moved* when its units are rebuilt into the spare places of their stripes. It stays
//! moved until a member in the slot holds all units again and superblocks record that; meanwhile
//! units that are back home are written to both places. So at any time the spare places hold all
//! units of the stripes that the move has passed.
//!
//! A parity group has one spare place in each stripe, and so one moved slot at most.

use parlour_units::{Slot, Stripe};

use crate::format::superblock::Moved;
use crate::frontier::Frontier;

/// The moved slots.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    list: Vec<Move>,
}

/// A moved slot.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) slot: Slot,
    /// The stripes whose unit is in its spare place.
    pub(super) frontier: Frontier,
    /// All are, and superblocks say so, or are about to.
    pub(super) whole: bool,
}

impl Moves {
    /// The moves that superblocks record, in an array of so many stripes.
    pub(crate) fn recorded(moved: &[Moved], stripes: u64) -> Moves {
        let of = |moved: &Moved| {
            let frontier = Frontier::at(moved.frontier.unwrap_or(stripes));
            Move { slot: moved.slot, frontier, whole: moved.is_whole() }
        };
        Moves { list: moved.iter().map(of).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The moved slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.list.iter().map(|moved| moved.slot)
    }

    pub(super) fn of(&self, slot: Slot) -> Option<&Move> {
        self.list.iter().find(|moved| moved.slot == slot)
    }

    pub(super) fn of_mut(&mut self, slot: Slot) -> Option<&mut Move> {
        self.list.iter_mut().find(|moved| moved.slot == slot)
    }

    /// Whether all units of `slot` are in spare room.
    pub(super) fn is_whole(&self, slot: Slot) -> bool {
        self.of(slot).is_some_and(|moved| moved.whole)
    }

    /// Whether a job that moves units of `stripe` was begun.
    pub(super) fn is_at(&self, stripe: Stripe) -> bool {
        self.list.iter().any(|moved| moved.frontier.is_at(stripe))
    }

    /// `slot` is moved, from stripe `next` on.
    pub(super) fn begin(&mut self, slot: Slot, next: u64) {
        match self.of_mut(slot) {
            Some(moved) => moved.frontier = Frontier::at(next),
            None => self.list.push(Move { slot, frontier: Frontier::at(next), whole: false }),
        }
    }

    /// The units of `slot` are at home again: the spare places are free.
    pub(super) fn end(&mut self, slot: Slot) {
        self.list.retain(|moved| moved.slot != slot);
    }
}
