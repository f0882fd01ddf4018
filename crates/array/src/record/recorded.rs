//! The array behind its seam, with an optional recorder.

use parlour_units::{Instant, Member, Sector, Sectors, Slot};

use super::entry::{Entry, Input};
use super::{OpeningInputs, Recording, Sink};
use crate::{
    AdminError, Array, BufferId, Completion, Effect, EffectId, Event, MemberInfo, Outcome, Part, Repair,
    Request,
};

/// An array whose inputs and outputs can be recorded. Without a recorder this costs a test of a
/// pointer.
#[derive(Debug)]
pub struct Recorded {
    array: Array,
    recorder: Option<Box<dyn Sink>>,
}

impl Recorded {
    /// An array that was just opened and has had no input yet.
    pub fn new(array: Array, opening: &OpeningInputs, mut recorder: Option<Box<dyn Sink>>) -> Recorded {
        if let Some(recorder) = &mut recorder {
            recorder.begin(opening);
        }
        Recorded { array, recorder }
    }

    /// The array, for calls that change nothing.
    pub fn get(&self) -> &Array {
        &self.array
    }

    /// The recording so far, if it is kept in memory.
    pub fn recording(&self) -> Option<&Recording> {
        self.recorder.as_ref()?.recording()
    }

    fn told(&mut self, input: impl FnOnce() -> Input) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note(Entry::Told(input()));
        }
    }

    fn answered(&mut self, answer: &impl std::fmt::Debug) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note(Entry::Answered(format!("{answer:?}")));
        }
    }

    /// [`Array::reserve`].
    pub fn reserve(&mut self, length: Sectors) -> Option<BufferId> {
        self.told(|| Input::Reserve { length: length.get() });
        let buffer = self.array.reserve(length);
        self.answered(&buffer);
        buffer
    }

    /// [`Array::expect_write`].
    pub fn expect_write(&mut self, now: Instant, at: Sector, length: Sectors) {
        self.told(|| Input::ExpectWrite { now: now.nanoseconds(), at: at.get(), length: length.get() });
        self.array.expect_write(now, at, length);
    }

    /// [`Array::release`].
    pub fn release(&mut self, buffer: BufferId) {
        self.told(|| Input::Release { buffer: buffer.as_usize() as u64 });
        self.array.release(buffer);
    }

    /// [`Array::submit`].
    pub fn submit(&mut self, now: Instant, request: Request) {
        self.told(|| Input::Submit {
            now: now.nanoseconds(),
            tag: request.tag.0,
            operation: request.operation.into(),
            at: request.at.get(),
            length: request.length.get(),
            buffer: request.buffer.map(|buffer| buffer.as_usize() as u64),
        });
        self.array.submit(now, request);
    }

    /// [`Array::submit_part`].
    pub fn submit_part(&mut self, now: Instant, request: Request, start: Sectors) {
        self.told(|| Input::SubmitPart {
            now: now.nanoseconds(),
            tag: request.tag.0,
            operation: request.operation.into(),
            at: request.at.get(),
            length: request.length.get(),
            buffer: request.buffer.map(|buffer| buffer.as_usize() as u64),
            start: start.get(),
        });
        self.array.submit_part(now, request, start);
    }

    /// [`Array::complete`].
    pub fn complete(&mut self, now: Instant, effect: EffectId, outcome: Outcome<'_>) {
        self.told(|| Input::Complete {
            now: now.nanoseconds(),
            effect: effect.get(),
            outcome: outcome.into(),
        });
        self.array.complete(now, effect, outcome);
    }

    /// [`Array::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        self.told(|| Input::Timeout { now: now.nanoseconds() });
        self.array.handle_timeout(now);
    }

    /// [`Array::stop`].
    pub fn stop(&mut self, now: Instant) {
        self.told(|| Input::Stop { now: now.nanoseconds() });
        self.array.stop(now);
    }

    /// [`Array::fail`].
    ///
    /// # Errors
    /// As there.
    pub fn fail(&mut self, now: Instant, slot: Slot) -> Result<(), AdminError> {
        self.told(|| Input::Fail { now: now.nanoseconds(), slot: slot.get() });
        let result = self.array.fail(now, slot);
        self.answered(&result);
        result
    }

    /// [`Array::remove`].
    ///
    /// # Errors
    /// As there.
    pub fn remove(&mut self, now: Instant, slot: Slot) -> Result<Option<Member>, AdminError> {
        self.told(|| Input::Remove { now: now.nanoseconds(), slot: slot.get() });
        let result = self.array.remove(now, slot);
        self.answered(&result);
        result
    }

    /// [`Array::add_spare`].
    ///
    /// # Errors
    /// As there.
    pub fn add_spare(&mut self, now: Instant, info: MemberInfo) -> Result<Member, AdminError> {
        self.told(|| Input::AddSpare { now: now.nanoseconds(), info: (&info).into() });
        let result = self.array.add_spare(now, info);
        self.answered(&result);
        result
    }

    /// [`Array::replace`].
    ///
    /// # Errors
    /// As there.
    pub fn replace(&mut self, now: Instant, slot: Slot, info: MemberInfo) -> Result<Member, AdminError> {
        self.told(|| Input::Replace { now: now.nanoseconds(), slot: slot.get(), info: (&info).into() });
        let result = self.array.replace(now, slot, info);
        self.answered(&result);
        result
    }

    /// [`Array::rebuild`].
    ///
    /// # Errors
    /// As there.
    pub fn rebuild(&mut self, now: Instant) -> Result<Vec<Slot>, AdminError> {
        self.told(|| Input::Rebuild { now: now.nanoseconds() });
        let result = self.array.rebuild(now);
        self.answered(&result);
        result
    }

    /// [`Array::scrub`].
    ///
    /// # Errors
    /// As there.
    pub fn scrub(&mut self, now: Instant, repair: Repair) -> Result<(), AdminError> {
        self.told(|| Input::Scrub { now: now.nanoseconds(), repair });
        let result = self.array.scrub(now, repair);
        self.answered(&result);
        result
    }

    /// [`Array::cancel_scrub`].
    ///
    /// # Errors
    /// As there.
    pub fn cancel_scrub(&mut self, now: Instant) -> Result<(), AdminError> {
        self.told(|| Input::CancelScrub { now: now.nanoseconds() });
        let result = self.array.cancel_scrub(now);
        self.answered(&result);
        result
    }

    /// [`Array::poll_effect`].
    pub fn poll_effect(&mut self) -> Option<Effect> {
        let effect = self.array.poll_effect()?;
        if let Some(recorder) = &mut self.recorder {
            let (slices, metadata) = self.array.slices(effect.id);
            recorder.note(Entry::of_effect(&effect, slices, metadata));
        }
        Some(effect)
    }

    /// [`Array::poll_completion`].
    pub fn poll_completion(&mut self) -> Option<Completion> {
        let completion = self.array.poll_completion()?;
        self.answered(&completion);
        Some(completion)
    }

    /// [`Array::poll_event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.array.poll_event()?;
        self.answered(&event);
        Some(event)
    }

    /// [`Array::poll_release`].
    pub fn poll_release(&mut self) -> Option<BufferId> {
        let buffer = self.array.poll_release()?;
        self.answered(&buffer);
        Some(buffer)
    }

    /// [`Array::parts`].
    pub fn parts(&self, effect: EffectId) -> impl Iterator<Item = Part<'_>> + Clone {
        self.array.parts(effect)
    }

    /// [`Array::coefficients`].
    pub fn coefficients(&self, effect: EffectId) -> &[u8] {
        self.array.coefficients(effect)
    }

    /// [`Array::parts_length`].
    pub fn parts_length(&self, effect: EffectId) -> Sectors {
        self.array.parts_length(effect)
    }

    /// [`Array::buffer_length`].
    pub fn buffer_length(&self, buffer: BufferId) -> Sectors {
        self.array.buffer_length(buffer)
    }
}
