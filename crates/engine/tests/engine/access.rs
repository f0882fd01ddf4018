//! Tests that every backend carries out accesses in the same way, on every kind of member.

use std::fs::File;
use std::sync::Arc;

use crate::common::{
    Driver, LoopDevice, Numbers, TinyFileSystem, command, on_disk, payload, places, sector, wait, ways,
};
use parlour_engine::{Buffer, Choice, Fault, IoBackend, Member, Mode, Operation, Part};
use parlour_units::Bytes;

const WRITE: Operation = Operation::Write { durable: false };
const DURABLE: Operation = Operation::Write { durable: true };

/// Runs `test` for every backend in every kind of directory, on a fresh member of `length`.
fn everywhere(length: Bytes, test: impl Fn(&mut Driver, &Arc<Member>)) {
    for place in places() {
        for choice in ways() {
            let path = place.path().join(format!("{choice:?}"));
            let member = Arc::new(Member::create_file(&path, length).expect("a fresh member"));
            test(&mut Driver::new(choice), &member);
        }
    }
}

/// Makes random accesses with scattered parts, many at a time, and compares the results with a
/// model in memory.
fn agrees_with_a_model(driver: &mut Driver, member: &Arc<Member>, rounds: u32) {
    let block = member.block().get() as usize;
    let length = member.length().bytes().get() as usize;
    let blocks_per_lane = 40;
    let lane = blocks_per_lane * block;
    let lanes = (length / lane).min(16);
    let mut model = vec![0_u8; length];
    let mut numbers = Numbers::new(1);
    for number in 0..lanes as u32 {
        driver.memory.take(number, 2 * lane);
    }
    for _ in 0..rounds {
        // One access per lane, so that the accesses of a batch do not overlap.
        let mut batch = Vec::new();
        let mut checks = Vec::new();
        for number in 0..lanes as u32 {
            let first = numbers.below(blocks_per_lane as u64) as usize;
            let count = 1 + numbers.below((blocks_per_lane - first) as u64) as usize;
            let at = number as usize * lane + first * block;
            let parts = scattered(&mut numbers, number, count, block);
            match numbers.below(5) {
                0 | 1 => {
                    let operation = if numbers.below(4) == 0 { DURABLE } else { WRITE };
                    let mut place = at;
                    for part in &parts {
                        let bytes = driver.memory.write(*part);
                        numbers.fill(bytes);
                        model[place..place + part.length].copy_from_slice(bytes);
                        place += part.length;
                    }
                    batch.push(driver.access(member, operation, at as u64, &parts));
                }
                2 => {
                    model[at..at + count * block].fill(0);
                    batch.push(driver.plain(member, Operation::Zero, at as u64, (count * block) as u64));
                }
                _ => {
                    batch.push(driver.access(member, Operation::Read, at as u64, &parts));
                    checks.push((at, parts));
                }
            }
        }
        batch.push(driver.plain(member, Operation::Flush, 0, 0));
        assert!(driver.run(batch).iter().all(|result| *result == Ok(())));
        for (at, parts) in checks {
            let mut place = at;
            for part in parts {
                assert_eq!(driver.memory.read(part), &model[place..place + part.length], "at {place}");
                place += part.length;
            }
        }
    }
    for number in 0..lanes as u32 {
        driver.memory.release(Buffer::Payload(number));
    }
    let mut all = vec![0; length];
    member.read_at(sector(0), &mut all).expect("it can be read");
    assert!(all == model, "the member holds what was written");
}

/// Splits `count` blocks of buffer `number` into parts in a random order.
fn scattered(numbers: &mut Numbers, number: u32, count: usize, block: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut left = count;
    while left > 0 {
        let blocks = 1 + numbers.below(left as u64) as usize;
        start += numbers.below(2) as usize * block;
        parts.push(payload(number, start, blocks * block));
        start += blocks * block;
        left -= blocks;
    }
    parts.reverse();
    parts
}

#[test]
fn what_was_written_is_read_whatever_the_parts() {
    everywhere(Bytes::mib(2), |driver, member| agrees_with_a_model(driver, member, 60));
}

#[test]
fn loop_devices_of_both_block_sizes_behave_like_files() {
    let place = on_disk();
    for block in [512, 4096] {
        let path = place.path().join(block.to_string());
        File::create(&path).and_then(|file| file.set_len(4 << 20)).expect("a backing file");
        let Some(device) = LoopDevice::new(path.to_str().expect("text"), block) else {
            eprintln!("skipped: no loop device of block size {block} can be had here");
            continue;
        };
        for choice in ways() {
            let member = Arc::new(Member::open(&device.0, Mode::ReadWrite).expect("the device"));
            assert!(member.is_device());
            assert_eq!(member.block().get(), u64::from(block));
            assert_eq!(member.length().bytes(), Bytes::mib(4));
            member.zero(sector(0), member.length()).expect("it can be zeroed");
            agrees_with_a_model(&mut Driver::new(choice), &member, 20);
        }
    }
}

