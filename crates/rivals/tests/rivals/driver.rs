//! A driver that completes accesses of a member in their order, and those of different members in
//! any order; it drives hosts in a closed loop.

use std::collections::VecDeque;
use std::ops::Range;

use parlour_rivals::{Access, Act, Request, Rival, Tag, Way};
use parlour_units::{Sector, Sectors};

/// Random numbers (Knuth's linear congruences, high bits).
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// The answers, in their order.
    pub(crate) answers: Vec<Tag>,
    /// The accesses and where they were placed, in the order in which they were completed.
    pub(crate) accesses: Vec<(u16, Act, Option<Sector>)>,
}

impl Done {
    /// The number of accesses of members in a range.
    pub(crate) fn count(&self, members: Range<u16>, is: impl Fn(&Act) -> bool) -> usize {
        self.accesses.iter().filter(|(member, act, _)| members.contains(member) && is(act)).count()
    }
}

/// The members' queues.
pub(crate) struct Driver {
    queues: Vec<VecDeque<Access>>,
    pub(crate) random: Random,
    pub(crate) done: Done,
    /// The sectors of a cylinder: heads are over where the last access was.
    cylinder: u64,
    heads: Vec<u64>,
}

impl Driver {
    pub(crate) fn new(rival: &dyn Rival, cylinder: Sectors, seed: u64) -> Driver {
        let members = usize::from(rival.members());
        Driver {
            queues: vec![VecDeque::new(); members],
            random: Random(seed),
            done: Done::default(),
            cylinder: cylinder.get(),
            heads: vec![0; members],
        }
    }

    /// Takes accesses and answers. Returns the answers.
    pub(crate) fn drain(&mut self, rival: &mut dyn Rival) -> Vec<Tag> {
        while let Some(access) = rival.poll_access() {
            self.queues[access.member.as_usize()].push_back(access);
        }
        let answers: Vec<Tag> = std::iter::from_fn(|| rival.poll_answer()).collect();
        self.done.answers.extend(&answers);
        answers
    }

    /// Completes the next access of any member. Returns whether there was one.
    pub(crate) fn step(&mut self, rival: &mut dyn Rival) -> bool {
        let busy: Vec<usize> =
            (0..self.queues.len()).filter(|member| !self.queues[*member].is_empty()).collect();
        if busy.is_empty() {
            return false;
        }
        let member = busy[self.random.below(busy.len() as u64) as usize];
        let access = self.queues[member].pop_front().expect("it is busy");
        let places = rival.places(access.id, self.heads[member] as u32);
        let placed = match access.act {
            Act::Place { .. } => Some(places[self.random.below(places.len() as u64) as usize]),
            _ => {
                assert!(places.is_empty(), "only what floats has places");
                None
            }
        };
        let at = match access.act {
            Act::Read { at, .. } | Act::Write { at, .. } | Act::Modify { at, .. } | Act::Place { at, .. } => {
                at
            }
        };
        self.heads[member] = placed.unwrap_or(at).get() / self.cylinder;
        self.done.accesses.push((member as u16, access.act, placed));
        rival.complete(access.id, placed);
        true
    }

    /// `hosts` processes send `requests` requests; each waits for its answer. `next` draws one.
    pub(crate) fn run(
        &mut self,
        rival: &mut dyn Rival,
        hosts: u64,
        requests: u64,
        mut next: impl FnMut(&mut Random) -> (Way, Sector, Sectors),
    ) {
        let mut ask = |driver: &mut Driver, rival: &mut dyn Rival, tag: u64| {
            let (way, at, length) = next(&mut driver.random);
            rival.submit(Request { tag: Tag(tag), way, at, length });
        };
        let (mut asked, mut answered) = (0, 0);
        while answered < requests {
            if asked < requests && asked - answered < hosts {
                ask(self, rival, asked);
                asked += 1;
            } else {
                assert!(self.step(rival), "hosts wait, and nothing happens any more");
            }
            answered += self.drain(rival).len() as u64;
        }
        while self.step(rival) {
            self.drain(rival);
        }
    }
}

/// Requests of whole units anywhere: `reads` of ten read, and they have up to `most` units.
pub(crate) fn anywhere(
    rival: &dyn Rival,
    reads: u64,
    most: u64,
) -> impl FnMut(&mut Random) -> (Way, Sector, Sectors) + use<> {
    let (unit, units) = (rival.unit(), rival.capacity() / rival.unit());
    move |random| {
        let length = 1 + random.below(most);
        let at = Sector::ZERO + unit * random.below(units - length + 1);
        let way = if random.below(10) < reads { Way::Read } else { Way::Write };
        (way, at, unit * length)
    }
}
