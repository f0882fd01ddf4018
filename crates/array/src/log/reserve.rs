//! Room in log buffers: reserved before a write takes its lock, committed or given back.

use crate::buffer::BufferId;
use crate::columns::Columns;
use crate::compression::Compression;
use crate::format::segment::{self};
use crate::log::logs::Logs;
use crate::log::segment::{Reservation, Reserved, Segment, SegmentState};
use crate::plan::Fragment;
use crate::tuning::LogPool;
use parlour_units::{Region, Sectors};

impl Logs {
    /// The buffer of a reservation, and where it begins there.
    pub(crate) fn place(&self, reservation: &Reservation) -> (BufferId, Sectors) {
        let buffer = self.segment(reservation.segment).buffer;
        (buffer.expect("what is reserved is in memory until it is filled"), reservation.start)
    }

    /// Reserves room for `fragments` in `region`, all or nothing. Their records are compressed as
    /// `compression` says. `take` gives a buffer of a given length.
    pub(crate) fn reserve(
        &mut self,
        region: Region,
        (fragments, compression): (&[Fragment], Compression),
        mut take: impl FnMut(Sectors) -> BufferId,
    ) -> Reserved {
        let more = self.buffers_needed(region, fragments, compression);
        let limit = match self.pool {
            LogPool::Global => self.pool_limit,
            LogPool::Static => self.least_buffers,
        };
        if more > limit {
            return Reserved::Never;
        }
        let in_use = match self.pool {
            LogPool::Global => self.in_memory,
            // A region may use one buffer that fills and one that is being appended: the paper's K
            // tracks, doubled.
            LogPool::Static => self.region_buffers(region),
        };
        if in_use + more > limit {
            return Reserved::Later;
        }
        let before = self.in_memory;
        let mut cut = Vec::with_capacity(fragments.len());
        let mut reservations = Vec::with_capacity(fragments.len());
        for fragment in fragments {
            self.reserve_one(region, (*fragment, compression), &mut take, &mut cut, &mut reservations);
        }
        assert_eq!(self.in_memory, before + more, "the pool was asked for the buffers that are taken");
        Reserved::Granted(cut, reservations)
    }

    /// Reserves room for one fragment. It is cut where a segment ends: the parts go to `cut`, and
    /// the room of each to `reservations`.
    pub(in crate::log) fn reserve_one(
        &mut self,
        region: Region,
        (fragment, compression): (Fragment, Compression),
        take: &mut impl FnMut(Sectors) -> BufferId,
        cut: &mut Vec<Fragment>,
        reservations: &mut Vec<Reservation>,
    ) {
        let mut columns = fragment.columns;
        loop {
            let open = self.open_segment(region, take);
            let (recorded, length) = match fragment.bare {
                true => (columns.length(), Sectors::ZERO),
                false => {
                    let room = self.payload() - self.segment(open).used;
                    let recorded = columns.length().min(compression.changed(room));
                    (recorded, compression.stored(recorded))
                }
            };
            reservations.push(self.take_reservation(open, length));
            let from = columns.from;
            cut.push(Fragment { columns: Columns::new(from, from + recorded), ..fragment });
            columns.from = from + recorded;
            if columns.is_empty() {
                return;
            }
        }
    }

    /// Room in memory for a record that is already committed. The pool's limit is not checked: it
    /// may be exceeded by as much as the commit log holds.
    pub(crate) fn reservation_for(
        &mut self,
        region: Region,
        length: Sectors,
        mut take: impl FnMut(Sectors) -> BufferId,
    ) -> Reservation {
        if let Some(open) = self.region(region).open
            && self.segment(open).used + length > self.payload()
        {
            self.close(open);
        }
        let open = self.open_segment(region, &mut take);
        self.take_reservation(open, length)
    }

    /// Takes the next room of an open segment, and closes the segment once it is full.
    pub(in crate::log) fn take_reservation(&mut self, open: u32, length: Sectors) -> Reservation {
        let (payload, most) = (self.payload(), self.most_records());
        let segment = self.segment_mut(open);
        let reservation = Reservation { segment: open, start: segment.used, length };
        segment.used += length;
        segment.reserved += 1;
        segment.unfilled += 1;
        if segment.used == payload || segment.reserved == most {
            self.close(open);
        }
        reservation
    }

    pub(in crate::log) fn most_records(&self) -> u32 {
        segment::header_records(self.header) as u32
    }

    pub(in crate::log) fn region_buffers(&self, region: Region) -> u32 {
        let log = self.regions.get(region);
        log.map_or(0, |log| {
            log.segments.iter().filter(|index| self.segment(**index).buffer.is_some()).count() as u32
        })
    }