#[test]
fn more_parts_than_the_kernel_takes_at_once_are_no_obstacle() {
    everywhere(Bytes::mib(4), |driver, member| {
        let block = member.block().get() as usize;
        let count = if block == 512 { 3000 } else { 1000 };
        driver.memory.take(0, count * block);
        driver.memory.take(1, count * block);
        let whole = payload(0, 0, count * block);
        Numbers::new(7).fill(driver.memory.write(whole));
        let parts: Vec<Part> = (0..count).map(|index| payload(0, index * block, block)).collect();
        let write = driver.access(member, WRITE, 0, &parts);
        driver.succeed(write);
        let parts: Vec<Part> = (0..count).map(|index| payload(1, index * block, block)).collect();
        let read = driver.access(member, Operation::Read, 0, &parts);
        driver.succeed(read);
        assert!(driver.memory.read(whole) == driver.memory.read(payload(1, 0, count * block)));
    });
}

#[test]
fn long_runs_of_zeroes_are_written_from_few_bytes() {
    everywhere(Bytes::mib(4), |driver, member| {
        driver.memory.take(0, 4 << 20);
        let whole = payload(0, 0, 4 << 20);
        driver.memory.write(whole).fill(0xff);
        let write = driver.access(member, WRITE, 0, &[whole]);
        driver.succeed(write);
        let zeroes = Part { buffer: Buffer::Zeroes, start: 0, length: 3 << 20 };
        let write = driver.access(member, DURABLE, 512 << 10, &[zeroes]);
        driver.succeed(write);
        let read = driver.access(member, Operation::Read, 0, &[whole]);
        driver.succeed(read);
        let bytes = driver.memory.read(whole);
        let expected = |index: usize| if (512 << 10..7 << 19).contains(&index) { 0 } else { 0xff };
        assert!(bytes.iter().enumerate().all(|(index, byte)| *byte == expected(index)));
    });
}

#[test]
fn thousands_of_accesses_at_once_are_all_done() {
    everywhere(Bytes::mib(1), |driver, member| {
        let block = member.block().get() as usize;
        driver.memory.take(0, block);
        let batch = (0..5000)
            .map(|index| {
                let at = (index * 37 % ((1 << 20) / block) * block) as u64;
                driver.access(member, WRITE, at, &[payload(0, 0, block)])
            })
            .collect();
        assert_eq!(driver.run(batch), vec![Ok(()); 5000]);
    });
}

#[test]
fn a_truncated_file_is_gone_and_is_not_made_long_again() {
    everywhere(Bytes::mib(1), |driver, member| {
        driver.memory.take(0, 8192);
        File::options()
            .write(true)
            .open(member.path())
            .and_then(|file| file.set_len(4096))
            .expect("truncated");
        let batch = vec![
            driver.access(member, Operation::Read, 65_536, &[payload(0, 0, 4096)]),
            driver.access(member, WRITE, 65_536, &[payload(0, 4096, 4096)]),
            driver.plain(member, Operation::Zero, 0, 4096),
        ];
        assert_eq!(driver.run(batch), [Err(Fault::Truncated); 3]);
        // The remaining part can be read; a transfer across the end cannot.
        let read = driver.access(member, Operation::Read, 0, &[payload(0, 0, 4096)]);
        driver.succeed(read);
        let across = driver.access(member, Operation::Read, 0, &[payload(0, 0, 8192)]);
        assert_eq!(driver.run(vec![across]), [Err(Fault::Truncated)]);
        assert_eq!(std::fs::metadata(member.path()).expect("it is there").len(), 4096);
    });
}

#[test]
fn a_full_file_system_is_no_space_and_the_member_goes_on() {
    for choice in ways() {
        let Some(tiny) = TinyFileSystem::new("1m") else {
            eprintln!("skipped: the caller may not mount");
            return;
        };
        let member = Member::create_file(tiny.0.path().join("member"), Bytes::mib(8)).expect("sparse");
        let member = Arc::new(member);
        let mut driver = Driver::new(choice);
        driver.memory.take(0, 4 << 20);
        driver.memory.take(1, 4096);
        let too_much = driver.access(&member, WRITE, 0, &[payload(0, 0, 4 << 20)]);
        assert_eq!(driver.run(vec![too_much]), [Err(Fault::NoSpace)], "{choice:?}");
        let zero = driver.plain(&member, Operation::Zero, 0, 8 << 20);
        driver.succeed(zero);
        let little = driver.access(&member, DURABLE, 0, &[payload(1, 0, 4096)]);
        driver.succeed(little);
    }
}

