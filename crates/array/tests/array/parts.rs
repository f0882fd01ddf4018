//! A long request that its driver submits in parts: all parts use one buffer.

use crate::common::{Setup, World};
use parlour_array::{BufferId, Operation, Request, RequestError, Tag};
use parlour_units::{Sector, Sectors};

const LENGTH: u64 = 96;

fn submit_part(world: &mut World, operation: Operation, buffer: BufferId, start: u64, length: u64) {
    let tag = Tag(1_000 * (1 + u64::from(operation == Operation::Read)) + start);
    let at = Sector::new(7 + start);
    let request = Request { tag, operation, at, length: Sectors::new(length), buffer: Some(buffer) };
    world.array.submit_part(world.now, request, Sectors::new(start));
    world.drain();
}

fn payload() -> Vec<u8> {
    (0..LENGTH as usize * 512).map(|index| (index / 512 * 7 + index % 251) as u8).collect()
}

#[test]
fn parts_of_a_request_move_their_parts_of_its_buffer() {
    for setup in [Setup::named("raid5", 4), Setup::named("raid1", 2), Setup::logged(5)] {
        let mut world = World::new(&setup, 1);
        let buffer = world.array.reserve(Sectors::new(LENGTH)).expect("memory is free");
        world.memory.insert(buffer.as_usize(), payload());
        for (start, length) in [(0, 9), (9, 55), (64, 32)] {
            submit_part(&mut world, Operation::Write { durable: false }, buffer, start, length);
        }
        world.settle();
        world.array.release(buffer);
        assert_eq!(world.read_now(7, LENGTH), Ok(payload()));

        let buffer = world.array.reserve(Sectors::new(LENGTH)).expect("memory is free");
        world.memory.insert(buffer.as_usize(), vec![0; LENGTH as usize * 512]);
        for (start, length) in [(33, 63), (0, 33)] {
            submit_part(&mut world, Operation::Read, buffer, start, length);
        }
        world.settle();
        assert!(world.memory[&buffer.as_usize()] == payload());
    }
}

#[test]
fn a_part_that_does_not_fit_its_buffer_is_refused() {
    let mut world = World::new(&Setup::named("raid5", 4), 1);
    let buffer = world.array.reserve(Sectors::new(LENGTH)).expect("memory is free");
    submit_part(&mut world, Operation::Read, buffer, LENGTH - 8, 9);
    let answers: Vec<_> = world.done.values().map(|(result, _)| *result).collect();
    assert_eq!(answers, [Err(RequestError::BadBuffer)]);
}
