//! Tests with a server that is killed while clients write: no flushed data is lost, and all
//! redundancy is right after recovery.

mod common;
mod tools;

use std::process::{Command, Stdio};

use serde_json::Value;
use tools::{
    Array, PARITY_LOGGING, RAID1, RAID5, RAID6, RAID10, Row, Talker, fio, is_same, make_image, script,
    succeed, tool, until,
};

const MEBIBYTES: u64 = 64;
const ROUNDS: usize = 6;

/// With threads, a killed server may have written data but not its parity. io_uring gets both
/// writes at once and usually completes both.
const THREADS: &str = "--io threads";
const URING: &str = "--io uring";

/// The client that writes numbered blocks, or the one that checks them. They share a log file.
fn numbered(array: &Array, command: &str) -> Command {
    let mut numbered = script(&array.bench, "numbered.py");
    numbered.args([command, &array.uri(), "log"]);
    numbered
}

fn write_until_killed(array: &mut Array, seed: usize, flushes: usize) {
    let mut writer = Talker::start(numbered(array, "write").arg(seed.to_string()));
    writer.hear(flushes);
    array.kill();
    let said = writer.end();
    assert!(said.last().is_some_and(|line| line.starts_with("the server is gone")), "{said:?}");
}

fn check(array: &Array) {
    check_with(array, &[]);
}

/// Checks after a member was lost when the server was killed. A whole stripe that was being
/// written then may have lost what stood on that member.
fn check_without_a_member(array: &Array) {
    check_with(array, &["--lost"]);
}

fn check_with(array: &Array, options: &[&str]) {
    let told = succeed(numbered(array, "check").args(options));
    assert!(told.contains("are right") && !told.starts_with("0 "), "{told}");
}

/// Serves the array again. The status must say that it was not shut down cleanly.
fn serve_again(array: &mut Array, options: &str) {
    assert_eq!(array.status()["mode"], "unclean");
    array.serve(options);
}

fn nothing_flushed_is_lost(row: Row) {
    let mut array = Array::new(row, MEBIBYTES, "", THREADS);
    for round in 1..=ROUNDS {
        write_until_killed(&mut array, round, 5 + 3 * round);
        let io = if round % 3 == 0 { URING } else { THREADS };
        serve_again(&mut array, io);
        if round % 2 == 0 {
            // Once more, during the resync.
            array.kill();
            serve_again(&mut array, io);
        }
        check(&array);
        array.until_whole();
        array.assert_consistent();
        check(&array);
    }
    // The redundancy must also work when a member is lost.
    array.fail(2);
    check(&array);
    array.bench.files("fresh", MEBIBYTES);
    array.bench.succeed("replace 2 fresh -a . --wait");
    array.until_whole();
    array.fail(1);
    check(&array);
    array.close();
}

#[test]
fn a_killed_raid5_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost(RAID5);
}

#[test]
fn a_killed_raid10_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost(RAID10);
}

#[test]
fn a_killed_parity_log_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost(PARITY_LOGGING);
}

/// The default number of rounds in which the server is killed and a member is lost.
const LOSSES: usize = 10;

/// Removes a member of an array that is not being served, or wipes its content.
fn lose(array: &Array, place: usize, wipe: bool) {
    let name = format!("member{place}");
    std::fs::remove_file(array.bench.path(&name)).expect("the member is a file");
    if wipe {
        array.bench.files(&name, MEBIBYTES);
    }
}

#[test]
fn a_killed_parity_log_that_loses_a_member_as_well_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost_with_members(PARITY_LOGGING, "", 5, 1);
}

#[test]
fn a_killed_raid5_with_a_journal_that_loses_a_member_as_well_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost_with_members(RAID5, "--consistency journal", 5, 1);
}

#[test]
fn a_killed_raid5_that_writes_through_and_loses_a_member_as_well_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost_with_members(RAID5, "--consistency journal --write-back 0", 5, 1);
}

#[test]
fn a_killed_array_that_writes_through_and_loses_a_member_as_well_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost_with_members(PARITY_LOGGING, "--write-back 0", 5, 1);
}

/// In slots behind those of the five members.
const DEVICES: &str = "--journal member5 --journal member6";

