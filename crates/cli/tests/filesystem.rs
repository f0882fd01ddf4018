//! Tests that no file is lost if the array under a file system loses a member while files are
//! copied.
//!
//! The stack is ext4 on a loop device on nbdfuse on a served array.

mod common;
mod tools;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tools::{
    Array, DECLUSTERED_12, DECLUSTERED_24, PARITY_LOGGING, PYTHON, RAID5, RAID6, RAID10, Random, Row, Talker,
    demand, is_root, succeed, tool, until,
};

const MEBIBYTES: u64 = 128;

/// The source tree: directories, subdirectories of each, and files of each.
const DIRECTORIES: usize = 42;
const SUBDIRECTORIES: usize = 5;
const FILES: usize = 50;

/// The members that are lost: the first of them, or both.
const LOST: [usize; 2] = [1, 4];

/// Copies one directory after the other, flushes each to the disk, and prints a line for it. Then
/// continues to write until it is told to end, so that all further events happen while it writes.
const COPY: &str = "
    set -eu
    for directory in tree/*; do
        cp -a \"$directory\" mount/
        sync -f mount
        echo \"${directory#tree/}\"
    done
    while :; do
        rm -rf mount/again
        cp -a tree/00 mount/again
        sync -f mount
        [ ! -e enough ] || break
    done
    echo ended
";

/// An array attached as a file, as a block device, and as a mounted file system.
struct Attached<'a> {
    array: &'a Array,
    fuse: Child,
    device: Option<PathBuf>,
    mounted: bool,
}

impl<'a> Attached<'a> {
    /// Attaches the array as a loop device.
    fn new(array: &'a Array) -> Attached<'a> {
        let bench = &array.bench;
        let _ = File::create(bench.path("disk")).expect("a file to mount on");
        fs::create_dir_all(bench.path("mount")).expect("a directory to mount on");
        let _ = fs::remove_file(bench.path("fuse.pid"));
        let mut fuse = Command::new(demand("nbdfuse"));
        fuse.args(["--pidfile", "fuse.pid", "disk", &array.uri()])
            .current_dir(bench.path(""))
            .stdin(Stdio::null());
        let fuse = fuse.spawn().expect("it starts");
        let mut attached = Attached { array, fuse, device: None, mounted: false };
        until("nbdfuse serves its file", || {
            let ended = attached.fuse.try_wait().expect("it can be waited for");
            assert!(ended.is_none(), "nbdfuse ended: {ended:?}");
            // The file is written when the mount exists.
            bench.path("fuse.pid").metadata().ok().filter(|file| file.len() > 0)
        });
        // The page cache between the file system and nbdfuse does not support O_DIRECT.
        let losetup = ["--find", "--show", "--direct-io=off", "disk"];
        attached.device = Some(succeed(tool(bench, "losetup").args(losetup)).trim().into());
        attached
    }

    fn device(&self) -> &PathBuf {
        self.device.as_ref().expect("it is attached")
    }

    fn mount(&mut self) {
        self.mounted = true;
        succeed(
            tool(&self.array.bench, "mount")
                .args(["-t", "ext4", "-o", "noatime"])
                .arg(self.device())
                .arg("mount"),
        );
    }

    fn unmount(&mut self) {
        succeed(tool(&self.array.bench, "umount").arg("mount"));
        self.mounted = false;
    }

    /// Detaches everything, so that none of this system's caches holds written data.
    fn detach(mut self) {
        if self.mounted {
            self.unmount();
        }
        succeed(tool(&self.array.bench, "losetup").arg("--detach").arg(self.device()));
        self.device = None;
        // The kernel closes the file after it has removed the device.
        until("nbdfuse's file is unmounted", || {
            tool(&self.array.bench, "umount")
                .arg("disk")
                .output()
                .ok()
                .filter(|output| output.status.success())
        });
        let status = until("nbdfuse ends", || self.fuse.try_wait().expect("it can be waited for"));
        assert!(status.success(), "nbdfuse: {status}");
    }
}

impl Drop for Attached<'_> {
    /// After a failed test: when nbdfuse has ended, nothing waits for the array, and everything can
    /// be unmounted.
    fn drop(&mut self) {
        if matches!(self.fuse.try_wait(), Ok(Some(_))) && self.device.is_none() {
            return;
        }
        let _ = self.fuse.kill();
        let _ = self.fuse.wait();
        let bench = &self.array.bench;
        if self.mounted {
            let _ = tool(bench, "umount").arg("mount").output();
            let _ = tool(bench, "umount").args(["--lazy", "mount"]).output();
        }
        if let Some(device) = &self.device {
            let _ = tool(bench, "losetup").arg("--detach").arg(device).output();
        }
        let _ = tool(bench, "umount").args(["--lazy", "disk"]).output();
    }
}

/// Makes the source tree, and the list of its files' SHA-256 hashes.
fn make_tree(array: &Array) {
    let mut random = Random::new(7);
    let mut files = 0;
    for directory in 0..DIRECTORIES {
        for subdirectory in 0..SUBDIRECTORIES {
            let path = array.bench.path(&format!("tree/{directory:02}/{subdirectory}"));
            fs::create_dir_all(&path).expect("a directory");
            for file in 0..FILES {
                let length = 100 + random.next() as usize % 8092;
                fs::write(path.join(format!("{file}.c")), random.bytes(length)).expect("a file");
                files += 1;
            }
        }
    }
    assert!(files > 10_000, "{files} files");
    let list = "cd tree && find . -type f -print0 | xargs -0 sha256sum > ../list && wc -l < ../list";
    assert_eq!(succeed(tool(&array.bench, "sh").args(["-c", list])).trim(), files.to_string());
}

/// Checks that every file exists with its content, and that there is no other file.
fn verify_tree(array: &Array) {
    succeed(tool(&array.bench, "sh").args(["-c", "cd mount && sha256sum --check --quiet --strict ../list"]));
    succeed(tool(&array.bench, "diff").args(["-r", "tree/00", "mount/again"]));
    let count = succeed(
        tool(&array.bench, "sh").args(["-c", "find mount -type f -not -path 'mount/again/*' | wc -l"]),
    );
    assert_eq!(count.trim(), (DIRECTORIES * SUBDIRECTORIES * FILES).to_string());
}

/// Attaches the array again, checks the file system without changing it, and then checks every
/// file.
fn verify_from_disk(array: &Array) {
    let mut attached = Attached::new(array);
    succeed(tool(&array.bench, "fsck.ext4").args(["-f", "-n"]).arg(attached.device()));
    attached.mount();
    verify_tree(array);
    attached.detach();
}

/// Whether an administrator fails the member, or the server detects the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Yes,
    No,
}

/// Removes members, all at once.
fn lose(array: &Array, told: Told, lost: &[usize]) {
    if told == Told::Yes {
        lost.iter().for_each(|place| array.fail(*place));
    }
    for place in lost {
        let path = array.bench.path(&format!("member{place}"));
        OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(0)).expect("it is truncated");
    }
    let failed = |status: &Value| lost.iter().all(|place| Array::state(status, *place) == "failed");
    let status = array.until("the members are excluded", failed);
    assert_eq!(status["lost"], false, "{status}");
    let text = array.bench.succeed("status .");
    assert!(text.contains("state: degraded"), "{text}");
}

fn written(status: &Value) -> u64 {
    status["counters"]["host_writes"].as_u64().expect("a number")
}

fn no_file_is_lost(row: Row, told: Told) {
    if !is_root("a file system keeps its files when a member is lost") {
        return;
    }
    let lost = if row.name == "raid6" { &LOST[..] } else { &LOST[..1] };
    let mut array = Array::new(row, MEBIBYTES, "", "");
    make_tree(&array);
    let mut attached = Attached::new(&array);
    let mkfs = ["-q", "-F", "-b", "4096", "-N", "16384", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
    succeed(tool(&array.bench, "mkfs.ext4").args(mkfs).arg(attached.device()));
    attached.mount();
    // If the test fails, this process is dropped before the file system that it writes to.
    let mut copy = Talker::start(tool(&array.bench, "sh").args(["-c", COPY]));
    copy.hear(DIRECTORIES / 3);
    lose(&array, told, lost);
    copy.hear(DIRECTORIES / 6);
    let before = written(&array.status());
    for place in lost {
        array.bench.files(&format!("fresh{place}"), MEBIBYTES);
        array.bench.succeed(&format!("replace {place} fresh{place} -a ."));
    }
    array.until_whole();
    copy.hear(DIRECTORIES - DIRECTORIES / 3 - DIRECTORIES / 6);
    array.until("writing goes on", |status| written(status) > before);
    fs::write(array.bench.path("enough"), "").expect("a file");
    assert_eq!(copy.end().last().map(String::as_str), Some("ended"));
    verify_tree(&array);
    attached.detach();
    verify_from_disk(&array);
    array.assert_consistent();
    // The rebuilt data is read when other members fail, also after a restart of the server.
    array.stop();
    array.serve("");
    lost.iter().for_each(|place| array.fail(place - 1));
    verify_from_disk(&array);
    array.close();
}

#[test]
fn files_on_a_parity_log_outlive_a_member_that_was_failed() {
    no_file_is_lost(PARITY_LOGGING, Told::Yes);
}

#[test]
fn files_on_a_raid5_outlive_a_member_that_was_failed() {
    no_file_is_lost(RAID5, Told::Yes);
}

#[test]
fn files_on_a_raid10_outlive_a_member_that_was_failed() {
    no_file_is_lost(RAID10, Told::Yes);
}

#[test]
fn files_on_12_members_outlive_two_that_were_failed() {
    no_file_is_lost(DECLUSTERED_12, Told::Yes);
}

#[test]
fn files_on_24_members_outlive_two_that_go_unannounced() {
    no_file_is_lost(DECLUSTERED_24, Told::No);
}

#[test]
fn files_on_a_raid6_outlive_two_members_that_go_unannounced() {
    no_file_is_lost(RAID6, Told::No);
}

#[test]
fn files_on_a_parity_log_outlive_a_member_that_goes_unannounced() {
    no_file_is_lost(PARITY_LOGGING, Told::No);
}

#[test]
fn files_on_a_raid5_outlive_a_member_that_goes_unannounced() {
    no_file_is_lost(RAID5, Told::No);
}

#[test]
fn files_on_a_raid10_outlive_a_member_that_goes_unannounced() {
    no_file_is_lost(RAID10, Told::No);
}

/// The disk space that all members use, in bytes.
fn taken(array: &Array) -> u64 {
    let entries =
        fs::read_dir(array.bench.path("")).expect("a directory").map(|entry| entry.expect("an entry"));
    let members = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("member"));
    members.map(|member| member.metadata().expect("a file").blocks() * 512).sum()
}

/// Runs a line of Python on the array, whose handle is `h`.
fn nbdsh(array: &Array, line: &str) {
    let connected = format!("import nbd\nh = nbd.NBD()\nh.connect_uri('{}')\n{line}", array.uri());
    succeed(tool(&array.bench, PYTHON).args(["-c", &connected]));
}

fn discard_all(array: &Array) {
    // The length of a request has 32 bits.
    nbdsh(array, "for at in range(0, h.get_size(), 1 << 30): h.trim(min(1 << 30, h.get_size() - at), at)");
    nbdsh(array, "h.flush()");
}

/// Discards unwritten members of 512 MiB, writes to them, and discards them again.
fn what_is_discarded_takes_no_space(row: Row) {
    let array = Array::new(row, 512, "", "");
    let fresh = taken(&array);
    discard_all(&array);
    let discarded = taken(&array);
    assert!(discarded < fresh + (8 << 20), "{}: {fresh} bytes before, {discarded} after", row.name);
    nbdsh(&array, "for at in range(0, 96 << 20, 1 << 20): h.pwrite(bytearray(b'parlour!') * (1 << 17), at)");
    nbdsh(&array, "h.flush()");
    let written = taken(&array);
    assert!(written > discarded + (96 << 20), "{}: {discarded} before, {written} after", row.name);
    discard_all(&array);
    let given_back = taken(&array);
    // The parity log may still hold some of the written data.
    assert!(given_back + (96 << 20) < written, "{}: {written} before, {given_back} after", row.name);
    nbdsh(&array, "assert h.pread(1 << 20, 0) == bytearray(1 << 20)");
    array.assert_consistent();
    array.close();
}

#[test]
fn what_is_discarded_takes_no_space_on_a_parity_log() {
    what_is_discarded_takes_no_space(PARITY_LOGGING);
}

#[test]
fn what_is_discarded_takes_no_space_on_a_raid5() {
    what_is_discarded_takes_no_space(RAID5);
}

#[test]
fn a_new_file_system_on_a_new_parity_log_takes_little_space() {
    if !is_root("a new file system takes little space") {
        return;
    }
    let array = Array::new(PARITY_LOGGING, 512, "", "");
    let attached = Attached::new(&array);
    succeed(tool(&array.bench, "mkfs.ext4").args(["-q", "-F", "-b", "4096"]).arg(attached.device()));
    attached.detach();
    let taken = taken(&array);
    // The journal's room for writes, 1/64 of each of five members, is used in turn.
    let journal = 5 * (512 << 20) / 64;
    assert!(taken < (64 << 20) + journal, "{taken} bytes");
    array.assert_consistent();
    array.close();
}