#[test]
fn a_member_that_was_opened_for_looking_refuses_writes() {
    everywhere(Bytes::mib(1), |driver, member| {
        let copy = member.path().with_extension("copy");
        drop(Member::create_file(&copy, Bytes::mib(1)).expect("fresh"));
        let member = Arc::new(Member::open(&copy, Mode::ReadOnly).expect("it is there"));
        driver.memory.take(0, 4096);
        let write = driver.access(&member, WRITE, 0, &[payload(0, 0, 4096)]);
        assert_eq!(driver.run(vec![write]), [Err(Fault::Gone)]);
        std::fs::remove_file(copy).expect("it is there");
    });
}

#[test]
fn a_device_with_bad_places_is_unreadable_there_only() {
    let Some(device) = BadDevice::new() else {
        eprintln!("skipped: no device mapper here");
        return;
    };
    for choice in ways() {
        let member = Arc::new(Member::open(&device.path, Mode::ReadWrite).expect("the device"));
        let mut driver = Driver::new(choice);
        driver.memory.take(0, 12_288);
        let batch = vec![
            driver.access(&member, Operation::Read, 0, &[payload(0, 0, 4096)]),
            driver.access(&member, Operation::Read, 1 << 20, &[payload(0, 4096, 4096)]),
        ];
        assert_eq!(driver.run(batch), [Ok(()), Err(Fault::Unreadable)]);
        let write = driver.access(&member, WRITE, 1 << 20, &[payload(0, 8192, 4096)]);
        assert_eq!(driver.run(vec![write]), [Err(Fault::Gone)]);
    }
}

/// A device mapper target whose second MiB returns errors.
struct BadDevice {
    path: String,
    name: String,
}

impl BadDevice {
    fn new() -> Option<BadDevice> {
        let name = format!("parlour-test-{}", std::process::id());
        let table = "0 2048 zero\n2048 2048 error";
        command("dmsetup", &["create", &name, "--table", table])?;
        Some(BadDevice { path: format!("/dev/mapper/{name}"), name })
    }
}

impl Drop for BadDevice {
    fn drop(&mut self) {
        command("dmsetup", &["remove", &self.name]);
    }
}

#[test]
fn what_is_in_flight_is_finished_when_the_way_is_dropped() {
    everywhere(Bytes::mib(4), |driver, member| {
        driver.memory.take(0, 1 << 20);
        driver.memory.write(payload(0, 0, 1 << 20)).fill(3);
        let mut batch: Vec<_> = (0..4)
            .map(|index| driver.access(member, WRITE, index << 20, &[payload(0, 0, 1 << 20)]))
            .collect();
        driver.io.submit(&mut batch).expect("the way itself works");
        driver.io = parlour_engine::Io::new(Choice::Threads).expect("another way");
        let mut all = vec![0; 4 << 20];
        member.read_at(sector(0), &mut all).expect("it can be read");
        assert!(all.iter().all(|byte| *byte == 3));
    });
}

#[test]
fn the_automatic_choice_always_finds_a_way() {
    let expected = if ways().contains(&Choice::Uring) { "io_uring" } else { "threads" };
    assert_eq!(Driver::new(Choice::Auto).io.name(), expected);
    assert_eq!(Driver::new(Choice::Threads).io.name(), "threads");
}

#[test]
fn the_wait_descriptor_wakes_each_time() {
    let place = on_disk();
    let member = Arc::new(Member::create_file(place.path().join("m"), Bytes::mib(1)).expect("fresh"));
    for choice in ways() {
        let mut driver = Driver::new(choice);
        driver.memory.take(0, 4096);
        for _ in 0..200 {
            let mut batch = vec![driver.access(&member, Operation::Read, 0, &[payload(0, 0, 4096)])];
            driver.io.submit(&mut batch).expect("the way itself works");
            wait(&driver.io);
            let mut done = Vec::new();
            while done.is_empty() {
                driver.io.reap(&mut done).expect("the way itself works");
            }
            let lease = done.pop().and_then(|mut done| done.parts.pop()).expect("what was lent");
            driver.memory.give_back(lease);
        }
    }
}
