//! Boots the lab's kernel. It runs one program on the host's files, and then ends.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::error::KernelError;
use super::init;

/// The pause between two checks whether the kernel has ended.
const PAUSE: Duration = Duration::from_millis(20);
/// The time that a kernel gets to end after a signal.
const GRACE: Duration = Duration::from_secs(3);

/// The parameters of a boot.
pub(super) struct Boot {
    pub(super) kernel: PathBuf,
    /// The program with its arguments.
    pub(super) program: Vec<OsString>,
    pub(super) mebibytes: u32,
    pub(super) limit: Duration,
}

/// How a boot ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The program ended with this exit status, in the shell's convention.
    Program(u8),
    /// The time limit was reached.
    Limit,
    /// The kernel died, or did not run the program.
    Kernel,
}

/// The results of a boot.
pub(super) struct Report {
    pub(super) end: End,
    /// The kernel's console output.
    pub(super) console: String,
}

impl Boot {
    /// Boots, passes on the program's output, and waits for the end.
    pub(super) fn carry_out(&self) -> Result<Report, KernelError> {
        let folder = TempDir::with_prefix("parlour-lab-");
        let folder = folder.map_err(KernelError::unusable(&env::temp_dir()))?;
        let (script, console) = (folder.path().join("init"), folder.path().join("console"));
        self.write_script(&script, folder.path()).map_err(KernelError::unusable(&script))?;
        let log = File::create(&console).map_err(KernelError::unusable(&console))?;
        let mut running = Running::start(self.command(folder.path(), &script).stderr(log))
            .map_err(KernelError::unusable(&self.kernel))?;
        let in_time = running.wait(self.limit);
        running.end(GRACE);
        let status = fs::read_to_string(folder.path().join("status")).unwrap_or_default();
        let console = String::from_utf8_lossy(&fs::read(&console).unwrap_or_default()).into_owned();
        Ok(Report { end: end(&status, in_time), console })
    }

    fn write_script(&self, path: &Path, folder: &Path) -> io::Result<()> {
        fs::write(path, init::script(folder, &env::current_dir()?, &self.program))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
    }

    fn command(&self, folder: &Path, script: &Path) -> Command {
        let mut command = Command::new(&self.kernel);
        command.arg(format!("mem={}M", self.mebibytes));
        command.args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw"]);
        // The program's output goes to the first terminal, the kernel's to the second.
        command.args(["console=tty1", "con=null", "con0=null,fd:1", "con1=null,fd:2"]);
        command.arg(joined("init=", script)).arg(joined("uml_dir=", folder));
        if let Some(place) = memory_place(folder, self.mebibytes) {
            command.env("TMPDIR", place);
        }
        command.stdin(Stdio::null());
        command
    }
}

/// The directory for the file with the guest's memory, if `/dev/shm` is too small (as in many
/// containers). Otherwise the file is in `/dev/shm`.
fn memory_place(folder: &Path, mebibytes: u32) -> Option<&Path> {
    let room = rustix::fs::statvfs("/dev/shm").map_or(0, |shm| shm.f_bavail * shm.f_frsize);
    (room < u64::from(mebibytes) << 20).then_some(folder)
}

fn joined(key: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(key);
    argument.push(path);
    argument
}

/// How the boot ended, from the status file of the init script.
fn end(status: &str, in_time: bool) -> End {
    match status.trim().parse() {
        Ok(status) => End::Program(status),
        Err(_) if in_time => End::Kernel,
        Err(_) => End::Limit,
    }
}

/// A running kernel: its process, and one process for each of its guest's. They are killed when
/// this value is dropped.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn start(command: &mut Command) -> io::Result<Running> {
        let child = command.process_group(0).spawn()?;
        Ok(Running { child, ended: false })
    }

    /// Waits for the end. Returns whether it came within the limit.
    fn wait(&mut self, limit: Duration) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < limit {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return true;
            }
            thread::sleep(PAUSE);
        }
        false
    }

    /// Kills the kernel if it has not ended, and its guest's processes, which do not all end with
    /// it.
    fn end(&mut self, grace: Duration) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let group = Pid::from_child(&self.child);
        // An error means that no process is left in the group.
        let _ = kill_process_group(group, Signal::TERM);
        self.wait(grace);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Running {
        Running::start(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn what_was_written_down_says_how_it_ended() {
        assert_eq!(end("0\n", true), End::Program(0));
        assert_eq!(end("137\n", true), End::Program(137));
        // The program ended, and the kernel hung only while switching the power off.
        assert_eq!(end("3\n", false), End::Program(3));
        assert_eq!(end("", true), End::Kernel);
        assert_eq!(end("", false), End::Limit);
    }

    #[test]
    fn what_takes_too_long_is_ended_with_its_children() {
        let mut running = shell("trap '' TERM; sleep 1000 & wait");
        assert!(!running.wait(Duration::ZERO));
        let group = Pid::from_child(&running.child);
        running.end(Duration::ZERO);
        let begin = Instant::now();
        // A killed process stays in the group until it is reaped.
        while kill_process_group(group, Signal::CONT).is_ok() {
            assert!(begin.elapsed() < Duration::from_secs(60), "a child lives on");
            thread::sleep(PAUSE);
        }
    }

    #[test]
    fn what_ends_by_itself_ends_in_time() {
        let mut running = shell("exit 3");
        assert!(running.wait(Duration::from_secs(60)));
    }
}
