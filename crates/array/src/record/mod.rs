//! Recording an array's inputs and outputs, and replaying them into a fresh array.
//!
//! The array is a state machine: the same inputs give the same outputs, with every driver. A
//! [`Recording`] holds the input of the opening and then, in order, each input and each output.
//! [`replay()`] opens a fresh array, feeds it the inputs and compares the outputs one by one. The
//! driver decides where a recording is stored ([`Sink`]).

mod entry;
mod inputs;
mod recorded;
mod replay;
mod tuning;

pub use entry::{Asked, Became, Entry, Input, JoiningMember};
pub use inputs::{CandidateInput, OpeningInputs};
pub use recorded::Recorded;
pub use replay::{FirstDifference, replay};

/// An array's opening, its inputs, and its outputs.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The input of the opening; `None` before a session has begun.
    pub opening: Option<OpeningInputs>,
    /// All events, in order.
    pub entries: Vec<Entry>,
}

/// The destination of a recording.
pub trait Sink: std::fmt::Debug + Send {
    /// An array was opened from this input.
    fn begin(&mut self, opening: &OpeningInputs);
    /// An event happened.
    fn note(&mut self, entry: Entry);
    /// The recording so far, if it is kept here.
    fn recording(&self) -> Option<&Recording> {
        None
    }
}

/// Keeps the recording in memory.
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
