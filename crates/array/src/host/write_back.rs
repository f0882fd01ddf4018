//! Write-back: which requests are staged and which pass by, the entries that acknowledge writes,
//! and reads of what is staged. `docs/decisions/write-back.md` has the rules.

use parlour_units::{Duration, Sectors};

use super::state::{Hosts, range_of};
use crate::columns::{Columns, Piece, uncovered};
use crate::core::Core;
use crate::effect::Class;
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::{StagedWrite, write_length};
use crate::ids::{HostId, JobId};
use crate::job::Kind;
use crate::log::{EntryGate, Lane};
use crate::mode::Mode;
use crate::plan::{Source, Span};
use crate::request::{Operation, Request, RequestError};
use crate::signal::Signal;
use crate::stage::{Destage, Range, Stage, Staged, Waiting, is_short};

/// How long to wait before what could not be destaged is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// An entry has at most this many writes.
const GROUP: usize = 256;
/// While writes are slowed down, an entry takes at least this part of the stream, if so much waits.
const WORTH_AN_ENTRY: u64 = 64;

impl Hosts {
    /// A request that changes content: it is staged, or passes by as soon as it may.
    pub(super) fn begin_change(&mut self, core: &mut Core, host: HostId, request: Request) {
        if !core.cx.geometry.writes_back() {
            return self.pass_by(core, host, request);
        }
        if core.cx.takes_no_writes() {
            let refusal = core.cx.refusal();
            self.get(host).error.get_or_insert(refusal);
            return;
        }
        let range = range_of(&request);
        if self.changes_nothing(core, &request) {
            return self.pass_by(core, host, request);
        }
        if self.is_staged(core, &request) {
            self.stage.pending.push((host, range));
            return self.start_sums(core, host, request);
        }
        if !self.must_wait(core, range) {
            self.stage.passing.push((host, range));
            self.pass_by(core, host, request);
        } else if self.is_hindered(core) {
            self.get(host).error.get_or_insert(RequestError::Lost);
        } else {
            self.get(host).jobs += 1;
            self.stage.parked.push_back((host, range));
        }
    }

    /// Writes, zeroes or trims what a request asks for, in its place.
    pub(super) fn pass_by(&mut self, core: &mut Core, host: HostId, request: Request) {
        match request.operation {
            Operation::Write { durable } => self.begin_gathered(core, host, request, durable),
            Operation::WriteZeroes { may_unmap, fast_only, durable } => {
                self.begin_zeroes(core, host, request, may_unmap && !durable, fast_only, durable);
            }
            Operation::Trim => self.begin_trim(core, host, request),
            Operation::Read | Operation::Flush => unreachable!("it changes content"),
        }
    }

    /// Whether a request is a write that is staged.
    fn is_staged(&self, core: &Core, request: &Request) -> bool {
        matches!(request.operation, Operation::Write { .. })
            && is_short(&core.cx.geometry, range_of(request))
            && core.cx.mode == Mode::Serving
            && self.fills_its_buffer(core, request)
            && self.stage.unread.is_empty()
            && !self.is_hindered(core)
            && !self.stage.is_passed(range_of(request))
    }

    /// Whether a trim or zeroes are ignored or refused by these members, whatever is staged.
    fn changes_nothing(&self, core: &Core, request: &Request) -> bool {
        match request.operation {
            Operation::Trim => !self.members_unmap(core),
            Operation::WriteZeroes { may_unmap, fast_only: true, durable } => {
                let unmaps = may_unmap && !durable && self.members_unmap(core);
                !unmaps || !self.is_made_of_stripes(core, *request)
            }
            _ => false,
        }
    }

    /// Whether entries cannot be forgotten for now: something cannot be destaged, or a member that
    /// had to be kept could not flush. Requests do not wait for that.
    fn is_hindered(&self, core: &Core) -> bool {
        self.stage.stuck.is_some() || core.cx.roster.has_lost_writes()
    }

    /// Whether a write takes most of its buffer, which is kept in memory until it is destaged.
    fn fills_its_buffer(&self, core: &Core, request: &Request) -> bool {
        request.buffer.is_some_and(|buffer| core.cx.buffers.length(buffer) <= request.length * 2)
    }

    /// Whether a request that passes by must wait: an older write of its sectors would come back
    /// after a crash. (Entries of what is staged would be found, and so would all later ones.)
    fn must_wait(&self, core: &Core, range: Range) -> bool {
        let stage = &self.stage;
        let found = |entry| core.logs.writes_would_be_found(entry);
        !stage.unread.is_empty() || stage.is_pending(range) || stage.map.newest(range).is_some_and(found)
    }

    /// Computes the checksums of a write that is to be staged.
    fn start_sums(&mut self, core: &mut Core, host: HostId, request: Request) {
        // (The job of the entry: it ends when the entry counts.)
        self.get(host).jobs += 1;
        let id = core.cx.jobs.start(Kind::StageSums { host }, Class::Foreground);
        let payload = self.host_buffer(host);
        let plan = &mut core.cx.jobs.get_mut(id).plan;
        plan.checksum(Span::new(Source::Host, Sectors::ZERO, request.length));
        let turn = core.cx.roster.turn();
        core.cx.run(id, turn, payload, &[]);
    }

