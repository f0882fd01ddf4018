//! Tests of an array's life with the program: it is created, served, examined, failed, replaced,
//! stopped and served again.

mod common;
mod tools;

use std::io::Write;

use common::Workbench;
use serde_json::Value;
use tools::{Array, PARITY_LOGGING, is_same, json, make_image, script, succeed, tool, until};

#[test]
fn up_makes_an_array_serves_it_and_brings_it_back() {
    let bench = Workbench::new();
    let served = bench.serve("up --size 8MiB");
    assert!(served.greeting.contains("parity-logging") && served.greeting.contains("nbd-client -unix"));
    assert!(served.greeting.contains("nbdfuse") && served.greeting.contains("qemu-system"));
    let first = json(&bench.succeed("status --json"));
    assert_eq!(first["members"].as_array().unwrap().len(), 5);
    served.stop();
    let stopped = json(&bench.succeed("status --json"));
    assert_eq!((&stopped["served"], &stopped["mode"]), (&Value::Bool(false), &Value::from("stopped")));
    let served = bench.serve("up --json");
    let again = json(&served.greeting);
    assert_eq!(again["array"], first["identity"]);
    let told = served.stop();
    assert!(!told.contains("not shut down cleanly"), "{told}");
}

#[test]
fn up_takes_another_port_where_its_own_is_taken_and_says_which() {
    let _taken = std::net::TcpListener::bind("127.0.0.1:10809");
    let bench = Workbench::new();
    let served = bench.serve("up --size 8MiB --json --tcp");
    let ready = json(&served.greeting);
    let address = ready["tcp"].as_str().unwrap().to_owned();
    assert_ne!(address, "127.0.0.1:10809");
    let told = served.stop();
    assert!(told.contains("port 10809 is taken"), "{told}");
}

/// Regression test: `up` opened a TCP port, and another user could write to root's array.
#[test]
fn a_port_is_opened_only_where_it_is_asked_for_and_with_a_warning() {
    let bench = Workbench::new();
    let served = bench.serve("up --size 8MiB");
    assert!(!served.greeting.contains("nbd://"), "{}", served.greeting);
    assert_eq!(served.stop(), "");
    let served = bench.serve("serve parlour-data --json");
    assert_eq!(json(&served.greeting)["tcp"], Value::Null);
    served.stop();
    let served = bench.serve("serve parlour-data --json --tcp 127.0.0.1:0");
    let address = json(&served.greeting)["tcp"].as_str().unwrap().to_owned();
    std::net::TcpStream::connect(&address).unwrap();
    let told = served.stop();
    let warning = format!("parlour: {address} asks for no password and encrypts nothing: every user");
    assert!(told.starts_with(&warning) && told.lines().count() == 1, "{told}");
}

#[test]
fn a_socket_lies_in_the_arrays_directory_or_beside_its_members() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let socket = |served: &common::Served| json(&served.greeting)["unix"].as_str().unwrap().to_owned();
    let served = bench.serve("serve . --json");
    assert!(socket(&served).ends_with("/nbd.sock"));
    served.stop();
    let served = bench.serve("serve a b c --json");
    let identity = json(&served.greeting)["array"].as_str().unwrap()[..8].to_owned();
    assert!(socket(&served).ends_with(&format!("/nbd-{identity}.sock")));
    served.stop();
}

#[test]
fn a_sockets_mode_is_what_was_asked_for_and_the_control_sockets_is_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let served = bench.serve("serve . --json --socket-mode 0660");
    let ready = json(&served.greeting);
    let mode = |key: &str| std::fs::metadata(ready[key].as_str().unwrap()).unwrap().permissions().mode();
    assert_eq!((mode("unix") & 0o777, mode("control") & 0o777), (0o660, 0o600));
    served.stop();
}

#[test]
fn a_sockets_mode_lets_only_its_owner_in() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Workbench::new();
    let served = bench.serve("up --size 8MiB");
    let mode = bench.path("parlour-data/nbd.sock").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    served.stop();
    assert!(!bench.path("parlour-data/nbd.sock").exists());
}

#[test]
fn signals_and_the_stop_command_end_a_server_properly() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    for signal in ["INT", "TERM", "HUP"] {
        // (These tests may have been started with the signal ignored, as by `nohup`.)
        let how = format!("exec env --default-signal={signal}");
        let served = bench.serve_under(&how, "serve . --unix nbd.sock");
        served.signal(signal);
        assert!(served.end().0.success());
        assert_eq!(json(&bench.succeed("status . --json"))["mode"], "stopped");
    }
    let served = bench.serve("serve . --unix nbd.sock");
    assert_eq!(bench.succeed("stop -a ."), "The array is stopped\n");
    assert!(served.end().0.success());
}

