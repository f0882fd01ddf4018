//! What turns hosts' requests into accesses: an array, or a rival of the simulator.
//!
//! A rival ([`parlour_rivals`]) has no metadata, no computations, no time-outs and no buffers, and
//! loses no members. Its accesses become effects, so that members and paths know only these.

use std::collections::VecDeque;

use parlour_array::record::Recorded;
use parlour_array::{
    Action, Array, BufferId, Class, Completion, Effect, EffectId, Event, Modify, Operation, Outcome, Request,
    RequestError,
};
use parlour_rivals::{Access, AccessId, Act, Rival, Tag, Way};
use parlour_units::{Instant, Sector, Sectors};

/// An array, or a rival.
#[derive(Debug)]
pub(crate) enum Controller {
    Array(Box<Recorded>),
    Rival(Rivaled),
}

/// A rival, and answers that need no access.
#[derive(Debug)]
pub(crate) struct Rivaled {
    pub(crate) rival: Box<dyn Rival>,
    at_once: VecDeque<Completion>,
}

/// The buffer of a request, if it has memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reserved {
    Buffer(BufferId),
    /// Rivals are given no memory.
    Nothing,
}

impl From<Recorded> for Controller {
    fn from(array: Recorded) -> Controller {
        Controller::Array(Box::new(array))
    }
}

impl From<Box<dyn Rival>> for Controller {
    fn from(rival: Box<dyn Rival>) -> Controller {
        Controller::Rival(Rivaled { rival, at_once: VecDeque::new() })
    }
}

impl Controller {
    pub(crate) fn array(&self) -> Option<&Array> {
        self.recorded().map(Recorded::get)
    }

    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        match self {
            Controller::Array(array) => Some(array),
            Controller::Rival(_) => None,
        }
    }

    pub(crate) fn recorded_mut(&mut self) -> Option<&mut Recorded> {
        match self {
            Controller::Array(array) => Some(array),
            Controller::Rival(_) => None,
        }
    }

    pub(crate) fn rival(&self) -> Option<&dyn Rival> {
        match self {
            Controller::Array(_) => None,
            Controller::Rival(Rivaled { rival, .. }) => Some(&**rival),
        }
    }

    pub(crate) fn rival_mut(&mut self) -> Option<&mut (dyn Rival + 'static)> {
        match self {
            Controller::Array(_) => None,
            Controller::Rival(Rivaled { rival, .. }) => Some(&mut **rival),
        }
    }

    pub(crate) fn capacity(&self) -> Sectors {
        match self {
            Controller::Array(array) => array.get().geometry().capacity(),
            Controller::Rival(Rivaled { rival, .. }) => rival.capacity(),
        }
    }

    pub(crate) fn reserve(&mut self, length: Sectors) -> Option<Reserved> {
        match self {
            Controller::Array(array) => array.reserve(length).map(Reserved::Buffer),
            Controller::Rival(_) => Some(Reserved::Nothing),
        }
    }

    pub(crate) fn release(&mut self, reserved: Reserved) {
        if let (Controller::Array(array), Reserved::Buffer(buffer)) = (self, reserved) {
            array.release(buffer);
        }
    }

    pub(crate) fn submit(&mut self, now: Instant, request: Request) {
        match self {
            Controller::Array(array) => array.submit(now, request),
            Controller::Rival(rivaled) => rivaled.submit(request),
        }
    }

    pub(crate) fn complete(&mut self, now: Instant, id: EffectId, outcome: Outcome<'_>) {
        match self {
            Controller::Array(array) => array.complete(now, id, outcome),
            Controller::Rival(Rivaled { rival, .. }) => {
                let placed = match outcome {
                    Outcome::Placed(at) => Some(at),
                    Outcome::Done => None,
                    _ => unreachable!("members of rivals do not fail, and hold no metadata"),
                };
                rival.complete(access_id(id), placed);
            }
        }
    }

    pub(crate) fn poll_effect(&mut self) -> Option<Effect> {
        match self {
            Controller::Array(array) => array.poll_effect(),
            Controller::Rival(Rivaled { rival, .. }) => rival.poll_access().map(effect),
        }
    }

    pub(crate) fn poll_completion(&mut self) -> Option<Completion> {
        match self {
            Controller::Array(array) => array.poll_completion(),
            Controller::Rival(Rivaled { rival, at_once }) => at_once.pop_front().or_else(|| {
                rival
                    .poll_answer()
                    .map(|Tag(tag)| Completion { tag: parlour_array::Tag(tag), result: Ok(()) })
            }),
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.recorded_mut().and_then(Recorded::poll_event)
    }

    pub(crate) fn poll_release(&mut self) -> Option<BufferId> {
        self.recorded_mut().and_then(Recorded::poll_release)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.array().and_then(Array::poll_timeout)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.recorded_mut().into_iter().for_each(|array| array.handle_timeout(now));
    }

    /// The length of the parts of a computation.
    pub(crate) fn parts_length(&self, id: EffectId) -> Sectors {
        self.recorded().map_or(Sectors::ZERO, |array| array.parts_length(id))
    }

    /// Whether the job of an access that has read writes the same place next.
    pub(crate) fn is_written_next(&self, id: EffectId) -> bool {
        self.array().is_some_and(|array| array.is_written_next(id))
    }

    /// Where an access may write, if the drive chooses that: its arm is over this cylinder. Nowhere
    /// if the access says where.
    pub(crate) fn places(&self, effect: &Effect, cylinder: u32) -> Vec<Sector> {
        match (self, effect.action) {
            (Controller::Array(array), Action::Float { .. }) => {
                array.get().free_positions(effect.id).collect()
            }
            (Controller::Rival(Rivaled { rival, .. }), Action::Write { .. }) => {
                rival.places(access_id(effect.id), cylinder)
            }
            _ => Vec::new(),
        }
    }
}

