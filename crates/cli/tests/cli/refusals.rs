//! Tests of refused commands: one clear line, an exit status for the reason, and no changes.

use crate::common::Workbench;
use crate::tools::{is_root, json, succeed, tool};

#[test]
fn an_unknown_organization_is_answered_with_the_nearest() {
    let line = Workbench::new().refuse("create --organization parity-loging --size 64MiB a b c d e", 2);
    assert!(line.contains("did you mean 'parity-logging'?"), "{line}");
}

/// Regression test: the answer to `raid6` was "did you mean 'raid0'?".
#[test]
fn what_others_call_it_is_answered_with_our_name_and_capitals_are_no_mistake() {
    let bench = Workbench::new();
    let line = bench.refuse("create -o raidz2 --size 64MiB a b c d", 2);
    assert!(line.starts_with("parlour: 'raidz2' is no organization; did you mean 'raid6'?"), "{line}");
    assert!(bench.succeed("layout -o RAID5 --rows 1").starts_with("raid5"));
    let created = bench.succeed("create -o Parity-Logging --size 8MiB a b c");
    assert!(created.contains("parity-logging"), "{created}");
}

#[test]
fn organizations_that_are_simulated_only_are_neither_created_nor_drawn() {
    let bench = Workbench::new();
    for rival in ["lraid-x4", "log-structured", "distorted-mirrors", "Doubly-Distorted-Mirrors"] {
        let told = format!("{} is simulated only", rival.to_lowercase());
        for command in [
            format!("create -o {rival} --size 64MiB a b c d e f"),
            format!("up -o {rival}"),
            format!("layout -o {rival}"),
            format!("explain write 0 4KiB -o {rival}"),
        ] {
            let line = bench.refuse(&command, 2);
            assert!(line.contains(&told), "{command}: {line}");
        }
    }
}

/// Regression test: messages of serde, toml and the standard library were shown.
#[test]
fn a_bad_value_in_a_file_is_answered_with_what_to_write() {
    let bench = Workbench::new();
    for (text, told) in [
        ("members = 5\n", "it.toml:1: members: 5 is a number; write a list in brackets"),
        (
            "[array]\ncopies = \"two\"\n",
            "it.toml:2: copies: \"two\" is a text; write a whole number from 0 to 65535",
        ),
        ("[array]\ncopies = -1\n", "it.toml:2: copies: -1 is not possible; write a whole number"),
        ("[log]\nlog-ratio = true\n", "it.toml:2: log-ratio: true is true or false; write a number"),
    ] {
        std::fs::write(bench.path("it.toml"), text).unwrap();
        let line = bench.refuse("create --config it.toml --size 64MiB a b c d e", 2);
        assert!(line.contains(told), "{line}");
    }
    let experiment = "members = \"eight\"\n[drive]\nmodel = \"hp-c2247a\"\n";
    std::fs::write(bench.path("it.toml"), experiment).unwrap();
    let line = bench.refuse("simulate it.toml", 2);
    assert!(line.contains("it.toml:1: members: \"eight\" is a text; write a whole number"), "{line}");
    let experiment = experiment.replace("\"eight\"", "8");
    std::fs::write(bench.path("it.toml"), experiment).unwrap();
    let line = bench.refuse("simulate it.toml --set members=eight", 2);
    let told = "it.toml: members: \"eight\" is a text; write a whole number from 0 to 65535";
    assert!(line.contains(told), "{line}");
}

#[test]
fn a_part_of_a_drives_name_is_answered_with_those_that_have_it() {
    let bench = Workbench::new();
    let line = bench.refuse("drives show hp", 1);
    assert!(line.contains("there are hp-c2247a, hp-c2249a, hp-c2490a, hp-c3323a"), "{line}");
    let line = bench.refuse("drives show exos", 1);
    assert!(line.contains("did you mean 'seagate-exos-x20'?"), "{line}");
    let line = bench.refuse("drives show floppy", 1);
    assert!(line.contains("'parlour drives' lists those that there are"), "{line}");
}

/// Regression test: the message was only "os error 98".
#[test]
fn a_port_that_is_taken_is_answered_with_another() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let line = bench.refuse(&format!("serve a b c --tcp {port}"), 1);
    let told =
        format!("cannot listen on 127.0.0.1:{port}: another program listens there; choose another port");
    assert!(line.contains(&told) && !line.contains("os error"), "{line}");
    let line = bench.refuse("serve a b c --unix nowhere/nbd.sock", 1);
    assert!(line.contains("no such directory; make it, or choose another path"), "{line}");
}

