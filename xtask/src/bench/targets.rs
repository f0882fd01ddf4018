//! The targets of the benches: Parlour's organizations, and well-known servers for comparison.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::workspace;

/// A target, which is one row of the table.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// An array served by Parlour.
    Parlour(Array),
    /// nbdkit's memory plugin: an NBD server without an array.
    NbdkitMemory,
    /// nbdkit's file plugin, with a file in the members' directory.
    NbdkitFile,
    /// btrfs over loop devices: profile, number of devices, MiB of each.
    Btrfs(&'static str, u32, u32),
}

/// The options of a new array.
#[derive(Debug, Clone)]
pub(super) struct Array {
    /// Its name in the table.
    pub(super) name: String,
    pub(super) members: u32,
    /// The size of each member, in MiB.
    pub(super) mib: u64,
    /// Options of `parlour create`.
    pub(super) options: Vec<String>,
}

/// Why a target did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    /// A required program failed.
    #[error("{program}: {message}")]
    Program {
        /// The program.
        program: String,
        /// Its message.
        message: String,
    },
    /// A file could not be created.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// How fio accesses a target.
#[derive(Debug)]
pub(super) enum Address {
    /// An NBD URI.
    Nbd(String),
    /// A file, opened with O_DIRECT.
    File(PathBuf),
}

/// A running target. It is stopped and removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Served {
    name: String,
    directory: PathBuf,
    address: Address,
    server: Option<Child>,
    parlour: bool,
    loops: Vec<String>,
    mounted: Option<PathBuf>,
}

/// The members' accesses and bytes since the start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Accesses {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Array {
    /// An array of the named organization.
    pub(super) fn new(organization: &str, members: u32, mib: u64) -> Array {
        let options = vec!["--organization".into(), organization.into()];
        Array { name: organization.into(), members, mib, options }
    }

    /// Adds options; `name` distinguishes the array in the table.
    pub(super) fn with(mut self, name: &str, options: &[&str]) -> Array {
        self.name = format!("{}, {name}", self.name);
        self.options.extend(options.iter().map(|option| (*option).into()));
        self
    }

    /// Creates the array on new members in `directory`, and returns their paths.
    pub(super) fn create(&self, directory: &Path) -> Result<Vec<PathBuf>, TargetError> {
        let members: Vec<PathBuf> =
            (0..self.members).map(|place| directory.join(format!("member{place}"))).collect();
        let size = format!("{}MiB", self.mib);
        run(parlour().arg("create").args(&self.options).args(["--size", &size]).args(&members))?;
        Ok(members)
    }
}

impl Target {
    /// All targets, the default organization first.
    pub(super) fn all() -> Vec<Target> {
        let mut all = vec![
            Target::Parlour(Array::new("parity-logging", 5, 256)),
            Target::NbdkitMemory,
            Target::NbdkitFile,
            Target::Parlour(Array::new("simple", 5, 192)),
            Target::Parlour(Array::new("raid0", 5, 192)),
            Target::Parlour(Array::new("raid1", 2, 640)),
            Target::Parlour(Array::new("raid01", 4, 384)),
            Target::Parlour(Array::new("raid10", 4, 384)),
            Target::Parlour(Array::new("raid4", 5, 192)),
            Target::Parlour(Array::new("raid5", 5, 192)),
            Target::Parlour(Array::new("raid5", 5, 192).with("journal", &["--consistency", "journal"])),
            Target::Parlour(Array::new("raid6", 6, 192)),
            Target::Parlour(Array::new("raid6", 6, 192).with("bitmap", &["--consistency", "bitmap"])),
        ];
        if rustix::process::geteuid().is_root() {
            all.push(Target::Btrfs("raid1", 2, 1_024));
            all.push(Target::Btrfs("raid5", 5, 512));
        }
        all
    }

    /// Its name in the table.
    pub(super) fn name(&self) -> String {
        match self {
            Target::Parlour(array) => array.name.clone(),
            Target::NbdkitMemory => "nbdkit memory".into(),
            Target::NbdkitFile => "nbdkit file".into(),
            Target::Btrfs(profile, ..) => format!("btrfs {profile}"),
        }
    }

    /// Starts the target with fresh members below `place`.
    pub(super) fn start(&self, place: &Path) -> Result<Served, TargetError> {
        let directory = place.join("run");
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory)
            .map_err(|source| TargetError::File { path: directory.clone(), source })?;
        let socket = directory.join("nbd.sock");
        let mut served = Served {
            name: self.name(),
            address: Address::Nbd(format!("nbd+unix:///?socket={}", socket.display())),
            server: None,
            parlour: matches!(self, Target::Parlour(..)),
            loops: Vec::new(),
            mounted: None,
            directory,
        };
        match self {
            Target::Parlour(array) => served.start_parlour(array, &socket)?,
            Target::NbdkitMemory => served.start_nbdkit(&socket, &["memory", "1G"])?,
            Target::NbdkitFile => {
                let file = served.sparse("file", 1_024)?;
                served.start_nbdkit(&socket, &["file", &file.display().to_string()])?;
            }
            Target::Btrfs(profile, devices, size) => served.mount_btrfs(profile, *devices, *size)?,
        }
        Ok(served)
    }
}

