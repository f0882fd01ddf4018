//! The array with its members and its memory. The machine carries effects out, and reports their
//! outcomes to the array.
//!
//! A member is *given up* if an access takes too long or if the member is excluded: all its
//! accesses are reported to the array as failed (gone). The kernel may still carry these accesses
//! out. Until the kernel has answered all of them, their memory is in quarantine and the member
//! gets no new accesses.

mod flights;
mod giving_up;
mod payload;

use std::collections::VecDeque;
use std::io;
use std::time::Instant as Clock;

use parlour_array::record::Recorded;
use parlour_array::{BufferId, Class, Completion, Effect, EffectId, Fault, Outcome, Request};
use parlour_units::{Bytes, Duration, Instant, Member, Sector, Sectors};

use crate::access::{Access, Done, Operation, Priority};
use crate::backend::IoBackend;
use crate::fault::Failure;
use crate::io::Io;
use crate::memory::Memory;
use crate::meter::Meter;
use crate::pace::{Change, Pace};
use crate::requests::{Answered, Asked, Requests, Slice};
use crate::roster::Roster;
use crate::seam::{self, Task};
use flights::{Flight, Flights};
use payload::Payload;

/// Rounds of foreground work before other work gets its turn. A small write goes through at most
/// this many phases.
const ROUNDS: usize = 16;
/// The most background effects that are begun at once.
const BACKGROUND_BATCH: usize = 64;
/// Bytes of the logs' long work that are begun before hosts are served again. Where members are in
/// memory this work is carried out at once, and takes time.
const LOG_BATCH: u64 = 1 << 20;
/// For the logs, an access longer than this is long work. Computations for the logs are always long
/// work.
const LONG: u64 = 64 << 10;

/// The machine, described in the module's documentation.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) array: Recorded,
    pub(crate) roster: Roster,
    pub(crate) meter: Meter,
    pub(crate) pace: Pace,
    payload: Payload,
    io: Io,
    requests: Requests,
    clock: Clock,
    now: Instant,
    flights: Flights,
    /// Background effects, found while looking for foreground effects.
    waiting: VecDeque<Effect>,
    /// The logs' long work, in the order in which the array issued it.
    long: VecDeque<Effect>,
    /// An effect and a completion that were polled only to find out whether there are any.
    next_effect: Option<Effect>,
    next_completion: Option<Completion>,
    // Vectors that are kept for their capacity.
    batch: Vec<Access>,
    done: Vec<Done>,
    touched: Vec<u16>,
}

