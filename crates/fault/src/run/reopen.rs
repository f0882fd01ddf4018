//! Closes the array and opens it again: after crashes and stops, and with members that were changed
//! meanwhile.

use parlour_array::{Assembly, AssemblyError, Banks, BitmapContent, EntryState, Geometry, Mode, Verdict};
use parlour_units::{Member, Region, Sector, Sectors, Slot};

use super::{Run, forgive, fresh_disks};
use crate::coverage::Fault;
use crate::disk::Disk;
use crate::identity::{self, identity};
use crate::oracle::Oracle;
use crate::promises::Promises;
use crate::script::{Return, Script};
use crate::violation::Violation;
use crate::world::{Shelf, World, banks};

/// A truncated member is one MiB shorter.
const SHORTER: Sectors = Sectors::new(2_048);

impl Run<'_> {
    /// The array crashes, with a power cut or without, and is opened again.
    pub(super) fn crash(&mut self, power: bool) -> Result<(), Violation> {
        let gone = (0..self.geometry.members()).any(|slot| self.is_gone(slot));
        let uncopied = self.is_not_copied() || self.may_be_uncopied();
        self.oracle.crash(power, uncopied);
        let standing = self.standing();
        self.memory_is_bounded()?;
        self.find_out_lies(power);
        let mut shelf = self.world.crash(power);
        self.rot_at_rest(&mut shelf);
        self.keep_images(&shelf);
        self.unsure |= !self.scars.is_empty();
        self.forget_hosts();
        self.behind = gone;
        // A disk that was left out of an opening that was never recorded has missed nothing.
        self.returning = None;
        // If only excluded members are left, they cannot know that they were excluded.
        self.lost |= self.limits.beyond && standing.iter().all(|disk| shelf.disks[*disk].dead);
        self.reopen(shelf, Return::All, uncopied)
    }

    /// The array has halted because there was no space for its metadata. Its server closes it, and
    /// opens it again when there is space.
    pub(super) fn halted(&mut self) -> Result<(), Violation> {
        if let Some(open) = self.open.values().next() {
            let told = self.told(open);
            return Err(Violation::seam(format!("the array has halted, and {told} is not answered")));
        }
        self.world.shelf.disks.iter_mut().for_each(Disk::make_room);
        self.crash(self.forgets_failed_flush())
    }

    /// The array has stopped. Opens it again.
    pub(super) fn stopped(&mut self) -> Result<(), Violation> {
        let Some((power, back)) = self.stopping else {
            return Err(Violation::seam("the array has stopped unasked"));
        };
        if self.world.is_busy() || !self.open.is_empty() {
            return Err(Violation::seam("the array calls itself stopped with something under way"));
        }
        let back = match back {
            Return::But(fault, slot) if self.dares_absence(fault, slot) => back,
            _ => Return::All,
        };
        let returning = match back {
            Return::But(_, slot) => self.disk_at(slot),
            Return::All => None,
        };
        // A disk that stands in no slot now has missed a session by the next opening.
        let standing: Vec<usize> = self.standing();
        for (index, disk) in self.world.shelf.disks.iter_mut().enumerate() {
            disk.stale |= !standing.contains(&index);
        }
        let uncopied = self.is_not_copied();
        let clone = self.dared_clone(back);
        let returns_too = matches!(back, Return::But(..)) || clone.is_some();
        self.find_out_lies(power && !returns_too);
        let mut shelf = self.world.crash(power);
        self.rot_at_rest(&mut shelf);
        self.keep_images(&shelf);
        let put = clone.and_then(|slot| self.put_clone(&mut shelf, slot));
        if power {
            self.oracle.crash(true, uncopied);
        }
        self.forget_hosts();
        self.behind = false;
        self.returning = returning;
        self.reopen(shelf, back, uncopied)?;
        put.map_or(Ok(()), |put| self.clone_is_not_believed(put))
    }

    fn dares_absence(&mut self, fault: Fault, slot: u16) -> bool {
        let fits = self.survives(fault, slot) && self.scars.is_empty() && !self.is_full();
        if fits {
            self.meet(fault);
        }
        fits
    }

    /// The disks that stand in slots, and the spares.
    pub(super) fn standing(&self) -> Vec<usize> {
        let status = self.world.array.status();
        let members = status.members.iter().filter(|member| member.state != "failed");
        let members = members.filter_map(|member| member.member).chain(status.spares.iter().copied());
        members.filter_map(|member| self.world.disk_of(member)).collect()
    }

    fn forget_hosts(&mut self) {
        self.open.clear();
        self.waiting.clear();
        self.stopping = None;
    }

    /// Opens the array from all members that are present, in random order; perhaps while other
    /// copies are `uncopied` from the first one.
    fn reopen(&mut self, mut shelf: Shelf, back: Return, uncopied: bool) -> Result<(), Violation> {
        let returning = self.returning;
        let mut order = alive(&shelf.disks);
        if let (Return::But(fault, slot), Some(disk)) = (back, returning) {
            self.spoil(&mut shelf, &mut order, fault, disk, slot);
        }
        shuffle(&shelf, &mut order);
        let assembly = match shelf.assemble(&order) {
            Ok(assembly) => assembly,
            Err(error) => return self.refused(&error),
        };
        check_verdicts(&shelf, &assembly, &order)?;
        if let Return::But(fault, _) = back {
            restore(&mut shelf, fault, returning);
            self.returning = self.returning.filter(|disk| !shelf.disks[*disk].dead);
        }
        self.open_by(shelf, (&assembly, &order), uncopied)
    }

    /// Changes `disk` as `fault` says.
    fn spoil(&self, shelf: &mut Shelf, order: &mut Vec<usize>, fault: Fault, disk: usize, slot: u16) {
        let length = shelf.disks[disk].length;
        match fault {
            Fault::WipedMember => {
                let blank = [0; parlour_array::SUPERBLOCK_BYTES];
                let copies = Geometry::superblocks_at(length);
                copies.iter().for_each(|at| shelf.disks[disk].write(*at, &blank, true));
            }
            Fault::TruncatedMember => shelf.disks[disk].length = length - SHORTER,
            _ => order.retain(|other| *other != disk),
        }
        if fault == Fault::ForeignMember {
            let other = fresh_disks(self.script, identity::OTHER_ARRAY).swap_remove(usize::from(slot));
            order.push(shelf.disks.len());
            shelf.disks.push(other);
        }
    }

    fn open_by(
        &mut self,
        shelf: Shelf,
        found: (&Assembly, &[usize]),
        uncopied: bool,
    ) -> Result<(), Violation> {
        match open_array(self.script, &mut self.oracle, shelf, found, uncopied) {
            Ok(world) => self.world = world,
            Err(error) => return self.refused(&error),
        }
        self.opening = true;
        self.world.drain()?;
        self.collect()
    }

    fn refused(&mut self, error: &AssemblyError) -> Result<(), Violation> {
        if self.limits.beyond {
            self.lost = true;
            return Ok(());
        }
        Err(Violation::Opening(error.to_string()))
    }

    /// Stops the array and opens it again. Waits for both.
    pub(crate) fn restart(&mut self) -> Result<(), Violation> {
        if self.stopping.is_none() {
            self.begin_stop(false, Return::All)?;
        }
        self.until("the array does not stop", |run| {
            run.stopping.is_none() && run.world.array.mode() == Mode::Serving
        })
    }
}

