//! Encodes the replies of the transmission phase.

use std::io::Write;

use crate::error::NbdError;
use crate::request::Extent;
use crate::wire;

/// The most extents in one reply. The client asks again for the rest of the range.
const EXTENTS_LIMIT: usize = 4096;

/// The metadata context ID given to `base:allocation`.
pub(crate) const BASE_ALLOCATION_ID: u32 = 1;

/// A simple reply. The data of a read follows it.
pub(crate) fn simple(output: &mut Vec<u8>, cookie: u64, error: u32) {
    let mut message = [0; 16];
    message[..4].copy_from_slice(&wire::NBD_SIMPLE_REPLY_MAGIC.to_be_bytes());
    message[4..8].copy_from_slice(&error.to_be_bytes());
    message[8..].copy_from_slice(&cookie.to_be_bytes());
    output.extend_from_slice(&message);
}

/// The header of the only chunk of a structured reply.
fn structured(output: &mut Vec<u8>, kind: u16, cookie: u64, length: u32) {
    let mut message = [0; 20];
    message[..4].copy_from_slice(&wire::NBD_STRUCTURED_REPLY_MAGIC.to_be_bytes());
    message[4..6].copy_from_slice(&wire::NBD_REPLY_FLAG_DONE.to_be_bytes());
    message[6..8].copy_from_slice(&kind.to_be_bytes());
    message[8..16].copy_from_slice(&cookie.to_be_bytes());
    message[16..].copy_from_slice(&length.to_be_bytes());
    output.extend_from_slice(&message);
}

/// The chunk that answers a read; `length` bytes of data follow it.
pub(crate) fn offset_data(output: &mut Vec<u8>, cookie: u64, offset: u64, length: u32) {
    structured(output, wire::NBD_REPLY_TYPE_OFFSET_DATA, cookie, length + 8);
    output.extend_from_slice(&offset.to_be_bytes());
}

/// An error chunk with a message for people.
pub(crate) fn error(output: &mut Vec<u8>, cookie: u64, error: NbdError, message: impl std::fmt::Display) {
    structured(output, wire::NBD_REPLY_TYPE_ERROR, cookie, 0);
    let start = output.len();
    output.extend_from_slice(&error.code().to_be_bytes());
    output.extend_from_slice(&[0; 2]);
    // Writing to a vector cannot fail.
    let _ = write!(output, "{message}");
    let length = output.len() - start;
    // Messages are the server's own and short, so their lengths fit.
    output[start - 4..start].copy_from_slice(&(length as u32).to_be_bytes());
    output[start + 4..start + 6].copy_from_slice(&((length - 6) as u16).to_be_bytes());
}

/// Answers a block status query of `length` bytes. Extents are cut to this length, and adjacent
/// equal ones are merged; with `req_one` only the first is sent. Without extents the range is
/// reported as allocated data, which the protocol always allows.
pub(crate) fn block_status(
    output: &mut Vec<u8>,
    cookie: u64,
    length: u32,
    req_one: bool,
    extents: &[Extent],
) {
    structured(output, wire::NBD_REPLY_TYPE_BLOCK_STATUS, cookie, 0);
    let start = output.len();
    output.extend_from_slice(&BASE_ALLOCATION_ID.to_be_bytes());
    let limit = if req_one { 1 } else { EXTENTS_LIMIT };
    if put_extents(output, length, limit, extents) == 0 {
        put_extent(output, length, 0);
    }
    let payload = output.len() - start;
    output[start - 4..start].copy_from_slice(&(payload as u32).to_be_bytes());
}

/// Returns the number of extents written.
fn put_extents(output: &mut Vec<u8>, length: u32, limit: usize, extents: &[Extent]) -> usize {
    let mut left = u64::from(length);
    let (mut written, mut run, mut flags) = (0, 0_u32, 0);
    for extent in extents {
        // At most the rest of a 32-bit length.
        let part = extent.length.min(left) as u32;
        if part == 0 {
            continue;
        }
        if run != 0 && extent.status_flags() != flags {
            put_extent(output, run, flags);
            written += 1;
            if written == limit {
                return written;
            }
            run = 0;
        }
        flags = extent.status_flags();
        run += part;
        left -= u64::from(part);
    }
    if run != 0 {
        put_extent(output, run, flags);
        written += 1;
    }
    written
}

fn put_extent(output: &mut Vec<u8>, length: u32, flags: u32) {
    output.extend_from_slice(&length.to_be_bytes());
    output.extend_from_slice(&flags.to_be_bytes());
}
