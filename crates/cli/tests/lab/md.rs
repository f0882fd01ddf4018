//! Linux's own RAID 6, in the lab: the bytes that it writes on its members.

use std::fs::{self, File, OpenOptions};
use std::io::Write;

use crate::common::Workbench;
use crate::tools::{succeed, tool};

/// Where the array is while it runs.
const DEVICE: &str = "/dev/md0";

/// Makes a RAID 6 of this layout, in the words of mdadm, with chunks of 64 KiB; writes `data` to
/// it; and returns the content of its members. Its data starts where they do.
pub(crate) fn members_of_raid6(layout: &str, members: usize, mebibytes: u64, data: &[u8]) -> Vec<Vec<u8>> {
    let bench = Workbench::new();
    let names: Vec<String> = (0..members).map(|number| format!("md{number}")).collect();
    let loops: Vec<String> = names.iter().map(|name| as_device(&bench, name, mebibytes)).collect();
    let run = |program: &str, arguments: &str, devices: &[String]| {
        let mut command = tool(&bench, program);
        // (There is no udev here to wait for.)
        command.env("MDADM_NO_UDEV", "1").args(arguments.split_whitespace()).args(devices);
        succeed(&mut command);
    };
    // Whole stripes are written, so what was there does not matter.
    let create = format!(
        "--create {DEVICE} --run --assume-clean --metadata=1.0 --bitmap=none --level=6 --chunk=64 \
         --layout={layout} --raid-devices={members}"
    );
    run("mdadm", &create, &loops);
    let mut array = OpenOptions::new().write(true).open(DEVICE).expect("md has made it");
    array.write_all(data).and_then(|()| array.sync_all()).expect("md takes it");
    drop(array);
    run("mdadm", &format!("--stop {DEVICE}"), &[]);
    run("losetup", "--detach", &loops);
    names.iter().map(|name| fs::read(bench.path(name)).expect("a member")).collect()
}

/// A loop device over a new file.
fn as_device(bench: &Workbench, name: &str, mebibytes: u64) -> String {
    File::create(bench.path(name)).and_then(|file| file.set_len(mebibytes << 20)).expect("a sparse file");
    succeed(tool(bench, "losetup").args(["--find", "--show", name])).trim().to_owned()
}
