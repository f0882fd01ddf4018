//! The array's words for members, payload and faults, in this crate's words.

use parlour_array::{Action, BufferId, Class, Slice};
use parlour_units::{Member, Sector, Sectors};

use crate::access::{Operation, Priority};
use crate::fault::{Failure, Fault};
use crate::memory::{Buffer, Part};

/// What an effect asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// An access of a member.
    Access(Member, Operation, (Sector, Sectors)),
    /// [`compute::xor`](crate::compute::xor)
    Xor,
    /// [`compute::xor_into`](crate::compute::xor_into)
    XorInto,
    /// [`compute::differs`](crate::compute::differs)
    Compare,
}

impl From<Action> for Task {
    fn from(action: Action) -> Task {
        match action {
            Action::Read { member, at, length } => Task::Access(member, Operation::Read, (at, length)),
            Action::Write { member, at, length, durable } => {
                Task::Access(member, Operation::Write { durable }, (at, length))
            }
            Action::Zero { member, at, length } => Task::Access(member, Operation::Zero, (at, length)),
            Action::Flush { member } => Task::Access(member, Operation::Flush, (Sector::ZERO, Sectors::ZERO)),
            Action::Xor => Task::Xor,
            Action::XorInto => Task::XorInto,
            Action::Compare => Task::Compare,
        }
    }
}

impl From<Class> for Priority {
    fn from(class: Class) -> Priority {
        match class {
            // Hosts wait for the log and the metadata as soon as there is no more room in them.
            Class::Foreground | Class::Log | Class::Metadata => Priority::Foreground,
            Class::Rebuild | Class::Scrub => Priority::Background,
        }
    }
}

impl From<Failure> for parlour_array::Fault {
    fn from(failure: Failure) -> parlour_array::Fault {
        match failure.fault() {
            Fault::Unreadable => parlour_array::Fault::Unreadable,
            Fault::Gone => parlour_array::Fault::Gone,
            Fault::NoSpace => parlour_array::Fault::NoSpace,
        }
    }
}

/// The part that `slice` names; `metadata` is where the effect's own bytes are.
pub(crate) fn part(slice: Slice, metadata: Option<Buffer>) -> Part {
    let buffer = match slice.buffer {
        BufferId::ZEROES => Buffer::Zeroes,
        BufferId::METADATA => metadata.expect("an effect that moves metadata has memory for it"),
        payload => Buffer::Payload(u32::try_from(payload.as_usize()).expect("buffer numbers are dense")),
    };
    Part { buffer, start: slice.start.bytes().as_usize(), length: slice.length.bytes().as_usize() }
}
