//! Tests of opening, locking, creating and probing members.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::common::{LoopDevice, TinyFileSystem, command, on_disk, places, sector};
use parlour_engine::{Member, MemberError, Mode};
use parlour_units::{Bytes, Sectors};

fn sparse(directory: &Path, name: &str, length: u64) -> PathBuf {
    let path = directory.join(name);
    File::create(&path).and_then(|file| file.set_len(length)).expect("a sparse file");
    path
}

#[test]
fn a_second_server_is_kept_off_and_told_which_member() {
    for place in places() {
        let path = sparse(place.path(), "member", 1 << 20);
        let first = Member::open(&path, Mode::ReadWrite).expect("it is free");
        for mode in [Mode::ReadWrite, Mode::ReadOnly] {
            let refused = Member::open(&path, mode).expect_err("it is in use");
            assert!(matches!(refused, MemberError::InUse { .. }), "{refused}");
            assert!(refused.to_string().contains(path.to_str().expect("text")));
        }
        drop(first);
        let looking = Member::open(&path, Mode::ReadOnly).expect("it is free");
        let also_looking = Member::open(&path, Mode::ReadOnly).expect("looking is shared");
        assert!(Member::open(&path, Mode::ReadWrite).is_err());
        drop((looking, also_looking));
        Member::open(&path, Mode::ReadWrite).expect("it is free again");
    }
}

#[test]
fn a_loop_device_is_locked_too() {
    let place = on_disk();
    let file = sparse(place.path(), "backing", 1 << 20);
    let Some(device) = LoopDevice::new(file.to_str().expect("text"), 512) else {
        eprintln!("skipped: no loop device can be had here");
        return;
    };
    let _first = Member::open(&device.0, Mode::ReadWrite).expect("it is free");
    assert!(matches!(Member::open(&device.0, Mode::ReadWrite), Err(MemberError::InUse { .. })));
}

#[test]
fn what_cannot_be_a_member_is_refused_with_its_reason() {
    let place = on_disk();
    let missing = Member::open(place.path().join("nothing"), Mode::ReadWrite);
    assert!(matches!(missing, Err(MemberError::Missing { .. })));
    let directory = Member::open(place.path(), Mode::ReadWrite);
    assert!(matches!(directory, Err(MemberError::Unsuitable { what: "a directory", .. })));
    let device = Member::open("/dev/null", Mode::ReadWrite);
    assert!(matches!(device, Err(MemberError::Unsuitable { what: "a character device", .. })));
    let existing = sparse(place.path(), "existing", 4096);
    let refused = Member::create_file(&existing, Bytes::mib(1));
    assert!(matches!(refused, Err(MemberError::Exists { .. })));
    assert_eq!(fs::metadata(existing).expect("it is there").len(), 4096);
}

#[test]
fn a_fresh_file_is_sparse_private_and_known_to_be_zero() {
    use std::os::unix::fs::MetadataExt;
    for place in places() {
        let path = place.path().join("member");
        let member = Member::create_file(&path, Bytes::gib(4)).expect("a sparse file");
        assert_eq!(member.length().bytes(), Bytes::gib(4));
        assert!(member.is_known_zero());
        assert!(!member.is_device());
        let metadata = fs::metadata(&path).expect("it is there");
        assert_eq!((metadata.blocks(), metadata.mode() & 0o777), (0, 0o600));
        member.write_at(sector(0), &vec![1; member.block().as_usize()], true).expect("it can be written");
        assert!(!member.is_known_zero());
    }
}

#[test]
fn a_length_that_is_no_whole_number_of_blocks_is_cut() {
    let place = on_disk();
    let member =
        Member::open(sparse(place.path(), "member", (1 << 20) + 100), Mode::ReadWrite).expect("free");
    assert_eq!(member.length().bytes(), Bytes::mib(1));
}

#[test]
fn unaligned_memory_can_be_read_into_and_written_from() {
    for place in places() {
        let member = Member::create_file(place.path().join("member"), Bytes::mib(1)).expect("fresh");
        let pattern: Vec<u8> = (0..8193_u32).map(|index| (index * 7) as u8).collect();
        member.write_at(sector(4096), &pattern[1..], true).expect("it can be written");
        member.flush().expect("it can be flushed");
        let mut back = vec![0; 8193];
        member.read_at(sector(4096), &mut back[1..]).expect("it can be read");
        assert_eq!(back[1..], pattern[1..]);
        assert!(member.read_at(sector(1 << 20), &mut back[1..]).is_err(), "there is nothing beyond the end");
    }
}

#[test]
fn space_is_set_aside_without_changing_what_is_there() {
    use std::os::unix::fs::MetadataExt;
    for place in places() {
        let path = place.path().join("member");
        let member = Member::create_file(&path, Bytes::mib(8)).expect("fresh");
        member.write_at(sector(1 << 20), &[5; 4096], false).expect("it can be written");
        member
            .preallocate(sector(0), Sectors::from_bytes(Bytes::mib(2)).expect("whole"))
            .expect("there is space");
        assert!(fs::metadata(&path).expect("it is there").blocks() >= 4096);
        let mut back = [0; 4096];
        member.read_at(sector(1 << 20), &mut back).expect("it can be read");
        assert_eq!(back, [5; 4096]);
        member.zero(sector(0), member.length()).expect("it can be zeroed");
        member.read_at(sector(1 << 20), &mut back).expect("it can be read");
        assert_eq!(back, [0; 4096]);
    }
}

