//! The members of an open array: which disks they are, and how they carry out accesses.

use parlour_array::{Action, Array, Class, Effect, Fault, Geometry};
use parlour_units::{Member, Sector, Sectors, Slot};

use super::flights::Flight;
use crate::area::{commit_part, is_of_logs};
use crate::content::SectorBytes;
use crate::corruption::Corruption;
use crate::disk::{Content, Disk, Flushes, Kept};
use crate::payload::Payload;
use crate::random::Keyed;
use crate::shelf::Shelf;
use crate::silent::Silenced;
use crate::violation::Violation;

/// The members of an open array.
#[derive(Debug)]
pub(super) struct Members {
    /// The disk of each member number of the array.
    numbers: Vec<Option<usize>>,
    /// By slot: the number of the member that stands there, or of the last one that did.
    slots: Vec<u16>,
    /// Disks that did not answer and get no new accesses.
    silent: Vec<usize>,
    /// Sectors with a transient error.
    transient_errors: Vec<(usize, u64)>,
    /// The silent faults that have happened.
    silenced: Vec<Silenced>,
    /// The number of writes that were carried out after they were reported as failed.
    landed_late: u32,
    /// The sectors of the access at hand.
    sectors: Vec<SectorBytes>,
}

impl Members {
    /// The members of an array of this many slots, by their numbers.
    pub(super) fn new(numbers: Vec<Option<usize>>, slots: u16) -> Members {
        Members {
            numbers,
            slots: (0..slots).collect(),
            silent: Vec::new(),
            transient_errors: Vec::new(),
            silenced: Vec::new(),
            landed_late: 0,
            sectors: Vec::new(),
        }
    }

    pub(super) fn disk_of(&self, member: u16) -> Option<usize> {
        self.numbers.get(usize::from(member)).copied().flatten()
    }

    /// The disk of the member that stands in `slot`, or of the last one that did.
    pub(super) fn disk_in(&self, slot: Slot) -> Option<usize> {
        self.slots.get(slot.as_usize()).and_then(|member| self.disk_of(*member))
    }

    fn slot_of(&self, member: Member) -> Option<Slot> {
        let slot = self.slots.iter().position(|number| *number == member.get());
        slot.map(|slot| Slot::new(slot as u16))
    }

    /// A member takes a slot.
    pub(super) fn take_slot(&mut self, slot: Slot, member: Member) {
        self.slots[slot.as_usize()] = member.get();
    }

    /// The array has taken `disk` as `member`.
    pub(super) fn introduce(&mut self, member: Member, disk: usize) -> Result<(), Violation> {
        if member.as_usize() != self.numbers.len() {
            return Err(Violation::seam("a new member is not numbered behind the last"));
        }
        self.numbers.push(Some(disk));
        Ok(())
    }

    /// A disk that did not answer gets no new accesses.
    pub(super) fn abandon(&mut self, disk: usize) {
        self.silent.push(disk);
    }

    pub(super) fn has_abandoned(&self, disk: usize) -> bool {
        self.silent.contains(&disk)
    }

    /// The sectors that have had a transient error since the last query, and their disks.
    pub(super) fn take_transient_errors(&mut self) -> Vec<(usize, u64)> {
        std::mem::take(&mut self.transient_errors)
    }

    /// The silent faults that have happened since the last query.
    pub(super) fn take_silenced(&mut self) -> Vec<Silenced> {
        std::mem::take(&mut self.silenced)
    }

    /// The number of writes that were carried out after they were reported as failed, since the
    /// last query.
    pub(super) fn take_landed_late(&mut self) -> u32 {
        std::mem::take(&mut self.landed_late)
    }
}

/// What carries out an access: the array that asks for it, and where its bytes are.
pub(super) struct Means<'a> {
    pub(super) array: &'a Array,
    pub(super) payload: &'a mut Payload,
    pub(super) shelf: &'a mut Shelf,
    /// What draws of this moment depend on.
    pub(super) salt: u64,
}

/// Carrying out.
impl Members {
    /// Carries out an access, unless it was carried out before.
    pub(super) fn land(&mut self, means: Means<'_>, number: u32, flight: &mut Flight) {
        if flight.has_landed() {
            return;
        }
        let Means { array, payload, shelf, salt } = means;
        let effect = flight.effect();
        let disk = &mut shelf.disks_mut()[flight.disk()];
        if disk.answers_not() {
            return flight.fail(Fault::Gone);
        }
        if flight.given_up().is_some() {
            return self.land_late(shelf, number, flight, salt);
        }
        flight.land();
        let may_starve = !matches!(effect.action, Action::Flush { .. });
        if may_starve && disk.take_starvation() {
            return flight.fail(Fault::NoSpace);
        }
        match effect.action {
            Action::Read { at, length, .. } => self.read((array, payload), disk, flight, (at, length)),
            Action::Write { member, at, .. }
                if self.finds_no_room(array.geometry(), disk, effect, member, at) =>
            {
                flight.fail(Fault::NoSpace);
            }
            Action::Write { member, .. } => self.write((array, payload), disk, flight, member),
            Action::Zero { at, length, .. } => disk.zero(at, length),
            Action::Flush { .. } if disk.flushes() == Flushes::Fail => {
                disk.flush_failed();
                flight.fail(Fault::Gone);
            }
            _ => {}
        }
    }