#[test]
fn a_server_that_was_started_to_outlive_its_terminal_does() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let served = bench.serve_under("trap '' HUP; exec", "serve . --unix nbd.sock");
    served.signal("HUP");
    assert!(bench.succeed("status .").contains("state: healthy"));
    served.stop();
}

/// Regression test: SIGXFSZ killed a server whose member reached the limit of the size of files. If
/// there is no space for metadata, the array halts.
#[test]
fn a_limit_on_the_size_of_files_counts_as_no_space_and_kills_nobody() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let served = bench.serve("serve . --unix nbd.sock");
    // From here on no file may be written beyond its first MiB; superblocks are at both ends of a
    // member.
    let limit = format!("--pid={}", served.id());
    let mut command = std::process::Command::new("prlimit");
    assert!(command.args([&limit, "--fsize=1048576:"]).status().unwrap().success());
    // This command writes superblocks, unless those of the opening have met the limit already.
    bench.run("fail 1 -a .");
    let (status, told) = served.end();
    assert_eq!(status.code(), Some(1), "{told}");
    assert!(told.contains("has no space left for the array's metadata"), "{told}");
    bench.serve("serve . --unix nbd.sock").stop();
}

/// Regression test: a client that waited for the stop reported that it did not understand the
/// server's answer.
#[test]
fn who_waits_for_a_stop_that_finds_no_space_hears_why() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let served = bench.serve("serve . --unix nbd.sock");
    // Writes are answered after the session has begun; superblocks are written again when the
    // session ends.
    succeed(script(&bench, "filled.py").args(["nbd.sock", "1"]));
    let limit = format!("--pid={}", served.id());
    let mut command = std::process::Command::new("prlimit");
    assert!(command.args([&limit, "--fsize=1048576:"]).status().unwrap().success());
    let told = bench.fail("stop -a .", 1);
    assert!(told.contains("there is no space or memory for the array's metadata"), "{told}");
    assert_eq!(served.end().0.code(), Some(1));
}

