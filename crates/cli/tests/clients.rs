//! Tests with clients from other projects, on every organization, healthy and with a failed member.

mod common;
mod tools;

use std::process::Command;

use serde_json::{Value, json};
use tools::{Array, Row, fio, is_same, make_image, script, succeed, tool};

/// Large enough for the usual sizes of logs and regions.
const MEBIBYTES: u64 = 64;

/// The member that fails;
/// of RAID 6 also the next one but one.
const FAILED: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Healthy,
    Degraded,
}

/// An array in this state.
fn array(row: Row, state: State) -> Array {
    let array = Array::new(row, MEBIBYTES, "", "");
    if state == State::Degraded {
        fail(&array, row);
    }
    array
}

/// As many members fail as parity survives; of mirrors one.
fn fail(array: &Array, row: Row) {
    array.fail(FAILED);
    if [tools::RAID6.name, tools::RAID_2D.name].contains(&row.name) {
        array.fail(FAILED + 2);
    }
}

fn export(array: &Array) -> Value {
    let told = succeed(tool(&array.bench, "nbdinfo").arg("--json").arg(array.uri()));
    tools::json(&told)["exports"][0].clone()
}

fn nbdinfo_tells_what_is_served(row: Row, state: State) {
    let array = array(row, state);
    let export = export(&array);
    let expected = json!({
        "export-name": "parlour",
        "export-size": array.capacity(),
        "contexts": ["base:allocation"],
        "block_size_minimum": 512,
        "block_size_preferred": 4096,
        "block_size_maximum": 32 << 20,
        "is_read_only": false,
        "is_rotational": false,
        "can_cache": true,
        "can_df": true,
        "can_fast_zero": true,
        "can_flush": true,
        "can_fua": true,
        "can_multi_conn": true,
        "can_trim": true,
        "can_zero": true,
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(export[key], *value, "{key} in {export}");
    }
    // The capacity is larger than one member's content (every unit on all members) and smaller than
    // all members' content together.
    let member = MEBIBYTES << 20;
    assert!(array.capacity() > member / 2 && array.capacity() < member * u64::from(row.members));
    let map = succeed(tool(&array.bench, "nbdinfo").args(["--map", "--totals", "--json"]).arg(array.uri()));
    let extents = tools::json(&map);
    let sizes = extents.as_array().expect("a list").iter().map(|extent| extent["size"].as_u64().unwrap_or(0));
    assert_eq!(sizes.sum::<u64>(), array.capacity(), "{map}");
    array.close();
}

fn nbdcopy_gives_back_what_it_took(row: Row, state: State) {
    let array = Array::new(row, MEBIBYTES, "", "");
    let copy = |from: &str, to: &str| {
        succeed(tool(&array.bench, "nbdcopy").args(["--connections=4", "--flush", from, to]));
    };
    for seed in [1, 2] {
        make_image(&array.bench.path("in"), array.capacity(), seed);
        copy("in", &array.uri());
        // Data written before the failure of a member, and data written after it, must both be read
        // back.
        if state == State::Degraded && seed == 1 {
            fail(&array, row);
        }
        copy(&array.uri(), "out");
        assert!(is_same(&array.bench.path("in"), &array.bench.path("out")), "image {seed}");
    }
    array.close();
}

fn every_command_and_flag_does_what_the_protocol_says(row: Row, state: State) {
    let array = array(row, state);
    succeed(script(&array.bench, "conformance.py").arg(array.uri()));
    array.close();
}

fn qemu_img_converts_compares_and_benches(row: Row, state: State) {
    let array = array(row, state);
    let img = || tool(&array.bench, "qemu-img");
    make_image(&array.bench.path("in"), array.capacity(), 3);
    succeed(img().args(["convert", "-n", "-f", "raw", "-O", "raw", "in", &array.uri()]));
    let same = succeed(img().args(["compare", "-f", "raw", "-F", "raw", "in", &array.uri()]));
    assert!(same.contains("Images are identical."), "{same}");
    succeed(img().args(["bench", "-f", "raw", "-c", "2000", "-d", "16", &array.uri()]));
    let write = ["bench", "-f", "raw", "-w", "-c", "1000", "-d", "16", "-s", "8k", "--flush-interval=200"];
    succeed(img().args(write).args(["--pattern=165", "-o", "4k", "-S", "8k", &array.uri()]));
    qemu_io(&array, &["read -P 165 4k 8000k"]);
    succeed(img().args(["convert", "-f", "raw", "-O", "raw", &array.uri(), "out"]));
    let same = succeed(img().args(["compare", "-f", "raw", "-F", "raw", "out", &array.uri()]));
    assert!(same.contains("Images are identical."), "{same}");
    array.close();
}

/// Runs commands of qemu-io, which must all succeed.
fn qemu_io(array: &Array, commands: &[&str]) {
    let mut io: Command = tool(&array.bench, "qemu-io");
    io.args(["-f", "raw"]);
    for command in commands {
        io.args(["-c", command]);
    }
    let told = succeed(io.arg(array.uri()));
    assert!(!told.contains("failed"), "{commands:?}: {told}");
}

fn qemu_io_reads_the_patterns_that_it_wrote(row: Row, state: State) {
    let array = array(row, state);
    qemu_io(
        &array,
        &[
            "write -P 0x11 0 4M",
            "write -P 0x22 65k 3k",
            "write -f -P 0x33 1M 129k",
            "write -P 0x44 511 2",
            "write -P 0x55 2M 512",
            "writev -P 0x66 3M 4k 12k 64k",
            "write -z 2560k 256k",
            "write -z -u 3584k 64k",
            "discard 3968k 64k",
            "aio_write -P 0x77 8M 1M",
            "aio_write -P 0x78 9M 1M",
            "aio_write -P 0x79 10M 1M",
            "aio_flush",
            "flush",
        ],
    );
    qemu_io(
        &array,
        &[
            "read -P 0x11 0 511",
            "read -P 0x44 511 2",
            "read -P 0x11 513 66047",
            "read -P 0x22 65k 3k",
            "read -P 0x11 68k 956k",
            "read -P 0x33 1M 129k",
            "read -P 0x11 1153k 895k",
            "read -P 0x55 2M 512",
            "read -P 0 2560k 256k",
            "read -P 0x66 3M 80k",
            "read -P 0x11 3152k 432k",
            "read -P 0 3584k 64k",
            "read -P 0x11 3648k 320k",
            "read -P 0x11 4032k 64k",
            "read -P 0 4M 4M",
            "read -P 0x77 8M 1M",
            "read -P 0x78 9M 1M",
            "read -P 0x79 10M 1M",
        ],
    );
    array.close();
}

fn fio_verifies_what_it_wrote_at_random(row: Row, state: State) {
    let array = array(row, state);
    let before = array.status();
    let mut job = fio(&array);
    job.args(["--name=blocks", "--rw=randwrite", "--bs=4k", "--size=24M", "--iodepth=16"]);
    job.args(["--verify=crc32c", "--verify_fatal=1", "--randseed=1", "--end_fsync=1"]);
    assert_fio(&array, &mut job);
    let mut job = fio(&array);
    job.args([
        "--name=sizes",
        "--rw=randwrite",
        "--bsrange=512-256k",
        "--size=24M",
        "--iodepth=16",
        "--fsync=50",
    ]);
    job.args(["--verify=crc32c", "--verify_fatal=1", "--randseed=2"]);
    assert_fio(&array, &mut job);
    let read = |status: &Value| status["counters"]["degraded_reads"].as_u64().expect("a number");
    let after = array.status();
    let degraded = read(&after) > read(&before);
    let has_parity = matches!(row.name, "raid4" | "raid5" | "raid6" | "raid-2d" | "parity-logging");
    assert_eq!(
        degraded,
        state == State::Degraded && has_parity,
        "reads of the failed member are computed: {after}"
    );
    array.close();
}

/// Runs a job, which must end without an error after it has read back all data that it wrote.
fn assert_fio(array: &Array, job: &mut Command) {
    succeed(job);
    let text = std::fs::read_to_string(array.bench.path("fio.json")).expect("fio told something");
    let report = tools::json(&text[text.find('{').expect("an object")..]);
    for job in report["jobs"].as_array().expect("jobs") {
        assert_eq!(
            (&job["error"], &job["total_err"].as_u64()),
            (&Value::from(0), &None.or(job["total_err"].as_u64()))
        );
        assert_eq!(job["error"], 0, "{job}");
        let count = |kind: &str| job[kind]["io_bytes"].as_u64().expect("a number");
        assert!(count("write") > 0 && count("read") >= count("write"), "{job}");
    }
}

/// The tests of all clients for an organization in a state.
macro_rules! clients {
    ($row:expr, $state:expr) => {
        use crate::State::*;
        use crate::tools::*;

        #[test]
        fn nbdinfo_tells_what_is_served() {
            crate::nbdinfo_tells_what_is_served($row, $state);
        }

        #[test]
        fn nbdcopy_gives_back_what_it_took() {
            crate::nbdcopy_gives_back_what_it_took($row, $state);
        }

        #[test]
        fn every_command_and_flag_does_what_the_protocol_says() {
            crate::every_command_and_flag_does_what_the_protocol_says($row, $state);
        }

        #[test]
        fn qemu_img_converts_compares_and_benches() {
            crate::qemu_img_converts_compares_and_benches($row, $state);
        }

        #[test]
        fn qemu_io_reads_the_patterns_that_it_wrote() {
            crate::qemu_io_reads_the_patterns_that_it_wrote($row, $state);
        }

        #[test]
        fn fio_verifies_what_it_wrote_at_random() {
            crate::fio_verifies_what_it_wrote_at_random($row, $state);
        }
    };
}

mod healthy {
    mod simple {
        clients!(SIMPLE, Healthy);
    }
    mod raid0 {
        clients!(RAID0, Healthy);
    }
    mod raid1 {
        clients!(RAID1, Healthy);
    }
    mod raid01 {
        clients!(RAID01, Healthy);
    }
    mod raid10 {
        clients!(RAID10, Healthy);
    }
    mod raid1_far {
        clients!(RAID1_FAR, Healthy);
    }
    mod raid10_far {
        clients!(RAID10_FAR, Healthy);
    }
    mod raid4 {
        clients!(RAID4, Healthy);
    }
    mod raid5 {
        clients!(RAID5, Healthy);
    }
    mod raid6 {
        clients!(RAID6, Healthy);
    }
    mod raid_2d {
        clients!(RAID_2D, Healthy);
    }
    mod parity_logging {
        clients!(PARITY_LOGGING, Healthy);
    }
}

mod with_one_member_failed {
    mod raid1 {
        clients!(RAID1, Degraded);
    }
    mod raid01 {
        clients!(RAID01, Degraded);
    }
    mod raid10 {
        clients!(RAID10, Degraded);
    }
    mod raid1_far {
        clients!(RAID1_FAR, Degraded);
    }
    mod raid10_far {
        clients!(RAID10_FAR, Degraded);
    }
    mod raid4 {
        clients!(RAID4, Degraded);
    }
    mod raid5 {
        clients!(RAID5, Degraded);
    }
    mod parity_logging {
        clients!(PARITY_LOGGING, Degraded);
    }
}

mod with_two_members_failed {
    mod raid6 {
        clients!(RAID6, Degraded);
    }
    mod raid_2d {
        clients!(RAID_2D, Degraded);
    }
    mod declustered_12 {
        clients!(DECLUSTERED_12, Degraded);
    }
}

#[test]
fn fio_verifies_what_it_wrote_to_24_members() {
    fio_verifies_what_it_wrote_at_random(tools::DECLUSTERED_24, State::Healthy);
}

#[test]
fn the_table_has_no_organization_that_no_client_met() {
    let met = [
        tools::SIMPLE,
        tools::RAID0,
        tools::RAID1,
        tools::RAID01,
        tools::RAID10,
        tools::RAID1_FAR,
        tools::RAID10_FAR,
        tools::RAID4,
        tools::RAID5,
        tools::RAID6,
        tools::RAID_2D,
        tools::PARITY_LOGGING,
    ];
    let mut met: Vec<&str> = met.iter().map(|row| row.name).collect();
    let mut table: Vec<&str> =
        parlour_array::organization::NAMED.iter().map(|organization| organization.name).collect();
    met.sort_unstable();
    table.sort_unstable();
    assert_eq!(met, table);
}

#[test]
fn an_array_that_is_served_read_only_takes_nothing_from_any_client() {
    for row in [tools::RAID5, tools::PARITY_LOGGING] {
        let array = Array::new(row, MEBIBYTES, "", "--read-only");
        let export = export(&array);
        for (key, value) in
            [("is_read_only", true), ("can_trim", false), ("can_zero", false), ("can_df", true)]
        {
            assert_eq!(export[key], value, "{key} in {export}");
        }
        succeed(script(&array.bench, "conformance.py").args([&array.uri(), "--read-only"]));
        let refused = tool(&array.bench, "nbdcopy").args(["member0", &array.uri()]).output();
        assert!(!refused.expect("it starts").status.success());
        drop(array);
    }
}

#[test]
fn an_array_of_large_blocks_says_so_and_holds_clients_to_it() {
    for row in [tools::RAID1, tools::RAID5, tools::PARITY_LOGGING] {
        let array = Array::new(row, MEBIBYTES, "--block 4KiB --unit 40KiB", "");
        let export = export(&array);
        assert_eq!(export["block_size_minimum"], 4096, "{export}");
        succeed(script(&array.bench, "conformance.py").arg(array.uri()));
        array.fail(FAILED);
        succeed(script(&array.bench, "conformance.py").arg(array.uri()));
        array.close();
    }
}

#[test]
fn an_array_is_served_alike_by_both_ways_to_its_members() {
    for io in ["uring", "threads"] {
        let array = Array::new(tools::PARITY_LOGGING, MEBIBYTES, "", &format!("--io {io}"));
        succeed(script(&array.bench, "conformance.py").arg(array.uri()));
        array.close();
    }
}
