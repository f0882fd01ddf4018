//! PostgreSQL on a file system on an array, in the lab: it loses its disk without warning, and is
//! asked afterwards for all that it has acknowledged.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::common::Workbench;
use crate::tools::{Array, succeed, tool, until};

/// Where Debian has PostgreSQL's programs.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// Where PostgreSQL listens.
const SOCKETS: &str = "/run/postgresql";
/// A small write-ahead log, so that checkpoints come often.
const SETTINGS: &str =
    "max_wal_size = 32MB\nmin_wal_size = 32MB\nshared_buffers = 16MB\nlisten_addresses = ''\n";

/// The clients of a load.
const CLIENTS: i64 = 8;
/// A load goes on until more than this number of transactions were acknowledged.
const SOME: i64 = 100;

/// A database in `mnt/data`, on ext4 on an array.
pub(crate) struct Database {
    bench: Workbench,
    /// The array's socket.
    socket: PathBuf,
    /// The number of loads so far: each has a directory `load1`, `load2`, … for its logs.
    loads: usize,
}

impl Database {
    /// Makes a file system with a database in it, and starts the database.
    pub(crate) fn create(array: &Array) -> Database {
        let socket = array.bench.path("nbd.sock");
        let database = Database { bench: Workbench::new(), socket, loads: 0 };
        let bench = &database.bench;
        // PostgreSQL refuses to run as root.
        fs::set_permissions(bench.path(""), Permissions::from_mode(0o755)).expect("the bench is ours");
        fs::create_dir_all(SOCKETS).expect("a directory for sockets");
        fs::create_dir(bench.path("mnt")).expect("a directory to mount on");
        database.own(SOCKETS);
        database.attach();
        database.run("mkfs.ext4", "-q /dev/loop0");
        database.run("mount", "/dev/loop0 mnt");
        fs::create_dir(bench.path("mnt/data")).expect("a directory in the file system");
        database.own("mnt/data");
        succeed(database.program("initdb").args(["-D", "mnt/data", "--data-checksums"]));
        let settings = bench.path("mnt/data/postgresql.conf");
        let usual = fs::read_to_string(&settings).expect("initdb writes it");
        fs::write(settings, usual + SETTINGS).expect("it can be written");
        database.start_program();
        succeed(database.program("pgbench").args(["-q", "-i", "-s", "2", "postgres"]));
        database.ask("create extension amcheck");
        database
    }

    /// Starts the database anew: the file system and then PostgreSQL recover.
    pub(crate) fn recover(&self) {
        self.attach();
        self.run("mount", "/dev/loop0 mnt");
        // (The process that it names is gone.)
        let _ = fs::remove_file(self.bench.path("mnt/data/postmaster.pid"));
        self.start_program();
    }

    /// Starts clients that note each transaction that was acknowledged. Returns when there are
    /// some.
    pub(crate) fn load(&mut self) -> Child {
        self.loads += 1;
        let folder = format!("load{}", self.loads);
        fs::create_dir(self.bench.path(&folder)).expect("a directory for logs");
        self.own(&folder);
        let mut clients = self.program("pgbench");
        clients.args(["-n", "-l", "-c", &CLIENTS.to_string(), "-T", "1000", "postgres"]);
        clients.current_dir(self.bench.path(&folder)).stdout(Stdio::null()).stderr(Stdio::null());
        let before = self.number("select count(*) from pgbench_history");
        let clients = clients.spawn().expect("pgbench starts");
        until("some transactions are over", || {
            (self.number("select count(*) from pgbench_history") > before + SOME + CLIENTS).then_some(())
        });
        clients
    }

    /// The array is gone: ends all that used it.
    pub(crate) fn lose_array(&self, mut clients: Child) {
        self.run("nbd-client", "-d /dev/nbd0");
        // (What is not running any more cannot be killed.)
        let _ = tool(&self.bench, "pkill").args(["-KILL", "-x", "postgres"]).status();
        // They lose their connections, and write down the rest of what they have noted.
        let status = clients.wait().expect("it is ours");
        assert!(!status.success(), "they were cut off");
        self.detach_file_system();
    }

