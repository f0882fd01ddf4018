//! Arrays with a journal on members.

use parlour_array::{CommitPart, Geometry};
use parlour_model::bursts::Later;
use parlour_model::fork_join::Measures;
use parlour_model::journal::{Drive, Staging, Stream, Writes, write_back, write_through};

use super::clock::Clock;
use super::refused::{Unmodelled, geometry};
use super::stages::{Stages, Timed};
use crate::experiment::prepared::Prepared;

/// Sums of parts may differ by as much.
const ROUNDING: f64 = 1e-9;

/// The most writes of an entry.
const MOST: f64 = 256.0;

/// The streams of an array with a journal, as its writes use them.
pub(super) struct Journal {
    drive: Drive,
    records: Stream,
    /// The stream of writes, if they are staged; and how many it holds.
    writes: Option<(Stream, (f64, f64))>,
    /// The number of destages under way at most.
    destages: u32,
}

impl Journal {
    /// Returns `None` for an array without a journal.
    pub(super) fn of(
        prepared: &Prepared,
        stages: &Stages,
        clock: &mut Clock<'_>,
    ) -> Result<Option<Journal>, Unmodelled> {
        let geometry = geometry(prepared);
        let (part, blocks) = stages.recorded;
        if !geometry.is_journaled() || part == 0.0 {
            return Ok(None);
        }
        if stages.reads && stages.staged > 0.0 {
            let what = "reads among writes that are staged are not modelled";
            return Err(Unmodelled::Key { key: "workload.reads", what });
        }
        if stages.staged > 0.0 && stages.staged < (1.0 - ROUNDING) * stages.written.0 {
            let what = "writes of which only some are staged are not modelled";
            return Err(Unmodelled::Key { key: "workload.size", what });
        }
        let (drive, records) = stream(geometry, CommitPart::Records, blocks, clock)?;
        let writes = if stages.staged > 0.0 {
            let (_, stream) = stream(geometry, CommitPart::Writes, stages.written.1, clock)?;
            Some((stream, holds(geometry, stages.written.1)))
        } else {
            None
        };
        let destages = u32::from(geometry.members()).saturating_mul(prepared.tuning.destage_depth);
        Ok(Some(Journal { drive, records, writes, destages }))
    }

    /// The means under a closed load.
    pub(super) fn closed(
        &self,
        disks: u32,
        (timed, stages): (&Timed, &Stages),
        later: Later,
        (processes, think): (u32, f64),
    ) -> Result<Measures, Unmodelled> {
        let writes = Writes {
            disks,
            phases: timed.phases.clone(),
            entries: stages.recorded.0,
            later,
            processes,
            think,
        };
        Ok(match &self.writes {
            None => write_through(&self.drive, &self.records, &writes)?,
            Some((stream, holds)) => {
                let destages = Writes { processes: self.destages, think: 0.0, ..writes };
                let staging = Staging { stream: stream.clone(), holds: *holds, processes, think };
                write_back(&self.drive, &self.records, &destages, &staging)?
            }
        })
    }
}

/// A stream with entries of writes of `blocks`.
fn stream(
    geometry: &Geometry,
    part: CommitPart,
    blocks: f64,
    clock: &mut Clock<'_>,
) -> Result<(Drive, Stream), Unmodelled> {
    let header = geometry.block().get();
    let lanes = geometry.lane_lengths(part);
    let (one, several) = (blocks.round().max(1.0) as u64, (SEVERAL * blocks).round().max(SEVERAL) as u64);
    let (drive, [short, long]) = clock.journal(geometry.commit_log(), [header + one, header + several])?;
    let longest = lanes.iter().map(|lane| lane.get()).min().unwrap_or(0) as f64;
    let stream = Stream {
        lanes: lanes.len() as u32,
        copies: geometry.commit_copies().into(),
        most: MOST.min((longest - header as f64) / blocks).max(1.0),
        transfer: (short, (long - short) / (SEVERAL - 1.0)),
    };
    Ok((drive, stream))
}

/// The number of writes of an entry from which the time of each further one is found.
const SEVERAL: f64 = 16.0;

/// The number of writes of `blocks` that the stream of writes holds, if each has an entry of its
/// own, and if their entries have no headers. An entry takes the same place of all members.
fn holds(geometry: &Geometry, blocks: f64) -> (f64, f64) {
    let room = geometry.commit_part(CommitPart::Writes).1.get() as f64;
    (room / (blocks + geometry.block().get() as f64), room / blocks)
}
