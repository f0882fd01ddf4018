//! A part of a region's data that is compared with its records.

use crate::buffer::BufferId;
use crate::columns::Columns;
use crate::plan::Span;
use parlour_units::{Region, Sectors, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// A part of a unit that is zeroes, but for what later records say.
#[derive(Debug)]
pub(in crate::log) struct Blank {
    pub(in crate::log) stripe: u32,
    pub(in crate::log) unit: Unit,
    pub(in crate::log) columns: Columns,
    /// Records since that changed some of it.
    pub(in crate::log) links: Vec<usize>,
    /// Where its content is put together. None: it is all zeroes.
    pub(in crate::log) buffer: Option<BufferId>,
}

/// A part of a unit that is compared with its records.
#[derive(Clone, Copy, Debug)]
pub(in crate::log) struct Run {
    pub(in crate::log) stripe: u32,
    pub(in crate::log) unit: Unit,
    pub(in crate::log) columns: Columns,
    pub(in crate::log) buffer: BufferId,
}

/// A part of a region's data is being compared with its records.
#[derive(Debug)]
pub(crate) struct Redo {
    pub(in crate::log) region: Region,
    /// By stripe of this part: its records in their order.
    pub(in crate::log) stripes: BTreeMap<u32, Vec<usize>>,
    /// Whether the region has more parts.
    pub(in crate::log) goes_on: bool,
    pub(in crate::log) runs: Vec<Run>,
    /// What became zeroes, and is written whatever stands there.
    pub(in crate::log) blanks: Vec<Blank>,
    /// By record of this part: where its payload is in memory.
    pub(in crate::log) payloads: BTreeMap<usize, Span>,
    /// Buffers to be given back.
    pub(in crate::log) buffers: Vec<BufferId>,
    /// What was found, once the data was read: the second of the two plans runs.
    pub(in crate::log) found: Option<Verdict>,
}

/// What the comparison says.
#[derive(Debug, Default)]
pub(in crate::log) struct Verdict {
    /// Blocks with sectors that fit no record: something else has written there.
    pub(in crate::log) damaged: BTreeSet<(u32, Unit, Sectors)>,
    /// A full-stripe write was cut off while a member is missing, whose content can no longer be
    /// told.
    pub(in crate::log) lost: bool,
}
