//! An array with a member that becomes absent, and its return.

use parlour_array::{Event, MemberInfo, Repair};
use parlour_units::{Sectors, Slot};

use crate::common::{Disk, Random, SEED, Setup, World, candidate, payload};

/// The slot whose member is absent.
pub(crate) const PLACE: u16 = 1;

pub(crate) fn setups() -> Vec<Setup> {
    let named = [
        ("raid1", 2),
        ("raid1", 3),
        ("raid10", 4),
        ("raid10-far", 4),
        ("raid4", 4),
        ("raid5", 4),
        ("parity-logging", 5),
    ];
    let named = named.map(|(name, members)| Setup::named(name, members));
    named.into_iter().chain([Setup::logged(5)]).collect()
}

/// The slot to which the member on this disk may return.
pub(crate) fn may_return(world: &World, disk: &Disk) -> Option<Slot> {
    let geometry = world.array.geometry();
    let length = geometry.bitmap_length().bytes().as_usize();
    let map = |bank| disk.bytes[geometry.bitmap_at(bank).bytes() as usize..][..length].to_vec();
    let superblock = candidate(disk, 0).superblock.unwrap();
    world.array.may_return(&superblock, &[0, 1].map(|bank| Some(map(bank))))
}

pub(crate) fn fail(world: &mut World) {
    world.array.fail(world.now, Slot::new(PLACE)).unwrap();
    world.drain();
}

/// The member that was in [`PLACE`] comes back. Returns the number of regions that are out of sync.
pub(crate) fn come_back(world: &mut World) -> u32 {
    come_back_from(world, usize::from(PLACE))
}

/// The same for the member on this disk.
pub(crate) fn come_back_from(world: &mut World, disk: usize) -> u32 {
    assert_eq!(may_return(world, &world.disks[disk]), Some(Slot::new(PLACE)));
    let length = Sectors::new(world.setup.member_length);
    let info = MemberInfo { identity: world.disks[disk].identity, length, unmaps: true };
    let member = world.array.replace(world.now, Slot::new(PLACE), info).unwrap();
    assert_eq!(member.as_usize(), world.numbers.len());
    world.numbers.push(disk);
    world.drain();
    let missed = world.events.iter().rev().find_map(|event| match event {
        Event::SlotTaken { out_of_sync, .. } => Some(out_of_sync.expect("it is known")),
        _ => None,
    });
    missed.unwrap()
}

pub(crate) fn settle_whole(world: &mut World) {
    world.settle_until(|world| world.array.status().members.iter().all(|member| member.state == "active"));
    world.settle();
}

/// Writes the whole array, or as much as leaves most logs empty: parity in a log is not on its
/// member.
pub(crate) fn fill(world: &mut World, random: &mut Random) -> Vec<u8> {
    let mut content = vec![0; world.capacity() as usize * 512];
    let logs = world.array.geometry().layout().logs().is_some();
    let length = if logs { 8 } else { world.capacity() };
    content[..length as usize * 512].copy_from_slice(&payload(random, length));
    world.write_now(0, &content[..length as usize * 512]).unwrap();
    content
}

/// Checks that all redundancy fits and that the content is right.
pub(crate) fn check(world: &mut World, content: &[u8]) {
    let report = world.scrub(Repair::Nothing);
    assert_eq!((report.mismatches, report.unreadable), (0, 0), "{:?}", world.setup.organization);
    assert!(world.read_now(0, content.len() as u64 / 512).unwrap() == content);
}

/// A copy is absent while the others are resynced, and comes back. Returns the number of mismatches
/// after that.
pub(crate) fn resync_meanwhile() -> u64 {
    let setup = Setup { zeroed: false, ..Setup::named("raid1", 2) };
    let mut world = World::new(&setup, SEED);
    fail(&mut world);
    world.settle_until(|world| world.array.unsynced_regions() == 0);
    come_back(&mut world);
    settle_whole(&mut world);
    world.scrub(Repair::Nothing).mismatches
}