/// Regression test: the reactor wrote log messages itself, so a blocked reader of standard error
/// blocked the array.
#[test]
fn a_stuck_reader_of_standard_error_stops_nothing() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    bench.files("spare", 8);
    let (reader, mut writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while writer.write(&[b'x'; 512]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    let served = bench.serve_telling("serve a b c --unix nbd.sock", writer.into());
    bench.succeed("fail 1 -a .");
    bench.succeed("replace 1 spare -a . --wait");
    assert!(bench.succeed("status .").contains("state: healthy"));
    assert_eq!(bench.succeed("stop -a ."), "The array is stopped\n");
    assert!(served.end().0.success());
    drop(reader);
}

#[test]
fn an_array_with_durable_records_is_served_stopped_and_killed_and_keeps_what_it_held() {
    let mut array = Array::new(PARITY_LOGGING, 16, "--consistency journal", "");
    assert_eq!(array.status()["consistency"], "journal");
    make_image(&array.bench.path("image"), array.capacity(), 3);
    succeed(tool(&array.bench, "nbdcopy").args(["--flush", "image", &array.uri()]));
    array.stop();
    assert!(array.bench.succeed("status .").contains(", consistency journal, 5 members"));
    array.serve("");
    // A session without writes leaves no trace, so this one writes.
    succeed(tool(&array.bench, "nbdcopy").args(["--flush", "image", &array.uri()]));
    array.kill();
    let offline = array.bench.succeed("status .");
    assert!(offline.contains("not shut down cleanly, and is recovered from its logs"), "{offline}");
    array.serve("");
    succeed(tool(&array.bench, "nbdcopy").args([&array.uri(), "out"]));
    assert!(is_same(&array.bench.path("image"), &array.bench.path("out")));
    array.until_whole();
    array.close();
}

#[test]
fn the_consistency_is_shown_wherever_the_organization_is() {
    let bench = Workbench::new();
    std::fs::write(bench.path("parlour.toml"), "[array]\nconsistency = \"journal\"\n").unwrap();
    let command = "create --config parlour.toml --size 8MiB --json a b c d e";
    assert_eq!(json(&bench.succeed(command))["consistency"], "journal");
    assert_eq!(json(&bench.succeed("examine a --json"))["consistency"], "journal");
    assert_eq!(json(&bench.succeed("status . --json"))["consistency"], "journal");
    for command in ["examine a", "status .", "layout .", "explain write 0 4KiB ."] {
        let told = bench.succeed(command);
        assert!(told.contains("parity updates logged), consistency journal"), "{told}");
    }
    let served = bench.serve("serve . --unix nbd.sock");
    let told = bench.succeed("status .");
    assert!(told.contains("layout: parity-logging, consistency journal, 5 members"), "{told}");
    served.stop();
    bench.succeed("create --config parlour.toml --consistency bitmap --force a b c d e");
    assert_eq!(json(&bench.succeed("status . --json"))["consistency"], "bitmap");
    bench.succeed("create -o raid5 --force a b c d e");
    assert!(!bench.succeed("status .").contains("consistency"));
    bench.succeed("create -o raid5 --consistency journal --force a b c d e");
    for command in ["examine a", "status .", "layout .", "explain write 0 4KiB ."] {
        let told = bench.succeed(command);
        assert!(told.contains("raid5 (left-symmetric), consistency journal"), "{told}");
    }
    let served = bench.serve("serve . --unix nbd.sock");
    let told = bench.succeed("status .");
    assert!(told.contains("layout: raid5, consistency journal, 5 members"), "{told}");
    served.stop();
}

#[test]
fn the_old_names_of_consistencies_are_taken_with_a_note() {
    let bench = Workbench::new();
    for (old, new) in [("logged", "journal"), ("resync", "bitmap")] {
        std::fs::write(bench.path("parlour.toml"), format!("[array]\nconsistency = \"{old}\"\n")).unwrap();
        let layout = format!("layout --consistency {old}");
        for arguments in [layout.as_str(), "create --config parlour.toml --size 8MiB --force a b c d e"] {
            let mut command = bench.command(arguments);
            let output = command.output().expect("parlour starts");
            assert!(output.status.success(), "{arguments}");
            let told = String::from_utf8(output.stderr).expect("text");
            assert!(
                told.contains(&format!("consistency '{old}' is called '{new}' now")),
                "{arguments}: {told}"
            );
        }
    }
}

#[test]
fn a_failed_member_is_replaced_and_rebuilt_and_the_scrub_is_clean() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    bench.files("d", 8);
    let served = bench.serve("serve a b c --unix nbd.sock");
    bench.succeed("fail 1 -a .");
    let status = bench.succeed("status .");
    assert!(
        status.contains("state: degraded") && status.contains("does not survive the failure of another"),
        "{status}"
    );
    assert!(bench.succeed("remove 1 -a .").contains("b is free"));
    bench.succeed("replace 1 d -a . --wait");
    let report = json(&bench.succeed("scrub -a . --json"));
    assert_eq!((&report["mismatches"], &report["complete"]), (&Value::from(0), &Value::Bool(true)));
    assert!(bench.succeed("status .").contains("state: healthy"));
    served.stop();
}

#[test]
fn journal_devices_are_shown_lost_and_replaced() {
    let bench = Workbench::new();
    let told = bench.succeed("create m0 m1 m2 --size 64MiB --write-back 1MiB --journal j0 --journal j1");
    assert!(told.contains("3 members and 2 journal devices, "), "{told}");
    let told = bench.succeed("status .");
    assert!(told.contains("all its 3 members and 2 journal devices are there"), "{told}");
    let served = bench.serve("serve . --unix nbd.sock --json");
    let told = bench.succeed("status -a .");
    assert!(told.starts_with("Healthy: all 3 members are active"), "{told}");
    assert!(told.contains("on 2 journal devices") && told.contains("writes: "), "{told}");
    bench.succeed("fail 4 -a .");
    let told = bench.succeed("status -a .");
    let lost = "Degraded: journal device 4 is not active: no data is lost, members take the entries";
    assert!(told.starts_with(lost) && told.contains("parlour replace 4 NEW-DEVICE"), "{told}");
    assert_eq!(json(&bench.succeed("status -a . --json"))["spare_redundancy"], 1, "members are all there");
    bench.files("short", 1);
    let line = bench.fail("replace 4 short -a .", 1);
    assert!(line.contains("needs"), "{line}");
    bench.files("j2", 32);
    bench.succeed("replace 4 j2 -a . --wait");
    let on_devices =
        || (json(&bench.succeed("status -a . --json"))["journal"]["on_devices"] == true).then_some(());
    until("entries go to journal devices", on_devices);
    served.stop();
    // Without them it opens all the same, and says so.
    ["j1", "j2"].iter().for_each(|name| std::fs::remove_file(bench.path(name)).expect("it is there"));
    std::fs::remove_file(bench.path("j0")).expect("it is there");
    let served = bench.serve("serve . --unix nbd.sock --json --wait 0s");
    let told = bench.succeed("status -a .");
    assert!(told.starts_with("Degraded: journal devices 3, 4 are not active"), "{told}");
    assert!(told.contains("on members: too few journal devices are active"), "{told}");
    served.stop();
}

