//! Hosts' requests: the order in which the array gets them, and their answers.
//!
//! Short and long requests wait in separate queues, with one queue for each client, and clients are
//! served in turn ([`turns`]). Long requests are cut into slices of whole stripes. The number of
//! bytes of long requests under way is limited by how fast the array answers other clients' short
//! requests ([`pace`]). So neither the number nor the length of one client's requests determines
//! how long another client waits.

mod pace;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::VecDeque;

use parlour_array::{BufferId, Completion, Operation, RequestError, Tag};
use parlour_units::{Bytes, Instant, Sector, Sectors};

use pace::{Kind, Pace};
use turns::Turns;

/// A request of at most this many bytes is short.
const SHORT: u64 = 64 << 10;
/// The cost of a request, in bytes, in addition to its length.
const BASE: u64 = 4 << 10;
/// The most bytes of short requests that are under way at once.
const SHORT_WINDOW: u64 = 8 << 20;
/// A long request is cut so that this many slices fill the window.
const SLICES: u64 = 4;
/// Freeing space is mostly work on metadata: this many freed bytes cost as much as one moved byte.
const UNMAPPED: u64 = 8;

/// The direction in which a request moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
    /// The request moves no data: a flush or a trim.
    Neither,
}

/// A host's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The frontend's number of the client.
    pub(crate) client: u32,
    /// The frontend's tag of the request.
    pub(crate) tag: u64,
    pub(crate) operation: Operation,
    pub(crate) at: Sector,
    pub(crate) length: Sectors,
    pub(crate) buffer: Option<BufferId>,
}

/// The next work for the array: a request, or a slice of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) tag: Tag,
    pub(crate) operation: Operation,
    pub(crate) at: Sector,
    pub(crate) length: Sectors,
    pub(crate) buffer: Option<BufferId>,
    /// The offset of its payload in the buffer.
    pub(crate) start: Sectors,
}

/// An answered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// The frontend's tag of the request.
    pub(crate) tag: u64,
    pub(crate) began: Instant,
    pub(crate) direction: Direction,
    pub(crate) moved: Bytes,
    pub(crate) result: Result<(), RequestError>,
}

/// A request that is not answered.
#[derive(Debug)]
struct Pending {
    asked: Asked,
    began: Instant,
    /// The part from here on was not passed to the array.
    cursor: Sectors,
    /// The number of slices that the array has not completed.
    under_way: u32,
    /// A slice has completed. If the host asks for fast zeroes only, the array has fast zeroes.
    proven: bool,
    /// The first error. After an error no more slices are begun.
    error: Option<RequestError>,
}

impl Pending {
    /// Whether no more slices may be begun before the first slice has completed. A host that asks
    /// for fast zeroes only gets an error if they are not fast, and nothing may have changed then.
    fn is_on_trial(&self) -> bool {
        !self.proven && self.under_way > 0 && is_fast_only(self.asked.operation)
    }
}

/// A slice that the array has not completed.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    request: u32,
    cost: u64,
    admitted: Instant,
    /// The other requests that were under way when a short request was passed to the array.
    beside: Beside,
}

/// The requests that a short request shares the array with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// Only short requests: their number, including this one.
    Short(u64),
    /// Long requests of other clients too; the number of short requests as above.
    Long(u64),
    /// Long requests of the same client; or the request itself is long.
    Own,
}

/// The requests, described in the module's documentation.
#[derive(Debug)]
pub(crate) struct Requests {
    /// The data of one stripe. Slices end where stripes end.
    stripe: Sectors,
    pending: Table<Pending>,
    under_way: Table<UnderWay>,
    short: Turns,
    long: Turns,
    short_cost: u64,
    short_count: u64,
    long_cost: u64,
    /// The number of slices of long requests that the array has not completed, by client.
    long_count: Vec<u32>,
    pace: Pace,
    answered: VecDeque<Answered>,
    /// No more requests are passed to the array.
    closed: bool,
}

impl Requests {
    /// For an array whose stripes hold this much data.
    pub(crate) fn new(stripe: Sectors) -> Requests {
        Requests {
            stripe,
            pending: Table::default(),
            under_way: Table::default(),
            short: Turns::default(),
            long: Turns::default(),
            short_cost: 0,
            short_count: 0,
            long_cost: 0,
            long_count: Vec::new(),
            pace: Pace::default(),
            answered: VecDeque::new(),
            closed: false,
        }
    }

    /// Takes a new request.
    pub(crate) fn push(&mut self, asked: Asked, now: Instant) {
        let pending =
            Pending { asked, began: now, cursor: Sectors::ZERO, under_way: 0, proven: false, error: None };
        let slot = self.pending.insert(pending);
        if self.closed {
            self.refuse(slot);
        } else if is_short(&asked) {
            self.pace.came(asked.client, now);
            self.short.push(asked.client, slot);
        } else {
            self.long.push(asked.client, slot);
        }
    }

