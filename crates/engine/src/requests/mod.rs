//! Hosts' requests: which of them the array gets next, and what became of them.
//!
//! Short requests and long ones wait in queues of their own, by client, and clients take turns
//! ([`turns`]). Long requests are cut into slices of whole stripes; how much of them is under way
//! at once follows from how fast other clients' short requests are answered ([`pace`]). So neither
//! the number nor the length of one client's requests decides how long another waits.

mod pace;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::VecDeque;

use parlour_array::{BufferId, Completion, Operation, RequestError, Tag};
use parlour_units::{Bytes, Instant, Sector, Sectors};

use pace::{Kind, Pace};
use turns::Turns;

/// A request of at most so many bytes is short.
const SHORT: u64 = 64 << 10;
/// What a request costs beside its bytes.
const BASE: u64 = 4 << 10;
/// Bytes of short requests that are under way at once.
const SHORT_WINDOW: u64 = 8 << 20;
/// A long request is cut so that so many slices fill the window.
const SLICES: u64 = 4;
/// Giving space back is mostly metadata: so many bytes of it cost what one byte costs that is
/// moved.
const UNMAPPED: u64 = 8;

/// What a request moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
    /// Nothing: flushes, trims.
    Neither,
}

/// What a host asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The frontend's number of the client.
    pub(crate) client: u32,
    /// The frontend's name for the request.
    pub(crate) tag: u64,
    pub(crate) operation: Operation,
    pub(crate) at: Sector,
    pub(crate) length: Sectors,
    pub(crate) buffer: Option<BufferId>,
}

/// What the array is to do next: a request, or a slice of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) tag: Tag,
    pub(crate) operation: Operation,
    pub(crate) at: Sector,
    pub(crate) length: Sectors,
    pub(crate) buffer: Option<BufferId>,
    /// Where its payload begins in the buffer.
    pub(crate) start: Sectors,
}

/// A request that is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    /// The frontend's name for it.
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
    /// What comes from here on has not gone to the array.
    cursor: Sectors,
    /// Slices that are with the array.
    under_way: u32,
    /// A slice was done: where zeroes are to be fast, they are.
    proven: bool,
    /// The first error; the rest is not begun then.
    error: Option<RequestError>,
}

impl Pending {
    /// Whether nothing more may be begun before the first slice is done: if zeroes cannot be fast,
    /// nothing may have changed.
    fn is_on_trial(&self) -> bool {
        !self.proven && self.under_way > 0 && is_fast_only(self.asked.operation)
    }
}

/// A slice that is with the array.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    request: u32,
    cost: u64,
    admitted: Instant,
    /// What was under way when a short request was admitted.
    beside: Beside,
}

/// What a short request shares the array with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// Short requests only; so many, itself among them.
    Short(u64),
    /// Long requests of other clients, too.
    Long(u64),
    /// Long requests of the same client, or it is long itself.
    Own,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Requests {
    /// The data of a stripe: slices end where stripes do.
    stripe: Sectors,
    pending: Table<Pending>,
    under_way: Table<UnderWay>,
    short: Turns,
    long: Turns,
    short_cost: u64,
    short_count: u64,
    long_cost: u64,
    /// Slices of long requests that are with the array, by client.
    long_count: Vec<u32>,
    pace: Pace,
    answered: VecDeque<Answered>,
    /// Nothing is begun any more.
    closed: bool,
}

impl Requests {
    /// Requests to an array whose stripes hold so much data.
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

    /// A request came.
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

    /// Whether a request, or a slice of one, may go to the array now.
    pub(crate) fn may_begin(&mut self, now: Instant) -> bool {
        self.first_short().is_some() || self.first_long(now).is_some()
    }

    /// The short request that may go on: its slot and cost.
    fn first_short(&mut self) -> Option<(u32, u64)> {
        let pending = &self.pending;
        let cost = |slot: u32| cost(&pending.get(slot).asked, pending.get(slot).asked.length);
        let slot = self.short.first(cost)?;
        let cost = cost(slot);
        (self.short_cost == 0 || self.short_cost + cost <= SHORT_WINDOW).then_some((slot, cost))
    }

    /// The next short request, as far as one may be begun.
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

    /// The long request of which a slice may go on: its slot, the slice's length and cost.
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

    /// The next slice of a long request, as far as one may be begun.
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

    /// The array has done what was begun.
    pub(crate) fn complete(&mut self, now: Instant, completion: Completion) {
        // Tags are places in a table of at most 2^32.
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
            // It still waits for its turn: what is left of it is passed over then.
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

    /// Begins nothing any more: what waits, or has only been begun in part, is refused because the
    /// array stops.
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

    /// A request that is answered.
    pub(crate) fn poll_answer(&mut self) -> Option<Answered> {
        self.answered.pop_front()
    }

    /// Whether there is an answer.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answered.is_empty()
    }

    /// Requests that are not answered, or whose answer was not taken.
    pub(crate) fn in_flight(&self) -> usize {
        self.pending.len() + self.answered.len()
    }
}

fn is_short(asked: &Asked) -> bool {
    cost(asked, asked.length) <= SHORT + BASE
}

/// Whether space is given back, where members can.
fn unmaps(operation: Operation) -> bool {
    matches!(operation, Operation::Trim | Operation::WriteZeroes { may_unmap: true, durable: false, .. })
}

fn is_fast_only(operation: Operation) -> bool {
    matches!(operation, Operation::WriteZeroes { fast_only: true, .. })
}

/// What `length` of a request costs, in bytes.
fn cost(asked: &Asked, length: Sectors) -> u64 {
    let bytes = length.bytes().get();
    BASE + if unmaps(asked.operation) { bytes / UNMAPPED } else { bytes }
}

/// How much of a request goes next, where `target` bytes would be best.
fn slice(pending: &Pending, target: u64, stripe: Sectors) -> Sectors {
    let Pending { asked, cursor, .. } = pending;
    let rest = asked.length - *cursor;
    let whole = |place: Sectors| place.is_multiple_of(stripe);
    if is_fast_only(asked.operation) && !(whole(asked.at.from_start()) && whole(asked.length)) {
        // It is refused as a whole, or done as a whole.
        return rest;
    }
    let target = if unmaps(asked.operation) { target * UNMAPPED } else { target };
    let target = Sectors::new(target / 512).max(stripe);
    let from = (asked.at + *cursor).from_start();
    rest.min((from + target).round_down(stripe) - from)
}

/// Whether zeroes are fast is asked of the first slice alone: after it something has changed, and a
/// refusal would be untrue.
fn slice_operation(operation: Operation, start: Sectors) -> Operation {
    match operation {
        Operation::WriteZeroes { may_unmap, fast_only: true, durable } if !start.is_zero() => {
            Operation::WriteZeroes { may_unmap, fast_only: false, durable }
        }
        other => other,
    }
}

/// Values by small numbers that are used again.
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
