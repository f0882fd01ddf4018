//! Tests with one array and two servers. Locks keep them apart if one kernel sees both, even
//! through loop devices; otherwise the superblocks do.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::on_disk;
use crate::common::rig::{LENGTH, MEMBERS, create, member_paths, open, open_request, serve, serve_open};
use parlour_array::organization::Organization;
use parlour_array::{Geometry, Identity, SUPERBLOCK_BYTES, Superblock, Tuning};
use parlour_engine::{MemberError, OpenError, OpenRequest, ServeError};
use parlour_units::{Bytes, Sectors};

fn created(directory: &Path, organization: &str) -> Vec<PathBuf> {
    let members = member_paths(directory, MEMBERS);
    create(Organization::named(organization).expect("it is in the table"), &members);
    members
}

/// Loop devices over files, detached when this value is dropped.
struct Loops(Vec<PathBuf>);

impl Loops {
    /// Returns `None` without permission: only root may set them up.
    fn over(files: &[PathBuf]) -> Option<Loops> {
        let mut loops = Loops(Vec::new());
        for file in files {
            let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
            let output = output.ok().filter(|output| output.status.success())?;
            let path = String::from_utf8(output.stdout).expect("a path");
            loops.0.push(PathBuf::from(path.trim()));
        }
        Some(loops)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        for path in &self.0 {
            // A loop device that stays does no harm apart from its use of the machine, and is
            // visible there.
            let _ = Command::new("losetup").arg("--detach").arg(path).status();
        }
    }
}

/// A loop device over a member's file has an inode of its own, and so a lock of its own.
#[test]
fn members_are_not_served_a_second_time_by_way_of_loop_devices() {
    let directory = on_disk();
    let members = created(directory.path(), "raid5");
    let Some(loops) = Loops::over(&members) else {
        eprintln!("skipped: loop devices cannot be set up here");
        return;
    };
    let served = serve(&members);
    let refused = open(&loops.0).expect_err("its files are served");
    let OpenError::Member(MemberError::BackingInUse { path, backing }) = &refused else {
        panic!("{refused}")
    };
    assert_eq!((path, backing), (&loops.0[0], &members[0]));
    let said = refused.to_string();
    assert!(said.contains("loop device") && said.contains("stop that first"), "{said}");
    served.stop();
    // The same in the other order, and through a second device over the same file.
    let served = serve(&loops.0);
    let refused = open(&members).expect_err("its loop devices are served");
    assert!(matches!(refused, OpenError::Member(MemberError::InUse { .. })), "{refused}");
    let second = Loops::over(&members).expect("there were some a moment ago");
    let refused = open(&second.0).expect_err("its files are served");
    assert!(matches!(refused, OpenError::Member(MemberError::BackingInUse { .. })), "{refused}");
    drop(second);
    served.stop();
    serve(&members).stop();
}

/// A loop device that another user has claimed, such as a mounted file system, holds no lock on its
/// file.
#[test]
fn a_file_under_a_loop_device_that_is_claimed_is_in_use() {
    let directory = on_disk();
    let members = created(directory.path(), "raid1");
    let Some(loops) = Loops::over(&members[..1]) else {
        eprintln!("skipped: loop devices cannot be set up here");
        return;
    };
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let claim = rustix::fs::open(&loops.0[0], flags, rustix::fs::Mode::empty()).expect("nobody has it");
    let refused = open(&members).expect_err("it is claimed");
    let OpenError::Member(MemberError::UnderLoop { path, device }) = &refused else { panic!("{refused}") };
    assert_eq!((path, device), (&members[0], &loops.0[0]));
    drop(claim);
    serve(&members).stop();
}

/// Opens the array as another host would: a new session is in all superblocks.
fn open_elsewhere(members: &[PathBuf]) -> Identity {
    let other = Identity([0x5e; 16]);
    let length = Sectors::from_bytes(Bytes::new(LENGTH)).expect("whole sectors");
    for path in members {
        let file = OpenOptions::new().read(true).write(true).open(path).expect("it is there");
        for at in Geometry::superblocks_at(length) {
            let mut block = vec![0; SUPERBLOCK_BYTES];
            file.read_exact_at(&mut block, at.bytes()).expect("it can be read");
            let mut superblock = Superblock::decode(&block).expect("it is sound");
            superblock.sessions.insert(0, other);
            superblock.session_number += 1;
            superblock.sequence += 1;
            file.write_all_at(&superblock.encode(), at.bytes()).expect("it can be written");
        }
    }
    other
}

/// All superblocks of the members.
fn superblocks(members: &[PathBuf]) -> Vec<Superblock> {
    let length = Sectors::from_bytes(Bytes::new(LENGTH)).expect("whole sectors");
    let read = |path: &PathBuf| {
        let bytes = std::fs::read(path).expect("it can be read");
        Geometry::superblocks_at(length).map(|at| {
            let block = &bytes[at.bytes() as usize..][..SUPERBLOCK_BYTES];
            Superblock::decode(block).expect("it is sound")
        })
    };
    members.iter().flat_map(read).collect()
}

/// Regression test: both servers continued with different parity, and both reported success.
#[test]
fn a_server_that_finds_the_array_opened_elsewhere_stops_with_an_error_and_writes_nothing_more() {
    let directory = on_disk();
    let members = created(directory.path(), "raid5");
    let request = open_request(&members);
    let fence = Some(parlour_units::Duration::from_millis(50));
    let request = OpenRequest { tuning: Tuning { fence, ..request.tuning }, ..request };
    let served = serve_open(parlour_engine::open(&request).expect("it opens"), None);
    served.host.write(0, &[1; 4_096]).expect("it is written");
    served.host.flush().expect("it is flushed");
    let other = open_elsewhere(&members);
    let before = superblocks(&members);
    let (ended, story) = served.ended();
    let error = ended.expect_err("it does not end well");
    assert!(matches!(error, ServeError::Superseded), "{error}");
    assert!(error.to_string().contains("another server"), "{error}");
    assert!(story.contains(&other.to_string()), "{story}");
    assert_eq!(superblocks(&members), before, "nothing of its own is written over the other's");
    assert!(before.iter().all(|superblock| superblock.session() == other));
}
