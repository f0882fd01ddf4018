//! Destaging: acknowledged writes go to their places, in batches, sorted by place. And what was
//! found when the array was opened is read again.

use parlour_units::Sectors;

use super::state::{Hosts, Origin};
use crate::columns::Columns;
use crate::core::Core;
use crate::effect::Class;
use crate::format::commit_entry::CommitPart;
use crate::ids::{HostId, JobId};
use crate::job::Kind;
use crate::log::found::FoundEntry;
use crate::mode::Mode;
use crate::plan::{Expected, Source, Span, Target};
use crate::request::{Operation, Request, Tag};
use crate::signal::Signal;
use crate::stage::{Destage, Range, Stage, Staged, Unread};
use crate::status::Event;

impl Hosts {
    /// Takes up the entries of writes that were found.
    pub(crate) fn take_up_stage(&mut self, core: &mut Core, may_lose: bool) {
        self.stage.may_lose = may_lose;
        // What the session before has answered may not be flushed.
        self.stage.passed = 1;
        let block = core.cx.geometry.block();
        self.stage.unread = core
            .logs
            .take_found_writes()
            .into_iter()
            .map(|FoundEntry { lane, header, .. }| Unread {
                number: header.number,
                at: core.cx.geometry.entry_at(CommitPart::Writes, lane, header.at),
                header: header.content.header_length(block),
                writes: header.content.writes,
                asked: Vec::new(),
                buffer: None,
                is_read: false,
            })
            .collect();
    }

    /// Lets the stage go on. Returns whether it did anything.
    pub(crate) fn pump_stage(&mut self, core: &mut Core) -> bool {
        if !core.cx.geometry.writes_back() || !core.cx.writes {
            return false;
        }
        if !self.stage.unread.is_empty() {
            return self.pump_unread(core);
        }
        // (A stop that something hinders is unclean, and does not try again.)
        let tries_again = core.cx.mode == Mode::Serving && !core.cx.takes_no_writes();
        if tries_again && self.stage.stuck.is_some_and(|retry| retry <= core.cx.now) {
            self.stage.stuck = None;
        }
        self.pump_parked(core) || self.pump_entry(core) || self.pump_destages(core)
    }

    /// Reads the oldest entries that are still to be read, several at once. Returns whether it did
    /// anything.
    fn pump_unread(&mut self, core: &mut Core) -> bool {
        core.logs.may_read_writes(&core.cx, &core.durable)
            && (0..self.stage.unread.len().min(READ_AT_ONCE)).any(|index| self.read_entry(core, index))
    }

    /// Begins to read an entry, if that has not begun. Returns whether it did anything.
    fn read_entry(&mut self, core: &mut Core, index: usize) -> bool {
        let unread = &mut self.stage.unread[index];
        if unread.buffer.is_some() {
            return false;
        }
        let members = core.logs.members_with_writes(&core.cx, unread.number);
        let Some(member) = members.into_iter().find(|member| !unread.asked.contains(member)) else {
            // (What is staged keeps its order: an entry is given up when it is the oldest.)
            return index == 0 && self.lose_unread(core);
        };
        unread.asked.push(member);
        let length = unread.writes.iter().fold(Sectors::ZERO, |sum, write| sum + write.length());
        let at = unread.at + unread.header;
        let buffer = core.cx.buffers.take(length);
        unread.buffer = Some(buffer);
        let id = core.cx.jobs.start(Kind::StageLoad { number: unread.number }, Class::Foreground);
        let plan = &mut core.cx.jobs.get_mut(id).plan;
        let span = Span::new(Source::Buffer(buffer), Sectors::ZERO, length);
        plan.read(Target::Member(member), at, span);
        plan.next_phase();
        let sums = unread.writes.iter().flat_map(|write| write.sums.iter().copied()).collect();
        plan.verify(span, 0, Columns::new(Sectors::ZERO, length), Expected::Sums(sums));
        core.cx.run_own(id);
        true
    }

    /// An entry was read, and holds what was written. It is staged when all before it are.
    pub(super) fn unread_done(&mut self, core: &mut Core, id: JobId, number: u64) {
        core.cx.jobs.end(id);
        self.unread(number).is_read = true;
        while self.stage.unread.front().is_some_and(|unread| unread.is_read)
            && let Some(Unread { number, writes, buffer: Some(buffer), .. }) = self.stage.unread.pop_front()
        {
            let mut start = Sectors::ZERO;
            for write in writes {
                let range = Range::of(&write);
                self.stage.map.insert(&mut core.cx.buffers, Staged { range, entry: number, buffer, start });
                start += range.length();
            }
            core.cx.buffers.release(buffer);
        }
        self.have_read(core);
    }

    /// Entry `number`, which is being read.
    fn unread(&mut self, number: u64) -> &mut Unread {
        let mut unread = self.stage.unread.iter_mut();
        unread.find(|unread| unread.number == number).expect("an entry is on the list until it is staged")
    }

    /// There are fewer entries to be read.
    fn have_read(&mut self, core: &mut Core) {
        self.end_entries(core);
        if self.stage.unread.is_empty() {
            core.logs.writes_are_read();
            core.cx.signal(Signal::ReadsMayGoOn);
        }
    }

