//! A volume: an array with its members, as a part of the address space that hosts see.

use parlour_array::record::{Recorded, Recording};
use parlour_array::{Array, BufferId, Completion, Event, RequestError, Simulated, Tuning};
use parlour_rivals::Rival;
use parlour_units::{Sector, Sectors};

use crate::controller::{Controller, Reserved};
use crate::member::Member;
use crate::together::Together;

/// An array, or a rival, and its members.
#[derive(Debug)]
pub struct Volume {
    pub(crate) name: String,
    pub(crate) controller: Controller,
    /// By the array's numbers.
    pub(crate) members: Vec<Member>,
    pub(crate) together: Together,
    /// Its first sector in the address space of hosts.
    pub(crate) first: Sector,
    capacity: Sectors,
    /// By tag: the memory of a request under way.
    buffers: Vec<Option<Reserved>>,
    pub(crate) settings: (Tuning, Simulated),
    /// The number of sessions, and of drives that were ever members. New identities are derived
    /// from these.
    pub(crate) sessions: u64,
    pub(crate) joined: usize,
    lost: u64,
    listed: Sectors,
}

impl Volume {
    pub(crate) fn new(
        name: String,
        settings: (Tuning, Simulated),
        controller: Controller,
        members: Vec<Member>,
    ) -> Volume {
        Volume {
            capacity: controller.capacity(),
            settings,
            joined: members.len(),
            name,
            controller,
            members,
            together: Together::default(),
            first: Sector::ZERO,
            buffers: Vec::new(),
            sessions: 1,
            lost: 0,
            listed: Sectors::ZERO,
        }
    }

    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The array; none if it is a rival.
    pub fn array(&self) -> Option<&Array> {
        self.controller.array()
    }

    /// The rival; none if it is an array.
    pub fn rival(&self) -> Option<&dyn Rival> {
        self.controller.rival()
    }

    /// The calls between the array and its driver since it was opened, if they are
    /// [recorded](crate::opening::record).
    pub fn recording(&self) -> Option<&Recording> {
        self.controller.recorded().and_then(Recorded::recording)
    }

    /// The drives, in the order of slots; then spares and replacements in the order of their
    /// arrival.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Its capacity for hosts' data.
    pub fn capacity(&self) -> Sectors {
        self.capacity
    }

    /// The number of requests, or parts of them, that were answered with lost data.
    pub fn lost_requests(&self) -> u64 {
        self.lost
    }

    /// The sectors that the array has added to its bad-block log, because they can be neither read
    /// nor computed.
    pub fn listed(&self) -> Sectors {
        self.listed
    }

    /// The sector after its last one.
    pub(crate) fn end(&self) -> Sector {
        self.first + self.capacity
    }

    /// Reserves a buffer for a part of a request. Returns false if there is no memory.
    pub(crate) fn reserve(&mut self, tag: u64, length: Sectors) -> bool {
        let index = tag as usize;
        if index >= self.buffers.len() {
            self.buffers.resize(index + 1, None);
        }
        self.buffers[index] = self.controller.reserve(length);
        self.buffers[index].is_some()
    }

    /// The buffer of a part of a request.
    pub(crate) fn buffer(&self, tag: u64) -> Option<BufferId> {
        match self.buffers.get(tag as usize).copied().flatten()? {
            Reserved::Buffer(buffer) => Some(buffer),
            Reserved::Nothing => None,
        }
    }

    /// Releases the buffer of a part, if it has one.
    pub(crate) fn release(&mut self, tag: u64) {
        if let Some(buffer) = self.buffers.get_mut(tag as usize).and_then(Option::take) {
            self.controller.release(buffer);
        }
    }

    /// A part has been answered.
    pub(crate) fn answered(&mut self, Completion { tag, result }: &Completion) {
        self.release(tag.0);
        self.lost += u64::from(*result == Err(RequestError::Lost));
    }

    /// Counts frequent events. Returns all others, for people to read.
    pub(crate) fn notable(&mut self, event: Event) -> Option<Event> {
        let (Event::BadBlocksRecorded { length, .. } | Event::BlocksLost { length, .. }) = event else {
            return Some(event);
        };
        self.listed += length;
        None
    }
}
