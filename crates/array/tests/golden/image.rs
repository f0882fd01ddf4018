//! The members of an array in a small file: eight bytes at a time, each with the number of its
//! repetitions.

use parlour_array::Identity;

use crate::common::Disk;

/// An array's members, and the ranges that a host has written.
pub(crate) struct Golden {
    pub(crate) disks: Vec<Disk>,
    /// Ranges in sectors that hold [`content`](crate::scenarios::content).
    pub(crate) written: Vec<(u64, u64)>,
}

impl Golden {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.disks.len() as u8];
        for disk in &self.disks {
            out.extend(disk.identity.0);
            out.push(u8::from(disk.dead));
            out.extend((disk.bytes.len() as u32).to_le_bytes());
            let words: Vec<&[u8]> = disk.bytes.chunks(8).collect();
            for run in words.chunk_by(|a, b| a == b) {
                out.extend((run.len() as u32).to_le_bytes());
                out.extend(run[0]);
            }
        }
        for (at, length) in &self.written {
            out.extend(at.to_le_bytes());
            out.extend(length.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Golden {
        let mut from = bytes;
        let [count] = take(&mut from);
        let disks = (0..count).map(|_| disk(&mut from)).collect();
        let mut written = Vec::new();
        while !from.is_empty() {
            written.push((u64::from_le_bytes(take(&mut from)), u64::from_le_bytes(take(&mut from))));
        }
        Golden { disks, written }
    }
}

fn disk(from: &mut &[u8]) -> Disk {
    let identity = Identity(take(from));
    let [dead] = take(from);
    let length = u32::from_le_bytes(take(from)) as usize;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let count = u32::from_le_bytes(take(from)) as usize;
        bytes.extend(take::<8>(from).repeat(count));
    }
    Disk { bytes, identity, dead: dead == 1, ..Disk::default() }
}

fn take<const N: usize>(from: &mut &[u8]) -> [u8; N] {
    let (field, rest) = from.split_first_chunk().expect("the file is whole");
    *from = rest;
    *field
}
