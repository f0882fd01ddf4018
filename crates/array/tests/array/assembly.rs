//! Members in any order make their array. Members that are stale, foreign, duplicate, truncated,
//! damaged or too few are reported and refused. An unclean degraded array is opened only with
//! `force`.

use crate::common::{Disk, Random, SEED, Setup, World, candidate, identity, payload};
use parlour_array::{
    Assembly, AssemblyError, Candidate, Fault, Mode, Operation, Repair, RequestError, SuperblockError,
    Verdict,
};
use parlour_units::{Sectors, Slot};

fn written(name: &str, members: u16) -> (World, Vec<u8>) {
    let mut world = World::new(&Setup::named(name, members), SEED);
    let bytes = payload(&mut Random(SEED), 300);
    assert_eq!(world.write_now(5, &bytes), Ok(()));
    (world, bytes)
}

fn stopped(name: &str, members: u16) -> (Setup, Vec<Disk>, Vec<u8>) {
    let (mut world, bytes) = written(name, members);
    world.stop();
    (world.setup.clone(), world.disks, bytes)
}

fn candidates(disks: &[Disk]) -> Vec<Candidate> {
    disks.iter().enumerate().map(|(index, disk)| candidate(disk, index)).collect()
}

fn open(setup: &Setup, disks: Vec<Disk>, order: &[usize], force: bool) -> Result<World, AssemblyError> {
    World::open(setup, disks, order.to_vec(), Random(SEED), 50, force)
}

#[test]
fn members_make_their_array_in_any_order() {
    let (setup, disks, bytes) = stopped("raid5", 4);
    for order in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]] {
        let mut world = open(&setup, disks.clone(), &order, false).expect("all members are there");
        assert!(world.read_now(5, 300).unwrap() == bytes);
    }
}

#[test]
fn a_missing_member_is_done_without_and_two_are_too_many() {
    let (setup, disks, bytes) = stopped("parity-logging", 5);
    let mut world = open(&setup, disks.clone(), &[0, 1, 3, 4], false).expect("one may be missing");
    assert!(world.read_now(5, 300).unwrap() == bytes);
    let error = open(&setup, disks, &[0, 1, 3], false).err().expect("two are too many");
    assert!(
        matches!(&error, AssemblyError::TooManyMissing { missing, tolerance: 1 } if missing == "member 2, member 4")
    );
}

#[test]
fn a_member_that_missed_a_session_is_stale_and_not_believed() {
    let (setup, disks, _) = stopped("raid5", 4);
    let mut world = open(&setup, disks.clone(), &[0, 1, 2], false).expect("one may be missing");
    let newer = payload(&mut Random(7), 300);
    assert_eq!(world.write_now(5, &newer), Ok(()));
    world.stop();
    let mut disks_now = world.disks.clone();
    disks_now[3] = disks[3].clone();
    let assembly = Assembly::new(&candidates(&disks_now)).expect("three are enough");
    assert_eq!(assembly.verdicts[3], Verdict::Stale(3));
    let mut world = open(&setup, disks_now, &[3, 2, 1, 0], false).expect("three are enough");
    assert!(world.read_now(5, 300).unwrap() == newer);
}

#[test]
fn a_member_that_was_failed_is_stale_though_it_was_there_all_the_time() {
    let (mut world, _) = written("raid5", 4);
    world.array.fail(world.now, Slot::new(2)).expect("it can be done without");
    world.drain();
    world.settle();
    world.stop();
    let assembly = Assembly::new(&candidates(&world.disks)).expect("three are enough");
    assert_eq!(assembly.verdicts[2], Verdict::Stale(2));
}

#[test]
fn members_used_apart_are_both_refused_until_a_person_chooses() {
    let (setup, disks, _) = stopped("raid1", 2);
    let apart = |keep: usize, session: u64| {
        let mut world = World::open(&setup, disks.clone(), vec![keep], Random(1), session, false)
            .expect("one copy is enough");
        assert_eq!(world.write_now(0, &payload(&mut Random(session), 4)), Ok(()));
        world.stop();
        world.disks[keep].clone()
    };
    let both = vec![apart(0, 60), apart(1, 70)];
    let error = Assembly::new(&candidates(&both)).expect_err("they went different ways");
    assert!(matches!(error, AssemblyError::Diverged(..)), "{error}");
    open(&setup, both, &[1], false).expect("a person may choose one");
}