    /// No member has the oldest entry any more. The array is abandoned, unless it was opened with
    /// force: then what the entry held is lost. Returns true.
    fn lose_unread(&mut self, core: &mut Core) -> bool {
        let Unread { number, writes, .. } = self.stage.unread.pop_front().expect("there is an oldest one");
        let lost = |write| {
            let range = Range::of(write);
            Event::AcknowledgedLost { at: range.from, length: range.length() }
        };
        if !self.stage.may_lose {
            writes.iter().map(lost).for_each(|event| core.abandon(Mode::Halted, event));
            return true;
        }
        core.cx.events.extend(writes.iter().map(lost));
        // What older entries hold of these sectors does not come back.
        let buffer = core.cx.buffers.take(Sectors::new(1));
        for range in writes.iter().map(Range::of) {
            let staged = Staged { range, entry: number, buffer, start: Sectors::ZERO };
            self.stage.map.insert(&mut core.cx.buffers, staged);
            self.stage.map.destaged(&mut core.cx.buffers, range, number);
        }
        core.cx.buffers.release(buffer);
        self.have_read(core);
        true
    }

    /// An entry could not be read: the next of its members is asked.
    pub(super) fn unread_broken(&mut self, core: &mut Core, id: JobId, number: u64) {
        core.cx.jobs.end(id);
        if let Some(buffer) = self.unread(number).buffer.take() {
            core.cx.buffers.release(buffer);
        }
    }

    /// Begins destages, batches of them, and the flush that ends them. Returns whether it did
    /// anything.
    fn pump_destages(&mut self, core: &mut Core) -> bool {
        if self.stage.batch.running() < at_once(core)
            && let Some(run) = self.stage.batch.next_run()
        {
            self.start_destages(core, run);
            return true;
        }
        if !self.stage.batch.is_half_done() || self.stage.stuck.is_some() {
            return false;
        }
        if let Some((_, range)) = self.stage.parked.front()
            && let Some(newest) = self.stage.map.newest(*range)
            && core.logs.await_writes_forgotten(newest)
        {
            return true;
        }
        let wanted = core.logs.unwanted_writes().is_some() || self.stage.is_full;
        let idle = !self.are_busy(core.cx.now);
        let many = core.logs.has_many_writes();
        // (What the last batch has destaged is flushed while the next one goes on: its entries take
        // room.)
        if (many || wanted) && core.logs.flush_for_writes(&mut core.cx, &core.durable) {
            return true;
        }
        if (wanted || idle || many || core.cx.mode == Mode::Stopping) && !self.stage.map.is_empty() {
            self.begin_batch(core);
            return true;
        }
        // (A stop flushes by itself.)
        let stops = core.cx.mode == Mode::Stopping && self.stage.parked.is_empty();
        (wanted || (idle || many) && !stops) && core.logs.flush_for_writes(&mut core.cx, &core.durable)
    }

    /// Begins a batch of all that is staged.
    fn begin_batch(&mut self, core: &mut Core) {
        let stripe = core.cx.geometry.layout().stripe_data();
        let up_to = core.logs.newest_writes();
        let Stage { map, batch, .. } = &mut self.stage;
        batch.begin(up_to, map.up_to(up_to), stripe);
    }

    /// Writes what is still to be destaged of a range to its place. Parts without a gap between
    /// them are written together.
    fn start_destages(&mut self, core: &mut Core, run: Range) {
        let up_to = self.stage.batch.up_to();
        let parts: Vec<Staged> = self.stage.map.staged(run).filter(|staged| staged.entry <= up_to).collect();
        for parts in parts.chunk_by(|one, next| one.range.to == next.range.from) {
            if let [_only] = parts {
                self.destage_one(core, parts[0]);
            } else if !self.destage_copied(core, parts) {
                parts.iter().for_each(|part| self.destage_one(core, *part));
            }
        }
    }

    /// Writes a part to its place, from the buffer in which it is staged.
    fn destage_one(&mut self, core: &mut Core, part: Staged) {
        core.cx.buffers.hold(part.buffer);
        let destage = Destage { parts: vec![part], buffer: part.buffer, copied: Sectors::ZERO };
        let host = self.insert_destage(destage, part.start);
        self.write_copied(core, host);
    }

    /// Copies parts behind one another, to be written together. Returns `false` if too much is
    /// copied already.
    fn destage_copied(&mut self, core: &mut Core, parts: &[Staged]) -> bool {
        let length = parts.iter().fold(Sectors::ZERO, |sum, part| sum + part.range.length());
        let most = Sectors::new(core.logs.length_of_writes().get() / MOST_COPIED);
        if self.stage.batch.copied() + length > most {
            return false;
        }
        let buffer = core.cx.buffers.take(length);
        let destage = Destage { parts: parts.to_vec(), buffer, copied: length };
        let host = self.insert_destage(destage, Sectors::ZERO);
        let copied = parts.iter().map(|part| (part.buffer, part.start, part.range.length()));
        self.copy_parts(core, (host, buffer, Class::Log), copied);
        true
    }

    fn insert_destage(&mut self, destage: Destage, start: Sectors) -> HostId {
        let range = destage.range();
        let request = Request {
            tag: Tag(0),
            operation: Operation::Write { durable: false },
            at: range.from,
            length: range.length(),
            buffer: Some(destage.buffer),
        };
        let host = self.insert_own(request, start, Origin::Destaged);
        self.stage.batch.start_running(host, destage);
        host
    }
}

/// Copies that are made for destages take at most this part of the stream of writes (one half).
const MOST_COPIED: u64 = 2;

/// The most entries that are read at once.
const READ_AT_ONCE: usize = 32;

/// The most destages at once.
fn at_once(core: &Core) -> usize {
    usize::from(core.cx.geometry.members()).saturating_mul(core.cx.tuning.destage_depth as usize)
}