    fn read(
        &mut self,
        (array, payload): (&Array, &mut Payload),
        disk: &mut Disk,
        flight: &mut Flight,
        (at, length): (Sector, Sectors),
    ) {
        let effect = flight.effect();
        if effect.class != Class::Metadata && disk.take_failed_read() {
            self.transient_errors
                .extend((at.get()..(at + length).get()).map(|sector| (flight.disk(), sector)));
            flight.fail(Fault::Unreadable);
        } else if !disk.can_read(at, length) {
            flight.fail(Fault::Unreadable);
        } else {
            flight.has_read(payload.fill(array, effect, at, disk));
        }
    }

    fn finds_no_room(
        &self,
        geometry: &Geometry,
        disk: &Disk,
        effect: Effect,
        member: Member,
        at: Sector,
    ) -> bool {
        match effect.class {
            Class::Log => disk.has_no_room(false) && is_of_logs(geometry, self.slot_of(member), at),
            Class::Metadata => disk.has_no_room(false),
            _ => disk.has_no_room(true),
        }
    }

    fn write(
        &mut self,
        (array, payload): (&Array, &mut Payload),
        disk: &mut Disk,
        flight: &Flight,
        member: Member,
    ) {
        let effect = flight.effect();
        let Action::Write { at, length, durable, .. } = effect.action else { return };
        let geometry = array.geometry();
        // While other redundancy is missing, a silent fault would be one fault too many.
        let sound = || geometry.keeps_copies() || array.unsynced_regions() == 0;
        let slot = self.slot_of(member).filter(|_| disk.is_armed() && sound());
        let corruption = slot.and_then(|slot| Corruption::of_write(disk, geometry, slot, at, length));
        payload.write(array, effect, disk, (at, durable));
        if let Some(part) = commit_part(geometry, at) {
            disk.entry_written(part, at.get()..(at + length).get());
        }
        if let Some(corruption) = corruption {
            let fault = corruption.fault();
            let sectors = corruption.apply(disk, geometry);
            self.silenced.push(Silenced { disk: flight.disk(), fault, sectors });
        }
    }

    /// Carries out some sectors of a write that was given up.
    pub(super) fn land_late(&mut self, shelf: &mut Shelf, number: u32, flight: &mut Flight, salt: u64) {
        let Some(content) = flight.take_given_up() else { return };
        let durable = matches!(flight.effect().action, Action::Write { durable: true, .. });
        let key = shelf.keyed();
        let disk = &mut shelf.disks_mut()[flight.disk()];
        if disk.is_dead() || disk.is_full() {
            return;
        }
        let kept = Kept::draw(key.of(&[11, salt, u64::from(number)]));
        for (sector, bytes) in content.iter().filter(|(sector, _)| kept.lands(key.of(&[12, salt, *sector]))) {
            disk.write_one(*sector, bytes.clone(), durable);
        }
        self.landed_late += u32::from(kept != Kept::Nothing && !content.is_empty());
    }

    /// Carries out some sectors of a write whose member did not answer.
    pub(super) fn land_in_part(&mut self, means: Means<'_>, flight: &Flight) {
        let Means { array, payload, shelf, salt } = means;
        let key = shelf.keyed();
        let disk = &mut shelf.disks_mut()[flight.disk()];
        if flight.has_landed() || disk.is_dead() || disk.is_full() {
            return;
        }
        match flight.effect().action {
            Action::Write { at, durable, .. } => {
                payload.gather(array, flight.effect(), &mut self.sectors);
                if let Some(part) = commit_part(array.geometry(), at) {
                    disk.entry_cut_off(part, at.get()..at.get() + self.sectors.len() as u64);
                }
                put_some(disk, key, salt, (at, durable), self.sectors.drain(..));
            }
            Action::Zero { at, length, .. } => {
                let zeroes = std::iter::repeat_n(SectorBytes::filled(0), length.get() as usize);
                put_some(disk, key, salt, (at, false), zeroes);
            }
            _ => {}
        }
    }

    /// The content that an access writes.
    pub(super) fn content(&mut self, array: &Array, payload: &mut Payload, effect: Effect) -> Content {
        match effect.action {
            Action::Write { at, .. } => {
                payload.gather(array, effect, &mut self.sectors);
                (at.get()..).zip(self.sectors.drain(..)).collect()
            }
            Action::Zero { at, length, .. } => {
                (at.get()..(at + length).get()).map(|sector| (sector, SectorBytes::filled(0))).collect()
            }
            _ => Content::new(),
        }
    }
}

/// Writes those sectors that the draw for this moment chooses.
fn put_some(
    disk: &mut Disk,
    key: Keyed,
    salt: u64,
    (at, durable): (Sector, bool),
    sectors: impl Iterator<Item = SectorBytes>,
) {
    let kept = Kept::draw(key.of(&[6, salt, at.get()]));
    for (sector, bytes) in (at.get()..).zip(sectors) {
        if kept.lands(key.of(&[7, salt, sector])) {
            disk.write_one(sector, bytes, durable);
        }
    }
}