#[test]
fn a_killed_array_that_loses_a_member_or_a_journal_device_as_well_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost_with_members(PARITY_LOGGING, DEVICES, 7, 1);
}

#[test]
fn a_killed_array_that_writes_through_with_devices_and_loses_one_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost_with_members(PARITY_LOGGING, &format!("--write-back 0 {DEVICES}"), 7, 1);
}

#[test]
fn a_killed_raid6_that_loses_two_members_as_well_loses_nothing_that_was_flushed() {
    nothing_flushed_is_lost_with_members(RAID6, "", 5, 2);
}

#[test]
fn a_killed_parity_log_that_loses_two_members_as_well_loses_nothing_that_was_flushed() {
    let six = Row { members: 6, ..PARITY_LOGGING };
    nothing_flushed_is_lost_with_members(six, "--tolerance 2", 6, 2);
}

/// Each time that the server is killed, so many members are lost. The environment variable
/// PARLOUR_ROUNDS sets the number of rounds.
fn nothing_flushed_is_lost_with_members(row: Row, create: &str, slots: usize, lost: usize) {
    let told = std::env::var("PARLOUR_ROUNDS").ok().map(|rounds| rounds.parse().expect("a number"));
    let mut array = Array::new(row, MEBIBYTES, create, THREADS);
    for round in 1..=told.unwrap_or(LOSSES) {
        write_until_killed(&mut array, round, 5 + round % 16);
        let wipe = round % 2 == 0;
        let places: Vec<usize> = (0..lost).map(|lost| (round * 3 + lost * 2) % slots).collect();
        places.iter().for_each(|place| lose(&array, *place, wipe));
        let io = if round % 3 == 0 { URING } else { THREADS };
        // The array opens without force.
        serve_again(&mut array, io);
        let has_failed = |array: &Array, place: usize| Array::state(&array.status(), place) == "failed";
        assert!(places.iter().all(|place| has_failed(&array, *place)));
        check_without_a_member(&array);
        let replace = |place: usize| format!("replace {place} member{place} --force -a .");
        for place in &places {
            if !wipe {
                array.bench.files(&format!("member{place}"), MEBIBYTES);
            }
            array.bench.succeed(&replace(*place));
        }
        if round % 4 == 0 {
            // Once more, during the rebuild.
            array.kill();
            serve_again(&mut array, io);
            // The rebuilds may not have been recorded yet.
            for place in places.iter().filter(|place| has_failed(&array, **place)) {
                array.bench.succeed(&replace(*place));
            }
        }
        array.until_whole();
        check(&array);
    }
    // What was lost has a content again once it is written.
    succeed(&mut numbered(&array, "rewrite"));
    check(&array);
    array.close();
}

/// A job that writes every other block, so that each stripe holds blocks of two jobs. `offset`
/// selects one of the two.
fn job(array: &Array, offset: &str, further: &[&str]) -> Command {
    let mut job = fio(array);
    job.args([
        "--name=blocks",
        "--rw=write:4k",
        "--bs=4k",
        "--size=48M",
        "--iodepth=16",
        "--fsync=16",
        offset,
    ]);
    job.args(["--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0"]);
    job.args(further);
    job
}

/// Checks that the data of a completed fio job is right after the server was killed during another
/// job that wrote to the same stripes.
fn fio_finds_what_it_wrote(row: Row) {
    let mut array = Array::new(row, MEBIBYTES, "", THREADS);
    let written = &mut job(&array, "--offset=0", &["--end_fsync=1"]);
    let verified = &mut job(&array, "--offset=0", &["--verify_only"]);
    succeed(written);
    let count = |status: &Value| status["counters"]["host_flushes"].as_u64().expect("a number");
    let before = count(&array.status());
    let cut_off = Talker::start(job(&array, "--offset=4k", &[]).stderr(Stdio::null()));
    array.until("the other job is under way", |status| count(status) > before + 30);
    array.kill();
    cut_off.end_badly();
    serve_again(&mut array, "");
    succeed(verified);
    array.until_whole();
    array.assert_consistent();
    succeed(verified);
    array.fail(1);
    succeed(verified);
    array.close();
}

#[test]
fn fio_finds_in_a_killed_raid5_what_it_wrote() {
    fio_finds_what_it_wrote(RAID5);
}