#[test]
fn foreign_doubled_truncated_and_damaged_members_are_named() {
    let (setup, disks, _) = stopped("raid5", 4);
    let mut foreign = World::new(&Setup::named("raid0", 2), 9);
    foreign.stop();
    let mut other = candidate(&foreign.disks[0], 9);
    if let Ok(superblock) = &mut other.superblock {
        superblock.array = identity(77);
    }
    let mut given = candidates(&disks);
    given.push(other);
    assert_eq!(Assembly::new(&given).expect("an array").verdicts[4], Verdict::Foreign);

    let mut doubled = candidates(&disks);
    doubled.push(Candidate { name: "a copy".into(), ..doubled[1].clone() });
    let error = Assembly::new(&doubled).expect_err("doubled");
    assert_eq!(error, AssemblyError::Duplicate("disk 1".into(), "a copy".into()));

    let mut truncated = candidates(&disks);
    truncated[2].length = Sectors::new(setup.member_length - 2_048);
    assert_eq!(Assembly::new(&truncated).expect("three are enough").verdicts[2], Verdict::Truncated(2));

    let mut damaged = disks.clone();
    for at in [0, (setup.member_length as usize - 2_048) * 512] {
        damaged[1].bytes[at + 200] ^= 0xFF;
    }
    let assembly = Assembly::new(&candidates(&damaged)).expect("three are enough");
    assert_eq!(assembly.verdicts[1], Verdict::Damaged(SuperblockError::Damaged));

    let nothing = vec![Disk { bytes: vec![0; 4 << 20], ..Disk::default() }];
    assert!(matches!(Assembly::new(&candidates(&nothing)), Err(AssemblyError::NoMembers(_))));
}

#[test]
fn one_whole_superblock_of_two_is_enough() {
    let (setup, disks, bytes) = stopped("raid5", 4);
    for at in [0, (setup.member_length as usize - 2_048) * 512] {
        let mut torn = disks.clone();
        torn.iter_mut().for_each(|disk| disk.bytes[at..at + 2_048].fill(0xA5));
        let mut world = open(&setup, torn, &[0, 1, 2, 3], false).expect("the other copy is whole");
        assert!(world.read_now(5, 300).unwrap() == bytes);
    }
}

#[test]
fn garbage_in_superblocks_never_panics() {
    let (_, disks, _) = stopped("parity-logging", 5);
    let mut random = Random(SEED);
    for _ in 0..20_000 {
        let mut block = disks[0].bytes[..4_096].to_vec();
        for _ in 0..1 + random.below(4) {
            block[random.below(600) as usize] = random.next() as u8;
        }
        // The checksum fits, as if a faulty program had written the block.
        block[12..16].fill(0);
        let checksum = parlour_codec::checksum::crc32c(&block);
        block[12..16].copy_from_slice(&checksum.to_le_bytes());
        if let Ok(superblock) = parlour_array::Superblock::decode(&block) {
            let one =
                Candidate { name: "x".into(), length: Sectors::new(20_480), superblock: Ok(superblock) };
            let _ = Assembly::new(&[one]);
        }
    }
}

#[test]
fn an_unclean_degraded_array_is_refused_unless_forced() {
    for name in ["raid5", "parity-logging"] {
        let (world, _) = written(name, 5);
        let (setup, disks) = (world.setup.clone(), world.disks);
        let error =
            open(&setup, disks.clone(), &[0, 1, 2, 4], false).err().expect("it may have lost something");
        assert!(matches!(error, AssemblyError::UncleanAndDegraded { .. }), "{error}");
        open(&setup, disks, &[0, 1, 2, 4], true).expect("forced");
    }
    // Copies need no force: each copy alone is sufficient.
    let (world, bytes) = written("raid1", 3);
    let mut world = open(&world.setup.clone(), world.disks, &[0, 2], false).expect("copies");
    assert!(world.read_now(5, 300).unwrap() == bytes);
}

