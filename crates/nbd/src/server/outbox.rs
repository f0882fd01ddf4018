//! The output of one connection: copied bytes, and payloads that stay in the backend's buffers.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};

use super::backend::{Backend, BufferHandle};

/// A payload up to this length is copied, and its credit is returned at once. Up to 8 KiB the
/// length of this limit makes no difference to speed.
const INLINE: usize = 1 << 10;
/// The most pieces in one system call.
const PIECES: usize = 128;
/// The number of sent bytes above which the rest is moved to the front.
const COMPACT: usize = 64 << 10;

/// A payload, which is sent after the bytes before `at`.
#[derive(Clone, Copy, Debug)]
struct Payload {
    at: usize,
    buffer: BufferHandle,
    length: usize,
    sent: usize,
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// The bytes to send. Replies are appended here.
    pub(super) bytes: Vec<u8>,
    sent: usize,
    payloads: VecDeque<Payload>,
    /// The bytes of the payloads, including sent ones whose buffer is not released yet.
    held: u64,
}

/// The result of sending.
pub(super) struct Sent {
    /// The number of bytes that the socket took.
    pub(super) bytes: usize,
    /// Whether all is sent; otherwise the socket is full.
    pub(super) drained: bool,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len() && self.payloads.is_empty()
    }

    /// The number of copied bytes not yet sent.
    pub(super) fn copied(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// The number of payloads not yet sent.
    pub(super) fn payloads(&self) -> usize {
        self.payloads.len()
    }

    /// The bytes of payloads whose buffers are kept until they are sent.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Queues the first `length` bytes of `buffer`. The buffer is released when they have been
    /// sent.
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

    /// Does one system call. Returns the bytes offered, and the bytes taken.
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
        // Each payload takes two pieces, and the tail takes one.
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

    /// Removes the bytes that were sent, and releases the buffers of payloads that are completely
    /// sent.
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