#[test]
fn fio_finds_in_a_killed_raid10_what_it_wrote() {
    fio_finds_what_it_wrote(RAID10);
}

#[test]
fn fio_finds_in_a_killed_parity_log_what_it_wrote() {
    fio_finds_what_it_wrote(PARITY_LOGGING);
}

/// The members are sparse files: the test needs many regions, most of which have to be recovered.
#[test]
fn a_server_that_recovers_hundreds_of_regions_needs_little_memory() {
    const MEMBER_MEBIBYTES: u64 = 512 << 10;
    const MOST_MEMORY: u64 = 256 << 20;
    let mut array = Array::new(PARITY_LOGGING, MEMBER_MEBIBYTES, "--write-back 0", "");
    let mut job = fio(&array);
    job.args(["--name=blocks", "--rw=randwrite", "--bs=4k", "--iodepth=16", "--number_ios=2500"]);
    succeed(job.args(["--random_generator=lfsr", &format!("--size={}", array.capacity())]));
    array.kill();
    serve_again(&mut array, "");
    let is_recovered = |status: &Value| status["log"]["recovering"] == 0;
    let status = array.until("all regions are recovered", is_recovered);
    let redone = status["counters"]["redone"].as_u64().expect("a number");
    assert!(redone > 400, "{redone} regions were recovered: {status}");
    let peak = array.peak_memory();
    assert!(peak <= MOST_MEMORY, "{} MiB were needed", peak >> 20);
    array.stop();
}

#[test]
fn a_server_that_was_killed_without_a_member_is_brought_back_by_force_only() {
    // With the journal, each record is durable before its data, so no force is needed.
    for (row, create) in [(RAID5, ""), (PARITY_LOGGING, "--consistency bitmap")] {
        let mut array = Array::new(row, MEBIBYTES, create, "");
        write_until_killed_degraded(&mut array);
        let line = array.bench.refuse("serve . --unix nbd.sock --wait 0s", 1);
        assert!(line.contains("--force"), "{line}");
        array.serve("--force");
        let status = array.status();
        assert_eq!(Array::state(&status, 1), "failed", "{status}");
        array.bench.files("fresh", MEBIBYTES);
        array.bench.succeed("replace 1 fresh -a . --wait");
        array.until_whole();
        array.assert_consistent();
        array.close();
    }
}

fn write_until_killed_degraded(array: &mut Array) {
    array.fail(1);
    write_until_killed(array, 9, 8);
}

/// Fills the array with the content of the file `image`.
fn fill(array: &Array) {
    let image = array.bench.path("image");
    make_image(&image, array.capacity(), 11);
    succeed(tool(&array.bench, "nbdcopy").args(["--flush", "image", &array.uri()]));
}

fn assert_filled(array: &Array) {
    let _ = std::fs::remove_file(array.bench.path("out"));
    succeed(tool(&array.bench, "nbdcopy").args([&array.uri(), "out"]));
    assert!(is_same(&array.bench.path("image"), &array.bench.path("out")));
}

#[test]
fn a_server_that_is_killed_again_and_again_as_soon_as_it_is_ready_leaves_all_as_it_was() {
    for row in [RAID1, RAID5, PARITY_LOGGING] {
        let mut array = Array::new(row, MEBIBYTES, "", "");
        fill(&array);
        for _ in 0..20 {
            array.kill();
            serve_again(&mut array, "");
        }
        assert_filled(&array);
        array.until_whole();
        array.close();
    }
}

#[test]
fn a_rebuild_goes_on_after_its_server_was_killed() {
    for row in [RAID5, RAID10, PARITY_LOGGING] {
        let mut array = Array::new(row, MEBIBYTES, "", "");
        fill(&array);
        array.fail(1);
        array.bench.files("fresh", MEBIBYTES);
        array.bench.succeed("replace 1 fresh -a .");
        // Until its slot is recorded, the array would open without the new member.
        until("the newcomer is recorded", || (array.bench.run("examine fresh").code == 0).then_some(()));
        for _ in 0..3 {
            array.kill();
            // No data was being written, so nothing is lost by the force.
            serve_again(&mut array, "--force");
        }
        array.until_whole();
        array.assert_consistent();
        array.fail(0);
        assert_filled(&array);
        array.close();
    }
}
