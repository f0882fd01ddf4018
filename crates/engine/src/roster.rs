//! The driver's members, by the numbers that effects use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parlour_units::Slot;

use crate::fault::Failure;
use crate::member::Member;
use crate::witness::Witness;

/// The members by number, and the slots in which they stand.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    entries: Vec<Entry>,
    /// By slot: the number of the member that stands there, or the last one that did.
    slots: Vec<u16>,
    /// The number of slots that are not for journal devices.
    data: u16,
    witness: Option<Arc<dyn Witness>>,
}

/// The entry of a member's number. Numbers are never reused.
#[derive(Debug)]
struct Entry {
    path: Option<PathBuf>,
    /// `None` when the member is closed. Accesses under way keep it open until they return.
    member: Option<Arc<Member>>,
    last_failure: Option<Failure>,
}

impl Roster {
    /// One entry for each slot, in order; those behind the first `data` are for journal devices. At
    /// first a member's number is its slot.
    pub(crate) fn of_slots(members: Vec<Option<Member>>, data: u16) -> Roster {
        let mut roster = Roster { data, ..Roster::default() };
        for (slot, member) in members.into_iter().enumerate() {
            roster.push(member);
            roster.slots.push(slot as u16);
        }
        roster
    }

    /// Reports each change of a member to `witness`, also for members that are added later.
    ///
    /// # Panics
    /// If accesses are under way.
    pub(crate) fn be_witnessed(&mut self, witness: &Arc<dyn Witness>) {
        for member in self.entries.iter_mut().filter_map(|entry| entry.member.as_mut()) {
            let member = Arc::get_mut(member).expect("no access is under way");
            member.be_witnessed(Arc::clone(witness));
        }
        self.witness = Some(Arc::clone(witness));
    }

    /// Adds `member` under the next number.
    pub(crate) fn push(&mut self, mut member: Option<Member>) -> u16 {
        if let (Some(member), Some(witness)) = (&mut member, &self.witness) {
            member.be_witnessed(Arc::clone(witness));
        }
        let path = member.as_ref().map(|member| member.path().to_owned());
        self.entries.push(Entry { path, member: member.map(Arc::new), last_failure: None });
        (self.entries.len() - 1) as u16
    }

    /// Whether `slot` is for a journal device.
    pub(crate) fn is_for_journal(&self, slot: Slot) -> bool {
        slot.get() >= self.data
    }

    pub(crate) fn get(&self, number: u16) -> Option<&Arc<Member>> {
        self.entries.get(usize::from(number))?.member.as_ref()
    }

    /// Releases a member. It is closed when its last access has returned.
    pub(crate) fn close(&mut self, number: u16) {
        if let Some(entry) = self.entries.get_mut(usize::from(number)) {
            entry.member = None;
        }
    }

    /// Starts helper threads that check the lengths of members that [block](Member::blocks).
    pub(crate) fn look_at_lengths(&self) {
        self.entries.iter().filter_map(|entry| entry.member.as_ref()).for_each(Member::look_at_length);
    }

    pub(crate) fn close_all(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.member = None);
    }

    pub(crate) fn path(&self, number: u16) -> Option<&Path> {
        self.entries.get(usize::from(number))?.path.as_deref()
    }

    /// `path` in the style of the other members' paths: relative to the server's directory if the
    /// path is below that directory and another member's path is relative. Clients send absolute
    /// paths.
    pub(crate) fn in_style(&self, path: PathBuf) -> PathBuf {
        let relative = self.entries.iter().filter_map(|entry| entry.path.as_deref()).any(Path::is_relative);
        let directory = std::env::current_dir().ok().filter(|_| relative);
        let below = directory.and_then(|directory| path.strip_prefix(directory).ok().map(Path::to_owned));
        below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path)
    }

    /// Stores why an access failed, for the message when the member is excluded.
    pub(crate) fn note_failure(&mut self, number: u16, failure: Failure) {
        if let Some(entry) = self.entries.get_mut(usize::from(number)) {
            entry.last_failure = Some(failure);
        }
    }

    pub(crate) fn last_failure(&self, number: u16) -> Option<Failure> {
        self.entries.get(usize::from(number))?.last_failure
    }

    /// The number of the member that stands in `slot`, or of the last one that did.
    pub(crate) fn standing(&self, slot: Slot) -> Option<u16> {
        self.slots.get(slot.as_usize()).copied()
    }

    /// Records that member `number` now stands in `slot`.
    pub(crate) fn occupy(&mut self, slot: Slot, number: u16) {
        if let Some(standing) = self.slots.get_mut(slot.as_usize()) {
            *standing = number;
        }
    }

    /// The numbers, their paths, and whether the members are open.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (u16, &Path, bool)> {
        self.entries.iter().enumerate().filter_map(|(number, entry)| {
            Some((number as u16, entry.path.as_deref()?, entry.member.is_some()))
        })
    }
}
