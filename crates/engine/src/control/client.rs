//! The client's side of the control socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::message::Answer;
use super::{ControlError, Request, Response};
use crate::joining::absolute;

/// How long the client waits for an answer, except for commands whose answer waits for members.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first bytes that an NBD server sends.
const NBD_GREETING: &[u8] = b"NBDMAGIC";

/// Sends `request` to the server at `path`, and waits for the answer.
///
/// # Errors
/// If no server listens, or it refuses the request.
pub fn call(path: &Path, request: &Request) -> Result<Response, ControlError> {
    let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ControlError::NoServer { path: path.into() }
        }
        io::ErrorKind::PermissionDenied => ControlError::Forbidden { path: path.into() },
        _ => failed(path)(error),
    })?;
    let patience = (*request != Request::Stop).then_some(PATIENCE);
    stream.set_read_timeout(patience).map_err(failed(path))?;
    let line = serde_json::to_string(&resolved(request)).map_err(|error| failed(path)(error.into()))?;
    (&stream).write_all(format!("{line}\n").as_bytes()).map_err(failed(path))?;
    let mut answer = String::new();
    let mut reader = BufReader::new(&stream);
    // An NBD server sends its greeting first.
    if begins_with_greeting(&mut reader).map_err(unanswered(path))? {
        return Err(ControlError::Nbd { path: path.into() });
    }
    reader.read_line(&mut answer).map_err(unanswered(path))?;
    match serde_json::from_str(&answer) {
        Ok(Answer::Ok(ok)) => Ok(Response { ok }),
        Ok(Answer::Error(error)) => Err(ControlError::Refused(error)),
        Err(_) if answer.is_empty() => {
            Err(ControlError::Answer { path: path.into(), what: "it hung up".into() })
        }
        Err(error) => Err(ControlError::Answer { path: path.into(), what: error.to_string() }),
    }
}

/// Whether the first bytes are those of an NBD server. A signal may interrupt the wait for them.
fn begins_with_greeting(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            first => return Ok(first?.starts_with(NBD_GREETING)),
        }
    }
}

/// The request with an absolute path: the server may run in another directory.
fn resolved(request: &Request) -> Request {
    match request.clone() {
        Request::Add { path, force, journal } => Request::Add { path: absolute(&path), force, journal },
        Request::Replace { member, path, force } => Request::Replace { member, path: absolute(&path), force },
        other => other,
    }
}

/// The error for an answer that could not be read: a timeout or an I/O error.
fn unanswered(path: &Path) -> impl FnOnce(io::Error) -> ControlError + use<> {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            ControlError::Silent { path, seconds: PATIENCE.as_secs() }
        }
        _ => ControlError::Io { path, source },
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ControlError + use<> {
    let path = path.to_owned();
    move |source| ControlError::Io { path, source }
}
