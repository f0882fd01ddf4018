//! Plausibility checks: whether this array can have written what a log contains. A checksum that
//! fits does not prove which array wrote it.

use parlour_units::Sectors;

use crate::format::commit_entry::{Committed, EntryHeader, Intent, StagedWrite};
use crate::format::segment::{Record, RecordKind};
use crate::geometry::Geometry;
use crate::layout::Layout;

/// The smallest value that is no plausible number of an entry, and no plausible place.
const LEAST_SENSELESS: u64 = !0 << 40;

impl Record {
    /// Whether it is one of a region's log in `layout`: the sectors that it names lie in a region.
    pub(crate) fn suits(&self, layout: &Layout) -> bool {
        self.lies_in(layout)
            && match self.kind {
                RecordKind::Update => layout.is_data(self.unit),
                RecordKind::Overwrite => !layout.is_data(self.unit),
                RecordKind::Cancel | RecordKind::Zero => true,
                RecordKind::Content | RecordKind::Void => false,
            }
    }

    fn lies_in(&self, layout: &Layout) -> bool {
        u64::from(self.stripe) < layout.region_stripes()
            && self.columns.to <= layout.unit_length()
            && !self.columns.is_empty()
            && self.unit.get() < layout.width()
    }
}

impl EntryHeader {
    /// Whether an array of this geometry can have written the entry: all sectors that it names lie
    /// inside. (A checksum that fits does not prove which array wrote it.)
    pub(crate) fn suits(&self, geometry: &Geometry) -> bool {
        self.number < LEAST_SENSELESS
            && self.at < LEAST_SENSELESS
            && self.tail <= self.number
            && self.previous < self.number.max(1)
            && self.content.records.iter().all(|committed| committed.suits(geometry))
            && self.content.intents.iter().all(|intent| intent.suits(geometry))
            && self.content.writes.iter().all(|write| write.suits(geometry))
    }
}

impl StagedWrite {
    fn suits(&self, geometry: &Geometry) -> bool {
        let end = self.at.checked_add(self.length().get());
        !self.sums.is_empty()
            && Sectors::new(self.at).is_multiple_of(geometry.block())
            && self.length().is_multiple_of(geometry.block())
            && end.is_some_and(|end| end <= geometry.capacity().get())
    }
}

impl Committed {
    fn suits(&self, geometry: &Geometry) -> bool {
        let units = match self.record.kind {
            RecordKind::Cancel => u64::from(geometry.layout().width()),
            RecordKind::Zero | RecordKind::Void => 0,
            RecordKind::Update | RecordKind::Overwrite | RecordKind::Content => 1,
        };
        let columns = self.record.columns;
        let (layout, logged) = (geometry.layout(), geometry.is_logged());
        let suits = match self.record.kind {
            RecordKind::Update | RecordKind::Overwrite => logged && self.record.suits(layout),
            RecordKind::Content | RecordKind::Void => !logged && self.record.lies_in(layout),
            RecordKind::Cancel | RecordKind::Zero => self.record.suits(layout),
        };
        self.region.get() < geometry.layout().region_count()
            && suits
            && columns.from.is_multiple_of(geometry.block())
            && columns.to.is_multiple_of(geometry.block())
            && self.changes.len() as u64 == self.record.columns.length().get() * units
    }
}

