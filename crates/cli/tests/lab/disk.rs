//! Disks with faults on command: device-mapper targets over loop devices over files in the guest's
//! memory.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use crate::common::Workbench;
use crate::tools::{demand, succeed, until};

const SECTOR: u64 = 512;

/// A disk at `/dev/mapper/NAME`. It is never removed: the guest's kernel ends with the test.
pub(crate) struct Disk {
    name: String,
    below: PathBuf,
    sectors: u64,
}

impl Disk {
    /// A disk without faults.
    pub(crate) fn new(bench: &Workbench, name: &str, mebibytes: u64) -> Disk {
        let file = bench.path(name);
        File::create(&file).and_then(|file| file.set_len(mebibytes << 20)).expect("a sparse file");
        let mut losetup = Command::new(demand("losetup"));
        let below = succeed(losetup.args(["--find", "--show"]).arg(file)).trim().into();
        let disk = Disk { name: name.to_owned(), below, sectors: (mebibytes << 20) / SECTOR };
        disk.dmsetup(&["create", name, "--table", &disk.table(Kind::Linear)]);
        disk
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from("/dev/mapper").join(&self.name)
    }

    /// Changes the kind of the disk, between two accesses.
    pub(crate) fn turn_into(&self, kind: Kind) {
        self.dmsetup(&["load", &self.name, "--table", &self.table(kind)]);
        self.dmsetup(&["suspend", "--nolockfs", &self.name]);
        self.resume();
    }

    /// From now on no access completes, including those under way.
    pub(crate) fn suspend(&self) {
        self.dmsetup(&["suspend", "--nolockfs", "--noflush", &self.name]);
    }

    /// Lets all waiting accesses continue.
    pub(crate) fn resume(&self) {
        self.dmsetup(&["resume", &self.name]);
    }

    /// Waits until the disk is closed, also by the kernel for a process that has ended.
    pub(crate) fn until_closed(&self) {
        let count = ["info", "--columns", "--noheadings", "-o", "open", &self.name];
        until("the disk is closed", || (self.dmsetup(&count).trim() == "0").then_some(()));
    }

    /// Sends a message to the target, and returns its answer.
    pub(crate) fn message(&self, words: &str) -> String {
        let mut arguments = vec!["message", &self.name, "0"];
        arguments.extend(words.split_whitespace());
        self.dmsetup(&arguments)
    }

    /// The line of the device-mapper table for a kind of disk.
    fn table(&self, kind: Kind) -> String {
        let below = self.below.display();
        let target = match kind {
            Kind::Linear => format!("linear {below} 0"),
            Kind::Dust => format!("dust {below} 0 {SECTOR}"),
            Kind::Delay { milliseconds } => format!("delay {below} 0 {milliseconds}"),
            // Always in its "down" state: with periods of time, the runs of a test would differ.
            Kind::ErrorWrites => format!("flakey {below} 0 0 3600 1 error_writes"),
            Kind::DropWrites => format!("flakey {below} 0 0 3600 1 drop_writes"),
        };
        format!("0 {} {target}", self.sectors)
    }

    fn dmsetup(&self, arguments: &[&str]) -> String {
        // Only dmsetup itself creates and removes the device nodes.
        succeed(Command::new(demand("dmsetup")).env("DM_DISABLE_UDEV", "1").args(arguments))
    }
}

/// The behaviour of a disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// No faults.
    Linear,
    /// Sectors named by a message cannot be read until they are written.
    Dust,
    /// Every access is delayed.
    Delay { milliseconds: u32 },
    /// Every write fails.
    ErrorWrites,
    /// Every write is answered, but not carried out.
    DropWrites,
}
