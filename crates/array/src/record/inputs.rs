//! The input for opening an array, as read from its members.

use parlour_units::{Instant, Sectors};
use serde::{Deserialize, Serialize};

use crate::{
    Array, Assembly, AssemblyError, Banks, Candidate, CommitLogContent, Identity, MemberInfo, Opening,
    Simulated, Superblock, Tuning, Verdict,
};

/// Everything that the opening of an array depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpeningInputs {
    /// Candidates for members, in the order in which they were named.
    pub candidates: Vec<CandidateInput>,
    /// By slot: both write-intent bitmaps, as read.
    pub bitmaps: Vec<Banks>,
    /// By slot: both tables of applied sequence numbers, as read.
    pub tables: Vec<Banks>,
    /// By slot: both bad-block logs, as read.
    pub bad_block_logs: Vec<Banks>,
    /// By slot: the area of the commit log, as read. Areas are long; they are kept only if the
    /// opening is to be recorded.
    pub commits: Vec<Vec<u8>>,
    /// By slot: parts of that area that could not be read, each by its first sector, counted from
    /// the area's start, and the number of sectors.
    #[serde(default)]
    pub commit_gaps: Vec<Vec<(u64, u64)>>,
    /// This session's identity.
    pub session: Identity,
    /// Whether to open without writing.
    pub read_only: bool,
    /// Whether to open although data may be lost.
    pub force: bool,
    /// Bounds, thresholds and pace.
    #[serde(with = "super::tuning")]
    pub tuning: Tuning,
    /// Settings that only simulated arrays have.
    #[serde(default)]
    pub simulated: Simulated,
}

/// A device or file that may be a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateInput {
    /// Its path.
    pub name: String,
    /// Its length in sectors.
    pub length: u64,
    /// Whether zeroed ranges are unmapped there.
    pub unmaps: bool,
    /// Both copies of the superblock; empty if the member is too short.
    pub superblocks: [Vec<u8>; 2],
}

impl OpeningInputs {
    /// Puts the candidates together.
    ///
    /// # Errors
    /// They make no array.
    pub fn assemble(&self) -> Result<Assembly, AssemblyError> {
        let candidates: Vec<Candidate> = self.candidates.iter().map(CandidateInput::candidate).collect();
        Assembly::new(&candidates)
    }

    /// Opens the array at time zero.
    ///
    /// # Errors
    /// As [`Array::open`].
    pub fn open(&self, assembly: Assembly) -> Result<Array, AssemblyError> {
        let content = |(slot, bytes): (usize, &Vec<u8>)| {
            let gaps = self.commit_gaps.get(slot).map_or(&[][..], Vec::as_slice);
            CommitLogContent::with_gaps(&assembly, bytes, gaps)
        };
        let commits = self.commits.iter().enumerate().map(content).collect();
        self.open_with(assembly, commits)
    }

    /// The same, with the content of the members' areas given separately, because their bytes
    /// are not kept.
    ///
    /// # Errors
    /// As [`Array::open`].
    pub fn open_with(
        &self,
        assembly: Assembly,
        commits: Vec<CommitLogContent>,
    ) -> Result<Array, AssemblyError> {
        let members = assembly.slots.iter().map(|slot| slot.map(|index| self.info(index))).collect();
        let spares = self.usable_spares(&assembly).into_iter().map(|index| self.info(index)).collect();
        let opening = Opening {
            assembly,
            members,
            spares,
            bitmaps: self.bitmaps.clone(),
            tables: self.tables.clone(),
            bad_block_logs: self.bad_block_logs.clone(),
            commits,
            session: self.session,
            read_only: self.read_only,
            force: self.force,
            tuning: self.tuning,
        };
        Array::open_simulated(Instant::ZERO, opening, self.simulated)
    }

    /// The candidates that are spares, in their order.
    pub fn usable_spares(&self, assembly: &Assembly) -> Vec<usize> {
        let spare = |index: &usize| assembly.verdicts[*index] == Verdict::Spare;
        (0..self.candidates.len()).filter(spare).collect()
    }

    fn info(&self, index: usize) -> MemberInfo {
        let candidate = &self.candidates[index];
        let identity = candidate.superblock().map_or(Identity::NONE, |superblock| superblock.member);
        MemberInfo { identity, length: candidate.sectors(), unmaps: candidate.unmaps }
    }
}

impl CandidateInput {
    fn sectors(&self) -> Sectors {
        Sectors::new(self.length)
    }

    /// The better of the two superblocks.
    pub fn superblock(&self) -> Result<Superblock, crate::SuperblockError> {
        let [first, second] = &self.superblocks;
        Superblock::decode_copies(first, second)
    }

    fn candidate(&self) -> Candidate {
        Candidate { name: self.name.clone(), length: self.sectors(), superblock: self.superblock() }
    }
}