#[test]
fn a_second_server_is_told_of_the_first_and_the_clients_socket_is_known_for_one() {
    let bench = Workbench::new();
    let served = bench.serve("up --size 8MiB");
    let line = bench.fail("up", 1);
    assert_eq!(
        line,
        format!(
            "parlour: parlour-data: the array 'parlour' is served already by process {}; 'parlour status' shows how it is, \
             and 'parlour stop' ends it",
            served.id()
        )
    );
    let line = bench.fail("status parlour-data/nbd.sock", 1);
    assert!(line.contains("nbd.sock: this socket is for NBD clients; name the array's directory"), "{line}");
    served.stop();
}

#[test]
fn paths_that_lead_nowhere_are_told_with_what_is_wrong_on_the_way() {
    let bench = Workbench::new();
    std::fs::write(bench.path("file"), "text").expect("a file");
    for (arguments, told) in [
        (
            "create --size 8MiB nowhere/a b c d e",
            "nowhere/a: cannot be made, because its directory is not there",
        ),
        ("create --size 9000PiB a b c d e", "a: a file of 9000 PiB is longer than this file system can have"),
        ("up --dir file", "file: is no directory; use another --dir"),
        ("examine file", "file: no superblock; it is no member of an array; check the path"),
        ("status file", "file: no superblock; it is no member of an array that can be used"),
        ("status .", ".: no member of an array in this directory"),
    ] {
        let line = bench.refuse(arguments, 1);
        assert!(line.contains(told), "{line}");
    }
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let long = "x".repeat(120);
    let line = bench.refuse(&format!("serve a b c --unix {long}"), 1);
    assert!(line.contains("the path of a socket has 107 bytes at the most"), "{line}");
    // The control socket gets another path.
    std::fs::create_dir(bench.path(&long)).expect("a directory");
    bench.succeed(&format!("create -o raid5 --size 8MiB {long}/a {long}/b {long}/c"));
    if is_root("a control socket in /run/parlour") {
        let served = bench.serve(&format!("serve {long} --unix nbd.sock --json"));
        assert!(
            json(&served.greeting)["control"].as_str().is_some_and(|path| path.starts_with("/run/parlour/"))
        );
        assert!(bench.succeed(&format!("status {long}/b")).starts_with("Healthy: "));
        served.stop();
    }
}

#[test]
fn a_link_to_a_member_that_lies_beside_it_is_passed_over() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    std::os::unix::fs::symlink("b", bench.path("aa")).expect("a link");
    std::os::unix::fs::symlink("nowhere", bench.path("dangling")).expect("a link");
    std::os::unix::fs::symlink("loop", bench.path("loop")).expect("a link");
    let served = bench.serve("serve . --unix nbd.sock");
    assert!(bench.succeed("status .").starts_with("Healthy: "));
    let told = served.stop();
    assert_eq!(told, "");
    // Explicit names of the same file are still refused.
    let line = bench.fail("serve a aa b c --unix nbd.sock", 1);
    assert!(line.contains("are the same file; name each member once"), "{line}");
}

#[test]
fn members_that_their_file_system_cannot_hold_are_made_with_a_warning() {
    let bench = Workbench::new();
    // More than the free space of any machine that runs this test.
    let answer = bench.run("create -o raid5 --size 8TiB a b c");
    assert_eq!(answer.code, 0, "{}", answer.error);
    assert!(answer.error.contains("a: sparse members may come to take "), "{}", answer.error);
    assert!(answer.error.contains("use a smaller --size, or make room"), "{}", answer.error);
    let answer = bench.run("create -o raid5 --size 8MiB d e f");
    assert_eq!(answer.error, "");
}

/// Regression test: the control socket could not be created there, and so the array was not served.
#[test]
fn an_array_on_a_file_system_that_is_read_only_is_served_read_only() {
    if !is_root("serving from a read-only file system") {
        return;
    }
    struct Mounted<'a>(&'a Workbench);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            // A lazy unmount, because a server may still be running.
            let _ = tool(self.0, "umount").args(["--lazy", "disk"]).output();
        }
    }
    let bench = Workbench::new();
    std::fs::create_dir(bench.path("disk")).expect("a directory");
    succeed(tool(&bench, "mount").args(["-t", "tmpfs", "none", "disk"]));
    let _mounted = Mounted(&bench);
    bench.succeed("create -o raid5 --size 8MiB disk/a disk/b disk/c");
    succeed(tool(&bench, "mount").args(["-o", "remount,ro", "disk"]));
    let served = bench.serve("serve disk --unix nbd.sock --read-only --json");
    let ready = json(&served.greeting);
    let told = bench.succeed("status disk");
    let stopped = bench.run("stop --array disk");
    let ended = served.end().0;
    assert!(ready["control"].as_str().is_some_and(|path| path.starts_with("/run/parlour/")), "{ready}");
    assert!(told.starts_with("Healthy: served for reading only; all 3 members are active"), "{told}");
    assert!(stopped.code == 0 && ended.success(), "{}", stopped.error);
}

