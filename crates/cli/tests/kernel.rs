//! Tests in the lab's kernel: arrays on device-mapper disks that hang, rot, lose writes or are
//! slow, arrays under the kernel's own NBD client, and Linux's own arrays beside ours.

mod common;
mod lab;
mod tools;

use std::fs;

use lab::database::Database;
use lab::disk::Kind;
use lab::farm::{Farm, ended_well};
use lab::host::Client;
use lab::{in_lab, md};
use serde_json::Value;
use tools::{Array, PARITY_LOGGING, RAID6, Random, json, succeed, tool};

/// The faulty member.
const BAD: usize = 2;
const MEMBERS: usize = 5;
/// The number of further writes that show that a host makes progress: more than are under way at
/// once.
const SOME: u64 = 100;
/// The size of the members under a database.
const DATABASE_MEBIBYTES: u64 = 128;
/// The size of the members of a RAID 6 that is compared with Linux's.
const RAID6_MEBIBYTES: u64 = 16;
/// The number of times that the server under a database is killed.
const KILLS: usize = 3;

/// A served array, and one more disk than it has members.
fn farm(serve: &str) -> Farm {
    let mut farm = Farm::new("raid5", MEMBERS);
    farm.serve(serve);
    farm.add_disk();
    farm
}

/// Replaces the faulty member with the extra disk, and waits until it is rebuilt.
fn replace_bad(farm: &Farm) {
    farm.ask(&format!("replace {BAD} {} --wait", farm.disks[MEMBERS].path().display()));
    farm.until_whole();
}

#[test]
fn a_suspended_member_is_given_up_in_time_and_all_else_goes_on() {
    in_lab(|| {
        let mut farm = farm("--access-timeout 2s");
        let host = farm.host(farm.fill());
        host.until_more(SOME);
        farm.disks[BAD].suspend();
        let told = farm.until_failed(BAD);
        assert!(told.contains("did not answer in time"), "{told}");
        host.until_more(SOME);
        replace_bad(&farm);
        host.until_more(SOME);
        let written = host.stop();
        farm.verify(&written);
        assert_eq!(farm.scrub(), (0, 0));
        // The server stops although the kernel has not answered for that member.
        let old = farm.let_go_beside(BAD);
        // The pending writes to the member take effect only now.
        farm.disks[BAD].resume();
        ended_well(old);
        farm.disks[BAD].until_closed();
        farm.serve("");
        farm.verify(&written);
        assert_eq!(farm.scrub(), (0, 0));
        farm.stop();
    });
}

#[test]
fn a_server_whose_member_hangs_in_a_flush_lets_go_of_the_others() {
    in_lab(|| {
        let mut farm = farm("--access-timeout 2s");
        farm.until_whole();
        let mut client = farm.client();
        assert_eq!(client.write(0, &[1; 4096]), Ok(()));
        farm.disks[BAD].suspend();
        assert_eq!(client.flush(), Ok(()));
        drop(client);
        let old = farm.let_go_beside(BAD);
        // The old process is still there, for its flush; the array is served again without it.
        farm.serve_without(BAD);
        assert_eq!(farm.client().read(0, 4096), Ok(vec![1; 4096]));
        farm.stop();
        farm.disks[BAD].resume();
        let told = ended_well(old);
        assert!(told.contains("this process may last until the system has answered"), "{told}");
        farm.disks[BAD].until_closed();
    });
}

#[test]
fn failing_a_suspended_member_helps_at_once_and_what_lands_late_is_not_believed() {
    in_lab(|| {
        // So long that only the command can help.
        let mut farm = farm("--access-timeout 10000s");
        let host = farm.host(farm.fill());
        host.until_more(SOME);
        farm.disks[BAD].suspend();
        farm.ask(&format!("fail {BAD}"));
        host.until_more(SOME);
        let written = host.stop();
        // The kernel still has the pending accesses, and completes them now.
        let given_up = |status: &Value| status["accesses_given_up"].as_u64().expect("a number");
        assert!(given_up(&farm.status()) > 0, "{}", farm.status());
        farm.disks[BAD].resume();
        farm.until("the kernel has answered", |status| given_up(status) == 0);
        farm.verify(&written);
        farm.stop();
        farm.serve("");
        assert_ne!(Array::state(&farm.status(), BAD), "active");
        farm.verify(&written);
        replace_bad(&farm);
        farm.verify(&written);
        assert_eq!(farm.scrub(), (0, 0));
        farm.stop();
    });
}

