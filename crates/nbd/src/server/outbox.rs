//! What is to be sent on one connection: copied bytes, and payloads that stay in the backend's
//! buffers.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};

use super::backend::{Backend, BufferHandle};

/// A payload up to this many bytes is copied, and its credit returns at once. Up to 8 KiB it makes
/// no difference to speed.
const INLINE: usize = 1 << 10;
/// Pieces in one system call.
const PIECES: usize = 128;
/// Sent bytes that are worth moving the rest to the front.
const COMPACT: usize = 64 << 10;

/// Sent after the bytes before `at`.
#[derive(Clone, Copy, Debug)]
struct Payload {
    at: usize,
    buffer: BufferHandle,
    length: usize,
    sent: usize,
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Append replies here.
    pub(super) bytes: Vec<u8>,
    sent: usize,
    payloads: VecDeque<Payload>,
    /// Bytes of the payloads, sent ones included as long as their buffer is kept.
    held: u64,
}

/// What came of sending.
pub(super) struct Sent {
    /// Bytes that the socket took.
    pub(super) bytes: usize,
    /// Whether all is sent; otherwise the socket is full.
    pub(super) drained: bool,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len() && self.payloads.is_empty()
    }

    /// Copied bytes not yet sent.
    pub(super) fn copied(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Payloads not yet sent.
    pub(super) fn payloads(&self) -> usize {
        self.payloads.len()
    }

    /// Bytes of payload whose buffers are kept until they are sent.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Queues the first `length` bytes of `buffer`, to be released when they are sent.
    pub(super) fn push_payload(&mut self, buffer: BufferHandle, length: u32, backend: &mut impl Backend) {
        let length = length as usize;
        if length <= INLINE {
            self.bytes.extend_from_slice(&backend.bytes(buffer)[..length]);
            backend.release(buffer);
        } else {
            self.held += length as u64;
            self.payloads.push_back(Payload { at: self.bytes.len(), buffer, length, sent: 0 });
        }
    }

    /// Sends until all is sent or the socket is full.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, backend: &mut impl Backend) -> Result<Sent, Errno> {
        let mut bytes = 0;
        while !self.is_empty() {
            match self.send_once(socket, backend) {
                Ok((offered, taken)) => {
                    bytes += taken;
                    self.advance(taken, backend);
                    if taken < offered {
                        break;
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        self.compact();
        Ok(Sent { bytes, drained: self.is_empty() })
    }

    /// One system call: how many bytes it was offered, and how many it took.
    fn send_once(&self, socket: BorrowedFd<'_>, backend: &mut impl Backend) -> Result<(usize, usize), Errno> {
        if self.payloads.is_empty() {
            let rest = &self.bytes[self.sent..];
            return Ok((rest.len(), send(socket, rest, SendFlags::NOSIGNAL)?));
        }
        let mut pieces = [IoSlice::new(&[]); PIECES];
        let mut count = 0;
        let mut put = |piece| {
            pieces[count] = IoSlice::new(piece);
            count += 1;
        };
        let mut at = self.sent;
        // Two pieces each, and one for the tail.
        for payload in self.payloads.iter().take((PIECES - 1) / 2) {
            put(&self.bytes[at..payload.at]);
            put(&backend.bytes(payload.buffer)[payload.sent..payload.length]);
            at = payload.at;
        }
        if self.payloads.len() <= (PIECES - 1) / 2 {
            put(&self.bytes[at..]);
        }
        let pieces = &pieces[..count];
        let offered = pieces.iter().map(|piece| piece.len()).sum();
        let taken = sendmsg(socket, pieces, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?;
        Ok((offered, taken))
    }

    /// Strikes out what was sent, and releases the buffers of payloads that are through.
    fn advance(&mut self, mut taken: usize, backend: &mut impl Backend) {
        while let Some(payload) = self.payloads.front_mut() {
            let before = taken.min(payload.at - self.sent);
            self.sent += before;
            taken -= before;
            let part = taken.min(payload.length - payload.sent);
            payload.sent += part;
            taken -= part;
            if payload.sent < payload.length {
                return;
            }
            backend.release(payload.buffer);
            self.held -= payload.length as u64;
            self.payloads.pop_front();
        }
        self.sent += taken;
    }

    fn compact(&mut self) {
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent >= COMPACT {
            self.bytes.drain(..self.sent);
            self.payloads.iter_mut().for_each(|payload| payload.at -= self.sent);
            self.sent = 0;
        }
    }

    /// Drops everything, sent or not.
    pub(super) fn clear(&mut self, backend: &mut impl Backend) {
        self.payloads.drain(..).for_each(|payload| backend.release(payload.buffer));
        self.held = 0;
        self.bytes.clear();
        self.sent = 0;
    }
}