impl Rivaled {
    fn submit(&mut self, Request { tag, operation, at, length, .. }: Request) {
        let way = match operation {
            Operation::Read => Way::Read,
            Operation::Write { .. } => Way::Write,
            // What was answered is kept already, and what is trimmed is not remembered.
            _ => return self.at_once.push_back(Completion { tag, result: Ok(()) }),
        };
        match self.refusal(at, length) {
            Some(error) => self.at_once.push_back(Completion { tag, result: Err(error) }),
            None => self.rival.submit(parlour_rivals::Request { tag: Tag(tag.0), way, at, length }),
        }
    }

    fn refusal(&self, at: Sector, length: Sectors) -> Option<RequestError> {
        let unit = self.rival.unit();
        if at.from_start() + length > self.rival.capacity() {
            return Some(RequestError::BeyondEnd);
        }
        let is_aligned = at.from_start().is_multiple_of(unit) && length.is_multiple_of(unit);
        (!is_aligned).then_some(RequestError::Misaligned)
    }
}

/// The bits of an effect's name below a job's number, and below an access's number.
const JOB: u32 = 20;
const ACCESS: u32 = 40;

/// The access of a rival as an effect, with a name that says the access and its job.
fn effect(Access { id: AccessId(number), job, member, awaited, act }: Access) -> Effect {
    let id = EffectId::from_raw(u64::from(number) << ACCESS | u64::from(job) << JOB);
    let action = match act {
        Act::Read { at, length } => Action::Read { member, at, length },
        Act::Write { at, length } | Act::Place { at, length } => {
            Action::Write { member, at, length, durable: false }
        }
        Act::Modify { at, length } => {
            Action::ReadModifyWrite { member, at, length, modify: Modify::Xor, durable: false }
        }
    };
    Effect { id, class: if awaited { Class::Foreground } else { Class::Rebuild }, action }
}

fn access_id(id: EffectId) -> AccessId {
    AccessId((id.get() >> ACCESS) as u32)
}

#[cfg(test)]
mod tests {
    use parlour_rivals::lraid::{LraidX4, Settings};

    use super::*;

    #[test]
    fn what_is_not_for_a_rival_is_answered_at_once() {
        let settings = Settings {
            members: 5,
            length: Sectors::new(4_000),
            unit: Sectors::new(4),
            memory: Sectors::new(400),
            old_data_known: false,
            combined: true,
        };
        let rival: Box<dyn Rival> = Box::new(LraidX4::new(&settings).expect("it is possible"));
        let mut controller = Controller::from(rival);
        let mut ask = |operation, at, length| {
            let (tag, at, length) = (parlour_array::Tag(7), Sector::new(at), Sectors::new(length));
            controller.submit(Instant::ZERO, Request { tag, operation, at, length, buffer: None });
            (controller.poll_effect().is_some(), controller.poll_completion().map(|answer| answer.result))
        };
        assert_eq!(ask(Operation::Flush, 0, 0), (false, Some(Ok(()))));
        assert_eq!(ask(Operation::Trim, 0, 8), (false, Some(Ok(()))));
        assert_eq!(ask(Operation::Read, 2, 4), (false, Some(Err(RequestError::Misaligned))));
        assert_eq!(ask(Operation::Read, 4_000, 4), (false, Some(Err(RequestError::BeyondEnd))));
        assert_eq!(ask(Operation::Read, 3_996, 4), (true, None));
    }
}
