//! What goes out to the driver: accesses, each with a note of what it is for, and answers.

use std::collections::VecDeque;

use parlour_units::Member;

use crate::seam::{Access, AccessId, Act, Tag};
use crate::slab::Slab;

/// Accesses under way and answers to take.
#[derive(Clone, Debug)]
pub(crate) struct Desk<N> {
    accesses: VecDeque<Access>,
    /// By the number of the access: its member, and what it is for.
    notes: Slab<(Member, N)>,
    answers: VecDeque<Tag>,
    /// By member: accesses that are not completed.
    busy: Vec<u32>,
}

impl<N> Desk<N> {
    pub(crate) fn new(members: u16) -> Desk<N> {
        Desk {
            accesses: VecDeque::new(),
            notes: Slab::default(),
            answers: VecDeque::new(),
            busy: vec![0; usize::from(members)],
        }
    }

    /// Asks for an access that a host waits for.
    pub(crate) fn ask(&mut self, job: u32, member: Member, act: Act, note: N) {
        self.push(job, member, true, act, note);
    }

    /// Asks for an access that no host waits for.
    pub(crate) fn ask_later(&mut self, job: u32, member: Member, act: Act, note: N) {
        self.push(job, member, false, act, note);
    }

    fn push(&mut self, job: u32, member: Member, awaited: bool, act: Act, note: N) {
        self.busy[member.as_usize()] += 1;
        let id = AccessId(self.notes.insert((member, note)));
        self.accesses.push_back(Access { id, job, member, awaited, act });
    }

    /// Takes a completed access: its member, and what it was for.
    pub(crate) fn done(&mut self, AccessId(number): AccessId) -> (Member, N) {
        let (member, note) = self.notes.remove(number);
        self.busy[member.as_usize()] -= 1;
        (member, note)
    }

    /// An access under way: its member, and what it is for.
    pub(crate) fn about(&self, AccessId(number): AccessId) -> &(Member, N) {
        self.notes.get(number)
    }

    /// The accesses of a member that are not completed.
    pub(crate) fn busy(&self, member: Member) -> u32 {
        self.busy[member.as_usize()]
    }

    /// All accesses that are not completed.
    pub(crate) fn under_way(&self) -> usize {
        self.notes.len()
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, tag: Tag) {
        self.answers.push_back(tag);
    }

    pub(crate) fn poll_access(&mut self) -> Option<Access> {
        self.accesses.pop_front()
    }

    pub(crate) fn poll_answer(&mut self) -> Option<Tag> {
        self.answers.pop_front()
    }
}
