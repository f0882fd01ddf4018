//! Replaying a recording into a fresh array.

use std::collections::VecDeque;

use parlour_units::{Sector, Sectors, Slot};

use super::Recording;
use super::entry::{Asked, Entry, Input, instant};
use crate::{Array, AssemblyError, BufferId, EffectId, Request, Tag};

/// Where a fresh array first differed from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FirstDifference {
    /// The recording does not begin with the input of an opening.
    #[error("the recording lacks what the array was opened from; record again, from the server's start")]
    NoOpening,
    /// The recorded array could be opened, but this one cannot.
    #[error("the array cannot be opened as it was when recorded: {0}")]
    Opening(#[from] AssemblyError),
    /// The outputs differ.
    #[error("entry {entry} differs: recorded was '{recorded}', and now it is '{now}'")]
    Answer {
        /// The number of the entry, from 0.
        entry: usize,
        /// The recorded output.
        recorded: String,
        /// The output of the fresh array.
        now: String,
    },
    /// The fresh array had more outputs than were recorded.
    #[error("after the last entry the array answers '{0}', which was not recorded")]
    More(String),
}

/// Feeds the recorded inputs to a fresh array, and compares its outputs with the recorded ones.
///
/// # Errors
/// The first difference.
pub fn replay(recording: &Recording) -> Result<(), FirstDifference> {
    let opening = recording.opening.as_ref().ok_or(FirstDifference::NoOpening)?;
    let array = opening.open(opening.assemble()?)?;
    let mut player = Player { array, buffers: Vec::new(), results: VecDeque::new() };
    for (index, entry) in recording.entries.iter().enumerate() {
        match entry {
            Entry::Told(input) => player.tell(input),
            Entry::Answered(recorded) => player.compare(index, recorded)?,
        }
    }
    match player.any_answer() {
        Some(more) => Err(FirstDifference::More(more)),
        None => Ok(()),
    }
}

struct Player {
    array: Array,
    /// Buffers by number; only the array can make them.
    buffers: Vec<Option<BufferId>>,
    /// Results of functions that are not compared yet.
    results: VecDeque<String>,
}

impl Player {
    fn tell(&mut self, input: &Input) {
        let array = &mut self.array;
        let result = match input {
            Input::Reserve { length } => {
                let buffer = array.reserve(Sectors::new(*length));
                self.name(buffer);
                format!("{buffer:?}")
            }
            Input::ExpectWrite { now, at, length } => {
                return array.expect_write(instant(*now), Sector::new(*at), Sectors::new(*length));
            }
            Input::Release { buffer } => {
                // A buffer that is not known here was a difference earlier, which was already
                // reported.
                if let Some(buffer) = self.buffer(*buffer) {
                    self.array.release(buffer);
                }
                return;
            }
            Input::Submit { now, tag, operation, at, length, buffer } => {
                let request = self.request(*tag, *operation, (*at, *length), *buffer);
                return self.array.submit(instant(*now), request);
            }
            Input::SubmitPart { now, tag, operation, at, length, buffer, start } => {
                let request = self.request(*tag, *operation, (*at, *length), *buffer);
                return self.array.submit_part(instant(*now), request, Sectors::new(*start));
            }
            Input::Complete { now, effect, outcome } => {
                return array.complete(instant(*now), EffectId::from_raw(*effect), outcome.outcome());
            }
            Input::Timeout { now } => return array.handle_timeout(instant(*now)),
            Input::Stop { now } => return array.stop(instant(*now)),
            Input::Fail { now, slot } => format!("{:?}", array.fail(instant(*now), Slot::new(*slot))),
            Input::Remove { now, slot } => {
                format!("{:?}", array.remove(instant(*now), Slot::new(*slot)))
            }
            Input::AddSpare { now, info } => format!("{:?}", array.add_spare(instant(*now), info.into())),
            Input::Replace { now, slot, info } => {
                format!("{:?}", array.replace(instant(*now), Slot::new(*slot), info.into()))
            }
            Input::Rebuild { now } => format!("{:?}", array.rebuild(instant(*now))),
            Input::Scrub { now, repair } => {
                format!("{:?}", array.scrub(instant(*now), *repair))
            }
            Input::CancelScrub { now } => format!("{:?}", array.cancel_scrub(instant(*now))),
        };
        self.results.push_back(result);
    }

    fn name(&mut self, buffer: Option<BufferId>) {
        let Some(buffer) = buffer else { return };
        let number = buffer.as_usize();
        if number >= self.buffers.len() {
            self.buffers.resize(number + 1, None);
        }
        self.buffers[number] = Some(buffer);
    }

    fn request(&self, tag: u64, operation: Asked, (at, length): (u64, u64), buffer: Option<u64>) -> Request {
        Request {
            tag: Tag(tag),
            operation: operation.into(),
            at: Sector::new(at),
            length: Sectors::new(length),
            buffer: buffer.and_then(|buffer| self.buffer(buffer)),
        }
    }

    fn buffer(&self, number: u64) -> Option<BufferId> {
        *self.buffers.get(usize::try_from(number).ok()?)?
    }

    /// Compares the next output with `recorded`. The beginning of `recorded` shows the kind of
    /// output.
    fn compare(&mut self, entry: usize, recorded: &str) -> Result<(), FirstDifference> {
        let now = match self.results.pop_front() {
            Some(result) => Some(result),
            None if recorded.starts_with("Effect ") => self.effect(),
            None if recorded.starts_with("Completion ") => {
                self.array.poll_completion().map(|completion| format!("{completion:?}"))
            }
            None if recorded.starts_with("BufferId(") => {
                self.array.poll_release().map(|buffer| format!("{buffer:?}"))
            }
            None => self.array.poll_event().map(|event| format!("{event:?}")),
        };
        let now = now.unwrap_or_else(|| "nothing".into());
        if now == recorded {
            return Ok(());
        }
        Err(FirstDifference::Answer { entry, recorded: recorded.into(), now })
    }

    fn effect(&mut self) -> Option<String> {
        let effect = self.array.poll_effect()?;
        let (slices, metadata) = self.array.slices(effect.id);
        let entry = Entry::of_effect(&effect, slices, metadata);
        match entry {
            Entry::Answered(words) => Some(words),
            Entry::Told(_) => unreachable!("an effect is an answer"),
        }
    }

    fn any_answer(&mut self) -> Option<String> {
        let effect = self.effect();
        effect
            .or_else(|| self.array.poll_completion().map(|completion| format!("{completion:?}")))
            .or_else(|| self.array.poll_event().map(|event| format!("{event:?}")))
    }
}