/// Disks that are not dead.
pub(super) fn alive(disks: &[Disk]) -> Vec<usize> {
    (0..disks.len()).filter(|disk| !disks[*disk].dead).collect()
}

/// Shuffles the order of members.
pub(super) fn shuffle(shelf: &Shelf, order: &mut [usize]) {
    order.sort_by_key(|disk| shelf.keyed.of(&[10, shelf.sessions, *disk as u64]));
}

/// Opens an assembled array. Where the array may refuse to open, forces it, and forgives the loss
/// that it then reports. A missing member may have been the copy to which the others were to become
/// equal.
pub(super) fn open_array(
    script: &Script,
    oracle: &mut Oracle,
    shelf: Shelf,
    (assembly, order): (&Assembly, &[usize]),
    uncopied: bool,
) -> Result<World, AssemblyError> {
    let tuning = script.options.tuning;
    let mut unsure = Vec::new();
    let opened = match World::open(shelf, assembly, order, tuning, false) {
        Err(refusal) if may_refuse(script, &refusal.error) => {
            let regions = unsure_regions(&refusal.shelf.disks, assembly, order);
            let (now, trace) = (refusal.shelf.now, &refusal.shelf.trace);
            trace.note(now, || format!("opened by force: {}", refusal.error));
            unsure = regions;
            World::open(refusal.shelf, assembly, order, tuning, true)
        }
        opened => opened,
    };
    if let Ok(world) = &opened {
        // Members that are present but older than the others are left out too.
        let gone = not_whole(world);
        forgive(oracle, &assembly.geometry, &gone, unsure.into_iter());
        if !gone.is_empty() {
            oracle.member_excluded(uncopied);
        }
    }
    opened.map_err(|refusal| refusal.error)
}