#[test]
fn too_few_members_are_refused_and_no_file_is_left_behind() {
    let line = Workbench::new().refuse("create --organization raid5 --size 64MiB a b", 2);
    assert_eq!(line, "parlour: 2 members are too few: this organization needs at least 3");
}

#[test]
fn journal_devices_that_cannot_be_used_are_refused_and_no_file_is_left_behind() {
    let bench = Workbench::new();
    let create = "create m0 m1 m2 m3 --size 64MiB";
    let line = bench.refuse(&format!("{create} --journal j0"), 2);
    assert!(line.contains("too few") && line.contains("give 2 or more"), "{line}");
    let line = bench.refuse(&format!("{create} --journal j0 --journal j1 -o raid10"), 2);
    assert!(line.contains("consistency = journal"), "{line}");
    let line = bench.refuse(&format!("{create} --journal j0 --journal j0"), 2);
    assert!(line.contains("same file"), "{line}");
    let line = bench.refuse(&format!("{create} --journal j0 --journal m1"), 2);
    assert!(line.contains("same file"), "{line}");
    bench.files("short", 1);
    let line = bench.refuse(&format!("{create} --journal j0 --journal short"), 1);
    assert!(line.contains("too little for a journal device") && line.contains("needs"), "{line}");
    let left = std::fs::read_dir(bench.path(".")).expect("it is there").count();
    assert_eq!(left, 1, "the short device alone");
    bench.succeed("create a0 a1 a2 --size 64MiB");
    let line = bench.refuse(&format!("{create} --journal j0 --journal a1"), 1);
    assert!(line.contains("a member of the array") && line.contains("--force"), "{line}");
}

#[test]
fn a_stripe_unit_that_is_no_multiple_of_the_block_is_refused() {
    let bench = Workbench::new();
    let line = bench.refuse("create -o raid5 --size 64MiB --block 4KiB --unit 6KiB a b c", 2);
    assert!(line.contains("6 KiB is no multiple of the members' block of 4 KiB"), "{line}");
    let line = bench.refuse("create -o raid5 --size 64MiB --unit 1000 a b c", 2);
    assert!(line.contains("1000 bytes are no multiple of 512 bytes"), "{line}");
}

#[test]
fn a_stripe_unit_that_exceeds_a_member_is_refused() {
    let line = Workbench::new().refuse("create -o raid5 --size 64MiB --unit 1GiB a b c", 2);
    assert!(line.contains("a stripe unit of 1 GiB exceeds a member"), "{line}");
}

#[test]
fn more_sublogs_than_members_can_hold_are_refused() {
    let line = Workbench::new().refuse("create --size 64MiB --sublogs 4 a b c d e", 2);
    assert!(line.contains("4 sublogs (L) are too many for 5 members"), "{line}");
}

#[test]
fn settings_that_do_not_suit_the_organization_are_refused() {
    let bench = Workbench::new();
    for (arguments, told) in [
        (
            "create -o raid5 --size 64MiB --sublogs 1 a b c",
            "--sublogs is for organizations with a parity log",
        ),
        ("create -o raid4 --size 64MiB --rotation left-symmetric a b c", "--rotation is for raid5"),
        ("create -o raid5 --size 64MiB --read primary a b c", "--read primary is not for raid5"),
        ("create -o raid1 --size 64MiB --copies 2 a b c", "--copies is for raid01, raid10 and raid10-far"),
        (
            "create -o raid1 --size 64MiB --tolerance 2 a b c",
            "raid1 says itself how many members may be lost",
        ),
        (
            "create -o raid5 --size 64MiB --tolerance 5 a b c d e f g",
            "a tolerance of 5 is not possible here: choose 1 to 4",
        ),
        ("create -o raid6 --size 64MiB a b c", "3 members are too few: this organization needs at least 4"),
        ("create --size 64MiB --tolerance 2 a b c d", "this organization needs at least 5"),
        ("create -o raid10 --size 64MiB --tolerance 2 --copies 3 a b c", "cannot be used with"),
        (
            "create -o raid1 --size 64MiB --consistency journal a b c",
            "and raid1 has none that stays in its place; use raid4, raid5, raid6 or parity-logging",
        ),
        (
            "create -o raid0 --size 64MiB --consistency journal a b c",
            "and raid0 has none that stays in its place; use raid4, raid5, raid6 or parity-logging",
        ),
        (
            "create -o raid5 --size 64MiB --write-back 1MiB a b c",
            "write-back is for arrays with consistency = journal",
        ),
        (
            "layout -o raid10 --members 4 --consistency journal",
            "--consistency journal is for organizations with",
        ),
        ("create --size 64MiB --consistency loged a b c d e", "invalid value 'loged' for '--consistency"),
    ] {
        let line = bench.refuse(arguments, 2);
        assert!(line.contains(told), "{line}");
    }
}

