//! What is read from a member before the array is put together.

use std::panic::resume_unwind;
use std::{io, thread};

use parlour_array::record::{CandidateInput, OpeningInputs};
use parlour_array::{
    Assembly, CommitLogContent, CommitLogReader, Geometry, SUPERBLOCK_BYTES, is_long_enough,
};
use parlour_units::{Sector, Sectors};

use super::Note;
use crate::fault::Failure;
use crate::member::Member;
use crate::uring::Pages;

/// An open member and both copies of its superblock.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) member: Member,
    superblocks: [Vec<u8>; 2],
}

impl Found {
    /// Reads the superblocks of `member`. One copy that can be read is enough.
    pub(super) fn read(member: Member) -> Result<Found, Note> {
        match superblock_copies(&member) {
            [Err(failure), Err(_)] => Err(Note::Unreadable { path: member.path().into(), failure }),
            copies => {
                let superblocks = copies.map(Result::unwrap_or_default);
                Ok(Found { member, superblocks })
            }
        }
    }

    pub(super) fn input(&self) -> CandidateInput {
        CandidateInput {
            name: self.member.path().display().to_string(),
            length: self.member.length().get(),
            unmaps: self.member.can_punch(),
            superblocks: self.superblocks.clone(),
        }
    }
}

/// Both copies of a member's superblock, as they are; empty where it is too short to have them.
pub(crate) fn superblock_copies(member: &Member) -> [Result<Vec<u8>, Failure>; 2] {
    let length = member.length();
    if !is_long_enough(length) {
        let first = length.bytes().get() >= SUPERBLOCK_BYTES as u64;
        return [
            if first { read(member, Sector::ZERO, SUPERBLOCK_BYTES) } else { Ok(Vec::new()) },
            Ok(Vec::new()),
        ];
    }
    Geometry::superblock_places(length).map(|at| read(member, at, SUPERBLOCK_BYTES))
}

/// Adds both maps, tables and lists of the member in the next place to `inputs`.
pub(super) fn read_records(member: Option<&Member>, geometry: &Geometry, inputs: &mut OpeningInputs) {
    let read = |at: Sector, length: Sectors| read_block(member?, at, length);
    inputs.maps.push([0, 1].map(|slot| read(geometry.map_place(slot), geometry.map_length())));
    if geometry.layout().logs().is_some() {
        inputs.tables.push([0, 1].map(|slot| read(geometry.table_place(slot), geometry.table_length())));
    }
    if geometry.list_place(0).is_some() {
        let list = |slot| geometry.list_place(slot).and_then(|(at, length)| read(at, length));
        inputs.lists.push([0, 1].map(list));
    }
}

/// How much of a commit log is read at a time.
const PIECE: usize = 1 << 20;

/// What the commit log of the member in each place holds. All are read at the same time, piece by piece: they are long,
/// and together longer than is to be kept in memory.
pub(super) fn read_commit_logs(assembly: &Assembly, found: &[Found]) -> Vec<CommitLogContent> {
    let members = assembly.places.iter().map(|place| place.map(|index| &found[index].member));
    thread::scope(|scope| {
        let start = |member: Option<_>| {
            let member = member.filter(|_| assembly.geometry.is_logged())?;
            let reader = thread::Builder::new().name("commit-log".into());
            Some((member, reader.spawn_scoped(scope, move || read_commit_log(member, assembly))))
        };
        let readers: Vec<_> = members.map(start).collect();
        let content = |reader: Option<(&Member, io::Result<thread::ScopedJoinHandle<'_, _>>)>| match reader {
            None => CommitLogContent::default(),
            Some((_, Ok(reader))) => reader.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Where there can be no thread it is read here.
            Some((member, Err(_))) => read_commit_log(member, assembly),
        };
        readers.into_iter().map(content).collect()
    })
}

fn read_commit_log(member: &Member, assembly: &Assembly) -> CommitLogContent {
    let (start, length) = assembly.geometry.commit_log();
    let mut reader = CommitLogReader::new(assembly);
    let mut piece = Pages::zeroed(PIECE);
    let (mut at, mut left) = (start, length.bytes().as_usize());
    while left > 0 {
        let bytes = &mut piece.write(0..PIECE)[..left.min(PIECE)];
        if member.read_at(at, bytes).is_err() {
            return CommitLogContent::default();
        }
        reader.take(bytes);
        left -= bytes.len();
        at = at + Sectors::new(bytes.len() as u64 / 512);
    }
    reader.finish()
}

/// The bytes of the commit log of the member in each place, for a recording; empty where there is none, or it cannot be
/// read.
pub(super) fn commit_log_bytes(assembly: &Assembly, found: &[Found]) -> Vec<Vec<u8>> {
    let (at, length) = assembly.geometry.commit_log();
    let read = |place: &Option<usize>| {
        let index = place.filter(|_| !length.is_zero())?;
        read_block(&found[index].member, at, length)
    };
    assembly.places.iter().map(|place| read(place).unwrap_or_default()).collect()
}

/// `length` of the member from `at`, if it can be read.
pub(crate) fn read_block(member: &Member, at: Sector, length: Sectors) -> Option<Vec<u8>> {
    read(member, at, length.bytes().as_usize()).ok()
}

fn read(member: &Member, at: Sector, length: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; length];
    member.read_at(at, &mut bytes)?;
    Ok(bytes)
}