/// Whether the array may refuse to open, and report lost data when it is forced.
fn may_refuse(script: &Script, error: &AssemblyError) -> bool {
    let unsure =
        matches!(error, AssemblyError::UncleanAndDegraded { .. } | AssemblyError::UnsyncedAndDegraded { .. });
    unsure && !Promises::of(script.options.creation.consistency).opens_unclean_and_degraded
}

/// Checks that the array accepts no member that missed a session or belongs to another array.
pub(super) fn check_verdicts(shelf: &Shelf, assembly: &Assembly, order: &[usize]) -> Result<(), Violation> {
    for (verdict, disk) in assembly.verdicts.iter().zip(order) {
        let believed = matches!(verdict, Verdict::Member(_) | Verdict::Spare);
        if believed && shelf.disks[*disk].stale {
            return Err(Violation::Believed(format!("disk {disk}, which missed a session")));
        }
    }
    let own = assembly.superblock.array == identity(identity::ARRAY);
    if own { Ok(()) } else { Err(Violation::Believed("another array's member".into())) }
}

/// Removes disks that were changed for one opening.
fn restore(shelf: &mut Shelf, fault: Fault, returning: Option<usize>) {
    let last = shelf.disks.len() - 1;
    match (fault, returning) {
        (Fault::ForeignMember, _) => shelf.disks[last].dead = true,
        (Fault::WipedMember | Fault::TruncatedMember, Some(disk)) => shelf.disks[disk].dead = true,
        _ => {}
    }
}

/// Slots whose member is missing, or not yet rebuilt.
pub(super) fn gone(assembly: &Assembly) -> Vec<Member> {
    let whole = |slot: usize| {
        assembly.slots[slot].is_some() && assembly.superblock.table[slot].state == EntryState::Active
    };
    (0..assembly.slots.len()).filter(|slot| !whole(*slot)).map(|slot| Member::new(slot as u16)).collect()
}

/// Slots whose member is not active in the opened array.
fn not_whole(world: &World) -> Vec<Slot> {
    let members = world.array.status().members.into_iter();
    members.filter(|member| member.state != "active").map(|member| Slot::new(member.slot)).collect()
}

/// The newest write-intent bitmap on the members, if it is known for certain: some active member
/// can read both of its banks.
pub(super) fn newest_bitmap(disks: &[Disk], assembly: &Assembly, order: &[usize]) -> Option<BitmapContent> {
    let geometry = &assembly.geometry;
    let count = geometry.layout().region_count();
    let active = |slot: &usize| assembly.superblock.table[*slot].state == EntryState::Active;
    let whole = (0..assembly.slots.len()).filter(active);
    let members: Vec<Option<usize>> =
        whole.map(|slot| assembly.slots[slot].map(|candidate| order[candidate])).collect();
    let slot = |bank: usize| -> Sector { geometry.bitmap_at(bank) };
    let read = banks(disks, &members, slot, geometry.bitmap_length());
    let decode = |block: &Vec<u8>| BitmapContent::decode(block, assembly.superblock.array, count);
    let sure =
        |own: &Banks| own.iter().all(Option::is_some) && own.iter().flatten().any(|b| decode(b).is_some());
    let bitmaps = read.iter().flatten().flatten().filter_map(decode);
    bitmaps.max_by_key(|map| map.sequence).filter(|_| read.iter().any(sure))
}

/// Regions that are dirty or must be resynced in the newest write-intent bitmap on the members; all
/// regions if there is no bitmap.
fn unsure_regions(disks: &[Disk], assembly: &Assembly, order: &[usize]) -> Vec<Region> {
    match newest_bitmap(disks, assembly, order) {
        Some(map) => map.dirty.into_iter().chain(map.resync).collect(),
        None => (0..assembly.geometry.layout().region_count()).map(Region::new).collect(),
    }
}