#[test]
fn journal_devices_are_added_to_an_array_that_serves_and_taken_away_for_good() {
    let bench = Workbench::new();
    bench.succeed("create m0 m1 m2 --size 64MiB --write-back 1MiB");
    let served = bench.serve("serve . --unix nbd.sock --json");
    let place = || {
        let told = bench.succeed("status -a .");
        let line = told.lines().find_map(|line| line.trim().strip_prefix("journal: ").map(str::to_owned));
        line.expect("there is a journal")
    };
    assert_eq!(place(), "on members");
    for name in ["j0", "j1"] {
        bench.files(name, 32);
        assert!(bench.succeed(&format!("add --journal {name} -a .")).contains("is journal device "));
        let active = || {
            let status = json(&bench.succeed("status -a . --json"));
            let journals = status["journals"].as_array().expect("a list").clone();
            journals.iter().all(|journal| journal["state"] == "active").then_some(())
        };
        until("the device is active", active);
    }
    let on_devices = || (place() == "on 2 journal devices").then_some(());
    until("entries go to journal devices", on_devices);
    let line = bench.fail("remove 3 -a .", 1);
    assert!(line.contains("fail it first"), "{line}");
    bench.succeed("fail 3 -a .");
    assert!(bench.succeed("status -a .").contains("do without it for good with 'parlour remove 3"));
    assert!(bench.succeed("remove 3 -a .").contains("j0 is free"));
    let told = bench.succeed("status -a .");
    assert!(told.starts_with("Healthy: all 3 members are active, and so is 1 journal device"), "{told}");
    bench.succeed("fail 4 -a .");
    bench.succeed("remove 4 -a .");
    assert_eq!(place(), "on members");
    served.stop();
    ["j0", "j1"].iter().for_each(|name| std::fs::remove_file(bench.path(name)).expect("it is there"));
    let told = bench.succeed("status .");
    assert!(told.contains("all its 3 members are there"), "{told}");
    assert!(!bench.succeed("explain write 0 4KiB m0 m1 m2").contains("journal device"));
    let served = bench.serve("serve . --unix nbd.sock --json");
    assert!(
        bench.succeed("status -a .").starts_with("Healthy: all 3 members are active, and the array survives")
    );
    served.stop();
}

#[test]
fn a_single_journal_device_needs_a_word_where_writes_are_acknowledged_from_it() {
    let bench = Workbench::new();
    let create = "create m0 m1 m2 --size 64MiB --journal j0 --write-back";
    let line = bench.refuse(&format!("{create} 1MiB"), 2);
    assert!(line.contains("--write-back 0") && line.contains("--journal-copies 1"), "{line}");
    bench.succeed(&format!("{create} 1MiB --journal-copies 1"));
    let served = bench.serve("serve . --unix nbd.sock --json");
    assert!(bench.succeed("status -a .").contains("on 1 journal device\n"));
    served.stop();
    bench.succeed(&format!("{create} 0 --force"));
    let told = bench.succeed("explain write 0 4KiB m0 m1 m2 j0");
    assert!(told.contains("on 1 journal device"), "{told}");
}

/// Regression test. The server took the members of the file only, and excluded the devices.
#[test]
fn journal_devices_are_taken_from_a_file_and_from_the_directory_of_up() {
    let bench = Workbench::new();
    std::fs::create_dir(bench.path("devices")).expect("a directory");
    let file = "members = [\"m0\", \"m1\", \"m2\"]\njournals = [\"devices/j0\", \"devices/j1\"]\n";
    std::fs::write(bench.path("array.toml"), file).expect("a file");
    bench.succeed("create --config array.toml --size 64MiB");
    let served = bench.serve("serve --config array.toml --unix nbd.sock");
    assert!(bench.succeed("status -a m0").contains("on 2 journal devices"));
    served.stop();
    for _ in 0..2 {
        let served = bench.serve("up --dir up -m 3 -s 64MiB --journal up/j0 --journal up/j1");
        assert!(bench.succeed("status -a up").contains("on 2 journal devices"));
        served.stop();
    }
}