#[test]
fn read_only_writes_nothing() {
    for name in ["raid5", "raid1", "parity-logging"] {
        let (setup, disks, bytes) = stopped(name, 4);
        let order = vec![0, 1, 2, 3];
        let opened = World::try_open(&setup, disks.clone(), order, Random(1), 50, false, true);
        let mut world = opened.map_err(|(error, _)| error).expect("it opens");
        assert_eq!(world.array.mode(), Mode::ReadOnly);
        assert!(world.read_now(5, 300).unwrap() == bytes);
        assert_eq!(world.write_now(5, &bytes), Err(RequestError::ReadOnly));
        let sector = world.array.geometry().data_start().get() + 3;
        world.disks[1].unreadable.insert(sector);
        assert!(
            world.read_now(5, 300).unwrap() == bytes,
            "{name}: what is unreadable is computed, not repaired"
        );
        world.stop();
        assert!(world.disks.iter().zip(&disks).all(|(now, before)| now.writes == before.writes), "{name}");
    }
}

#[test]
fn a_full_disk_makes_the_array_read_only_and_fails_no_member() {
    for name in ["raid5", "raid10", "parity-logging"] {
        let (mut world, bytes) = written(name, 4);
        world.settle();
        world.disk_at(1).full = true;
        let result =
            (0..2_000).step_by(40).map(|at| world.write_now(at, &bytes[..20 * 512])).find(Result::is_err);
        assert_eq!(result, Some(Err(RequestError::NoSpace)), "{name}");
        world.settle();
        assert_eq!(world.array.mode(), Mode::ReadOnly);
        assert!(world.array.status().members.iter().all(|member| member.state == "active"), "{name}");
        world.read_now(0, 300).expect("it can still be read");
        // With room again it can be opened, and torn stripes are resynced.
        world.disk_at(1).full = false;
        let mut world = world.reopen(false).expect("all members are there");
        world.settle();
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{name}");
    }
}

#[test]
fn an_array_on_members_that_hold_garbage_is_synchronized_in_the_background_and_goes_on_after_a_stop() {
    for name in ["raid5", "raid1", "raid10", "raid10-far", "parity-logging"] {
        let mut setup = Setup::named(name, 4);
        setup.zeroed = false;
        let mut world = World::new(&setup, SEED);
        assert!(world.array.status().resync.is_some(), "{name}");
        let bytes = payload(&mut Random(3), 50);
        assert_eq!(world.write_now(9, &bytes), Ok(()));
        for _ in 0..40 {
            world.step();
        }
        let mut world = world.restart();
        assert_eq!(world.read_now(9, 50).unwrap(), bytes);
        world.settle();
        assert!(world.array.status().resync.is_none(), "{name}");
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{name}");
        assert_eq!(world.read_now(9, 50).unwrap(), bytes);
    }
}

#[test]
fn a_scrub_finds_what_does_not_fit_and_repairs_only_when_asked() {
    for (name, repair) in [("raid5", Repair::ParityFromData), ("raid1", Repair::Majority)] {
        let (mut world, bytes) = written(name, 4);
        world.settle();
        // The last member: parity of the first stripe, or one copy of three.
        let at = world.array.geometry().data_start().bytes() as usize;
        world.disk_at(3).bytes[at + 17] ^= 0x10;
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 1, "{name}");
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 1, "{name}: nothing was repaired unasked");
        let report = world.scrub(repair);
        assert_eq!((report.mismatches, report.repaired), (1, 1), "{name}");
        assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{name}");
        assert_eq!(world.read_now(5, 300).unwrap(), bytes);
    }
}

#[test]
fn a_rebuild_goes_on_where_it_stopped() {
    let mut setup = Setup::named("raid5", 4);
    setup.tuning.checkpoint = Sectors::new(64);
    setup.tuning.maintenance_depth = 2;
    let mut world = World::new(&setup, SEED);
    let bytes = payload(&mut Random(3), 500);
    assert_eq!(world.write_now(0, &bytes), Ok(()));
    world.array.fail(world.now, Slot::new(2)).expect("it can be done without");
    world.drain();
    world.replace(2);
    let halfway = |world: &World| world.array.status().rebuild.is_some_and(|task| task.done * 2 > task.total);
    world.settle_until(halfway);
    world.disks[2].dead = true;
    let mut world = world.restart();
    let task = world.array.status().rebuild.expect("it goes on");
    assert!(task.done * 3 > task.total, "{task:?}");
    world.settle();
    assert!(world.array.status().rebuild.is_none());
    assert_eq!(world.scrub(Repair::Nothing).mismatches, 0);
    assert_eq!(world.read_now(0, 500).unwrap(), bytes);
}

