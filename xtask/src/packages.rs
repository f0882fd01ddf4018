//! The Debian packages for the end-to-end tests, the lab's kernel, and benches.
//!
//! A package counts as installed if its purpose is fulfilled: its programs are found, its module
//! can be imported. So a tool from another source is as good, and the package database is not
//! queried.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{self, CommandError};

/// Why tools are missing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackageError {
    /// Only root may install packages.
    #[error("{purpose} lacks {lacks}; install what it needs with:\n\n    {line}\n")]
    NotRoot { purpose: &'static str, lacks: String, line: String },
    /// `apt-get` failed.
    #[error(transparent)]
    Apt(#[from] CommandError),
    /// The packages were installed, but the tool still does not work.
    #[error("{packages} installed, yet {purpose} lacks {lacks}; is another version first in PATH?")]
    StillMissing { purpose: &'static str, packages: String, lacks: String },
}

/// The purpose of some packages.
pub(crate) struct Purpose {
    name: &'static str,
    tools: &'static [Tool],
}

/// The tests of `cargo xtask test`, without the kernel that some of them need.
pub(crate) static TESTS: Purpose = Purpose { name: "the end-to-end suite", tools: &TOOLS };
/// Building the lab's kernel.
pub(crate) static KERNEL: Purpose = Purpose { name: "the kernel's build", tools: &BUILD_TOOLS };

/// The bench of codes.
pub(crate) static CODES: Purpose = Purpose { name: "the bench of codes", tools: &LIBRARIES };

/// The bench of update records.
pub(crate) static RECORDS: Purpose = Purpose { name: "the bench of records", tools: &DATABASES };

/// A tool, and the package that contains it.
struct Tool {
    package: &'static str,
    probe: Probe,
}

/// How to check for a tool.
enum Probe {
    /// A program of this name is found.
    Program(&'static str),
    /// A file exists.
    File(&'static str),
    /// fio has an NBD engine; not every build of fio has one.
    FioSpeaksNbd,
    /// The system's Python can import libnbd's module. Another Python in PATH would not find it.
    PythonImportsNbd,
}

static TOOLS: [Tool; 25] = [
    program("fio", "fio"),
    Tool { package: "fio", probe: Probe::FioSpeaksNbd },
    program("libnbd-bin", "nbdinfo"),
    program("libnbd-bin", "nbdcopy"),
    program("libnbd-bin", "nbdfuse"),
    program("python3-libnbd", "nbdsh"),
    Tool { package: "python3-libnbd", probe: Probe::PythonImportsNbd },
    program("nbdkit", "nbdkit"),
    program("qemu-utils", "qemu-img"),
    program("qemu-utils", "qemu-io"),
    program("e2fsprogs", "mkfs.ext4"),
    program("e2fsprogs", "e2fsck"),
    program("xfsprogs", "mkfs.xfs"),
    program("xfsprogs", "xfs_repair"),
    program("btrfs-progs", "mkfs.btrfs"),
    program("btrfs-progs", "btrfs"),
    program("mount", "mount"),
    program("mount", "losetup"),
    program("chromium", "chromium"),
    program("dmsetup", "dmsetup"),
    program("mdadm", "mdadm"),
    program("nbd-client", "nbd-client"),
    Tool { package: "postgresql-15", probe: Probe::File("/usr/lib/postgresql/15/bin/pg_amcheck") },
    program("procps", "pkill"),
    program("git", "git"),
];

static BUILD_TOOLS: [Tool; 9] = [
    Tool { package: "linux-source-6.12", probe: Probe::File("/usr/src/linux-source-6.12.tar.xz") },
    program("xz-utils", "xz"),
    program("gcc", "gcc"),
    Tool { package: "libc6-dev", probe: Probe::File("/usr/include/stdlib.h") },
    program("make", "make"),
    program("flex", "flex"),
    program("bison", "bison"),
    program("bc", "bc"),
    program("perl", "perl"),
];

static LIBRARIES: [Tool; 1] = [Tool { package: "libisal2", probe: Probe::File(ISAL) }];

static DATABASES: [Tool; 2] = [program("sqlite3", "sqlite3"), program("git", "git")];

const ISAL: &str = if cfg!(target_arch = "aarch64") {
    "/usr/lib/aarch64-linux-gnu/libisal.so.2"
} else {
    "/usr/lib/x86_64-linux-gnu/libisal.so.2"
};

const fn program(package: &'static str, name: &'static str) -> Tool {
    Tool { package, probe: Probe::Program(name) }
}

impl Probe {
    fn succeeds(&self) -> bool {
        match self {
            Self::Program(name) => is_program(name),
            Self::File(path) => Path::new(path).is_file(),
            Self::FioSpeaksNbd => {
                output_of("fio", &["--enghelp"]).is_some_and(|engines| lists(&engines, "nbd"))
            }
            Self::PythonImportsNbd => output_of("/usr/bin/python3", &["-c", "import nbd"]).is_some(),
        }
    }

    /// The name of the missing tool, if the probe fails.
    fn lack(&self) -> &'static str {
        match self {
            Self::Program(name) | Self::File(name) => name,
            Self::FioSpeaksNbd => "fio's nbd engine",
            Self::PythonImportsNbd => "Python's module nbd",
        }
    }
}

/// The packages that are still missing.
pub(crate) struct Wanted {
    purpose: &'static Purpose,
    missing: Vec<&'static Tool>,
}

/// Checks all tools of a purpose. Returns an error if some are missing and this user cannot install
/// them.
pub(crate) fn look(purpose: &'static Purpose) -> Result<Wanted, PackageError> {
    let missing = purpose.missing();
    if !missing.is_empty() && !rustix::process::geteuid().is_root() {
        let (lacks, line) = (lacks(&missing), line_to_run(&missing));
        return Err(PackageError::NotRoot { purpose: purpose.name, lacks, line });
    }
    Ok(Wanted { purpose, missing })
}

impl Wanted {
    /// Installs the missing packages.
    pub(crate) fn install(&self) -> Result<(), PackageError> {
        let Wanted { purpose, missing } = self;
        if missing.is_empty() {
            return Ok(());
        }
        eprintln!("{} lacks {}", purpose.name, lacks(missing));
        command::run(&mut apt_get(&["update"]))?;
        let mut install = apt_get(&["install", "--yes", "--no-install-recommends"]);
        command::run(install.args(packages(missing)))?;
        let still = purpose.missing();
        if still.is_empty() {
            return Ok(());
        }
        let packages = words(packages(&still));
        Err(PackageError::StillMissing { purpose: purpose.name, packages, lacks: lacks(&still) })
    }
}

/// An `apt-get` command that asks no questions and reads no terminal.
fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

impl Purpose {
    fn missing(&self) -> Vec<&'static Tool> {
        self.tools.iter().filter(|tool| !tool.probe.succeeds()).collect()
    }
}

fn packages(tools: &[&Tool]) -> BTreeSet<&'static str> {
    tools.iter().map(|tool| tool.package).collect()
}

fn lacks(tools: &[&Tool]) -> String {
    tools.iter().map(|tool| tool.probe.lack()).collect::<Vec<_>>().join(", ")
}

fn line_to_run(tools: &[&Tool]) -> String {
    format!("sudo apt-get update && sudo apt-get install --yes {}", words(packages(tools)))
}

fn words(packages: BTreeSet<&str>) -> String {
    packages.into_iter().collect::<Vec<_>>().join(" ")
}

/// Whether a program is found. Debian installs the file systems' tools in directories that are not
/// in an ordinary user's PATH, so these are searched, too.
fn is_program(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).any(|file| is_executable(&file))
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The output of a program, if it succeeds.
fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a line of `listing` is `name`, apart from white space.
fn lists(listing: &str, name: &str) -> bool {
    listing.lines().any(|line| line.trim() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_to_run_names_each_package_once() {
        let tools: Vec<&Tool> =
            TOOLS.iter().filter(|tool| tool.package.starts_with("qemu") || tool.package == "fio").collect();
        assert_eq!(tools.len(), 4);
        assert_eq!(line_to_run(&tools), "sudo apt-get update && sudo apt-get install --yes fio qemu-utils");
        assert_eq!(lacks(&tools), "fio, fio's nbd engine, qemu-img, qemu-io");
    }

    #[test]
    fn a_program_is_found_by_its_name() {
        assert!(is_program("sh"));
        assert!(!is_program("no-such-program"));
    }

    #[test]
    fn a_probe_that_cannot_run_fails() {
        assert_eq!(output_of("no-such-program", &[]), None);
        assert_eq!(output_of("false", &[]), None);
        assert_eq!(output_of("echo", &["here"]).as_deref(), Some("here\n"));
    }

    #[test]
    fn an_engine_is_listed_only_by_its_whole_name() {
        assert!(lists("Available IO engines:\n\tlibaio\n\tnbd\n", "nbd"));
        assert!(!lists("Available IO engines:\n\tnbdx\n", "nbd"));
    }
}
