//! Tests with members that do not answer (a network block device whose server pauses, mounted as a
//! file through FUSE), and with members that appear late or return.

mod common;
mod tools;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use common::{Served, Workbench};
use serde_json::Value;
use tools::{demand, is_root, json, script, succeed, until};

/// A file on an NBD server, mounted as a file: `fuse/member` in the bench's directory.
struct Mounted {
    mount: PathBuf,
    fuse: Child,
    nbdkit: Child,
}

impl Mounted {
    fn new(bench: &Workbench, server: &[&str]) -> Mounted {
        let mount = bench.path("fuse");
        std::fs::create_dir(&mount).expect("a directory");
        let mut nbdkit = Command::new(demand("nbdkit"));
        nbdkit.current_dir(bench.path("")).args(["--foreground", "-U", "backing.sock"]).args(server);
        let nbdkit = nbdkit.spawn().expect("nbdkit starts");
        until("nbdkit listens", || bench.path("backing.sock").exists().then_some(()));
        let mut fuse = Command::new(demand("nbdfuse"));
        fuse.current_dir(bench.path(""))
            .arg("fuse/member")
            .arg(format!("nbd+unix:///?socket={}", bench.path("backing.sock").display()));
        let fuse = fuse.spawn().expect("nbdfuse starts");
        let member = mount.join("member");
        until("the file is there", || member.metadata().is_ok_and(|found| found.len() > 0).then_some(()));
        Mounted { mount, fuse, nbdkit }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.mount).status();
        let _ = self.fuse.kill();
        let _ = self.fuse.wait();
        let _ = self.nbdkit.kill();
        let _ = self.nbdkit.wait();
    }
}

/// A mounted file whose server can be paused.
struct Paused {
    control: PathBuf,
    _mounted: Mounted,
}

impl Paused {
    fn new(bench: &Workbench, mebibytes: u64) -> Paused {
        bench.files("backing", mebibytes);
        let control = bench.path("pause");
        let named = format!("pause-control={}", control.display());
        let mounted = Mounted::new(bench, &["--filter=pause", "file", "backing", &named]);
        until("the filter listens", || control.exists().then_some(()));
        Paused { control, _mounted: mounted }
    }

    /// Waits until the server has ended while its member still hangs. Returns its standard error
    /// output.
    fn end_of(&self, served: Served) -> String {
        end_of(served, || self.command("r"))
    }

    /// "p" pauses and "r" resumes; the answer is the same letter in upper case.
    fn command(&self, letter: &str) {
        let mut control = UnixStream::connect(&self.control).expect("the filter listens");
        control.write_all(letter.as_bytes()).expect("it takes this");
        let mut answer = [0; 1];
        control.read_exact(&mut answer).expect("it answers");
        assert_eq!(answer[0], letter.to_uppercase().as_bytes()[0]);
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        // Pending accesses must be answered before the file can be unmounted.
        if let Ok(mut control) = UnixStream::connect(&self.control) {
            let _ = control.write_all(b"r");
            let _ = control.read_exact(&mut [0; 1]);
        }
    }
}

/// Whether a process of this program that nobody has waited for has ended.
fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("nobody has waited for it");
    stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"))
}

fn until_ended(process: u32) {
    until("the process has ended", || has_ended(process).then_some(()));
}

/// The server's last words if the system holds it until a member's access is answered.
const HELD: &str = "this process may last until the system has answered";

/// Waits until the server has ended while its member still hangs, and then lets the member answer.
fn end_of(served: Served, resume: impl FnOnce()) -> String {
    // A thread of the system that is in an access to the member holds the process until the access
    // is answered: as a zombie, or, if the access is io_uring's, in the midst of its exit.
    until("the server has ended", || (has_ended(served.id()) || served.told().contains(HELD)).then_some(()));
    resume();
    let (status, error) = served.end();
    assert!(status.success(), "{status}: {error}");
    error
}

/// Writes blocks of `byte` to the whole array, flushes, and reads them back.
fn fill(bench: &Workbench, byte: u8) {
    succeed(script(bench, "filled.py").args(["nbd.sock", &byte.to_string()]));
}

fn status(bench: &Workbench) -> Value {
    json(&bench.succeed("status m0 --json"))
}

