//! What is refused: with one clear line, an exit status that says why, and nothing changed.

mod common;

use common::Workbench;

#[test]
fn an_unknown_organization_is_answered_with_the_nearest() {
    let line = Workbench::new().refuse("create --organization parity-loging --size 64MiB a b c d e", 2);
    assert!(line.contains("did you mean 'parity-logging'?"), "{line}");
}

#[test]
fn too_few_members_are_refused_and_no_file_is_left_behind() {
    let line = Workbench::new().refuse("create --organization raid5 --size 64MiB a b", 2);
    assert_eq!(line, "parlour: 2 members are too few: this organization needs at least 3");
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
        ("create -o raid5 --size 64MiB --consistency logged a b c", "and raid5 has none; use --organization"),
        ("create -o raid0 --size 64MiB --consistency logged a b c", "and raid0 has none; use --organization"),
        (
            "layout -o raid10 --members 4 --consistency logged",
            "--consistency logged is for organizations with",
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
        ("[array]\norganization = \"raid4\"\nconsistency = \"logged\"\n", "and raid4 has none"),
        ("[array]\nconsistency = \"loged\"\n", "parlour.toml:2: unknown variant `loged`"),
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
        assert!(line.starts_with("parlour: a: is in use by another server"), "{line}");
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
        ("fail 9 -a .", "the array has no member 9; it has members 0 to 2"),
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
        ("serv", "unrecognized subcommand 'serv'"),
        ("layout --unti 4", "unexpected argument '--unti' found"),
        ("layout --unit many", "'many' is not a size"),
        ("serve a b c", "say where to serve"),
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
    // Content that nobody knows: parity is computed for all of it.
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
