//! A server under test: starts it, measures the time to its first answer, queries its status, and
//! kills it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::targets::{TargetError, parlour, spawn};

/// A `parlour serve` process with a connection to its control socket.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    socket: PathBuf,
    control: BufReader<UnixStream>,
    /// The time of its start.
    began: Instant,
    /// The capacity for clients' data, in bytes.
    pub(super) capacity: u64,
}

impl Server {
    /// Starts the server, and waits until clients can connect.
    pub(super) fn start(members: &[PathBuf], socket: &Path) -> Result<Server, TargetError> {
        let began = Instant::now();
        let mut command = parlour();
        command.args(["serve", "--json", "--unix"]).arg(socket).args(members).stdout(Stdio::piped());
        let mut child = spawn(&mut command)?;
        let mut line = String::new();
        let read = BufReader::new(child.stdout.take().expect("its output is piped")).read_line(&mut line);
        read.map_err(|error| failed("its first line", &error))?;
        let ready: Value = serde_json::from_str(&line).unwrap_or_default();
        let (Some(control), Some(capacity)) = (ready["control"].as_str(), ready["capacity"].as_u64()) else {
            let _ = child.wait();
            return Err(failed("it did not become ready", &line));
        };
        let control = UnixStream::connect(control).map_err(|error| failed("its control socket", &error))?;
        let control = BufReader::new(control);
        Ok(Server { child, socket: socket.into(), control, began, capacity })
    }

    /// The NBD URI.
    pub(super) fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    /// The time since its start.
    pub(super) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Its peak memory so far (VmHWM), in bytes.
    pub(super) fn peak_memory(&self) -> Result<u64, TargetError> {
        let path = PathBuf::from(format!("/proc/{}/status", self.child.id()));
        let text = std::fs::read_to_string(&path).map_err(|source| TargetError::File { path, source })?;
        let field = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = field.and_then(|field| field.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        kib.map(|kib| kib * 1_024).ok_or_else(|| failed("its memory", &text))
    }

    /// Its status.
    pub(super) fn status(&mut self) -> Result<Value, TargetError> {
        let mut line = String::new();
        let asked = self.control.get_mut().write_all(b"{\"command\":\"status\"}\n");
        asked.and_then(|()| self.control.read_line(&mut line)).map_err(|error| failed("status", &error))?;
        let answer: Value = serde_json::from_str(&line).map_err(|error| failed("status", &error))?;
        Ok(answer["ok"].clone())
    }

    /// Reads the block at `at`, through a new connection.
    pub(super) fn read(&self, at: u64) -> Result<(), TargetError> {
        read_block(&self.socket, at).map_err(|error| failed("a read", &error))
    }

    /// Kills the server with SIGKILL.
    pub(super) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn failed(what: &str, error: &impl ToString) -> TargetError {
    TargetError::Program {
        program: "parlour serve".into(),
        message: format!("{what}: {}", error.to_string()),
    }
}

const BLOCK: u32 = 4_096;
/// The length of the server's greeting: two magic numbers and its flags.
const GREETING: usize = 8 + 8 + 2;
/// The length of the answer to an export name: size and flags.
const EXPORT: usize = 8 + 2;
/// The length of a simple reply: magic number, error, cookie.
const REPLY: usize = 4 + 4 + 8;

/// A minimal NBD client: selects the export and reads one block.
fn read_block(socket: &Path, at: u64) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.read_exact(&mut [0; GREETING])?;
    // Fixed newstyle without padding; option 1, the export with the empty name.
    let mut hello = Vec::from(3u32.to_be_bytes());
    hello.extend(b"IHAVEOPT");
    hello.extend(1u32.to_be_bytes());
    hello.extend(0u32.to_be_bytes());
    stream.write_all(&hello)?;
    stream.read_exact(&mut [0; EXPORT])?;
    // No flags, command 0 (read), cookie 0.
    let mut request = Vec::from(0x2560_9513u32.to_be_bytes());
    request.extend([0; 2 + 2 + 8]);
    request.extend(at.to_be_bytes());
    request.extend(BLOCK.to_be_bytes());
    stream.write_all(&request)?;
    let mut reply = [0; REPLY];
    stream.read_exact(&mut reply)?;
    if reply[4..8] != [0; 4] {
        return Err(io::Error::other(format!("error {:?}", &reply[4..8])));
    }
    stream.read_exact(&mut [0; BLOCK as usize])
}