fn until_whole(bench: &Workbench) {
    until("the array is whole", || {
        let status = status(bench);
        let members = status["members"].as_array().expect("there are members");
        let active = members.iter().all(|member| member["state"] == "active");
        (active && status["rebuild"].is_null() && status["resync"].is_null()).then_some(())
    });
}

/// The organizations, with the members that the tests use.
const ROWS: [(&str, &str); 3] = [
    ("raid1", "m0 fuse/member m2"),
    ("raid5", "m0 fuse/member m2 m3"),
    ("parity-logging", "m0 fuse/member m2 m3 m4"),
];

/// An array in sync and with data. One of its members can be paused.
fn serve(organization: &str, members: &str, options: &str) -> (Workbench, Paused, Served) {
    let bench = Workbench::new();
    let paused = Paused::new(&bench, 64);
    bench.files("m0 m2 m3 m4", 64);
    bench.succeed(&format!("create -o {organization} {members}"));
    let served = bench.serve(&format!("serve {members} --unix nbd.sock {options}"));
    fill(&bench, 1);
    until_whole(&bench);
    (bench, paused, served)
}

/// A new member replaces the one that hung, and the content is right.
fn replace(bench: &Workbench, byte: u8) {
    bench.files("fresh", 64);
    bench.succeed("replace 1 fresh -a m0 --wait");
    until_whole(bench);
    let report = json(&bench.succeed("scrub -a m0 --json"));
    assert_eq!((&report["mismatches"], &report["complete"]), (&Value::from(0), &Value::Bool(true)));
    succeed(script(bench, "filled.py").args(["nbd.sock", &byte.to_string(), "read"]));
}

#[test]
fn writes_go_on_when_a_member_has_hung_for_as_long_as_is_allowed_and_it_is_replaced() {
    if !is_root("members that hang, through FUSE") {
        return;
    }
    for (organization, members) in ROWS {
        let (bench, paused, served) = serve(organization, members, "--access-timeout 2s");
        paused.command("p");
        fill(&bench, 2);
        assert_eq!(status(&bench)["members"][1]["state"], "failed", "{organization}");
        replace(&bench, 2);
        served.signal("TERM");
        let told = paused.end_of(served);
        assert!(told.contains("it did not answer in time"), "{organization}: {told}");
    }
}

#[test]
fn a_hung_member_that_is_failed_keeps_nobody_waiting_and_the_server_stops() {
    if !is_root("members that hang and are failed, through FUSE") {
        return;
    }
    for (organization, members) in ROWS {
        let (bench, paused, served) = serve(organization, members, "--access-timeout 1000000s");
        paused.command("p");
        let mut writer = script(&bench, "filled.py");
        let mut writer = writer.args(["nbd.sock", "2"]).spawn().expect("it starts");
        until("accesses are under way", || {
            status(&bench)["accesses_in_flight"].as_u64().filter(|count| *count > 0)
        });
        bench.succeed("fail 1 -a m0");
        assert!(writer.wait().expect("it ends").success(), "{organization}");
        // The system has not answered yet, and never does while the server runs.
        bench.succeed("stop -a m0");
        paused.end_of(served);
        let others = members.replace("fuse/member ", "");
        let served = bench.serve(&format!("serve {others} --unix nbd.sock"));
        replace(&bench, 2);
        served.stop();
    }
}

#[test]
fn a_server_with_a_hung_member_ends_when_it_is_told_to() {
    if !is_root("servers that end though a member hangs, through FUSE") {
        return;
    }
    let (organization, members) = ROWS[1];
    let (bench, paused, served) = serve(organization, members, "--access-timeout 2s");
    paused.command("p");
    let mut writer = script(&bench, "filled.py");
    let mut writer = writer.args(["nbd.sock", "2"]).spawn().expect("it starts");
    until("accesses are under way", || {
        status(&bench)["accesses_in_flight"].as_u64().filter(|count| *count > 0)
    });
    served.signal("TERM");
    paused.end_of(served);
    // The client may or may not have finished in time.
    let _ = writer.wait();
}