impl Intent {
    fn suits(&self, geometry: &Geometry) -> bool {
        let (at, length) = (Sectors::new(self.at), self.length());
        let end = self.at.checked_add(length.get());
        self.region.get() < geometry.layout().region_count()
            && self.slot.get() < geometry.members()
            && !length.is_zero()
            && at.is_multiple_of(geometry.block())
            && length.is_multiple_of(geometry.block())
            && end.is_some_and(|end| end <= geometry.stored().layout.length)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use parlour_units::{Region, Slot, Unit};

    use super::*;
    use crate::columns::Columns;
    use crate::format::commit_entry::{Change, EntryContent};
    use crate::geometry::{Creation, LogCreation};
    use crate::organization::{Consistency, Organization};

    const BLOCK: Sectors = Sectors::new(8);

    /// An array of four members with blocks of 8 sectors, units of 16, and logs.
    pub(in crate::log) fn geometry() -> Geometry {
        Geometry::create(&Creation {
            organization: Organization::named("parity-logging").expect("it is known").organization,
            checks: 1,
            members: 4,
            groups: 1,
            width: None,
            domains: None,
            spares: 0,
            unit: Sectors::new(16),
            block: BLOCK,
            member_length: Sectors::new(3 * 2_048),
            log: LogCreation { segment: Some(Sectors::new(128)), ..LogCreation::default() },
            consistency: Consistency::Journal,
        })
        .expect("a possible array")
    }

    #[test]
    fn an_entry_that_tells_of_what_lies_outside_is_none() {
        let geometry = geometry();
        let change = Change { old: 1, new: 2 };
        let record = Record {
            sequence: 5,
            stripe: 0,
            unit: Unit::new(1),
            kind: RecordKind::Update,
            columns: Columns::new(BLOCK, BLOCK * 2),
            start: Sectors::ZERO,
            digest: 0,
        };
        let committed = Committed { region: Region::new(0), record, changes: vec![change; 8] };
        let length = geometry.stored().layout.length;
        let (region, slot, at) = (Region::new(0), Slot::new(3), length - 8);
        let intent = Intent { region, newest: 5, slot, at, changes: vec![change; 8] };
        let content = EntryContent {
            records: vec![committed.clone()],
            intents: vec![intent.clone()],
            ..EntryContent::default()
        };
        let entry = EntryHeader { number: 7, at: 16, tail: 7, previous: 6, content };
        let of_record = |record| EntryContent {
            records: vec![Committed { record, ..committed.clone() }],
            ..EntryContent::default()
        };
        let of_intent = |intent| EntryContent { intents: vec![intent], ..EntryContent::default() };
        let with = |content| EntryHeader { content, ..entry.clone() };
        assert!(entry.suits(&geometry));
        let beyond = geometry.layout().region_count();
        let stripes = geometry.layout().region_stripes() as u32;
        assert!(with(of_record(Record { stripe: stripes - 1, ..record })).suits(&geometry));
        let columns = |from, to| Columns::new(Sectors::new(from), Sectors::new(to));
        let wrong = [
            EntryHeader { number: u64::MAX, ..entry.clone() },
            EntryHeader { at: u64::MAX - 7, ..entry.clone() },
            EntryHeader { tail: 8, ..entry.clone() },
            EntryHeader { previous: 7, ..entry.clone() },
            with(EntryContent {
                records: vec![Committed { region: Region::new(beyond), ..committed.clone() }],
                ..EntryContent::default()
            }),
            with(EntryContent {
                records: vec![Committed { changes: vec![change; 7], ..committed.clone() }],
                ..EntryContent::default()
            }),
            with(of_record(Record { stripe: stripes, ..record })),
            with(of_record(Record { stripe: u32::MAX, ..record })),
            with(of_record(Record { unit: Unit::new(4), ..record })),
            with(of_record(Record { unit: Unit::new(geometry.layout().data_units()), ..record })),
            with(of_record(Record { kind: RecordKind::Overwrite, ..record })),
            with(of_record(Record { columns: columns(16, 24), ..record })),
            with(of_record(Record { columns: columns(4, 12), ..record })),
            with(of_record(Record { kind: RecordKind::Cancel, ..record })),
            with(of_intent(Intent { region: Region::new(beyond), ..intent.clone() })),
            with(of_intent(Intent { slot: Slot::new(4), ..intent.clone() })),
            with(of_intent(Intent { at: length, ..intent.clone() })),
            with(of_intent(Intent { at: u64::MAX - 7, ..intent.clone() })),
            with(of_intent(Intent { changes: Vec::new(), ..intent.clone() })),
        ];
        for entry in wrong {
            assert!(!entry.suits(&geometry), "{entry:?}");
        }
    }
}