#[test]
fn a_member_that_comes_back_is_rebuilt_only_in_what_it_has_missed() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 64MiB a b c");
    let served = bench.serve("serve a b c --unix nbd.sock");
    bench.succeed("fail 1 -a .");
    let status = bench.succeed("status .");
    assert!(status.contains("if it comes back itself, only what it has missed is rebuilt"), "{status}");
    let told = bench.succeed("replace 1 b -a . --wait");
    assert!(told.contains("b is back as member 1; what it has missed is rebuilt"), "{told}");
    let status = json(&bench.succeed("status . --json"));
    let written = status["members"][1]["traffic"][3]["write_bytes"].as_u64().expect("a number");
    assert_eq!((written, &status["members"][1]["may_return"]), (0, &Value::Bool(false)), "{status}");
    served.stop();
    // A member that was missing for a while is not rebuilt completely either.
    let served = bench.serve("serve a c --unix nbd.sock");
    assert!(bench.fail("replace 0 b -a .", 1).contains("a member of the array"));
    assert!(bench.succeed("replace 1 b -a . --wait").contains("b is back as member 1"));
    bench.succeed("fail 1 -a .");
    assert!(bench.succeed("add b -a .").contains("b is back as member 1"));
    bench.succeed("fail 1 -a .");
    assert!(bench.succeed("replace 1 b -a . --wait").contains("b is back as member 1"));
    served.stop();
    let served = bench.serve("serve a b c --unix nbd.sock");
    assert!(bench.succeed("status .").contains("state: healthy"));
    served.stop();
    // A member that another server has tried to use separately is rebuilt completely.
    let served = bench.serve("serve a c --unix nbd.sock");
    let apart = bench.fail("serve b --unix other.sock", 1);
    assert!(apart.contains("too many members are missing"), "{apart}");
    bench.succeed("replace 1 b -a . --force --wait");
    let status = json(&bench.succeed("status . --json"));
    assert!(status["members"][1]["traffic"][3]["write_bytes"].as_u64() > Some(32 << 20), "{status}");
    served.stop();
}

/// Regression test: the standard error of a server was on the members' full disk, and the server
/// died when it reported that the disk was full.
#[test]
fn a_server_whose_standard_error_cannot_be_written_goes_on() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let served = bench.serve_telling("serve a b c --unix nbd.sock", full.into());
    bench.succeed("fail 1 -a .");
    assert!(bench.succeed("status .").contains("state: degraded"));
    served.stop();
}

#[test]
fn a_spare_takes_over_by_itself() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    bench.files("spare", 8);
    let served = bench.serve("serve a b c --unix nbd.sock");
    bench.succeed("add spare -a .");
    assert_eq!(json(&bench.succeed("status . --json"))["spares"].as_array().unwrap().len(), 1);
    bench.succeed("fail 2 -a .");
    let told = served.stop();
    assert!(told.contains("spare takes the place of member 2"), "{told}");
}

#[test]
fn members_of_unequal_size_are_served_and_the_smallest_counts() {
    let bench = Workbench::new();
    bench.files("a b", 16);
    bench.files("c", 8);
    let answer = bench.run("create -o raid5 a b c");
    assert_eq!(answer.code, 0);
    assert!(answer.error.contains("the smallest counts, c with 8 MiB"), "{}", answer.error);
    let told = bench.serve("serve a b c --unix nbd.sock").stop();
    assert!(told.contains("members are of unequal size"), "{told}");
}

#[test]
fn an_array_without_a_member_is_served_and_says_so() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let told = bench.serve("serve a c --unix nbd.sock").stop();
    assert!(told.contains("parlour: member 1 is missing\n"), "{told}");
    assert!(told.contains("the array is degraded: 1 of its 3 members cannot be used"), "{told}");
    let told = bench.serve("serve a b c --unix nbd.sock").stop();
    assert!(told.contains("b: was member 1 and is stale"), "{told}");
}

#[test]
fn a_spare_too_small_is_refused() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    bench.files("small", 4);
    let served = bench.serve("serve a b c --unix nbd.sock");
    let answer = bench.run("add small -a .");
    assert_eq!(answer.code, 1);
    assert!(answer.error.contains("small: 4 MiB are too small for this array"), "{}", answer.error);
    served.stop();
}