    /// Whether a request, or a slice of one, may be passed to the array now.
    pub(crate) fn may_begin(&mut self, now: Instant) -> bool {
        self.first_short().is_some() || self.first_long(now).is_some()
    }

    /// The short request that may be passed to the array next: its slot and cost.
    fn first_short(&mut self) -> Option<(u32, u64)> {
        let pending = &self.pending;
        let cost = |slot: u32| cost(&pending.get(slot).asked, pending.get(slot).asked.length);
        let slot = self.short.first(cost)?;
        let cost = cost(slot);
        (self.short_cost == 0 || self.short_cost + cost <= SHORT_WINDOW).then_some((slot, cost))
    }

    /// Returns the next short request, if one may begin.
    pub(crate) fn next_short(&mut self, now: Instant) -> Option<Slice> {
        let (slot, cost) = self.first_short()?;
        self.short.advance(cost, true);
        self.short_cost += cost;
        self.short_count += 1;
        let client = self.pending.get(slot).asked.client;
        let beside = match self.others_long(client) {
            _ if self.own_long(client) > 0 => Beside::Own,
            true => Beside::Long(self.short_count),
            false => Beside::Short(self.short_count),
        };
        let length = self.pending.get(slot).asked.length;
        Some(self.begin(slot, length, UnderWay { request: slot, cost, admitted: now, beside }))
    }

    /// The long request that may continue: its slot, and the length and cost of its next slice.
    fn first_long(&mut self, now: Instant) -> Option<(u32, Sectors, u64)> {
        let (pending, pace, stripe) = (&self.pending, &self.pace, self.stripe);
        let piece = |slot: u32| {
            let pending = pending.get(slot);
            let window = pace.window(pending.asked.client, now);
            (slice(pending, window / SLICES, stripe), window)
        };
        let cost = |slot: u32| cost(&pending.get(slot).asked, piece(slot).0);
        let slot = self.long.first(cost)?;
        let ((length, window), cost) = (piece(slot), cost(slot));
        let fits = self.long_cost == 0 || self.long_cost + cost <= window;
        (fits && !pending.get(slot).is_on_trial()).then_some((slot, length, cost))
    }

    /// Returns the next slice of a long request, if one may begin.
    pub(crate) fn next_long(&mut self, now: Instant) -> Option<Slice> {
        let (slot, length, cost) = self.first_long(now)?;
        let Pending { asked, cursor, .. } = self.pending.get(slot);
        let whole = *cursor + length == asked.length;
        let client = asked.client as usize;
        self.long.advance(cost, whole);
        self.long_cost += cost;
        if client >= self.long_count.len() {
            self.long_count.resize(client + 1, 0);
        }
        self.long_count[client] += 1;
        let under_way = UnderWay { request: slot, cost, admitted: now, beside: Beside::Own };
        Some(self.begin(slot, length, under_way))
    }

    fn begin(&mut self, slot: u32, length: Sectors, under_way: UnderWay) -> Slice {
        let tag = Tag(u64::from(self.under_way.insert(under_way)));
        let Pending { asked, cursor, under_way, .. } = self.pending.get_mut(slot);
        let start = *cursor;
        *cursor += length;
        *under_way += 1;
        let operation = slice_operation(asked.operation, start);
        Slice { tag, operation, at: asked.at + start, length, buffer: asked.buffer, start }
    }

    fn own_long(&self, client: u32) -> u32 {
        self.long_count.get(client as usize).copied().unwrap_or(0)
    }

    fn others_long(&self, client: u32) -> bool {
        self.long_count.iter().enumerate().any(|(other, count)| other != client as usize && *count > 0)
    }

    /// The array has completed a slice.
    pub(crate) fn complete(&mut self, now: Instant, completion: Completion) {
        // Tags are indices of a table with at most 2^32 entries.
        let UnderWay { request, cost, admitted, beside } = self.under_way.take(completion.tag.0 as u32);
        let client = self.pending.get(request).asked.client;
        if is_short(&self.pending.get(request).asked) {
            self.short_cost -= cost;
            self.short_count -= 1;
            self.learn(request, beside, now, admitted);
        } else {
            self.long_cost -= cost;
            self.long_count[client as usize] -= 1;
        }
        let pending = self.pending.get_mut(request);
        pending.under_way -= 1;
        pending.proven |= completion.result.is_ok();
        let first = pending.error.is_none();
        pending.error = pending.error.or(completion.result.err());
        let over = pending.cursor == pending.asked.length;
        if pending.error.is_some() && first && !over {
            // The rest of the request still waits for its turn. It is skipped.
            pending.cursor = pending.asked.length;
            self.long.remove(client, request);
        }
        self.answer_if_over(request);
    }