    /// The number of buffers, beyond the open one, that `fragments` would take.
    pub(in crate::log) fn buffers_needed(
        &self,
        region: Region,
        fragments: &[Fragment],
        compression: Compression,
    ) -> u32 {
        let open = self.regions.get(region).and_then(|log| log.open).map(|index| self.segment(index));
        let (mut left, mut records) = open.map_or((Sectors::ZERO, 0), |segment| {
            (self.payload() - segment.used, self.most_records() - segment.reserved)
        });
        let mut more = 0;
        for fragment in fragments {
            let mut length = if fragment.bare { Sectors::ZERO } else { fragment.columns.length() };
            loop {
                if left.is_zero() || records == 0 {
                    (left, records) = (self.payload(), self.most_records());
                    more += 1;
                }
                let part = length.min(compression.changed(left));
                (length, left, records) = (length - part, left - compression.stored(part), records - 1);
                if length.is_zero() {
                    break;
                }
            }
        }
        more
    }

    pub(in crate::log) fn open_segment(
        &mut self,
        region: Region,
        take: &mut impl FnMut(Sectors) -> BufferId,
    ) -> u32 {
        if let Some(open) = self.region(region).open {
            return open;
        }
        let buffer = take(self.payload());
        self.in_memory += 1;
        let index = self.insert(Segment::in_memory(region, buffer));
        let log = self.region(region);
        log.open = Some(index);
        log.segments.push(index);
        self.open.set(region);
        index
    }

    pub(crate) fn insert(&mut self, segment: Segment) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.segments[index as usize] = Some(segment);
                index
            }
            None => {
                self.segments.push(Some(segment));
                self.segments.len() as u32 - 1
            }
        }
    }

    /// The open segment takes no more reservations.
    pub(crate) fn close(&mut self, index: u32) {
        let segment = self.segment_mut(index);
        assert_eq!(segment.state, SegmentState::Open, "only an open segment is closed");
        segment.state = SegmentState::Sealed;
        let region = segment.region;
        self.region(region).open = None;
        self.open.clear(region);
        self.await_append(region, index);
    }

    /// Queues a sealed segment to be appended.
    pub(in crate::log) fn await_append(&mut self, region: Region, index: u32) {
        self.region(region).sealed.push_back(index);
        self.sealed.set(region);
    }

    /// Takes a segment out of the queue: it is not appended.
    pub(in crate::log) fn leave_queue(&mut self, region: Region, index: u32) {
        let log = self.region(region);
        log.sealed.retain(|other| *other != index);
        if log.sealed.is_empty() {
            self.sealed.clear(region);
        }
    }

    /// The open segments of regions that are not being recovered.
    pub(in crate::log) fn open_segments(&self) -> impl Iterator<Item = u32> + '_ {
        let logs = self.open.iter().map(|region| &self.regions[region]);
        logs.filter(|log| log.recovery.is_none()).filter_map(|log| log.open)
    }

    /// A job gives its reservations back unused.
    pub(crate) fn give_back(&mut self, reservations: &[Reservation]) {
        for reservation in reservations {
            self.segment_mut(reservation.segment).unfilled -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::Unit;
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::Buffers;
    use crate::format::horizon::first_sequence;
    use crate::log::suits::tests::geometry;
    use crate::tuning::{Simulated, Tuning};

    fn logs(compression: Compression) -> Logs {
        let simulated = Simulated { compression, ..Simulated::default() };
        Logs::new(&geometry(), (&Tuning::default(), simulated), first_sequence(1), &[])
    }

    fn fragment(length: u64) -> Fragment {
        let columns = Columns::new(Sectors::ZERO, Sectors::new(length));
        Fragment { unit: Unit::new(0), columns, bare: length == 0 }
    }

    proptest! {
        /// (That the pool is asked for the buffers that are taken, `reserve` asserts itself.)
        #[test]
        fn records_have_room_of_their_own_however_short_they_are(
            thousandths in 1..=1_000_u16,
            lengths in prop::collection::vec(0..200_u64, 1..60),
        ) {
            let compression = Compression::of(thousandths).expect("it is a part");
            let (mut logs, mut buffers) = (logs(compression), Buffers::new());
            let mut ends: Vec<Sectors> = Vec::new();
            for length in lengths {
                let fragments = [fragment(length)];
                let reserved =
                    logs.reserve(Region::new(0), (&fragments, compression), |length| buffers.take(length));
                let Reserved::Granted(cut, reservations) = reserved else { panic!("{reserved:?}") };
                let recorded: u64 = cut.iter().map(|fragment| fragment.columns.length().get()).sum();
                prop_assert_eq!(recorded, length);
                for (fragment, reservation) in cut.iter().zip(&reservations) {
                    if !fragment.bare {
                        prop_assert_eq!(compression.stored(fragment.columns.length()), reservation.length);
                    }
                    ends.resize(logs.segments.len(), Sectors::ZERO);
                    let end = &mut ends[reservation.segment as usize];
                    prop_assert_eq!(*end, reservation.start);
                    *end += reservation.length;
                    prop_assert!(*end <= logs.payload());
                    prop_assert!(logs.segment(reservation.segment).reserved <= logs.most_records());
                }
            }
        }
    }
}
