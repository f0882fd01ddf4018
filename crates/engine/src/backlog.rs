//! Accesses that wait to be submitted to the kernel, with one lane for each member. A member that
//! does not answer cannot take the places of the other members.

use std::collections::VecDeque;

use crate::access::{Access, Priority};
use crate::member::Serial;

/// While both kinds wait, one of this many submitted accesses is a background access, so that
/// background work makes progress.
const SHARE: u32 = 16;

/// A queue that prefers foreground accesses and serves the members in turn.
#[derive(Debug)]
pub(crate) struct Backlog {
    lanes: Vec<Lane>,
    /// The most accesses of one member that are submitted at once.
    width: usize,
    turn: u32,
    /// The lane that is served first.
    next: usize,
}

/// The accesses of one member.
#[derive(Debug)]
struct Lane {
    member: Serial,
    foreground: VecDeque<Access>,
    background: VecDeque<Access>,
    /// The number of accesses that are submitted and not complete.
    out: usize,
    /// The submitted accesses were given up.
    given_up: bool,
}

impl Backlog {
    /// At most `width` accesses of each member are submitted at once.
    pub(crate) fn new(width: usize) -> Backlog {
        Backlog { lanes: Vec::new(), width, turn: 0, next: 0 }
    }

    pub(crate) fn push(&mut self, access: Access) {
        let member = access.member().serial();
        let lane = match self.lane(member) {
            Some(lane) => lane,
            None => {
                self.lanes.push(Lane::new(member));
                self.lanes.len() - 1
            }
        };
        match access.priority() {
            Priority::Foreground => self.lanes[lane].foreground.push_back(access),
            Priority::Background => self.lanes[lane].background.push_back(access),
        }
    }

    /// The next access to submit, of a member that has fewer than `width` submitted.
    pub(crate) fn pop(&mut self) -> Option<Access> {
        self.turn = self.turn.wrapping_add(1);
        let background_first = self.turn.is_multiple_of(SHARE);
        self.pop_of(background_first).or_else(|| self.pop_of(!background_first))
    }

    fn pop_of(&mut self, background: bool) -> Option<Access> {
        let count = self.lanes.len();
        for index in (self.next..count).chain(0..self.next.min(count)) {
            let lane = &mut self.lanes[index];
            if lane.out >= self.width {
                continue;
            }
            let queue = if background { &mut lane.background } else { &mut lane.foreground };
            if let Some(access) = queue.pop_front() {
                lane.out += 1;
                self.next = index + 1;
                return Some(access);
            }
        }
        None
    }

    /// A submitted access of `member` is complete.
    pub(crate) fn done(&mut self, member: Serial) {
        let index = self.lane(member).expect("who has left was in a lane");
        self.lanes[index].out -= 1;
        if self.lanes[index].is_over() {
            self.lanes.swap_remove(index);
        }
    }

    /// Gives up `member`'s accesses. Returns those that still wait; those that are submitted no
    /// longer count.
    pub(crate) fn give_up(&mut self, member: Serial) -> Vec<Access> {
        let Some(index) = self.lane(member) else { return Vec::new() };
        let lane = &mut self.lanes[index];
        lane.given_up = true;
        let waiting = lane.foreground.drain(..).chain(lane.background.drain(..)).collect();
        if lane.is_over() {
            self.lanes.swap_remove(index);
        }
        waiting
    }

    /// The number of accesses that wait.
    pub(crate) fn len(&self) -> usize {
        self.lanes.iter().map(Lane::waiting).sum()
    }

    /// The number of accesses that could be submitted now.
    pub(crate) fn ready(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting().min(self.width.saturating_sub(lane.out))).sum()
    }

    /// The number of accesses that are submitted, not complete, and given up.
    pub(crate) fn given_up(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.given_up).map(|lane| lane.out).sum()
    }

    fn lane(&self, member: Serial) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.member == member)
    }
}

impl Lane {
    fn new(member: Serial) -> Lane {
        Lane { member, foreground: VecDeque::new(), background: VecDeque::new(), out: 0, given_up: false }
    }

    fn waiting(&self) -> usize {
        self.foreground.len() + self.background.len()
    }

    /// Whether the member was given up and has no accesses left. The lane of any other member
    /// stays, even if it is empty.
    fn is_over(&self) -> bool {
        self.given_up && self.out == 0 && self.waiting() == 0
    }
}