    /// The checksums of a write are computed: it waits for an entry.
    pub(super) fn sums_done(&mut self, core: &mut Core, id: JobId, host: HostId) {
        let sums = std::mem::take(&mut core.cx.jobs.get_mut(id).checksums);
        core.cx.jobs.end(id);
        let write = StagedWrite { at: self.get(host).request.at.get(), sums };
        self.stage.waiting.push_back(Waiting { host, write, given_up: None });
    }

    /// Writes the next entry, if writes wait for it. Returns whether it did anything.
    pub(super) fn pump_entry(&mut self, core: &mut Core) -> bool {
        if self.stage.waiting.is_empty() {
            return false;
        }
        let block = core.cx.geometry.block();
        let most = core.logs.longest_write_entry(&core.cx);
        if core.cx.takes_no_writes() {
            // What was given up would be found after a crash, and may not be answered before that
            // is over.
            let refusal = core.cx.refusal();
            return !core.logs.owes_writes(&core.cx, &core.durable) && self.refuse(core, refusal);
        }
        let (mut count, mut length) = (0, Sectors::ZERO);
        for waiting in self.stage.waiting.iter().take(GROUP) {
            let more = write_length(waiting.write.length(), block);
            if count > 0 && length + more > most {
                break;
            }
            (count, length) = (count + 1, length + more);
        }
        if !self.is_in_pace(core, length) {
            return false;
        }
        let gate = core.logs.pass_write_entry(&mut core.cx, &core.durable, length);
        self.stage.is_full = gate == EntryGate::Full;
        match gate {
            EntryGate::Open(lane) => {
                self.stage.batch.admit(length);
                self.start_entry(core, lane, count);
            }
            EntryGate::Marked => {}
            EntryGate::Later => return false,
            _ if core.logs.owes_writes(&core.cx, &core.durable) => return false,
            EntryGate::Full if self.is_hindered(core) => self.unstage(core),
            EntryGate::Full => return false,
            EntryGate::Nobody => return self.refuse(core, RequestError::Lost),
        }
        true
    }

    /// Whether an entry of `length`, which is all that waits or the most that fits, is in pace with
    /// what is being destaged. There must be room for all of it, or for a part of the stream that
    /// is worth an entry.
    fn is_in_pace(&self, core: &Core, length: Sectors) -> bool {
        let (batch, all) = (&self.stage.batch, core.logs.length_of_writes().get());
        let worth = Sectors::new(all / WORTH_AN_ENTRY);
        batch.allows(length.min(worth), Sectors::new(all * 3 / 8))
    }

    /// Nothing can be destaged, and no entry has room: what waits for an entry passes by.
    fn unstage(&mut self, core: &mut Core) {
        for Waiting { host, .. } in std::mem::take(&mut self.stage.waiting) {
            self.stage.end_pending(host);
            let request = self.get(host).request;
            self.begin_change(core, host, request);
            core.cx.signal(Signal::HostJobDone(host, Ok(())));
        }
    }

    fn start_entry(&mut self, core: &mut Core, lane: Lane, count: usize) {
        let entry: Vec<Waiting> = self.stage.waiting.drain(..count).collect();
        let mut spans = Vec::with_capacity(count);
        for Waiting { host, write, .. } in &entry {
            let (buffer, start) = self.host_buffer(*host).expect("a write has a payload");
            spans.push(Span::new(Source::Buffer(buffer), start, write.length()));
        }
        let writes = entry.iter().map(|waiting| waiting.write.clone()).collect();
        let content = (writes, spans);
        let number = core.logs.begin_write_entry(&mut core.cx, &core.durable, lane, content);
        self.stage.entries.insert(number, entry);
    }

    /// An entry of writes is durable: its writes are staged and answered, if all of its members are
    /// there. Of two writes of the same sectors the one in the newer entry is the newer one, as
    /// after a crash.
    pub(super) fn entry_done(&mut self, core: &mut Core, id: JobId, (number, lane): (u64, Lane)) {
        core.cx.jobs.end(id);
        let entry = self.stage.take_entry(number);
        if !core.logs.write_entry_done(lane) {
            return self.write_again(lane, entry);
        }
        for waiting in entry {
            let (host, range) = (waiting.host, waiting.range());
            let (buffer, start) = self.host_buffer(host).expect("a write has a payload");
            let staged = Staged { range, entry: number, buffer, start };
            self.stage.map.insert(&mut core.cx.buffers, staged);
            self.stage.end_pending(host);
            core.cx.signal(Signal::HostJobDone(host, Ok(())));
        }
        self.stage.map.inserted(number);
        self.end_entries(core);
    }

    /// An entry could not be written. It may stand on some member, and would count until the next
    /// one is durable: its writes go into that one.
    pub(super) fn entry_broken(
        &mut self,
        core: &mut Core,
        id: JobId,
        (number, lane): (u64, Lane),
        failures: &[FailedAccess],
    ) {
        core.cx.jobs.end(id);
        core.logs.write_entry_broken(&core.cx, &core.durable, lane, failures);
        let entry = self.stage.take_entry(number);
        self.write_again(lane, entry);
    }