#[test]
fn a_consistency_that_a_file_asks_for_in_vain_is_refused() {
    let bench = Workbench::new();
    for (text, told) in [
        ("[array]\norganization = \"raid10\"\nconsistency = \"journal\"\n", "and raid10 has none"),
        (
            "[array]\nconsistency = \"jurnal\"\n",
            "parlour.toml:2: consistency: 'jurnal' is none of the choices; did you mean 'journal'?",
        ),
        ("[array]\nconsistence = \"logged\"\n", "did you mean 'array.consistency'?"),
    ] {
        std::fs::write(bench.path("parlour.toml"), text).unwrap();
        let line = bench.refuse("create --config parlour.toml --size 64MiB a b c d e", 2);
        assert!(line.contains(told), "{line}");
    }
}

#[test]
fn a_member_of_another_array_is_not_overwritten_unless_told() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let line = bench.refuse("create -o raid5 --size 8MiB a b c", 1);
    assert!(line.contains("a: holds a member of the array 'parlour'") && line.contains("--force"), "{line}");
    bench.succeed("create -o raid5 --size 8MiB --force a b c");
}

#[test]
fn a_file_system_is_not_overwritten_unless_told() {
    let bench = Workbench::new();
    bench.files("a b c", 8);
    let mut image = std::fs::read(bench.path("b")).unwrap();
    image[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xef]);
    std::fs::write(bench.path("b"), &image).unwrap();
    let line = bench.refuse("create -o raid5 a b c", 1);
    assert!(line.starts_with("parlour: b: holds") && line.contains("--force"), "{line}");
}

#[test]
fn a_member_that_does_not_exist_is_not_made_without_a_size() {
    let line = Workbench::new().refuse("create -o raid5 a b c", 1);
    assert_eq!(line, "parlour: a: no such file or device; check the path, or give --size to make a file");
}

#[test]
fn a_member_in_use_is_refused() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let served = bench.serve("serve a b c --unix nbd.sock");
    for arguments in ["serve a b c --unix other.sock", "create -o raid5 --force a b c"] {
        let line = bench.fail(arguments, 1);
        let process = format!("a: the array 'parlour' is served already by process {};", served.id());
        assert!(line.contains(&process), "{line}");
        assert!(line.contains("'parlour status --array a' shows how it is"), "{line}");
    }
    served.stop();
}

#[test]
fn garbage_in_a_superblock_is_named_and_the_array_served_without_that_member_or_not_at_all() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    for name in ["a", "b"] {
        let mut bytes = std::fs::read(bench.path(name)).unwrap();
        for at in [0, 7 << 20] {
            bytes[at + 300..at + 4096].fill(0x5a);
        }
        std::fs::write(bench.path(name), bytes).unwrap();
    }
    let line = bench.refuse("serve a b c --unix nbd.sock", 1);
    assert!(line.contains("too many members are missing"), "{line}");
    assert!(line.contains("a: superblock damaged (its checksum does not fit)"), "{line}");
    let line = bench.refuse("examine a", 1);
    assert!(line.contains("a: superblock damaged"), "{line}");
}

#[test]
fn more_members_missing_than_the_organization_survives_is_refused() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c d");
    let line = bench.refuse("serve a b --unix nbd.sock", 1);
    assert!(line.contains("too many members are missing: member 2, member 3"), "{line}");
}

#[test]
fn a_misspelt_key_is_answered_with_the_nearest() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    std::fs::write(bench.path("parlour.toml"), "[tuning]\nlog-memmory = \"1MiB\"\n").unwrap();
    let line = bench.refuse("serve a b c --unix nbd.sock --config parlour.toml", 2);
    assert_eq!(
        line,
        "parlour: parlour.toml: unknown key 'tuning.log-memmory'; did you mean 'tuning.log-memory'?"
    );
    let line = bench.refuse("serve a b c --unix nbd.sock --config nowhere.toml", 2);
    assert!(line.starts_with("parlour: nowhere.toml: cannot be read"), "{line}");
}