    /// Stops the database, and lets go of the array.
    pub(crate) fn stop(self) {
        succeed(self.program("pg_ctl").args(["-D", "mnt/data", "-m", "fast", "-w", "stop"]));
        self.detach_file_system();
        self.run("nbd-client", "-d /dev/nbd0");
    }

    /// Checks that all acknowledged transactions are there, as a whole each, and that tables and
    /// indexes are sound.
    pub(crate) fn check(&self) {
        let there = self.number("select count(*) from pgbench_history");
        let acknowledged = self.acknowledged();
        let least = SOME * self.loads as i64;
        assert!(acknowledged > least, "{acknowledged} were noted: fewer than were waited for");
        assert!(there >= acknowledged, "{acknowledged} were acknowledged, and {there} are there");
        let sum = |column: &str, table: &str| self.number(&format!("select sum({column}) from {table}"));
        let of_history = sum("delta", "pgbench_history");
        assert_eq!(sum("abalance", "pgbench_accounts"), of_history);
        assert_eq!(sum("tbalance", "pgbench_tellers"), of_history);
        assert_eq!(sum("bbalance", "pgbench_branches"), of_history);
        succeed(self.program("pg_amcheck").args(["-d", "postgres", "--heapallindexed"]));
    }

    /// The number of transactions that all loads have noted.
    fn acknowledged(&self) -> i64 {
        let logs = (1..=self.loads).flat_map(|load| {
            fs::read_dir(self.bench.path(&format!("load{load}"))).expect("a directory for logs")
        });
        let lines = logs.map(|log| fs::read(log.expect("an entry").path()).expect("a log"));
        lines.map(|log| log.iter().filter(|&&byte| byte == b'\n').count() as i64).sum()
    }

    /// (The loop device's own thread sends the requests: 6.12's NBD client loses its connection
    /// when a thread that sends gets a signal, and PostgreSQL's get many.)
    fn attach(&self) {
        self.run("nbd-client", &format!("-unix {} /dev/nbd0 -b 4096", self.socket.display()));
        self.run("losetup", "--direct-io=on /dev/loop0 /dev/nbd0");
    }

    /// (PostgreSQL removes its file of the process before the process ends, and works in `mnt`
    /// until then.)
    fn detach_file_system(&self) {
        until("PostgreSQL has ended", || {
            let mut search = tool(&self.bench, "pgrep");
            let status = search.args(["-x", "postgres"]).stdout(Stdio::null()).status();
            (!status.expect("pgrep starts").success()).then_some(())
        });
        self.run("umount", "mnt");
        self.run("losetup", "-d /dev/loop0");
    }

    fn start_program(&self) {
        let log = format!("{SOCKETS}/log");
        let mut start = self.program("pg_ctl");
        start.args(["-D", "mnt/data", "-l", &log, "-w", "start"]).stdout(Stdio::null());
        let status = start.status().expect("pg_ctl starts");
        assert!(status.success(), "{}", fs::read_to_string(log).unwrap_or_default());
    }

    fn number(&self, query: &str) -> i64 {
        self.ask(query).trim().parse().unwrap_or_else(|_| panic!("{query}: no number"))
    }

    fn ask(&self, query: &str) -> String {
        succeed(self.program("psql").args(["-At", "-c", query, "postgres"]))
    }

    fn own(&self, path: &str) {
        self.run("chown", &format!("postgres {path}"));
    }

    fn run(&self, program: &str, arguments: &str) {
        succeed(tool(&self.bench, program).args(arguments.split_whitespace()));
    }

    /// One of PostgreSQL's programs, run by the user `postgres`.
    fn program(&self, name: &str) -> Command {
        let mut command = tool(&self.bench, "setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        command.arg(PathBuf::from(PROGRAMS).join(name));
        command
    }
}