    /// The writes of an entry that was given up in `lane` wait for another one.
    fn write_again(&mut self, lane: Lane, entry: Vec<Waiting>) {
        let again = entry.into_iter().map(|waiting| Waiting { given_up: Some(lane), ..waiting });
        again.rev().for_each(|waiting| self.stage.waiting.push_front(waiting));
    }

    /// Answers the writes that wait for an entry with an error.
    fn refuse(&mut self, core: &mut Core, error: RequestError) -> bool {
        for Waiting { host, given_up, .. } in std::mem::take(&mut self.stage.waiting) {
            if given_up.is_some_and(|lane| core.logs.lane_of_writes_owes(lane)) {
                let request = self.get(host).request;
                let stripes = self.stripes_of(core, request);
                stripes.for_each(|stripe| core.logs.may_come_back(&core.cx, stripe));
            }
            self.stage.end_pending(host);
            core.cx.signal(Signal::HostJobDone(host, Err(error)));
        }
        true
    }

    /// Entries of which nothing waits to be destaged need not be kept.
    pub(super) fn end_entries(&mut self, core: &mut Core) {
        while let Some(number) = self.stage.map.take_over() {
            core.logs.writes_stored(number);
        }
        self.stage.map.forget(|entry| core.logs.writes_would_be_found(entry));
    }

    /// Requests that waited for the stage go on, if they can. Returns whether there was one.
    pub(super) fn pump_parked(&mut self, core: &mut Core) -> bool {
        let stuck = self.is_hindered(core) || core.cx.takes_no_writes();
        let ready = |(_, range): &(HostId, Range)| stuck || !self.must_wait(core, *range);
        let Some(index) = self.stage.parked.iter().position(ready) else { return false };
        let (host, _) = self.stage.parked.remove(index).expect("it was found there");
        let request = self.get(host).request;
        self.begin_change(core, host, request);
        core.cx.signal(Signal::HostJobDone(host, Ok(())));
        true
    }

    /// Copies what is staged of a read into the host's buffer.
    pub(super) fn read_staged(&mut self, core: &mut Core, host: HostId, request: Request) {
        self.get(host).overlaid.clear();
        if self.stage.map.is_empty() {
            return;
        }
        let found: Vec<Staged> = self.stage.map.staged(range_of(&request)).collect();
        if found.is_empty() {
            return;
        }
        let in_payload = |range: Range| Columns::new(range.from - request.at, range.to - request.at);
        self.get(host).jobs += 1;
        self.get(host).overlaid = found.iter().map(|staged| in_payload(staged.range)).collect();
        let id = core.cx.jobs.start(Kind::StageRead { host }, Class::Foreground);
        for Staged { range, buffer, start, .. } in found {
            core.cx.buffers.hold(buffer);
            let job = core.cx.jobs.get_mut(id);
            job.held.push(buffer);
            let to = Span::new(Source::Host, range.from - request.at, range.length());
            job.plan.xor(to, [Span::new(Source::Buffer(buffer), start, range.length())]);
        }
        let payload = self.host_buffer(host);
        let turn = core.cx.roster.turn();
        core.cx.run(id, turn, payload, &[]);
    }

    /// Removes what this attempt of a read takes from the stage from the pieces that are read.
    pub(super) fn cut_staged(&mut self, host: HostId, found: &mut Vec<Piece>) {
        let overlaid = &self.get(host).overlaid;
        if overlaid.is_empty() {
            return;
        }
        for piece in std::mem::take(found) {
            let in_payload = Columns::new(piece.host, piece.host + piece.columns.length());
            for part in uncovered(in_payload, overlaid) {
                let from = piece.columns.from + (part.from - piece.host);
                let columns = Columns::new(from, from + part.length());
                found.push(Piece { columns, host: part.from, ..piece });
            }
        }
    }

    /// Whether a flush has nothing to do: what has passed the stage by is flushed, and all else is
    /// durable in the commit log.
    pub(super) fn needs_no_flush(&self, core: &Core) -> bool {
        let Stage { passed, flushed, .. } = self.stage;
        core.cx.geometry.writes_back() && passed == flushed && core.durable.flushes_hold(&core.cx)
    }

    /// One of the array's own writes, which destages data, has ended.
    pub(super) fn destage_ended(&mut self, core: &mut Core, host: HostId, result: Result<(), RequestError>) {
        let Some(Destage { parts, buffer, .. }) = self.stage.end_running(host) else { return };
        match result {
            Ok(()) => {
                for Staged { range, entry, .. } in parts {
                    core.cx.counters.destaged += range.length().get();
                    self.stage.map.destaged(&mut core.cx.buffers, range, entry);
                }
            }
            Err(_) => self.stage.stuck = Some(core.cx.now + RETRY),
        }
        core.cx.buffers.release(buffer);
        self.end_entries(core);
    }
}