#[test]
fn bad_sectors_are_repaired_by_reads_and_by_a_scrub_and_touch_nothing_else() {
    in_lab(|| {
        const SECTORS: u64 = 10;
        let mut farm = farm("");
        let written = farm.fill();
        let bad = &farm.disks[BAD];
        bad.turn_into(Kind::Dust);
        // One bad block in each MiB: data in most stripes, parity in some.
        for number in 0..SECTORS {
            bad.message(&format!("addbadblock {}", (number + 4) * 2048 + 8 * number));
        }
        bad.message("enable");
        let left = || bad.message("countbadblocks");
        assert!(left().contains(&format!("{SECTORS} badblock(s)")), "{}", left());
        farm.verify(&written);
        // No request has read parity yet.
        assert_eq!(farm.scrub(), (0, 0));
        assert!(left().contains("countbadblocks: 0 badblock(s)"), "{}", left());
        let (errors, status) = (farm.errors(), farm.status());
        assert_eq!(Array::state(&status, BAD), "active", "{status}");
        for (place, errors) in errors.into_iter().enumerate() {
            assert_eq!(errors > 0, place == BAD, "{status}");
        }
        // Another member may fail: the repaired data is right.
        farm.ask("fail 0");
        farm.verify(&written);
        farm.stop();
    });
}

#[test]
fn a_member_that_refuses_writes_is_excluded_and_replaced() {
    in_lab(|| {
        let mut farm = farm("");
        let host = farm.host(farm.fill());
        host.until_more(SOME);
        farm.disks[BAD].turn_into(Kind::ErrorWrites);
        let told = farm.until_failed(BAD);
        assert!(told.contains("refuses to write"), "{told}");
        host.until_more(SOME);
        replace_bad(&farm);
        let written = host.stop();
        farm.verify(&written);
        assert_eq!(farm.scrub(), (0, 0));
        farm.stop();
    });
}

#[test]
fn what_a_member_has_forgotten_is_found_by_a_scrub_and_comes_back_by_its_replacement() {
    in_lab(|| {
        let mut farm = farm("");
        let mut written = farm.fill();
        farm.disks[BAD].turn_into(Kind::DropWrites);
        // No block is written twice: parity that is updated from old data of this member would
        // match neither version.
        written.write_each(7, &mut farm.client());
        farm.disks[BAD].turn_into(Kind::Linear);
        let (mismatches, unreadable) = farm.scrub();
        assert!(mismatches > 0 && unreadable == 0, "{mismatches} mismatches, {unreadable} unreadable");
        replace_bad(&farm);
        farm.verify(&written);
        assert_eq!(farm.scrub(), (0, 0));
        farm.stop();
    });
}

#[test]
fn a_slow_member_slows_the_array_and_stays_in_it() {
    in_lab(|| {
        let mut farm = farm("");
        let host = farm.host(farm.fill());
        farm.disks[BAD].turn_into(Kind::Delay { milliseconds: 100 });
        host.until_more(SOME / 4);
        let status = farm.status();
        assert_eq!(Array::state(&status, BAD), "active", "{status}");
        farm.disks[BAD].turn_into(Kind::Linear);
        host.until_more(SOME);
        let written = host.stop();
        farm.verify(&written);
        assert_eq!(farm.scrub(), (0, 0));
        farm.stop();
    });
}

