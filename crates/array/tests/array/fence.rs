//! Two servers on the same members, as on two hosts that share disks. The server that finds the
//! other's session in a superblock writes nothing more, reports this, and fails all requests.

use crate::common::{Disk, Random, SEED, Setup, World, payload};
use parlour_array::{Action, Event, Mode, RequestError, Tuning};
use parlour_units::{Duration, Sector, Sectors, Slot};

fn fenced(setup: Setup) -> Setup {
    let fence = Some(Duration::from_millis(1_000));
    Setup { tuning: Tuning { fence, ..setup.tuning }, ..setup }
}

/// Runs `work` in `world`, on members that both servers share.
fn on<T>(disks: &mut Vec<Disk>, world: &mut World, work: impl FnOnce(&mut World) -> T) -> T {
    std::mem::swap(disks, &mut world.disks);
    let result = work(world);
    std::mem::swap(disks, &mut world.disks);
    result
}

/// A second server, on a copy of `disks` to begin with.
fn second(setup: &Setup, disks: &[Disk]) -> World {
    let order = (0..disks.len()).collect();
    World::open(setup, disks.to_vec(), order, Random(SEED ^ 1), 500, false).expect("nothing keeps it off")
}

fn is_superseded(world: &World) -> bool {
    world.events.iter().any(|event| matches!(event, Event::Superseded { .. }))
}

fn writes(disks: &[Disk]) -> u64 {
    disks.iter().map(|disk| disk.writes).sum()
}

#[test]
fn a_server_stops_when_another_has_opened_the_array() {
    for setup in [Setup::named("raid1", 2), Setup::named("raid5", 3), Setup::logged(4)].map(fenced) {
        let mut first = World::new(&setup, SEED);
        let mut bytes = payload(&mut first.random, 16);
        first.write_now(0, &bytes).expect("it is written");
        first.settle_until(|first| first.pending.is_empty());
        let mut disks = std::mem::take(&mut first.disks);
        let mut other = second(&setup, &disks);
        on(&mut disks, &mut other, |other| {
            bytes = payload(&mut other.random, 16);
            other.write_now(0, &bytes).expect("it is written");
        });
        let before = writes(&disks);
        on(&mut disks, &mut first, |first| first.settle_until(is_superseded));
        assert_eq!(first.array.mode(), Mode::Superseded);
        let found = first.events.iter().find_map(|event| match event {
            Event::Superseded { session, .. } => Some(*session),
            _ => None,
        });
        assert_eq!(found, Some(crate::common::identity(1_500)), "the other session is named");
        on(&mut disks, &mut first, |first| {
            assert_eq!(first.write_now(8, &bytes), Err(RequestError::Superseded));
            assert_eq!(first.read_now(0, 8), Err(RequestError::Superseded));
            first.array.stop(first.now);
            first.drain();
            assert!(!first.step() && first.array.poll_timeout().is_none(), "nothing is left to be done");
        });
        assert_eq!(writes(&disks), before, "nothing was written since");
        on(&mut disks, &mut other, |other| {
            assert_eq!(other.read_now(0, 16), Ok(bytes.clone()));
            other.stop();
        });
    }
}

#[test]
fn requests_under_way_fail_when_their_accesses_have_returned() {
    let setup = fenced(Setup::named("raid5", 3));
    let mut first = World::new(&setup, SEED);
    let bytes = payload(&mut first.random, 16);
    first.write_now(0, &bytes).expect("it is written");
    let mut disks = std::mem::take(&mut first.disks);
    let mut other = second(&setup, &disks);
    on(&mut disks, &mut other, |other| other.write_now(0, &bytes)).expect("it is written");
    let tag = on(&mut disks, &mut first, |first| {
        let tag = first.write(0, &bytes);
        // Its accesses are slow, and meanwhile superblocks are read.
        let slow = std::mem::take(&mut first.pending);
        assert!(!slow.is_empty());
        first.settle_until(is_superseded);
        assert!(!first.done.contains_key(&tag), "its payload is still in use");
        first.pending.extend(slow);
        tag
    });
    let before = writes(&disks);
    on(&mut disks, &mut first, |first| {
        let written = first.pending.iter().filter(|effect| matches!(effect.action, Action::Write { .. }));
        let under_way = written.count() as u64;
        while first.step() {}
        assert_eq!(first.done[&tag].0, Err(RequestError::Superseded));
        assert_eq!(writes(&first.disks), before + under_way);
    });
}

