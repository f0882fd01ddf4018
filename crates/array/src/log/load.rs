//! Loading a region's log: after an opening, its headers are read from the members before the
//! region is used.
//!
//! The table of the regions' logs says which records the log holds. The array reads only as many
//! headers as it takes to find all of these: the first copy of each header, a few positions at a
//! time, in the order in which positions are filled. The second copies are read only if something
//! is missing, and then the other copies of the log, if it has any: of each position the newest
//! header counts.
//!
//! If some of them are found in segments from before the table's session, the first copies of all
//! headers are read. A crash may have cut such a segment off behind its header; its records were
//! then taken from the commit log and appended once more, and only the newer copy is sound.

pub(super) mod headers;
mod known;

use self::headers::{End, Load, is_complete};
use std::collections::{BTreeMap, BTreeSet};

use parlour_units::{Region, Sectors};

use super::{LoadState, Segment, SegmentState};
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::{Class, Fault};
use crate::exec::job::FailedAccess;
use crate::format::segment::{Header, Record};
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::log::copies::LogCopies;
use crate::log::facts::stood_since;
use crate::plan::{Plan, Source, Span, Strategy};
use crate::status::Event;

impl Logs {
    /// Reads headers of `region`'s log, unless that was begun already. If the region is to be
    /// recovered, that is done as soon as it may be.
    pub(crate) fn load(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if self.region(region).waits_for_recovery() {
            self.hasten_recovery(region);
        } else if self.region(region).load == LoadState::Unknown {
            self.start_load(cx, durable, region);
        }
    }

    /// Reads headers of `region`'s log until the records that the table counts are found.
    pub(crate) fn start_load(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let turn = cx.roster.turn();
        self.begin_recovery(region);
        self.region(region).load = LoadState::Loading;
        if !self.have_positions() {
            return self.start_redo(cx, region);
        }
        self.go_on_loading(
            cx,
            durable,
            Load {
                region,
                turn,
                sources: self.sources(cx, region),
                found: BTreeMap::new(),
                unreadable: BTreeSet::new(),
                source: 0,
                end: End::Front,
                asked: Vec::new(),
            },
        );
    }

    /// By sublog: the copies that stand. (If none does, the first one is asked.)
    fn sources(&self, cx: &Context, region: Region) -> Vec<Vec<u16>> {
        let shape = cx.geometry.layout().logs().expect("a logged layout").shape();
        let stands = |sublog: u16, copy: &u16| {
            let slot = cx.geometry.layout().sublog_slot(region, sublog, *copy);
            slot.is_some_and(|slot| stood_since(cx, slot, 0))
        };
        let of_sublog = |sublog: u16| {
            let standing: Vec<u16> =
                (0..cx.geometry.log_copies()).filter(|copy| stands(sublog, copy)).collect();
            if standing.is_empty() { vec![0] } else { standing }
        };
        (0..shape.sublogs).map(of_sublog).collect()
    }

    fn go_on_loading(&mut self, cx: &mut Context, durable: &mut Durable, mut load: Load) {
        let shape = cx.geometry.layout().logs().expect("a logged layout");
        // (At least one header is always read, so that a load of headers never ends inside the call
        // that starts it.)
        let complete = !load.asked.is_empty() && self.is_loaded(&load);
        let region = load.region.as_usize();
        let settled =
            complete && load.is_settled(shape.segments(), self.stored[region], self.applied[region]);
        let Some((source, end, positions)) = load.next(shape.segments()).filter(|_| !settled) else {
            return self.understand_headers(cx, durable, load, complete);
        };
        (load.source, load.end, load.asked) = (source, end, positions);
        let (header, length) = (self.header, self.segment_length);
        let mut plan = Plan::of(Strategy::Metadata);
        let mut start = Sectors::ZERO;
        for position in &load.asked {
            let log_copy = load.copy_of(*position, source).expect("a source of the position");
            let location = cx.geometry.log_segment_at(load.region, *position, log_copy);
            let location = location.expect("a logged layout");
            let offset = if end == End::Front { Sectors::ZERO } else { length - header };
            let at = cx.geometry.absolute(location.at);
            plan.read(location.slot, at + offset, Span::new(Source::Metadata, start, header));
            start += header;
        }
        let turn = load.turn;
        let id = cx.jobs.start(Kind::Load(Box::new(load)), Class::Log);
        let job = cx.jobs.get_mut(id);
        job.plan = plan;
        job.metadata.resize(start.bytes().as_usize(), 0);
        cx.run(id, turn, None, &[]);
    }

    /// Whether the headers that were read hold all records that the table counts.
    fn is_loaded(&self, load: &Load) -> bool {
        let region = load.region.as_usize();
        is_complete(
            &load.newest_first(),
            self.stored[region],
            self.applied[region],
            &self.held_of(load.region),
        )
    }

    /// The records of `region` that the commit log holds. A crash may have cut a segment off behind
    /// its header; such records are taken from the commit log.
    fn held_of(&self, region: Region) -> BTreeSet<u64> {
        let log = &self.regions[region];
        log.recovery.iter().flat_map(|recovery| recovery.sequences()).collect()
    }

