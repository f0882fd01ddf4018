//! The redo of one part of a region: its data is compared with the records of the commit log.

use crate::buffer::BufferId;
use crate::columns::Columns;
use crate::format::segment::{Record, RecordKind};
use crate::plan::{Plan, Span};
use parlour_units::{Region, Sectors, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// A part of a unit that holds zeroes, apart from the changes of later records.
#[derive(Debug)]
pub(in crate::log) struct Blank {
    pub(in crate::log) stripe: u32,
    pub(in crate::log) unit: Unit,
    pub(in crate::log) columns: Columns,
    /// Later records that changed some of it.
    pub(in crate::log) links: Vec<usize>,
    /// The buffer in which its content is put together; `None` if it is all zeroes.
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

impl Run {
    /// The name of its first block: with the distance from the start of the unit.
    pub(in crate::log) fn first_block(&self) -> (u32, Unit, Sectors) {
        (self.stripe, self.unit, self.columns.from)
    }
}

/// A part of a region's data is being compared with its records.
#[derive(Debug)]
pub(crate) struct Redo {
    pub(in crate::log) region: Region,
    /// By stripe of this part: the indices of its records, in order.
    pub(in crate::log) stripes: BTreeMap<u32, Vec<usize>>,
    /// Whether the region has more parts.
    pub(in crate::log) goes_on: bool,
    pub(in crate::log) runs: Vec<Run>,
    /// Parts that became zeroes. They are written without being read.
    pub(in crate::log) blanks: Vec<Blank>,
    /// By record of this part: where its payload is in memory.
    pub(in crate::log) payloads: BTreeMap<usize, Span>,
    /// Buffers to be released.
    pub(in crate::log) buffers: Vec<BufferId>,
    /// The result of the comparison, once the data was read and the second of the two plans runs.
    pub(in crate::log) found: Option<Verdict>,
}

impl Redo {
    /// Brings `columns` of a unit, which are `into`, up to the record with this index: adds its
    /// difference, or replaces them by its content.
    pub(in crate::log) fn bring_up(
        &self,
        plan: &mut Plan,
        (index, record): (usize, &Record),
        (into, columns): (Span, Columns),
    ) {
        let payload = self.payloads[&index];
        let start = payload.start + (columns.from - record.columns.from);
        let from = Span::new(payload.source, start, columns.length());
        match record.kind {
            RecordKind::Content => plan.xor(into, [from]),
            RecordKind::Update | RecordKind::Overwrite => plan.add(into, [(from, 1)]),
            RecordKind::Cancel | RecordKind::Zero | RecordKind::Void => {
                unreachable!("a record without payload brings nothing up")
            }
        }
    }
}

/// The result of the comparison.
#[derive(Debug, Default)]
pub(in crate::log) struct Verdict {
    /// Blocks with sectors that fit no record: their content comes from no logged write.
    pub(in crate::log) damaged: BTreeSet<(u32, Unit, Sectors)>,
    /// A full-stripe write was cut off.
    pub(in crate::log) torn: bool,
    /// Blocks of data units of such a stripe that are lost: see
    /// [`Recovery`](super::remembered::Recovery).
    pub(in crate::log) lost: BTreeSet<(u32, Unit, Sectors)>,
}