/// Regression test. The array asked to be woken for a part that it held back, until the last access
/// under way had returned: at times in the past too.
#[test]
fn nothing_that_is_held_back_wakes_a_server_that_has_stopped() {
    let setup = fenced(Setup::named("raid5", 4));
    let mut first = World::new(&setup, SEED);
    let bytes = payload(&mut first.random, 64);
    first.write_now(0, &bytes).expect("it is written");
    let mut disks = std::mem::take(&mut first.disks);
    let mut other = second(&setup, &disks);
    on(&mut disks, &mut other, |other| other.write_now(0, &bytes)).expect("it is written");
    on(&mut disks, &mut first, |first| {
        while first.pending.is_empty() {
            first.now = first.array.poll_timeout().expect("it looks at superblocks");
            first.array.handle_timeout(first.now);
            first.drain();
        }
        let looks = std::mem::take(&mut first.pending);
        // A stripe of 48 sectors, and a part of the next one.
        first.array.expect_write(first.now, Sector::new(64), Sectors::new(64));
        first.write(0, &bytes);
        assert_eq!(first.array.poll_timeout(), Some(first.now + Duration::from_millis(5)));
        let slow = std::mem::replace(&mut first.pending, looks);
        while first.array.mode() == Mode::Serving {
            assert!(first.step(), "the other session is found");
        }
        assert!(!slow.is_empty() && first.done.is_empty(), "the payload is still in use");
        assert_eq!(first.array.poll_timeout(), None);
    });
}

/// Both servers have read the same superblocks before either has written.
#[test]
fn of_two_servers_that_open_the_array_at_once_the_later_one_writes_nothing() {
    let setup = fenced(Setup::named("raid1", 2));
    let mut world = World::new(&setup, SEED);
    world.stop();
    let mut disks = world.disks.clone();
    let mut first = second(&setup, &disks);
    let mut other = world.reopen(false).expect("nothing keeps it off");
    on(&mut disks, &mut first, |first| first.read_now(0, 8)).expect("it can be read");
    on(&mut disks, &mut first, |first| first.write_now(0, &[3; 512])).expect("it is written");
    let before = writes(&disks);
    on(&mut disks, &mut other, |other| other.settle_until(is_superseded));
    assert_eq!(other.array.mode(), Mode::Superseded);
    assert_eq!(writes(&disks), before);
    assert_eq!(on(&mut disks, &mut first, |first| first.read_now(0, 1)), Ok(vec![3; 512]));
}

/// An unreadable or torn superblock does not indicate another server.
#[test]
fn an_array_that_is_alone_is_not_mistaken_for_another() {
    for setup in [Setup::named("raid1", 3), Setup::named("raid5", 4), Setup::logged(4)].map(fenced) {
        let mut world = World::new(&setup, SEED);
        let bytes = payload(&mut world.random, 64);
        world.write_now(0, &bytes).expect("it is written");
        world.disks[0].unreadable.insert(0);
        world.disks[1].bytes[100] ^= 1;
        world.array.fail(world.now, Slot::new(2)).expect("it can be done without");
        world.drain();
        world.write_now(8, &bytes).expect("it is written");
        world.replace(2);
        world.settle_until(|world| world.array.status().rebuild.is_none());
        world.add_spare();
        // An hour passes without requests.
        let hour = world.now + Duration::from_secs(3_600);
        world.settle_until(|world| world.now >= hour);
        let mut world = world.reopen(false).expect("it opens after a crash");
        assert_eq!(world.read_now(8, 64), Ok(bytes.clone()));
        let mut world = world.restart();
        assert_eq!(world.read_now(8, 64), Ok(bytes.clone()));
        world.write_now(8, &bytes).expect("it is written");
        assert!(!is_superseded(&world));
    }
}

/// Regression test. Superblocks were due to be read, but could not be while they were being
/// written: the driver was called again and again meanwhile.
#[test]
fn no_timeout_is_asked_for_that_nothing_can_be_done_about() {
    let setup = fenced(Setup::named("raid5", 4));
    let mut world = World::new(&setup, SEED);
    world.write_now(0, &[1; 512]).expect("it is written");
    world.array.fail(world.now, Slot::new(2)).expect("it can be done without");
    world.drain();
    let is_write =
        |world: &World| world.pending.iter().any(|effect| matches!(effect.action, Action::Write { .. }));
    // These writes are slow.
    world.settle_until(is_write);
    for _ in 0..10 {
        let Some(due) = world.array.poll_timeout() else { break };
        assert!(due > world.now, "at {:?}", world.now);
        world.now = due;
        world.array.handle_timeout(due);
        world.drain();
    }
    world.settle_until(|world| world.array.status().members[2].state == "failed");
}