#[test]
fn a_spare_that_has_become_too_small_is_left_out() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    bench.files("spare", 8);
    let served = bench.serve("serve a b c --unix nbd.sock");
    bench.succeed("add spare -a .");
    served.stop();
    let file = std::fs::OpenOptions::new().write(true).open(bench.path("spare")).unwrap();
    file.set_len(4 << 20).unwrap();
    let told = bench.serve("serve . --unix nbd.sock").stop();
    assert!(told.contains("spare: a spare of 4 MiB is too small"), "{told}");
}

#[test]
fn reading_only_changes_no_byte_of_a_member() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let bytes = || ["a", "b", "c"].map(|name| std::fs::read(bench.path(name)).unwrap());
    let before = bytes();
    let served = bench.serve("serve a b c --unix nbd.sock --read-only");
    assert!(served.greeting.contains("(read-only)"));
    let answer = bench.run("fail 1 -a .");
    assert_eq!((answer.code, answer.error.as_str()), (1, "parlour: the array is read-only\n"));
    served.stop();
    assert!(before == bytes());
}

#[test]
fn a_configuration_file_says_what_options_say() {
    let bench = Workbench::new();
    let text = "members = [\"a\", \"b\", \"c\", \"d\"]\n[array]\norganization = \"raid10\"\nunit = \"16KiB\"\n\
                [serving]\nunix = \"from-file.sock\"\n[tuning]\nhost-memory = \"32MiB\"\n";
    std::fs::write(bench.path("parlour.toml"), text).unwrap();
    let created = json(&bench.succeed("create --config parlour.toml --size 8MiB --json"));
    assert_eq!(
        (&created["organization"], &created["stripe_unit"]),
        (&Value::from("raid10"), &Value::from(16_384))
    );
    let served = bench.serve("serve --config parlour.toml --unix from-option.sock");
    assert!(served.greeting.contains("from-option.sock"));
    served.stop();
}

#[test]
fn the_members_of_an_array_draw_and_explain_it() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB --unit 16KiB a b c");
    let drawn = bench.succeed("layout . --rows 2");
    assert!(drawn.contains("stripe unit 16 KiB"), "{drawn}");
    assert!(drawn.ends_with("    0  D0        D1        P0-1\n    1  D3        P2-3      D2\n"), "{drawn}");
    let explained = bench.succeed("explain write 0 4KiB a b c");
    assert!(explained.ends_with("3 accesses in all\n"), "{explained}");
}

#[test]
fn every_key_that_a_server_tells_is_documented() {
    let documented = include_str!("../../../docs/json.md");
    let bench = Workbench::new();
    let served = bench.serve("up --size 8MiB");
    let status = json(&bench.succeed("status --json"));
    served.stop();
    let stopped = json(&bench.succeed("status --json"));
    let examined = json(&bench.succeed("examine parlour-data/member0 --json"));
    let explained = json(&bench.succeed("explain write 0 4KiB --json"));
    let drawn = json(&bench.succeed("layout --json"));
    for answer in [
        &status,
        &status["verdict"],
        &status["counters"],
        &status["rates"],
        &stopped,
        &examined,
        &explained,
        &explained["acknowledged"],
        &drawn,
    ] {
        for key in answer.as_object().unwrap().keys() {
            assert!(documented.contains(&format!("`{key}`")), "{key} is not in docs/json.md");
        }
    }
    // The keys that programs rely on.
    for key in
        ["served", "identity", "mode", "members", "spares", "rebuild", "resync", "scrub", "log", "paths"]
    {
        assert!(status.get(key).is_some(), "{key} is missing");
    }
}

#[test]
fn examine_tells_both_superblocks_and_the_table() {
    let bench = Workbench::new();
    bench.succeed("create --size 8MiB a b c d e --name home");
    let text = bench.succeed("examine c");
    for told in
        ["First superblock at byte 0: sound", "Second superblock", "array: home", "entry 2", "regions:"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    let examined = json(&bench.succeed("examine c --json"));
    assert_eq!(examined["superblocks"][0]["name"], "home");
}

#[test]
fn every_shell_gets_completions() {
    let bench = Workbench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.succeed(&format!("completions {shell}"));
        assert!(script.contains("repair") && script.contains("explain"), "{shell}");
    }
}