impl Served {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    fn start_parlour(&mut self, array: &Array, socket: &Path) -> Result<(), TargetError> {
        let members = array.create(&self.directory)?;
        let mut serve = parlour();
        serve.arg("serve").arg("--unix").arg(socket).args(&members).stdout(Stdio::piped());
        let mut child = spawn(&mut serve)?;
        let lines = BufReader::new(child.stdout.take().expect("its output is piped"));
        let ready = lines.lines().map_while(Result::ok).any(|line| line == "ready");
        self.server = Some(child);
        if ready {
            Ok(())
        } else {
            Err(TargetError::Program {
                program: "parlour serve".into(),
                message: "it did not become ready".into(),
            })
        }
    }

    fn start_nbdkit(&mut self, socket: &Path, plugin: &[&str]) -> Result<(), TargetError> {
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["--foreground", "--unix"]).arg(socket).args(plugin);
        self.server = Some(spawn(&mut nbdkit)?);
        // nbdkit prints nothing when it is ready. It is ready when its socket accepts connections.
        let mut tries = 0;
        while std::os::unix::net::UnixStream::connect(socket).is_err() {
            tries += 1;
            if tries > 1_000 {
                return Err(TargetError::Program {
                    program: "nbdkit".into(),
                    message: "it did not listen".into(),
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Ok(())
    }

    fn sparse(&self, name: &str, mib: u64) -> Result<PathBuf, TargetError> {
        let path = self.directory.join(name);
        let made = std::fs::File::create(&path).and_then(|file| file.set_len(mib << 20));
        made.map_err(|source| TargetError::File { path: path.clone(), source })?;
        Ok(path)
    }

    fn mount_btrfs(&mut self, profile: &str, devices: u32, size: u32) -> Result<(), TargetError> {
        for device in 0..devices {
            let file = self.sparse(&format!("device{device}"), size.into())?;
            let name = run(Command::new("losetup").args(["--find", "--show"]).arg(file))?;
            self.loops.push(name.trim().into());
        }
        run(Command::new("mkfs.btrfs").args(["-q", "-f", "-d", profile, "-m", "raid1"]).args(&self.loops))?;
        let mount = self.directory.join("mnt");
        std::fs::create_dir(&mount).map_err(|source| TargetError::File { path: mount.clone(), source })?;
        run(Command::new("btrfs").args(["device", "scan"]).args(&self.loops))?;
        run(Command::new("mount").args(["-t", "btrfs"]).arg(&self.loops[0]).arg(&mount))?;
        self.address = Address::File(mount.join("file"));
        self.mounted = Some(mount);
        Ok(())
    }

    /// The smallest number of reintegrations of any region of the parity log; `None` without a log.
    pub(super) fn least_reintegrations(&self) -> Option<u64> {
        // (Arrays that record updates and have no logs tell zero.)
        let status = self.status().filter(|status| status["organization"] == "parity-logging")?;
        status["log"]["least_reintegrations"].as_u64()
    }

    fn status(&self) -> Option<Value> {
        if !self.parlour {
            return None;
        }
        serde_json::from_str(&self.status_text().ok()?).ok()
    }

    /// The output of `parlour status --json`.
    pub(super) fn status_text(&self) -> Result<String, TargetError> {
        run(parlour().args(["status", "--json"]).arg(&self.directory))
    }

    /// The members' accesses so far, of all classes.
    pub(super) fn accesses(&self) -> Option<Accesses> {
        let status = self.status()?;
        let mut sum = Accesses::default();
        for member in status["members"].as_array()? {
            for class in member["traffic"].as_array()? {
                let number = |key: &str| class[key].as_u64().unwrap_or(0);
                sum.count += number("reads") + number("writes");
                sum.bytes += number("read_bytes") + number("write_bytes");
            }
        }
        Some(sum)
    }

    /// The server's current anonymous memory, in bytes. The table has the maximum over all jobs.
    pub(super) fn peak_memory(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.server.as_ref()?.id())).ok()?;
        // Memory that is mapped from a file (the program) or shared (members on tmpfs) does not
        // count.
        let field = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        Some(field.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1_024)
    }

    /// The command line of another subcommand for this target's array.
    pub(super) fn command(&self, subcommand: &str) -> Command {
        let mut command = parlour();
        command.args(subcommand.split_whitespace()).arg("--array").arg(&self.directory);
        command
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
        if let Some(mount) = &self.mounted {
            let _ = Command::new("umount").arg(mount).status();
        }
        for device in &self.loops {
            let _ = Command::new("losetup").arg("--detach").arg(device).status();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The program under test, as built by `cargo build --release`.
pub(super) fn parlour() -> Command {
    Command::new(workspace::target().join("release/parlour"))
}

/// Starts a program without input and without error output.
pub(super) fn spawn(command: &mut Command) -> Result<Child, TargetError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let spawned = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
    spawned.map_err(|error| TargetError::Program { program, message: error.to_string() })
}

/// Runs a program to its end, and returns its output.
pub(super) fn run(command: &mut Command) -> Result<String, TargetError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |message: String| TargetError::Program { program: program.clone(), message };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).trim().into()))
    }
}
