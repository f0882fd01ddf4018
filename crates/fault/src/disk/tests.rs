//! Tests of what is durable on a member.

use super::*;

fn disk() -> Disk {
    Disk::new(Identity([1; 16]), Sectors::new(64), 0)
}

fn first(disk: &Disk) -> u8 {
    disk.sector(3).bytes()[0]
}

#[test]
fn a_flush_keeps_what_was_answered_before_it_began_and_no_more() {
    let mut disk = disk();
    disk.write(Sector::new(3), &[1; SECTOR], false);
    let covered = disk.written();
    disk.write(Sector::new(3), &[2; SECTOR], false);
    disk.flushed(covered);
    assert_eq!(first(&disk), 2);
    disk.power_cut(Keyed::new(1), Kept::Nothing);
    assert_eq!(first(&disk), 1);
}

#[test]
fn what_a_failed_flush_was_to_keep_is_kept_by_no_later_one_until_it_is_written_anew() {
    let mut disk = disk();
    disk.write(Sector::new(3), &[1; SECTOR], false);
    disk.flush_failed();
    disk.flushed(disk.written());
    let mut cut = disk.clone();
    cut.power_cut(Keyed::new(1), Kept::Nothing);
    assert_eq!((first(&disk), first(&cut)), (1, 0));
    disk.write(Sector::new(3), &[2; SECTOR], false);
    disk.flushed(disk.written());
    disk.power_cut(Keyed::new(1), Kept::Nothing);
    assert_eq!(first(&disk), 2);
}

#[test]
fn a_durable_write_leaves_nothing_older_to_come_back() {
    let mut disk = disk();
    disk.write(Sector::new(3), &[1; SECTOR], false);
    disk.write(Sector::new(3), &[2; SECTOR], true);
    disk.power_cut(Keyed::new(1), Kept::Nothing);
    assert_eq!(first(&disk), 2);
}

#[test]
fn any_version_since_the_last_flush_may_be_left() {
    let mut seen = BTreeSet::new();
    for seed in 0..40 {
        let mut disk = disk();
        (1..=3).for_each(|byte| disk.write(Sector::new(3), &[byte; SECTOR], false));
        disk.power_cut(Keyed::new(seed), Kept::Some);
        seen.insert(first(&disk));
    }
    assert_eq!(seen, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn what_is_stable_and_what_is_not_flushed_make_up_what_is_read() {
    let mut disk = disk();
    disk.write(Sector::new(2), &[1; 2 * SECTOR], true);
    disk.write(Sector::new(3), &[2; 2 * SECTOR], false);
    disk.write(Sector::new(3), &[3; SECTOR], false);
    let (mut stable, unflushed) = (disk.stable(), disk.unflushed());
    assert_eq!([2, 3, 4].map(|sector| stable.sector(sector).bytes()[0]), [1, 1, 0]);
    let bytes: Vec<Vec<(u64, u8)>> = unflushed
        .iter()
        .map(|write| write.iter().map(|(sector, bytes)| (*sector, bytes.bytes()[0])).collect())
        .collect();
    assert_eq!(bytes, [vec![(3, 2), (4, 2)], vec![(3, 3)]]);
    let key = SectorKey::new([1; 16]);
    assert_ne!(stable.digest(&key), disk.digest(&key));
    for (sector, bytes) in unflushed.iter().flatten() {
        stable.write_one(*sector, bytes.clone(), true);
    }
    assert_eq!(stable.digest(&key), disk.digest(&key));
}

#[test]
fn a_bad_sector_can_be_read_again_when_it_was_written() {
    let mut disk = disk();
    disk.lose_sector(3);
    assert!(!disk.can_read(Sector::new(0), Sectors::new(8)));
    disk.write(Sector::new(3), &[1; SECTOR], false);
    assert!(disk.can_read(Sector::new(0), Sectors::new(8)));
}
