//! Reads a member's metadata before the array is assembled.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant as Clock;

use parlour_array::record::{CandidateInput, OpeningInputs};
use parlour_array::{
    Assembly, Banks, CommitLogContent, CommitLogReader, Geometry, Identity, SUPERBLOCK_BYTES, Superblock,
    is_long_enough,
};
use parlour_units::{Sector, Sectors};

use crate::fault::Failure;
use crate::member::Member;
use crate::uring::Pages;

/// An open member and both copies of its superblock.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) member: Member,
    superblocks: [Vec<u8>; 2],
}

/// A member on which neither copy of the superblock can be read.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) path: PathBuf,
    /// The kernel's error.
    pub(super) failure: Failure,
}

impl Found {
    /// Reads the superblocks of `member`. One readable copy is enough.
    pub(super) fn read(member: Member) -> Result<Found, Unread> {
        match superblock_copies(&member) {
            [Err(failure), Err(_)] => Err(Unread { path: member.path().into(), failure }),
            copies => {
                let superblocks = copies.map(Result::unwrap_or_default);
                Ok(Found { member, superblocks })
            }
        }
    }

    /// The identity in its superblock, if it has one.
    pub(super) fn identity(&self) -> Option<Identity> {
        let [first, second] = &self.superblocks;
        Superblock::decode_copies(first, second).ok().map(|superblock| superblock.member)
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

/// Both copies of a member's superblock, not decoded. A copy is empty if the member is too short
/// for it.
pub(crate) fn superblock_copies(member: &Member) -> [Result<Vec<u8>, Failure>; 2] {
    let length = member.length();
    if !is_long_enough(length) {
        let first = length.bytes().get() >= SUPERBLOCK_BYTES as u64;
        return [
            if first { read(member, Sector::ZERO, SUPERBLOCK_BYTES) } else { Ok(Vec::new()) },
            Ok(Vec::new()),
        ];
    }
    Geometry::superblocks_at(length).map(|at| read(member, at, SUPERBLOCK_BYTES))
}

/// The time of a member's last answer, while its records are read.
#[derive(Debug)]
pub(super) struct LastAnswer(Mutex<Clock>);

impl LastAnswer {
    pub(super) fn now() -> LastAnswer {
        LastAnswer(Mutex::new(Clock::now()))
    }

    pub(super) fn at(&self) -> Clock {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Clock::now();
    }
}

/// The metadata that is read from a member once its array is known.
#[derive(Debug, Default)]
pub(super) struct Records {
    bitmaps: Banks,
    tables: Banks,
    bad_block_logs: Banks,
    commits: CommitLogContent,
    /// The bytes of the commit log, for a recording; empty if it cannot be read.
    commit_log: Vec<u8>,
    /// Parts of it that could not be read.
    commit_gaps: Vec<(u64, u64)>,
}

/// An area of the commit log is read in pieces of this size, because those of all members are too
/// long to be kept in memory.
const PIECE: usize = 1 << 20;

impl Records {
    /// Reads the records of `member`, and notes the time of each answer.
    pub(super) fn read(member: &Member, assembly: &Assembly, recorded: bool, last: &LastAnswer) -> Records {
        let geometry = &assembly.geometry;
        let read = |at: Sector, length: Sectors| {
            let bytes = read_block(member, at, length);
            last.answered();
            bytes
        };
        let list = |bank| geometry.bad_block_log_at(bank).and_then(|(at, length)| read(at, length));
        let recorded_updates = geometry.records_updates();
        let table = |bank| read(geometry.table_at(bank), geometry.table_length());
        let log = match geometry.is_journaled() {
            true => read_commit_log(member, assembly, recorded, last),
            false => CommitLogRead::default(),
        };
        Records {
            bitmaps: [0, 1].map(|bank| read(geometry.bitmap_at(bank), geometry.bitmap_length())),
            tables: if recorded_updates { [0, 1].map(table) } else { Banks::default() },
            bad_block_logs: [0, 1].map(list),
            commits: log.content,
            commit_log: log.bytes,
            commit_gaps: log.gaps,
        }
    }

    /// Adds the records of the member in the next slot to `inputs`. Returns the content of its
    /// commit log.
    pub(super) fn add_to(self, geometry: &Geometry, inputs: &mut OpeningInputs) -> CommitLogContent {
        inputs.bitmaps.push(self.bitmaps);
        if geometry.records_updates() {
            inputs.tables.push(self.tables);
        }
        if geometry.bad_block_log_at(0).is_some() {
            inputs.bad_block_logs.push(self.bad_block_logs);
        }
        inputs.commits.push(self.commit_log);
        inputs.commit_gaps.push(self.commit_gaps);
        self.commits
    }
}

/// A member's areas of the commit log.
#[derive(Debug, Default)]
struct CommitLogRead {
    content: CommitLogContent,
    /// Parts that could not be read, as in [`OpeningInputs::commit_gaps`].
    gaps: Vec<(u64, u64)>,
    /// All bytes, if they are kept for a recording.
    bytes: Vec<u8>,
}

/// With more blocks that cannot be read, a member's commit log counts as unreadable as a whole:
/// each may take the drive many seconds.
const MOST_GAPS: usize = 16;

fn read_commit_log(member: &Member, assembly: &Assembly, recorded: bool, last: &LastAnswer) -> CommitLogRead {
    let (start, length) = assembly.geometry.commit_log();
    let block = assembly.geometry.block().bytes().as_usize();
    let mut reader = CommitLogReader::new(assembly);
    let mut read = CommitLogRead::default();
    let mut piece = Pages::zeroed(PIECE);
    let mut done = 0;
    // After a failure, blocks are read one by one up to the end of the piece.
    let mut singly = 0;
    while done < length.bytes().as_usize() {
        let most = if singly > done { block } else { PIECE };
        let count = most.min(length.bytes().as_usize() - done);
        let bytes = &mut piece.write(0..PIECE)[..count];
        let first = Sectors::new(done as u64 / 512);
        let answer = member.read_at(start + first, bytes);
        last.answered();
        match answer {
            Ok(()) => reader.take(bytes),
            Err(_) if count > block => {
                singly = done + count;
                continue;
            }
            Err(_) if read.gaps.len() < MOST_GAPS => {
                bytes.fill(0);
                reader.skip(count);
                read.gaps.push((first.get(), count as u64 / 512));
            }
            Err(_) => return CommitLogRead::default(),
        }
        if recorded {
            read.bytes.extend_from_slice(bytes);
        }
        done += count;
    }
    read.content = reader.finish();
    read
}

/// Reads `length` of the member from `at`; none if it cannot be read.
pub(crate) fn read_block(member: &Member, at: Sector, length: Sectors) -> Option<Vec<u8>> {
    read(member, at, length.bytes().as_usize()).ok()
}

fn read(member: &Member, at: Sector, length: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; length];
    member.read_at(at, &mut bytes)?;
    Ok(bytes)
}
