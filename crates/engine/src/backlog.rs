//! Accesses that wait for a place with the kernel.

use std::collections::VecDeque;

use crate::access::{Access, Priority};

/// One of so many accesses that leave is from the background while both wait, so that it is not starved.
const SHARE: u32 = 16;

/// A queue that puts people first.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    foreground: VecDeque<Access>,
    background: VecDeque<Access>,
    turn: u32,
}

impl Backlog {
    pub(crate) fn push(&mut self, access: Access) {
        match access.priority() {
            Priority::Foreground => self.foreground.push_back(access),
            Priority::Background => self.background.push_back(access),
        }
    }

    /// The access whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Access> {
        self.turn = self.turn.wrapping_add(1);
        let (first, second) = if self.turn.is_multiple_of(SHARE) {
            (&mut self.background, &mut self.foreground)
        } else {
            (&mut self.foreground, &mut self.background)
        };
        first.pop_front().or_else(|| second.pop_front())
    }

    pub(crate) fn len(&self) -> usize {
        self.foreground.len() + self.background.len()
    }
}