/// A server in which the reads that satisfy `$reads` wait as long as the fifo `stuck` exists.
macro_rules! stuck {
    ($reads:literal) => {
        [
            "eval",
            "get_size=stat -c %s backing",
            concat!(
                "pread=if ",
                $reads,
                " && [ -p stuck ]; then : <stuck; fi; \
                 dd if=backing iflag=skip_bytes,count_bytes skip=$4 count=$3 bs=64k status=none"
            ),
            "can_write=exit 0",
            "pwrite=dd of=backing oflag=seek_bytes conv=notrunc seek=$4 bs=64k status=none",
            "flush=exit 0",
        ]
    };
}

const STUCK: [&str; 6] = stuck!("true");
const STUCK_BEHIND_SUPERBLOCKS: [&str; 6] = stuck!("[ $4 -ge 65536 ] && [ $4 -lt 66060288 ]");

/// Lets those reads continue, and all later ones.
fn free(bench: &Workbench) {
    std::fs::rename(bench.path("stuck"), bench.path("free")).expect("it is there");
    // Opening the fifo for writing wakes the reads that wait to open it.
    let fifo = std::fs::File::options().read(true).write(true).open(bench.path("free"));
    drop(fifo.expect("a fifo"));
}

/// Serves arrays with a hanging member, and replaces the member. The server must report `reason`
/// for it.
fn is_done_without(server: &[&str], reason: &str) {
    for (organization, members) in ROWS {
        let bench = Workbench::new();
        bench.files("m0 backing m2 m3 m4", 64);
        let whole = members.replace("fuse/member", "backing");
        bench.succeed(&format!("create -o {organization} {whole}"));
        let served = bench.serve(&format!("serve {whole} --unix nbd.sock"));
        fill(&bench, 1);
        until_whole(&bench);
        served.stop();
        succeed(Command::new("mkfifo").arg(bench.path("stuck")));
        let mounted = Mounted::new(&bench, server);
        let served = bench.serve(&format!("serve {members} --unix nbd.sock --access-timeout 2s"));
        assert_eq!(status(&bench)["members"][1]["state"], "failed", "{organization}");
        succeed(script(&bench, "filled.py").args(["nbd.sock", "1", "read"]));
        replace(&bench, 1);
        served.signal("TERM");
        let told = end_of(served, || free(&bench));
        assert!(told.contains(reason), "{organization}: {told}");
        drop(mounted);
    }
}

#[test]
fn a_member_that_hangs_in_an_opening_is_done_without() {
    if is_root("a member that hangs in an opening, through FUSE") {
        is_done_without(&STUCK_BEHIND_SUPERBLOCKS, "cannot be read in time");
    }
}

#[test]
fn a_member_that_hangs_before_the_opening_is_done_without() {
    if is_root("a member that hangs before the opening, through FUSE") {
        is_done_without(&STUCK, "cannot be opened in time");
    }
}

/// Runs a server with a hanging member, and returns its message when it gives up.
fn gives_up(bench: &Workbench, server: &[&str], arguments: &str) -> String {
    succeed(Command::new("mkfifo").arg(bench.path("stuck")));
    let mounted = Mounted::new(bench, server);
    let mut command = bench.command(&format!("{arguments} --unix nbd.sock --access-timeout 2s --wait 0s"));
    let mut server = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("parlour starts");
    until_ended(server.id());
    free(bench);
    let mut error = String::new();
    server.stderr.take().expect("a pipe").read_to_string(&mut error).expect("text");
    assert_eq!(server.wait().expect("it has ended").code(), Some(1), "{error}");
    drop(mounted);
    error
}

/// The hanging file may be a member of an array, so no array is created over it.
#[test]
fn up_makes_no_array_in_a_directory_whose_only_file_hangs() {
    if !is_root("a member that hangs in a directory, through FUSE") {
        return;
    }
    let bench = Workbench::new();
    bench.files("m0 backing", 64);
    bench.succeed("create -o raid1 m0 backing");
    let before = std::fs::read(bench.path("backing")).expect("a file");
    let error = gives_up(&bench, &STUCK, "up --dir fuse");
    assert!(error.contains("fuse/member") && error.contains("cannot be opened in time"), "{error}");
    assert!(std::fs::read(bench.path("backing")).expect("a file") == before);
}

