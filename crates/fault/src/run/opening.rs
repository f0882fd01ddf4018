//! Makes the members of an array, changes them while it is closed, and opens it.

use parlour_array::{Assembly, AssemblyError, Image, NewArray, Verdict, create};
use parlour_units::{Sectors, Slot};

use crate::coverage::Fault;
use crate::disk::Disk;
use crate::found::unsure_regions;
use crate::identity::{self, identity};
use crate::oracle::Oracle;
use crate::script::Script;
use crate::shelf::Shelf;
use crate::violation::Violation;
use crate::world::World;

/// A truncated member is one MiB shorter.
const SHORTER: Sectors = Sectors::new(2_048);

/// The array's members after creation.
pub(super) fn fresh_disks(script: &Script, array: u64) -> Vec<Disk> {
    let options = script.options();
    let geometry = options.geometry();
    let names = |index: usize| match array {
        identity::ARRAY => identity::member(index),
        other => identity(other << 32 | index as u64),
    };
    let device = |slot: Slot| (names(slot.as_usize()), options.length_of(&geometry, slot));
    let members: Vec<_> = geometry.slots().take(options.devices().into()).map(device).collect();
    let new = NewArray {
        array: identity(array),
        session: identity(identity::FIRST_SESSION),
        members: members.clone(),
        name: "torture".into(),
        created: 0,
        zeroed: options.fill == 0,
    };
    let images = create(&geometry, &new).into_iter().zip(members);
    let disk = |(image, (identity, length)): (Image, (_, Sectors))| {
        let mut disk = Disk::new(identity, length, options.fill);
        image.into_iter().for_each(|(at, block)| disk.write(at, &block, true));
        disk
    };
    images.map(disk).collect()
}

/// Changes `disk`, the member in `slot`, as `fault` says; it may not be in `order` any more.
pub(super) fn spoil(
    script: &Script,
    shelf: &mut Shelf,
    order: &mut Vec<usize>,
    fault: Fault,
    (disk, slot): (usize, u16),
) {
    match fault {
        Fault::WipedMember => shelf.disks_mut()[disk].wipe_superblocks(),
        Fault::TruncatedMember => shelf.disks_mut()[disk].truncate(SHORTER),
        _ => order.retain(|other| *other != disk),
    }
    if fault == Fault::ForeignMember {
        let mut others = fresh_disks(script, identity::OTHER_ARRAY);
        let other = others.swap_remove(usize::from(slot).min(others.len() - 1));
        order.push(shelf.add(other));
    }
}

/// Removes disks that were changed for one opening.
pub(super) fn restore(shelf: &mut Shelf, fault: Fault, returning: Option<usize>) {
    let last = shelf.disks().len() - 1;
    match (fault, returning) {
        (Fault::ForeignMember, _) => shelf.disks_mut()[last].die(),
        (Fault::WipedMember | Fault::TruncatedMember, Some(disk)) => shelf.disks_mut()[disk].die(),
        _ => {}
    }
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
    let tuning = script.options().tuning;
    let mut unsure = Vec::new();
    let opened = match World::open(shelf, assembly, order, tuning, false) {
        Err(refusal) if may_refuse(script, &refusal.error) => {
            unsure = unsure_regions(refusal.shelf.disks(), assembly, order);
            refusal.shelf.note(|| format!("opened by force: {}", refusal.error));
            World::open(refusal.shelf, assembly, order, tuning, true)
        }
        opened => opened,
    };
    if let Ok(world) = &opened {
        // Members that are present but older than the others are left out too.
        let gone = not_whole(world);
        oracle.forgive_members(&assembly.geometry, &gone, unsure.into_iter());
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
    unsure && !script.options().promises().opens_unclean_and_degraded
}

/// Slots whose member is not active in the opened array.
fn not_whole(world: &World) -> Vec<Slot> {
    let status = world.array().status();
    let members = status.slots();
    members.filter(|member| member.state != "active").map(|member| Slot::new(member.slot)).collect()
}

/// Checks that the array accepts no member that missed a session or belongs to another array.
pub(super) fn check_verdicts(shelf: &Shelf, assembly: &Assembly, order: &[usize]) -> Result<(), Violation> {
    for (verdict, disk) in assembly.verdicts.iter().zip(order) {
        let believed = matches!(verdict, Verdict::Member(_) | Verdict::Spare);
        if believed && shelf.disks()[*disk].is_stale() {
            return Err(Violation::Believed(format!("disk {disk}, which missed a session")));
        }
    }
    let own = assembly.superblock.array == identity(identity::ARRAY);
    if own { Ok(()) } else { Err(Violation::Believed("another array's member".into())) }
}