impl Machine {
    pub(crate) fn new(
        array: Recorded,
        roster: Roster,
        io: Io,
        clock: Clock,
        retain: Bytes,
        patience: Duration,
    ) -> Machine {
        let key = array.get().sector_key();
        let requests = Requests::new(array.get().geometry().layout().stripe_data());
        Machine {
            array,
            roster,
            meter: Meter::new(),
            pace: Pace::default(),
            payload: Payload::new(retain, key),
            io,
            requests,
            clock,
            now: Instant::ZERO,
            flights: Flights::new(patience),
            waiting: VecDeque::new(),
            long: VecDeque::new(),
            next_effect: None,
            next_completion: None,
            batch: Vec::new(),
            done: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Reads the clock.
    pub(crate) fn tick(&mut self) -> Instant {
        let elapsed = u64::try_from(self.clock.elapsed().as_nanos()).expect("fewer than 500 years");
        self.now = Instant::from_nanoseconds(elapsed);
        self.now
    }

    /// The time when the clock was last read.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn io(&self) -> &Io {
        &self.io
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.payload.memory()
    }

    /// The number of accesses under way, except those that were given up.
    pub(crate) fn in_flight(&self) -> usize {
        self.flights.in_flight()
    }

    /// The number of accesses that were given up and that the kernel has not answered yet.
    pub(crate) fn accesses_given_up(&self) -> usize {
        self.flights.given_up()
    }

    /// The number of hosts' requests that are not answered.
    pub(crate) fn requests_in_flight(&self) -> usize {
        self.requests.in_flight()
    }

    /// Members that have become slow, or are no longer slow. An access under way counts with the
    /// time that it has taken so far.
    pub(crate) fn look_at_pace(&mut self) -> Vec<Change> {
        if !self.pace.is_due(self.now) {
            return Vec::new();
        }
        for flight in self.flights.iter().filter(|flight| flight.moves) {
            self.pace.note(flight.member, self.now.since(flight.began));
        }
        let mut changes = self.pace.look(self.now);
        changes.retain(|change| self.roster.get(change.member).is_some());
        changes
    }

    // Hosts.

    pub(crate) fn reserve(&mut self, length: Sectors) -> Option<BufferId> {
        self.collect_released();
        let buffer = self.array.reserve(length)?;
        self.payload.take(buffer, length);
        Some(buffer)
    }

    pub(crate) fn expect_write(&mut self, at: Sector, length: Sectors) {
        self.array.expect_write(self.now, at, length);
    }

    pub(crate) fn release(&mut self, buffer: BufferId) {
        self.array.release(buffer);
        self.collect_released();
    }

    pub(crate) fn bytes(&self, buffer: BufferId) -> &[u8] {
        self.payload.bytes(buffer, self.array.buffer_length(buffer))
    }

    pub(crate) fn bytes_mut(&mut self, buffer: BufferId) -> &mut [u8] {
        self.payload.bytes_mut(buffer, self.array.buffer_length(buffer))
    }

    /// Queues a request. The array gets it when its turn comes.
    pub(crate) fn submit(&mut self, asked: Asked) {
        self.requests.push(asked, self.now);
    }

    /// Passes short requests to the array, in turn, up to the limit of requests under way.
    pub(crate) fn admit_short(&mut self) {
        while let Some(slice) = self.requests.next_short(self.now) {
            self.submit_slice(slice);
        }
    }

    /// Passes slices of long requests to the array, in the same way. Returns whether there were
    /// any.
    pub(crate) fn admit_long(&mut self) -> bool {
        let mut any = false;
        while let Some(slice) = self.requests.next_long(self.now) {
            self.submit_slice(slice);
            any = true;
        }
        any
    }

    fn submit_slice(&mut self, slice: Slice) {
        let Slice { tag, operation, at, length, buffer, start } = slice;
        let request = Request { tag, operation, at, length, buffer };
        if start.is_zero() {
            self.array.submit(self.now, request);
        } else {
            self.array.submit_part(self.now, request, start);
        }
    }

    /// Refuses all requests that were not passed to the array.
    pub(crate) fn refuse_waiting(&mut self) {
        self.requests.close();
    }

    /// Returns a completed request.
    pub(crate) fn poll_answer(&mut self) -> Option<Answered> {
        while let Some(completion) = self.next_completion.take().or_else(|| self.array.poll_completion()) {
            self.requests.complete(self.now, completion);
        }
        let answered = self.requests.poll_answer()?;
        self.meter.count(&answered, self.now);
        Some(answered)
    }

    /// Whether there is work that needs no answer of a member.
    pub(crate) fn has_work(&mut self) -> bool {
        if self.next_effect.is_none() {
            self.next_effect = self.array.poll_effect();
        }
        if self.next_completion.is_none() {
            self.next_completion = self.array.poll_completion();
        }
        let answers = self.next_completion.is_some() || self.requests.has_answers();
        let effects = self.next_effect.is_some() || !self.waiting.is_empty() || !self.long.is_empty();
        effects || answers || self.requests.may_begin(self.now)
    }

    // Effects.

    /// Does foreground work, until it must wait for a member.
    pub(crate) fn run_foreground(&mut self) -> io::Result<()> {
        let mut budget = LOG_BATCH;
        for _ in 0..ROUNDS {
            let answered = self.reap()?;
            self.collect_foreground(&mut budget);
            if self.batch.is_empty() && answered == 0 {
                break;
            }
            if !self.batch.is_empty() {
                self.io.submit(&mut self.batch)?;
            }
        }
        // Some accesses complete while they are submitted, and no event reports that.
        self.reap()?;
        self.collect_released();
        Ok(())
    }

    /// Begins a batch of background effects.
    pub(crate) fn run_background(&mut self) -> io::Result<()> {
        let mut begun = 0;
        while begun < BACKGROUND_BATCH
            && let Some(effect) = self.waiting.pop_front().or_else(|| self.next_effect())
        {
            self.collect_released();
            begun += 1;
            if self.is_long(&effect) {
                self.long.push_back(effect);
            } else {
                self.begin(effect);
            }
        }
        if !self.batch.is_empty() {
            self.io.submit(&mut self.batch)?;
            self.reap()?;
        }
        self.collect_released();
        Ok(())
    }

    /// Begins effects up to the first background effect, because the array issues background
    /// effects last. Of the logs' long work, begins at most `budget` bytes.
    fn collect_foreground(&mut self, budget: &mut u64) {
        while let Some(effect) = self.next_effect() {
            if seam::priority(effect.class) == Priority::Background {
                self.waiting.push_back(effect);
                break;
            }
            if self.is_long(&effect) {
                self.long.push_back(effect);
            } else {
                self.begin(effect);
            }
        }
        while *budget > 0
            && let Some(effect) = self.long.pop_front()
        {
            self.collect_released();
            *budget = budget.saturating_sub(self.bytes_of(&effect));
            self.begin(effect);
        }
    }

    /// Whether the effect is long work for the logs. Every computation for the logs is, even a
    /// short one, so that computations keep their order.
    fn is_long(&self, effect: &Effect) -> bool {
        effect.class == Class::Log && (effect.action.is_computation() || self.bytes_of(effect) > LONG)
    }

    /// The bytes that an effect moves or reads.
    fn bytes_of(&self, effect: &Effect) -> u64 {
        match Task::from(effect.action) {
            Task::Access(_, _, (_, length)) => length.bytes().get(),
            _ => self.array.parts_length(effect.id).bytes().get(),
        }
    }

    fn next_effect(&mut self) -> Option<Effect> {
        self.collect_released();
        self.next_effect.take().or_else(|| self.array.poll_effect())
    }

    fn collect_released(&mut self) {
        self.payload.collect_released(&mut self.array);
    }

    fn begin(&mut self, effect: Effect) {
        // The array issued this effect before it was abandoned.
        if self.array.get().mode().is_abandoned() {
            self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Gone));
            return;
        }
        match Task::from(effect.action) {
            Task::Access(member, operation, range) => self.begin_access(effect, member, operation, range),
            Task::Sum { outputs, adds } => {
                self.payload.locate(&self.array, effect.id, None);
                let coefficients = self.array.coefficients(effect.id);
                self.payload.sum(outputs.into(), adds, coefficients);
                self.array.complete(self.now, effect.id, Outcome::Done);
            }
            Task::Compare => self.compute(effect.id, Payload::compare),
            Task::Checksum => self.compute(effect.id, Payload::checksum),
        }
    }

    fn compute(&mut self, effect: EffectId, run: impl for<'a> FnOnce(&'a mut Payload) -> Outcome<'a>) {
        self.payload.locate(&self.array, effect, None);
        let outcome = run(&mut self.payload);
        self.array.complete(self.now, effect, outcome);
    }

    fn begin_access(
        &mut self,
        effect: Effect,
        member: Member,
        operation: Operation,
        range: (Sector, Sectors),
    ) {
        let Some(open) = self.roster.get(member.get()).filter(|member| !member.is_given_up()).cloned() else {
            self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Gone));
            return;
        };
        let reads = operation == Operation::Read;
        let metadata = self.payload.metadata_room(&self.array, effect.id, !reads);
        self.payload.locate(&self.array, effect.id, metadata.map(|part| part.buffer));
        let leases = self.payload.lend(reads);
        let moves = matches!(operation, Operation::Read | Operation::Write { .. });
        let (member, began) = (member.get(), self.now);
        let flight = Flight { effect: effect.id, member, metadata, reads, moves, began, given_up: false };
        let id = self.flights.take_off(flight);
        let access = Access::new(id, open, seam::priority(effect.class), operation, range, leases);
        // An access waits for a system resource at most half as long, so that it is not mistaken
        // for a member that does not answer.
        self.batch.push(access.with_patience(to_std(self.flights.patience()) / 2));
    }

    /// Reports completed accesses to the array. Returns their number.
    fn reap(&mut self) -> io::Result<usize> {
        if self.io.in_flight() == 0 {
            return Ok(0);
        }
        let mut done = std::mem::take(&mut self.done);
        let reaped = self.io.reap(&mut done);
        let count = done.len();
        if count > 0 {
            self.tick();
            self.distrust_truncated(&mut done);
        }
        done.drain(..).for_each(|done| self.land(done));
        self.done = done;
        reaped.map(|()| count)
    }

    /// Fails all completed accesses to a file that is now truncated. A write under way while the
    /// file is truncated extends the file again, and reads then return zeroes that no host wrote.
    /// Where accesses are carried out one after another, only writes need the check.
    fn distrust_truncated(&mut self, done: &mut [Done]) {
        self.touched.clear();
        for done in done.iter().filter(|done| done.result.is_ok()) {
            let flight = self.flights.get(done.id);
            let suspicious = !flight.reads || !self.reads_follow_writes(flight.member);
            let suspicious = suspicious && !flight.given_up;
            if suspicious && !self.touched.contains(&flight.member) {
                self.touched.push(flight.member);
            }
        }
        let roster = &self.roster;
        self.touched.retain(|member| {
            roster.get(*member).is_some_and(|member| member.check_length() == Err(Failure::Truncated))
        });
        if self.touched.is_empty() {
            return;
        }
        for done in done {
            if self.touched.contains(&self.flights.get(done.id).member) {
                done.result = Err(Failure::Truncated);
            }
        }
    }

    /// Whether a read of `member` never runs at the same time as a write.
    fn reads_follow_writes(&self, member: u16) -> bool {
        self.roster.get(member).is_some_and(|member| self.io.is_inline(member))
    }

    fn land(&mut self, done: Done) {
        let flight = self.flights.land(done.id);
        if flight.given_up {
            return self.land_late(&flight, done);
        }
        self.payload.give_back(done.parts);
        if flight.moves {
            self.pace.note(flight.member, self.now.since(flight.began));
        }
        let outcome = match (done.result, flight.metadata) {
            // The member was excluded in the meantime. Its length was not checked, so the data that
            // was read is not trusted.
            _ if self.roster.get(flight.member).is_none() => Outcome::Failed(Fault::Gone),
            (Ok(()), Some(part)) if flight.reads => Outcome::Metadata(self.payload.metadata(part)),
            (Ok(()), _) => Outcome::Done,
            (Err(failure), _) => {
                self.roster.note_failure(flight.member, failure);
                Outcome::Failed(seam::fault(failure))
            }
        };
        self.array.complete(self.now, flight.effect, outcome);
        self.payload.release(flight.metadata);
        // The array may reuse the number of a released buffer, so its memory is taken back first.
        self.collect_released();
    }

    /// The kernel has answered an access that was given up.
    fn land_late(&mut self, flight: &Flight, done: Done) {
        self.payload.discard(done.parts);
        self.payload.release(flight.metadata);
        self.ask_again(flight.member);
    }

    /// Lets a member that was given up be accessed again, if it is still in use (no other member
    /// can replace it) and the kernel has answered all accesses that were given up.
    fn ask_again(&mut self, member: u16) {
        let Some(open) = self.roster.get(member).cloned() else { return };
        if !self.flights.are_late(member) {
            open.take_back();
        }
    }
}

fn to_std(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.nanoseconds())
}
