//! Recording what an array was told and what it answered, and replaying it into a fresh array.
//!
//! The array is a state machine: told the same, it answers the same, in whatever world. A
//! [`Recording`] holds what it was opened from and then, in order, each input and each answer.
//! [`replay()`] opens a fresh array, feeds it the inputs and compares the answers one for one.
//! Where a recording goes is for the world to say ([`Sink`]).

mod entry;
mod inputs;
mod recorded;
mod replay;
mod tuning;

pub use entry::{Asked, Became, Entry, Input, JoiningMember};
pub use inputs::{CandidateInput, OpeningInputs};
pub use recorded::Recorded;
pub use replay::{FirstDifference, replay};

/// What an array was opened from, was told, and answered.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What it was opened from; absent until a session has begun.
    pub opening: Option<OpeningInputs>,
    /// What happened, in order.
    pub entries: Vec<Entry>,
}

/// Where a recording goes.
pub trait Sink: std::fmt::Debug + Send {
    /// An array was opened from this.
    fn begin(&mut self, opening: &OpeningInputs);
    /// Something happened.
    fn note(&mut self, entry: Entry);
    /// What was recorded so far, if it is kept here.
    fn recording(&self) -> Option<&Recording> {
        None
    }
}

/// It is kept in memory.
impl Sink for Recording {
    fn begin(&mut self, opening: &OpeningInputs) {
        self.opening = Some(opening.clone());
    }

    fn note(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    fn recording(&self) -> Option<&Recording> {
        Some(self)
    }
}