#[test]
fn setting_aside_more_than_there_is_says_so() {
    let Some(tiny) = TinyFileSystem::new("1m") else {
        eprintln!("skipped: the caller may not mount");
        return;
    };
    let member = Member::create_file(tiny.0.path().join("member"), Bytes::mib(64)).expect("sparse");
    let refused = member.preallocate(sector(0), member.length()).expect_err("there is no space");
    assert!(matches!(refused, MemberError::NoSpace { .. }), "{refused}");
    assert!(refused.to_string().contains("no space for 64 MiB"), "{refused}");
}

#[test]
fn a_member_knows_whether_it_is_in_memory() {
    assert!(places().iter().skip(1).all(|place| {
        let member = Member::create_file(place.path().join("member"), Bytes::mib(1)).expect("fresh");
        member.is_on_memory() && member.can_punch()
    }));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = place.join(format!("member-{}", std::process::id()));
    let member = Member::create_file(&path, Bytes::mib(1)).expect("fresh");
    fs::remove_file(path).expect("it is there");
    if member.is_on_memory() {
        eprintln!("skipped: the build directory is in memory");
    } else if !member.is_direct() {
        eprintln!("note: no O_DIRECT on the build directory's file system");
    }
}

fn names(path: &Path) -> Vec<&'static str> {
    let member = Member::open(path, Mode::ReadOnly).expect("it can be looked at");
    member.probe_foreign().expect("it can be read").iter().map(|found| found.name).collect()
}

#[test]
fn nothing_is_found_on_an_empty_or_a_tiny_member() {
    let place = on_disk();
    for length in [0, 512, 4096, 100 << 10, 3 << 20] {
        assert!(names(&sparse(place.path(), "member", length)).is_empty(), "{length}");
    }
}

#[test]
fn what_the_real_tools_make_is_recognised() {
    let place = on_disk();
    let cases: &[(&str, &[&str], &str)] = &[
        ("mkfs.ext2", &["-q", "-F"], "ext2 file system"),
        ("mkfs.ext3", &["-q", "-F"], "ext3 file system"),
        ("mkfs.ext4", &["-q", "-F"], "ext4 file system"),
        ("mkfs.xfs", &["-q", "-f"], "XFS file system"),
        ("mkfs.btrfs", &["-q", "-f"], "Btrfs file system"),
        ("mkfs.fat", &[], "FAT file system"),
        ("mkfs.ntfs", &["-q", "-F", "-f"], "NTFS file system"),
        ("mkswap", &[], "swap space"),
        ("pvcreate", &["-q", "-ff", "-y"], "LVM2 physical volume"),
        ("cryptsetup", &["luksFormat", "-q", "--key-file", "/etc/hostname"], "LUKS encrypted volume"),
    ];
    for (program, arguments, expected) in cases {
        let path = sparse(place.path(), program, 400 << 20);
        let arguments = [*arguments, &[path.to_str().expect("text")]].concat();
        match command(program, &arguments) {
            Some(_) => assert_eq!(names(&path).first(), Some(expected), "{program}"),
            None => eprintln!("skipped: {program} is not here or may not run"),
        }
    }
}

/// Writes each of `signs` at its position into a fresh file of 3 MiB. Returns the names of the
/// signatures that are found.
fn names_of_signs(signs: &[(u64, &[u8])]) -> Vec<&'static str> {
    const LENGTH: u64 = 3 << 20;
    let place = on_disk();
    let path = sparse(place.path(), "member", LENGTH);
    let mut file = File::options().write(true).open(&path).expect("it is there");
    for (at, bytes) in signs {
        file.seek(SeekFrom::Start(*at)).expect("a place");
        file.write_all(bytes).expect("it can be written");
    }
    drop(file);
    names(&path)
}

#[test]
fn partition_tables_are_found_at_both_ends() {
    assert_eq!(names_of_signs(&[(512, b"EFI PART")]), ["GPT partition table"]);
    assert_eq!(
        names_of_signs(&[((3 << 20) - 512, b"EFI PART")]),
        ["GPT partition table (the copy at the end)"]
    );
    let entry = [0x80, 1, 1, 0, 0x83, 0xfe, 0xff, 0xff, 0, 8, 0, 0, 0, 0, 1, 0];
    assert_eq!(names_of_signs(&[(446, &entry), (510, &[0x55, 0xaa])]), ["MBR partition table"]);
    assert!(names_of_signs(&[(510, &[0x55, 0xaa])]).is_empty(), "an empty table protects nothing");
}

#[test]
fn other_arrays_are_found_wherever_they_keep_their_superblock() {
    let magic = 0xa92b_4efc_u32.to_le_bytes();
    let length: u64 = 3 << 20;
    for at in [0, 4096, length - 8192, length - 65_536] {
        assert_eq!(names_of_signs(&[(at, &magic)]), ["Linux md array member"], "{at}");
    }
    let magic = 0x00ba_b10c_u64.to_le_bytes();
    for at in [128 << 10, (256 + 130) << 10] {
        assert_eq!(names_of_signs(&[(at, &magic)]), ["ZFS pool member"], "{at}");
    }
}
