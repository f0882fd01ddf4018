//! The requests under way, and the world that serves them.

use std::collections::VecDeque;

use parlour_array::{Operation, Tag};
use parlour_units::Instant;
use parlour_workload::task::{Ask, Kind};

use crate::world::World;

/// The requests under way in a world.
pub(super) struct Traffic<'a> {
    world: &'a mut World,
    /// By tag.
    under_way: Vec<Option<UnderWay>>,
    free_tags: Vec<u64>,
    /// Requests for which the array had no memory, in order.
    waiting: VecDeque<u64>,
    busy: usize,
    /// The integral of requests under way over time, in nanoseconds, up to `looked`.
    area: u128,
    looked: Instant,
}

/// A request under way.
#[derive(Clone, Copy)]
pub(super) struct UnderWay {
    pub(super) since: Instant,
    /// The number of its source.
    pub(super) flow: u16,
    /// The slot of its task; none for a request that no task waits for.
    pub(super) slot: Option<u32>,
    pub(super) ask: Ask,
    operation: Operation,
}

impl<'a> Traffic<'a> {
    pub(super) fn new(world: &'a mut World) -> Traffic<'a> {
        Traffic {
            under_way: Vec::new(),
            free_tags: Vec::new(),
            waiting: VecDeque::new(),
            busy: 0,
            area: 0,
            looked: world.now(),
            world,
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.world.now()
    }

    pub(super) fn world(&self) -> &World {
        self.world
    }

    pub(super) fn world_mut(&mut self) -> &mut World {
        self.world
    }

    /// The number of requests under way.
    pub(super) fn busy(&self) -> usize {
        self.busy
    }

    /// Sends a request of a source and, if a task waits for it, of this task's slot.
    pub(super) fn ask(&mut self, flow: u16, slot: Option<u32>, ask: Ask, durable: bool) {
        self.look();
        let tag = self.free_tags.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u64 - 1
        });
        let operation = match ask.kind {
            Kind::Read => Operation::Read,
            Kind::Write => Operation::Write { durable },
            Kind::Trim => Operation::Trim,
            Kind::Flush => Operation::Flush,
        };
        let request = UnderWay { since: self.world.now(), flow, slot, ask, operation };
        self.under_way[tag as usize] = Some(request);
        self.busy += 1;
        if !self.waiting.is_empty() || !self.submit(tag, request) {
            self.waiting.push_back(tag);
        }
    }

    /// Returns whether there was memory for the request.
    fn submit(&mut self, tag: u64, request: UnderWay) -> bool {
        self.world.submit(Tag(tag), request.operation, request.ask.at, request.ask.length)
    }

    /// Submits requests that had to wait for memory.
    pub(super) fn retry(&mut self) {
        while let Some(tag) = self.waiting.front().copied() {
            let request = self.under_way[tag as usize].expect("what waits for memory is under way");
            if !self.submit(tag, request) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Takes out the request with this tag, which is answered now.
    pub(super) fn take(&mut self, Tag(tag): Tag) -> UnderWay {
        self.look();
        let request = self.under_way[tag as usize].take().expect("what is answered was asked");
        self.free_tags.push(tag);
        self.busy -= 1;
        request
    }

    /// The sum of the times of all requests under way, in nanoseconds.
    pub(super) fn pending(&self) -> u128 {
        let now = self.world.now();
        let time = |request: &UnderWay| u128::from(now.since(request.since).nanoseconds());
        self.under_way.iter().flatten().map(time).sum()
    }

    /// The integral of requests under way over time until now, in nanoseconds.
    pub(super) fn area(&mut self) -> u128 {
        self.look();
        self.area
    }

    /// Counts the requests under way since the last call.
    fn look(&mut self) {
        let now = self.world.now();
        self.area += u128::from(now.since(self.looked).nanoseconds()) * self.busy as u128;
        self.looked = now;
    }
}
