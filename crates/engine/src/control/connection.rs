//! One client's connection. An error of a client affects only its own connection.

use parlour_units::words::bad_value;
use parlour_units::{Duration, Instant};
use rustix::event::epoll::EventFlags;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde_json::Value;

use super::message::{Answer, Request};

/// The longest line that a client may send.
const LONGEST_LINE: usize = 64 << 10;

/// A connection. Its next command is read when the answer to the last one has been sent.
#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    pub(super) generation: u64,
    input: Vec<u8>,
    output: Vec<u8>,
    /// A command is being carried out.
    waiting: bool,
    /// The client has closed its sending side.
    finished: bool,
    heard: Instant,
}

/// The connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Over;

/// What is wrong with a command, without the line and column.
fn wrong(error: &serde_json::Error) -> String {
    let told = error.to_string();
    let told = told.rsplit_once(" at line ").map_or(&*told, |(told, _)| told);
    bad_value(told).unwrap_or_else(|| told.to_owned())
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, generation: u64, now: Instant) -> Connection {
        Connection {
            socket,
            generation,
            input: Vec::new(),
            output: Vec::new(),
            waiting: false,
            finished: false,
            heard: now,
        }
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting
    }

    pub(super) fn last_heard(&self) -> Instant {
        self.heard
    }

    /// When the connection is closed because its client is silent. While the client waits for an
    /// answer it is not closed.
    pub(super) fn deadline(&self, silence: Duration) -> Option<Instant> {
        (!self.waiting).then(|| self.heard + silence)
    }

    /// The socket's events to wait for. A hang-up is always reported.
    pub(super) fn wanted(&self) -> EventFlags {
        if !self.output.is_empty() {
            EventFlags::OUT
        } else if self.waiting {
            EventFlags::empty()
        } else {
            EventFlags::IN
        }
    }

    pub(super) fn answer(&mut self, now: Instant, answer: Result<Value, String>) {
        self.waiting = false;
        self.heard = now;
        let answer = answer.map_or_else(Answer::Error, Answer::Ok);
        let line = serde_json::to_vec(&answer).unwrap_or_else(|error| {
            format!(r#"{{"error":"the answer cannot be written: {error}"}}"#).into_bytes()
        });
        self.output.extend(line);
        self.output.push(b'\n');
    }

    /// Sends and receives as much as possible without waiting, and passes the next command to
    /// `take`.
    pub(super) fn exchange(&mut self, now: Instant, mut take: impl FnMut(Request)) -> Result<(), Over> {
        loop {
            self.send()?;
            if self.waiting || !self.output.is_empty() {
                return self.check_peer();
            }
            if let Some(line) = self.next_line() {
                self.heard = now;
                match serde_json::from_slice(&line) {
                    Ok(request) => {
                        self.waiting = true;
                        take(request);
                    }
                    Err(error) => self.answer(now, Err(format!("not a command: {}", wrong(&error)))),
                }
                continue;
            }
            if self.finished || self.input.len() > LONGEST_LINE {
                return Err(Over);
            }
            if !self.receive()? {
                return Ok(());
            }
        }
    }

    pub(super) fn send(&mut self) -> Result<(), Over> {
        while !self.output.is_empty() {
            match send(&self.socket, &self.output, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => drop(self.output.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return Err(Over),
            }
        }
        Ok(())
    }

    /// Checks, while nothing is read from the client, that it is still connected.
    fn check_peer(&self) -> Result<(), Over> {
        let mut byte = [0];
        match recv(&self.socket, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            // A client that has only closed its sending side still gets its answer.
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_) => Err(Over),
        }
    }

    fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = self.input.iter().position(|byte| *byte == b'\n')?;
        let mut line: Vec<u8> = self.input.drain(..=end).collect();
        line.pop();
        Some(line)
    }

    /// Receives once. Returns whether anything was received.
    fn receive(&mut self) -> Result<bool, Over> {
        let mut bytes = [0; 4096];
        match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((0, _)) => {
                self.finished = true;
                Ok(true)
            }
            Ok((count, _)) => {
                self.input.extend(&bytes[..count]);
                Ok(true)
            }
            Err(Errno::INTR) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(_) => Err(Over),
        }
    }
}
