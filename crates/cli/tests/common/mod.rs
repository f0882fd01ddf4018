//! The `parlour` program, run in a temporary directory for each test.

#![allow(dead_code, reason = "each test file uses its part of this")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A limit in seconds: every command that ends by itself needs less.
const LONGEST: &str = "400";
/// The time after which a program counts as hanging. No test depends on its length.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(20);

/// Calls `look` until it returns a value.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    watch(PATIENCE, look).unwrap_or_else(|| panic!("timed out waiting until {what}"))
}

/// Calls `look` until it returns a value. `None` if it does not for as long as `patience`.
pub(crate) fn watch<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begin.elapsed() >= patience {
            return found;
        }
        thread::sleep(PAUSE);
    }
}

/// A directory to work in.
pub(crate) struct Workbench {
    directory: TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) error: String,
}

impl Workbench {
    pub(crate) fn new() -> Workbench {
        Workbench { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A `parlour` command in this directory. The arguments are separated by blanks.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        self.with_arguments(Command::new(env!("CARGO_BIN_EXE_parlour")), arguments)
    }

    /// Runs `parlour` to its end. A command that does not end (such as a server that should have
    /// refused to start) is killed, with code 124.
    pub(crate) fn run(&self, arguments: &str) -> Answer {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", LONGEST, env!("CARGO_BIN_EXE_parlour")]);
        let output = self.with_arguments(command, arguments).output();
        Answer::of(output.expect("timeout, of coreutils, starts"))
    }

    fn with_arguments(&self, mut command: Command, arguments: &str) -> Command {
        command.args(arguments.split_whitespace()).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Runs `parlour`, which must succeed, and returns its output.
    pub(crate) fn succeed(&self, arguments: &str) -> String {
        let answer = self.run(arguments);
        assert_eq!(answer.code, 0, "parlour {arguments}: {}", answer.error);
        answer.out
    }

    /// Runs `parlour`, which must fail with `code` and a one-line message, and returns the message.
    pub(crate) fn fail(&self, arguments: &str, code: i32) -> String {
        let answer = self.run(arguments);
        assert_eq!(answer.code, code, "parlour {arguments}: {} {}", answer.out, answer.error);
        assert_eq!(answer.out, "", "parlour {arguments}");
        let line = answer.error.strip_suffix('\n').expect("the line ends").to_owned();
        assert!(line.starts_with("parlour: ") && !line.contains('\n'), "parlour {arguments}: {line}");
        line
    }

    /// Runs `parlour` like [`fail`](Self::fail), and checks that no file in this directory changes.
    /// For arrays that are not being served.
    pub(crate) fn refuse(&self, arguments: &str, code: i32) -> String {
        let before = self.contents();
        let line = self.fail(arguments, code);
        assert!(before == self.contents(), "parlour {arguments}: something was changed");
        line
    }

    /// Makes sparse files.
    pub(crate) fn files(&self, names: &str, mebibytes: u64) {
        for name in names.split_whitespace() {
            let file = std::fs::File::create(self.path(name)).expect("a file");
            file.set_len(mebibytes << 20).expect("a sparse file");
        }
    }

    /// The names and contents of all files, without sockets.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        collect(self.directory.path(), &mut found);
        found.sort();
        found
    }

    /// Starts `parlour serve` (or `up`) and waits until it is ready.
    pub(crate) fn serve(&self, arguments: &str) -> Served {
        self.serve_telling(arguments, Stdio::piped())
    }

    /// The same, started by a shell. `how` ends with what executes the command: `exec`, or another.
    pub(crate) fn serve_under(&self, how: &str, arguments: &str) -> Served {
        let mut command = Command::new("sh");
        let script = format!("{how} \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_parlour")]);
        let mut command = self.with_arguments(command, arguments);
        Served::wait(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sh starts"))
    }

    /// The same, with another standard error.
    pub(crate) fn serve_telling(&self, arguments: &str, error: Stdio) -> Served {
        let mut command = self.command(arguments);
        Served::wait(command.stdout(Stdio::piped()).stderr(error).spawn().expect("parlour starts"))
    }
}

fn collect(directory: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            collect(&entry.path(), found);
        } else if kind.is_file() {
            found.push((entry.path(), std::fs::read(entry.path()).expect("a file")));
        }
    }
}

impl Answer {
    fn of(output: Output) -> Answer {
        Answer {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("text"),
            error: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

/// What a process writes to a pipe, read by a thread.
struct Collected {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Collected {
    fn of(pipe: ChildStderr) -> Collected {
        let text = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&text);
        let reader = thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut text = kept.lock().expect("nobody panics with it");
                text.push_str(&line);
                text.push('\n');
            }
        });
        Collected { text, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        self.text.lock().expect("nobody panics with it").clone()
    }

    /// Waits until all writers have closed the pipe.
    fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("it does not panic");
        }
        self.so_far()
    }
}

/// A running server. It is killed when dropped.
pub(crate) struct Served {
    child: Child,
    /// Open while the server runs, because it writes to it.
    out: BufReader<ChildStdout>,
    /// `None` if the test reads it itself, or if it goes elsewhere.
    error: Option<Collected>,
    /// Its output until it was ready.
    pub(crate) greeting: String,
}

impl Served {
    /// Starts a server through another command, and waits until it is ready.
    pub(crate) fn start(command: &mut Command) -> Served {
        Served::wait(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"))
    }

    /// Waits until a started server is ready.
    pub(crate) fn wait(mut child: Child) -> Served {
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut greeting = String::new();
        loop {
            let mut line = String::new();
            if out.read_line(&mut line).expect("text") == 0 {
                let mut error = String::new();
                let _ = child.stderr.take().map(|mut pipe| pipe.read_to_string(&mut error));
                panic!("the server ended before it was ready: {greeting}{error}");
            }
            let ready = line == "ready\n" || line.contains(r#""event":"ready""#);
            greeting += &line;
            if ready {
                let error = child.stderr.take().map(Collected::of);
                return Served { child, out, error, greeting };
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, by its name (`INT`, `TERM`, `KILL`).
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(status.expect("kill is there").success());
    }

    /// Its standard error output so far.
    pub(crate) fn told(&self) -> String {
        self.error.as_ref().map(Collected::so_far).unwrap_or_default()
    }

    /// Waits for the end. Returns the exit status and the standard error output.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let status = until("the server ends", || self.child.try_wait().expect("it can be waited for"));
        (status, self.error.as_mut().map(Collected::whole).unwrap_or_default())
    }

    /// Stops the server with SIGTERM, and returns its standard error output.
    pub(crate) fn stop(self) -> String {
        self.signal("TERM");
        let (status, error) = self.end();
        assert!(status.success(), "{status}: {error}");
        error
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The process has ended already if the test passed.
        let _ = self.child.kill();
        // The kernel keeps a process until its accesses are answered.
        watch(Duration::from_secs(20), || self.child.try_wait().transpose());
    }
}