    fn learn(&mut self, request: u32, beside: Beside, now: Instant, admitted: Instant) {
        let kind = Kind::of(self.pending.get(request).asked.operation);
        let took = |count: u64| {
            let took = now.since(admitted).nanoseconds();
            parlour_units::Duration::from_nanoseconds(took / count.max(1))
        };
        let client = self.pending.get(request).asked.client;
        match beside {
            Beside::Short(count) if self.long_cost == 0 => self.pace.learn(kind, took(count)),
            Beside::Short(count) | Beside::Long(count) if self.own_long(client) == 0 => {
                self.pace.adapt(kind, took(count));
            }
            _ => {}
        }
    }

    fn answer_if_over(&mut self, slot: u32) {
        let Pending { asked, cursor, under_way, .. } = self.pending.get(slot);
        if *under_way > 0 || *cursor < asked.length {
            return;
        }
        let Pending { asked, began, error, .. } = self.pending.take(slot);
        let direction = match asked.operation {
            Operation::Read => Direction::Read,
            Operation::Write { .. } | Operation::WriteZeroes { .. } => Direction::Write,
            Operation::Trim | Operation::Flush => Direction::Neither,
        };
        let (tag, moved) = (asked.tag, asked.length.bytes());
        self.answered.push_back(Answered { tag, began, direction, moved, result: error.map_or(Ok(()), Err) });
    }

    /// Refuses all requests that wait, and the rest of those that have begun, because the array
    /// stops.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        let waiting: Vec<u32> = self.short.drain().chain(self.long.drain()).collect();
        waiting.into_iter().for_each(|slot| self.refuse(slot));
    }

    fn refuse(&mut self, slot: u32) {
        let pending = self.pending.get_mut(slot);
        pending.cursor = pending.asked.length;
        pending.error.get_or_insert(RequestError::Stopping);
        self.answer_if_over(slot);
    }

    /// Returns an answered request.
    pub(crate) fn poll_answer(&mut self) -> Option<Answered> {
        self.answered.pop_front()
    }

    /// Whether a request has been answered.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answered.is_empty()
    }

    /// The number of requests that are not answered, or whose answer was not polled.
    pub(crate) fn in_flight(&self) -> usize {
        self.pending.len() + self.answered.len()
    }
}

fn is_short(asked: &Asked) -> bool {
    cost(asked, asked.length) <= SHORT + BASE
}

/// Whether the operation may free space, where the members can.
fn unmaps(operation: Operation) -> bool {
    matches!(operation, Operation::Trim | Operation::WriteZeroes { may_unmap: true, durable: false, .. })
}

fn is_fast_only(operation: Operation) -> bool {
    matches!(operation, Operation::WriteZeroes { fast_only: true, .. })
}

/// The cost of `length` of a request, in bytes.
fn cost(asked: &Asked, length: Sectors) -> u64 {
    let bytes = length.bytes().get();
    BASE + if unmaps(asked.operation) { bytes / UNMAPPED } else { bytes }
}

/// The length of the next slice of a request, if `target` bytes would be best.
fn slice(pending: &Pending, target: u64, stripe: Sectors) -> Sectors {
    let Pending { asked, cursor, .. } = pending;
    let rest = asked.length - *cursor;
    let whole = |place: Sectors| place.is_multiple_of(stripe);
    if is_fast_only(asked.operation) && !(whole(asked.at.from_start()) && whole(asked.length)) {
        // The array refuses or does the whole request.
        return rest;
    }
    let target = if unmaps(asked.operation) { target * UNMAPPED } else { target };
    let target = Sectors::new(target / 512).max(stripe);
    let from = (asked.at + *cursor).from_start();
    rest.min((from + target).round_down(stripe) - from)
}

/// Only the first slice asks for fast zeroes only. After it some data has changed, and the error
/// for slow zeroes, which promises that nothing has changed, would be wrong.
fn slice_operation(operation: Operation, start: Sectors) -> Operation {
    match operation {
        Operation::WriteZeroes { may_unmap, fast_only: true, durable } if !start.is_zero() => {
            Operation::WriteZeroes { may_unmap, fast_only: false, durable }
        }
        other => other,
    }
}

/// Values with small numbers, which are reused.
#[derive(Debug)]
struct Table<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    fn insert(&mut self, value: T) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 requests")
        });
        self.slots[slot as usize] = Some(value);
        slot
    }

    fn get(&self, slot: u32) -> &T {
        self.slots[slot as usize].as_ref().expect("it is named until it is taken")
    }

    fn get_mut(&mut self, slot: u32) -> &mut T {
        self.slots[slot as usize].as_mut().expect("it is named until it is taken")
    }

    fn take(&mut self, slot: u32) -> T {
        let value = self.slots[slot as usize].take().expect("a request is answered once");
        self.free.push(slot);
        value
    }

    fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