#[test]
fn trim_gives_back_whole_stripes_and_leaves_the_rest() {
    for name in ["raid5", "raid10", "parity-logging", "raid0"] {
        let (mut world, _) = written(name, 4);
        let before = world.read_now(0, 400).unwrap();
        let (result, _) = world.do_now(Operation::Trim, 10, 200, None);
        assert_eq!(result, Ok(()));
        let after = world.read_now(0, 400).unwrap();
        assert_eq!(before[..10 * 512], after[..10 * 512], "{name}");
        assert_eq!(before[210 * 512..], after[210 * 512..], "{name}");
        if name != "raid0" {
            assert_eq!(world.scrub(Repair::Nothing).mismatches, 0, "{name}");
        }
        let fast = Operation::WriteZeroes { may_unmap: true, fast_only: true, durable: false };
        assert_eq!(world.do_now(fast, 1, 3, None).0, Err(RequestError::NotFast), "{name}");
    }
}

#[test]
fn the_status_counts_down_what_is_left_to_recover_after_a_kill() {
    let mut world = World::new(&Setup::logged(5), SEED);
    let recovering = |world: &World| world.array.status().log.unwrap().recovering;
    world.settle();
    assert_eq!(recovering(&world), 0, "a new array has nothing to recover");
    let step = world.capacity() / 4;
    for at in 0..4 {
        world.write_now(at * step / 8 * 8, &payload(&mut Random(at + 1), 8)).unwrap();
    }
    let mut world = world.reopen(false).unwrap();
    let left = recovering(&world);
    assert!(left > 1, "{left} regions were written to");
    world.settle();
    let status = world.array.status();
    assert_eq!((status.log.unwrap().recovering, status.counters.redone), (0, u64::from(left)));
}

#[test]
fn what_commit_logs_hold_is_not_redone_by_an_array_that_is_opened_read_only() {
    let setup = Setup::logged(4);
    let mut world = World::new(&setup, SEED);
    let bytes = payload(&mut Random(3), 16);
    world.write_now(5, &bytes).expect("it is written");
    // The server is killed.
    let World { disks, .. } = world;
    let order = vec![0, 1, 2, 3];
    let opened = World::try_open(&setup, disks, order.clone(), Random(1), 50, false, true);
    let (error, disks) = opened.err().expect("its last write is to be redone");
    assert!(matches!(error, AssemblyError::ReadOnlyNeedsRecovery), "{error}");
    let mut world = open(&setup, disks, &order, false).expect("it opens for writing");
    assert!(world.read_now(5, 16).expect("it reads") == bytes);
}

#[test]
fn who_cannot_write_durably_may_have_lost_what_was_written_before() {
    let mut world = World::new(&Setup::named("raid0", 2), SEED);
    let bytes = payload(&mut Random(3), 16);
    world.write_now(0, &bytes).expect("it is written");
    world.disks[0].durable_writes_fail = Some(Fault::Gone);
    let durable = world.do_now(Operation::Write { durable: true }, 0, 16, Some(&bytes)).0;
    assert_eq!(durable, Err(RequestError::Lost));
    // The operating system reports the failed write only once.
    world.disks[0].durable_writes_fail = None;
    assert_eq!(world.do_now(Operation::Flush, 0, 0, None).0, Err(RequestError::Lost));
}

#[test]
fn who_finds_no_space_for_what_is_to_be_durable_may_have_lost_what_was_written_before_and_is_not_failed() {
    for (name, members) in [("raid0", 2), ("raid5", 4), ("parity-logging", 4)] {
        let mut world = World::new(&Setup::named(name, members), SEED);
        let bytes = payload(&mut Random(3), 16);
        world.write_now(0, &bytes).expect("it is written");
        (0..members as usize).for_each(|disk| world.disks[disk].durable_writes_fail = Some(Fault::Undurable));
        // Some effect of this write is to be durable.
        let tag = world.submit(Operation::Write { durable: true }, 0, 16, Some(&bytes));
        world.settle_until(|world| world.array.mode() == Mode::ReadOnly);
        (0..members as usize).for_each(|disk| world.disks[disk].durable_writes_fail = None);
        world.settle();
        assert!(world.done.remove(&tag).expect("it was answered").0.is_err(), "{name}");
        assert_eq!(world.array.mode(), Mode::ReadOnly, "{name}");
        assert!(world.array.status().members.iter().all(|member| member.state == "active"), "{name}");
        // There is room again, but the failed writes are still lost.
        assert_eq!(world.do_now(Operation::Flush, 0, 0, None).0, Err(RequestError::Lost), "{name}");
    }
}