#[test]
fn commands_to_an_array_that_nobody_serves_say_so() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    for arguments in ["fail 1 -a .", "stop -a a", "scrub -a .", "add new -a .", "replace 0 new -a ."] {
        let line = bench.refuse(arguments, 1);
        assert!(line.contains("nobody serves this array"), "{line}");
    }
    let line = bench.refuse("stop -a nowhere", 1);
    assert!(line.contains("nowhere: no such file or directory"), "{line}");
}

#[test]
fn what_would_lose_data_is_refused_by_the_server() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 8MiB a b c");
    let served = bench.serve("serve a b c --unix nbd.sock");
    bench.succeed("fail 0 -a .");
    for (arguments, told) in [
        ("fail 1 -a .", "member 1 cannot be failed"),
        ("fail 9 -a .", "the array has no member 9; members and journal devices are numbered from 0 to 2"),
        ("fail 0 -a .", "member 0 is failed already"),
        ("remove 1 -a .", "member 1 is active; fail it first"),
        ("rebuild -a .", "no spare to rebuild onto"),
    ] {
        let line = bench.fail(arguments, 1);
        assert!(line.contains(told), "{line}");
    }
    served.stop();
}

#[test]
fn a_misuse_is_told_in_one_line_with_status_2() {
    let bench = Workbench::new();
    for (arguments, told) in [
        ("", "say what to do"),
        ("serv", "unrecognized subcommand 'serv'; did you mean 'serve'? See 'parlour --help'"),
        ("layout --unti 4", "'--unti' found; did you mean '--unit'? See 'parlour layout --help'"),
        ("layout --unit -1", "invalid value '-1' for '--unit': sizes, counts and places are not negative"),
        (
            "torture --seeds abc",
            "invalid value 'abc' for '--seeds <COUNT>': write a whole number; see 'parlour torture --help'",
        ),
        ("torture --seeds 0", "invalid value '0' for '--seeds <COUNT>': use at least 1"),
        (
            "torture --minutes soon",
            "invalid value 'soon' for '--minutes <MINUTES>': write a number, such as 0.5",
        ),
        ("layout -m 70000", "invalid value '70000' for '--members <COUNT>': use 0 to 65535"),
        ("drives show", "<DRIVE>; see 'parlour drives show --help'"),
        ("torture --minutes nan", "write a number of minutes that somebody may wait for"),
        ("torture --minutes 1e300", "write a number of minutes that somebody may wait for"),
        ("fail one", "invalid value 'one' for '<MEMBER>': write a whole number; see 'parlour fail --help'"),
        ("layout --consistency jurnal", "did you mean 'journal'? See 'parlour layout --help'"),
        ("layout --unit many", "'many' is not a size"),
        ("serve a --socket-mode 8", "'8' is no mode of a socket"),
        ("serve a --grace soon", "'soon' is not a duration"),
        ("serve", "no members were named"),
        ("serve a --unix s --tcp nowhere", "'nowhere' is no address"),
        ("serve a --unix s --host-memory 1MiB", "--host-memory 1 MiB is too little"),
        ("layout -o raid5 --region 1", "this layout has no regions"),
        ("explain read 1PiB 4KiB", "beyond the array's end"),
        ("explain write 0 4KiB --failed 7", "the array has no member 7"),
    ] {
        let line = bench.refuse(arguments, 2);
        assert!(line.contains(told), "{line}");
    }
}

#[test]
fn a_member_whose_array_is_being_resynced_is_failed_by_force_only() {
    let bench = Workbench::new();
    // Unknown content, so that parity is computed for everything.
    for place in 0..3 {
        let member = std::fs::File::create(bench.path(&format!("m{place}"))).unwrap();
        member.set_len(24 << 30).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&member, &[1; 4096], 20 << 30).unwrap();
    }
    bench.succeed("create -o raid5 --force m0 m1 m2");
    let served = bench.serve("serve . --unix nbd.sock --json");
    let line = bench.fail("fail 1 -a .", 1);
    for told in
        ["member 1 cannot be failed now", "regions are still to be resynced", "--force", "parlour status"]
    {
        assert!(line.contains(told), "{line}");
    }
    bench.files("fresh", 24 << 10);
    let line = bench.fail("replace 1 fresh -a .", 1);
    assert!(line.contains("member 1 cannot be failed now"), "{line}");
    bench.succeed("fail 1 --force -a .");
    served.stop();
}