    /// Takes in the headers that were read.
    pub(crate) fn load_done(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId, mut load: Load) {
        let metadata = std::mem::take(&mut cx.jobs.get_mut(id).metadata);
        cx.jobs.end(id);
        let length = self.header.bytes().as_usize();
        for (position, bytes) in load.asked.clone().into_iter().zip(metadata.chunks(length)) {
            let header =
                Header::decode(bytes, cx.identity).filter(|header| header.belongs_to(load.region, position));
            match header {
                Some(header) if header.is_within(self.before) => load.take(position, header),
                Some(_) => self.report_implausible_segment(cx, &load, position),
                None => {}
            }
        }
        self.go_on_loading(cx, durable, load);
    }

    /// All readable headers were read, or the headers that were read are `complete`.
    fn understand_headers(&mut self, cx: &mut Context, durable: &mut Durable, load: Load, complete: bool) {
        let Load { region, turn, unreadable, .. } = &load;
        let (region, turn) = (*region, *turn);
        // If no copy of a header can be read, it is not known what the log held.
        if !complete && !unreadable.is_empty() {
            return self.give_log_up(cx, durable, region);
        }
        let held = self.held_of(region);
        let applied = self.applied[region.as_usize()];
        self.region(region).read_at = self.stamp;
        let mut known = held.clone();
        let mut sound = complete;
        for (position, header) in load.newest_first() {
            let shadow = header.records.iter().any(|record| held.contains(&record.sequence));
            let counts = |record: &Record| known.insert(record.sequence) && record.sequence > applied;
            let live: Vec<Record> = header.records.iter().copied().filter(counts).collect();
            sound &= live.iter().all(|record| self.is_sound(cx, record));
            if sound && !live.is_empty() {
                let copies = load.copies_of(position);
                self.restore((region, position, copies), header.stamp, live, turn);
            } else if shadow {
                self.keep_shadow(region, position);
            }
        }
        // A member may have been lost while its headers were read.
        if !sound {
            cx.events.push_back(Event::LogDamaged { region, slots: cx.geometry.log_slots(region).collect() });
        }
        if !sound
            || self.log_is_lost(cx, region)
            || self.is_recovering(region) && !self.remembered_log_stands(cx, region)
        {
            self.give_log_up(cx, durable, region);
        } else if self.is_recovering(region) {
            self.start_redo(cx, region);
        } else {
            self.region_known(cx, durable, region);
        }
    }

    fn report_implausible_segment(&self, cx: &mut Context, load: &Load, position: u32) {
        let copy = load.copy_of(position, load.source).unwrap_or(0);
        if let Some(location) = cx.geometry.log_segment_at(load.region, position, copy) {
            cx.events.push_back(Event::Implausible { slot: location.slot, what: "log segment" });
        }
    }

    fn is_sound(&self, cx: &Context, record: &Record) -> bool {
        let payload = self.payload();
        let within = record.start + self.stored(record) <= payload;
        record.suits(cx.geometry.layout()) && (!record.kind.has_payload() || within)
    }

    /// The records in `position` are used from the commit log. The position is not overwritten
    /// while a table counts it.
    fn keep_shadow(&mut self, region: Region, position: u32) {
        let log = self.region(region);
        log.positions[position as usize] = true;
        log.shadows.push(position);
    }

    fn restore(
        &mut self,
        (region, position, copies): (Region, u32, LogCopies),
        stamp: u64,
        records: Vec<Record>,
        turn: u64,
    ) {
        self.records += records.len() as u64;
        for record in &records {
            *self.region(region).live.entry(record.stripe).or_default() += 1;
        }
        let index = self.insert(Segment {
            region,
            state: SegmentState::Stored,
            buffer: None,
            position: Some(position),
            used: self.payload(),
            reserved: records.len() as u32,
            unfilled: 0,
            commits: vec![None; records.len()],
            records,
            taken: 0,
            copies,
            turn,
            stamp,
        });
        let log = self.region(region);
        log.segments.push(index);
        log.positions[position as usize] = true;
    }

    /// Some headers could not be read. Each header is stored twice, in each copy of the log: any of
    /// them says whether the position is in use.
    pub(crate) fn load_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        (id, mut load): (JobId, Load),
        failures: &[FailedAccess],
    ) {
        let job = cx.jobs.get(id);
        let failed: Vec<bool> =
            job.actions().map(|action| failures.iter().any(|failure| failure.is_of(action))).collect();
        let (region, turn) = (load.region, load.turn);
        let stands = self.log_stood_since(cx, region, turn);
        // Where a member was lost, a copy of what it held is read.
        let goes_on = |failure: &FailedAccess| {
            failure.fault == Fault::Unreadable || stands && cx.roster.slot_of(failure.member).is_none()
        };
        if failures.iter().all(goes_on) {
            load.note_read(&failed);
            return self.load_done(cx, durable, id, load);
        }
        cx.jobs.end(id);
        let of_space = failures.iter().any(|failure| failure.fault.is_of_space());
        if of_space && stands && !self.log_is_lost(cx, region) {
            self.stall_region(cx, region);
        } else {
            self.give_log_up(cx, durable, region);
        }
    }
}