#[test]
fn a_file_system_on_the_kernels_nbd_client_outlives_a_member() {
    in_lab(|| {
        let mut farm = farm("");
        let bench = farm.bench();
        let run = |program: &str, arguments: &str| {
            succeed(tool(bench, program).args(arguments.split_whitespace()));
        };
        let attach = || run("nbd-client", "-unix nbd.sock /dev/nbd0");
        attach();
        run("mkfs.ext4", "-q /dev/nbd0");
        fs::create_dir(bench.path("mount")).expect("a directory to mount on");
        run("mount", "/dev/nbd0 mount");
        let files: Vec<Vec<u8>> = {
            let mut random = Random::new(3);
            (0..100)
                .map(|_| random.next() as usize % 100_000)
                .map(|size| Random::new(size as u64).bytes(size))
                .collect()
        };
        let path = |number: usize| bench.path(&format!("mount/{number}"));
        for (number, content) in files.iter().enumerate() {
            fs::write(path(number), content).expect("a file");
            if number == files.len() / 2 {
                farm.ask(&format!("fail {BAD}"));
            }
        }
        run("umount", "mount");
        run("e2fsck", "-f -n /dev/nbd0");
        // After attaching again, nothing is left in this kernel's caches.
        run("nbd-client", "-d /dev/nbd0");
        attach();
        run("mount", "-o ro /dev/nbd0 mount");
        for (number, content) in files.iter().enumerate() {
            assert!(fs::read(path(number)).expect("a file") == *content, "file {number}");
        }
        run("umount", "mount");
        run("nbd-client", "-d /dev/nbd0");
        farm.stop();
    });
}

/// Writes all of a RAID 6, first whole stripes and then single blocks, and returns what it then
/// reads as, what its members hold, and where their data starts.
fn written_raid6(options: &str) -> (Vec<u8>, Vec<Vec<u8>>, usize) {
    let mut array = Array::new(RAID6, RAID6_MEBIBYTES, options, "");
    let mut client = Client::connect(&array.bench.path("nbd.sock"));
    let mut random = Random::new(6);
    let mut data = random.bytes(array.capacity() as usize);
    for (number, part) in data.chunks(1 << 20).enumerate() {
        assert_eq!(client.write((number << 20) as u64, part), Ok(()));
    }
    for _ in 0..200 {
        let at = (random.next() as usize % (data.len() >> 12)) << 12;
        let block = random.bytes(1 << 12);
        assert_eq!(client.write(at as u64, &block), Ok(()));
        data[at..at + block.len()].copy_from_slice(&block);
    }
    assert_eq!(client.flush(), Ok(()));
    drop(client);
    array.stop();
    let members = (0..RAID6.members).map(|slot| fs::read(array.bench.path(&format!("member{slot}"))));
    let members = members.map(|content| content.expect("a member")).collect();
    let layout = json(&array.bench.succeed("layout --json member0 member1 member2 member3 member4"));
    let start = layout["data_start"].as_u64().expect("it is told") as usize;
    (data, members, start)
}

/// Each unit, P and Q are where Linux puts them, and the same bytes. (With the asymmetric rotations
/// Linux numbers data units for Q from the unit after it on, and we number them as hosts do.)
#[test]
fn a_raid6_has_the_bytes_that_linux_md_writes() {
    in_lab(|| {
        const UNIT: usize = 64 << 10;
        for rotation in ["left-symmetric", "right-symmetric"] {
            for consistency in ["bitmap", "journal"] {
                let options = format!("--rotation {rotation} --consistency {consistency}");
                let (data, ours, start) = written_raid6(&options);
                let stripes = data.len() / (UNIT * usize::from(RAID6.members - 2));
                let theirs =
                    md::members_of_raid6(rotation, usize::from(RAID6.members), RAID6_MEBIBYTES, &data);
                for stripe in 0..stripes {
                    for (slot, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                        let at = stripe * UNIT;
                        let same = ours[start + at..start + at + UNIT] == theirs[at..at + UNIT];
                        assert!(same, "{options}: stripe {stripe}, member {slot}");
                    }
                }
                println!("{options}: {stripes} stripes have the same bytes");
            }
        }
    });
}

/// The environment variable PARLOUR_ROUNDS sets the number of kills.
#[test]
fn a_database_loses_nothing_that_it_acknowledged_when_the_server_is_killed() {
    in_lab(|| {
        let told = std::env::var("PARLOUR_ROUNDS").ok().map(|rounds| rounds.parse().expect("a number"));
        let mut array = Array::new(PARITY_LOGGING, DATABASE_MEBIBYTES, "", "");
        let mut database = Database::create(&array);
        for _ in 0..told.unwrap_or(KILLS) {
            let clients = database.load();
            array.kill();
            database.lose_array(clients);
            array.serve("");
            database.recover();
            database.check();
        }
        database.stop();
        array.until_whole();
        array.close();
    });
}
