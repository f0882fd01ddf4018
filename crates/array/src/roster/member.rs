//! A member as a device: its length, its queue, its errors, and whether it has unflushed writes.

use std::ops::Add;

use parlour_units::{Sector, Sectors};

use super::epoch::Epoch;
use crate::effect::{Action, Class, Fault};
use crate::errors::RecentErrors;
use crate::identity::Identity;

/// A member as the driver describes it.
#[derive(Clone, Debug)]
pub struct MemberInfo {
    /// Its identity, as in its superblock.
    pub identity: Identity,
    /// Its length.
    pub length: Sectors,
    /// Whether zeroed ranges are unmapped and are certain to read as zeroes.
    pub unmaps: bool,
}

/// The accesses to a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Reads.
    pub reads: u64,
    /// Sectors read.
    pub read: u64,
    /// Writes.
    pub writes: u64,
    /// Sectors written.
    pub written: u64,
    /// Flushes.
    pub flushes: u64,
}

/// A member: its accesses and its condition.
#[derive(Debug)]
pub(super) struct MemberRecord {
    pub(super) info: MemberInfo,
    /// Accesses that were handed out and are not answered yet.
    pub(super) queue: u32,
    /// Where the last access ended.
    pub(super) head: Sector,
    /// Whether a write was answered since the last flush of the member began.
    pub(super) unflushed: bool,
    /// Flushes under way.
    pub(super) flushing: u32,
    /// A flush failed, and the member had to be kept. The writes before that flush may be lost, and
    /// a later flush that succeeds would not report that.
    pub(super) flush_failed: bool,
    /// Whether its last access failed because of the member as a whole. It may have to be kept.
    pub(super) is_silent: bool,
    /// Read errors since the member was added.
    pub(super) errors: u32,
    pub(super) recent_errors: RecentErrors,
    /// By class.
    pub(super) traffic: [Traffic; 5],
    /// The copy of the superblock that is written first: the one that was damaged or older at the
    /// opening, so that a sound copy is left at any time.
    pub(super) worse_copy: usize,
    /// The session that its superblocks name.
    pub(super) epoch: Epoch,
}

impl Add for Traffic {
    type Output = Traffic;

    fn add(self, other: Traffic) -> Traffic {
        Traffic {
            reads: self.reads + other.reads,
            read: self.read + other.read,
            writes: self.writes + other.writes,
            written: self.written + other.written,
            flushes: self.flushes + other.flushes,
        }
    }
}

impl MemberRecord {
    pub(super) fn new(info: MemberInfo) -> MemberRecord {
        MemberRecord {
            info,
            queue: 0,
            head: Sector::ZERO,
            unflushed: false,
            flushing: 0,
            flush_failed: false,
            is_silent: false,
            errors: 0,
            recent_errors: RecentErrors::default(),
            traffic: [Traffic::default(); 5],
            worse_copy: 0,
            epoch: Epoch::Unknown,
        }
    }

    /// An access to the member is handed out.
    pub(super) fn note_handed_out(&mut self, class: Class, action: Action) {
        self.queue += 1;
        match action {
            Action::Read { at, length, .. } => {
                self.count(class, false, length);
                self.head = at + length;
            }
            Action::Write { at, length, .. } => {
                self.count(class, true, length);
                self.head = at + length;
            }
            Action::ReadModifyWrite { at, length, .. } | Action::Float { at, length, .. } => {
                self.count(class, false, length);
                self.count(class, true, length);
                self.head = at + length;
            }
            Action::Zero { at, length, .. } => self.head = at + length,
            Action::Flush { .. } => {
                self.flushing += 1;
                self.traffic[class as usize].flushes += 1;
            }
            Action::Sum { .. } | Action::Compare | Action::Checksum => {}
        }
    }

    /// An access to the member is answered, or has failed.
    pub(super) fn note_answered(&mut self, action: Action, fault: Option<Fault>) {
        self.is_silent = fault.is_some_and(Fault::is_of_member);
        self.queue -= 1;
        self.unflushed |= action.changes();
        self.flushing -= u32::from(matches!(action, Action::Flush { .. }));
    }

    fn count(&mut self, class: Class, write: bool, length: Sectors) {
        let traffic = &mut self.traffic[class as usize];
        if write {
            traffic.writes += 1;
            traffic.written += length.get();
        } else {
            traffic.reads += 1;
            traffic.read += length.get();
        }
    }
}