/// The superblock that was read before the member hung counts: a member that is stale according to
/// it is not trusted.
#[test]
fn a_stale_member_is_not_served_because_the_newer_one_hangs_in_the_opening() {
    if !is_root("a member that hangs in an opening, through FUSE") {
        return;
    }
    let bench = Workbench::new();
    bench.files("m0 backing", 64);
    bench.succeed("create -o raid1 m0 backing");
    let served = bench.serve("serve m0 backing --unix nbd.sock");
    fill(&bench, 1);
    until_whole(&bench);
    bench.succeed("fail 0 -a backing");
    fill(&bench, 2);
    served.stop();
    let error = gives_up(&bench, &STUCK_BEHIND_SUPERBLOCKS, "serve m0 fuse/member");
    assert!(error.contains("cannot be read in time") && error.contains("m0"), "{error}");
    let served = bench.serve("serve m0 backing --unix nbd.sock --wait 0s");
    succeed(script(&bench, "filled.py").args(["nbd.sock", "2", "read"]));
    served.stop();
}

/// The members that answer lead to the server. (The command ends, but stays a zombie until its read
/// is answered, as the server does.)
#[test]
fn the_status_of_a_served_array_is_shown_though_a_named_member_hangs() {
    if !is_root("a member that hangs, through FUSE") {
        return;
    }
    let (organization, members) = ROWS[0];
    let (bench, paused, served) = serve(organization, members, "--access-timeout 2s");
    paused.command("p");
    fill(&bench, 2);
    let statuses = ["m0 fuse/member m2", "m0 fuse"].map(|named| {
        let mut command = bench.command(&format!("status {named} --json"));
        command.stdout(Stdio::piped()).spawn().expect("parlour starts")
    });
    statuses.iter().for_each(|status| until_ended(status.id()));
    served.signal("TERM");
    paused.end_of(served);
    for status in statuses {
        let output = status.wait_with_output().expect("it has ended");
        assert!(output.status.success(), "{}", output.status);
        let status = json(&String::from_utf8(output.stdout).expect("text"));
        assert_eq!(status["members"][1]["state"], "failed", "{status}");
    }
}

#[test]
fn a_member_that_is_late_is_waited_for() {
    let bench = Workbench::new();
    bench.succeed("create -o raid5 --size 16MiB m0 m1 m2");
    std::fs::rename(bench.path("m1"), bench.path("late")).expect("it is there");
    for named in [".", "m0 m1 m2"] {
        let mut command = bench.command(&format!("serve {named} --unix nbd.sock --wait 1000000s"));
        std::fs::create_dir_all(bench.path("elsewhere")).expect("a directory");
        let hidden = bench.path("elsewhere/m1");
        let _ = std::fs::rename(bench.path("late"), &hidden);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("parlour starts");
        let mut told = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        told.read_line(&mut line).expect("text");
        assert!(line.contains("waiting for member 1, up to 1000000 s (--wait)"), "{line}");
        std::fs::rename(&hidden, bench.path("m1")).expect("it is there");
        let served = Served::wait(child);
        assert_eq!(status(&bench)["members"][1]["state"], "active");
        served.stop();
        std::fs::rename(bench.path("m1"), bench.path("late")).expect("it is there");
    }
    // A member that the array has already excluded is not waited for.
    std::fs::rename(bench.path("late"), bench.path("elsewhere/m1")).expect("it is there");
    let served = bench.serve("serve . --unix nbd.sock --wait 0s");
    fill(&bench, 1);
    served.stop();
    let served = bench.serve("serve . --unix nbd.sock --wait 1000000s");
    served.stop();
}

#[test]
fn a_member_that_comes_while_the_array_is_served_is_taken_back_by_itself() {
    for named in [".", "m0 m1 m2"] {
        let bench = Workbench::new();
        bench.succeed("create -o raid5 --size 16MiB m0 m1 m2");
        std::fs::create_dir(bench.path("elsewhere")).expect("a directory");
        std::fs::rename(bench.path("m1"), bench.path("elsewhere/m1")).expect("it is there");
        let served = bench.serve(&format!("serve {named} --unix nbd.sock --wait 0s"));
        fill(&bench, 3);
        assert_eq!(status(&bench)["members"][1]["state"], "failed");
        std::fs::rename(bench.path("elsewhere/m1"), bench.path("m1")).expect("it is there");
        until_whole(&bench);
        let report = json(&bench.succeed("scrub -a m0 --json"));
        assert_eq!(report["mismatches"], 0, "{report}");
        let told = served.stop();
        assert!(told.contains("is back as member 1"), "{told}");
    }
}
