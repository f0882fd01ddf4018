//! Translates the array's terms for members, payload and faults into this crate's terms.

use parlour_array::{Action, Class};
use parlour_units::{Member, Sector, Sectors};

use crate::access::{Operation, Priority};
use crate::fault::{Failure, Fault};

/// The work that an effect asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// An access of a member.
    Access(Member, Operation, (Sector, Sectors)),
    /// [`compute::sums`](crate::compute::sums) of so many outputs.
    Sum { outputs: u16, adds: bool },
    /// [`compute::differs`](crate::compute::differs)
    Compare,
    /// [`compute::checksums`](crate::compute::checksums)
    Checksum,
}

impl From<Action> for Task {
    fn from(action: Action) -> Task {
        match action {
            Action::Read { member, at, length } => Task::Access(member, Operation::Read, (at, length)),
            Action::Write { member, at, length, durable } => {
                Task::Access(member, Operation::Write { durable }, (at, length))
            }
            Action::Zero { member, at, length } => Task::Access(member, Operation::Zero, (at, length)),
            // An array that was opened for real members does not use these actions.
            Action::ReadModifyWrite { member, .. } | Action::Float { member, .. } => {
                unreachable!("{member} reads and writes in two accesses, and so it was opened")
            }
            Action::Flush { member } => Task::Access(member, Operation::Flush, (Sector::ZERO, Sectors::ZERO)),
            Action::Sum { outputs, adds } => Task::Sum { outputs, adds },
            Action::Compare => Task::Compare,
            Action::Checksum => Task::Checksum,
        }
    }
}

/// The priority of an effect's accesses.
pub(crate) fn priority(class: Class) -> Priority {
    match class {
        // Hosts wait for the log and the metadata as soon as these are full.
        Class::Foreground | Class::Log | Class::Metadata => Priority::Foreground,
        Class::Rebuild | Class::Scrub => Priority::Background,
    }
}

/// The array's fault for a failure.
pub(crate) fn fault(failure: Failure) -> parlour_array::Fault {
    match failure.fault() {
        Fault::Unreadable => parlour_array::Fault::Unreadable,
        Fault::Gone => parlour_array::Fault::Gone,
        Fault::Truncated => parlour_array::Fault::Truncated,
        // To the array, a write that fails for lack of memory is the same as one that fails for
        // lack of space.
        Fault::NoSpace | Fault::Starved => parlour_array::Fault::NoSpace,
        Fault::Undurable => parlour_array::Fault::Undurable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_what_they_wait_for_go_first() {
        for class in [Class::Foreground, Class::Log, Class::Metadata] {
            assert_eq!(priority(class), Priority::Foreground);
        }
        for class in [Class::Rebuild, Class::Scrub] {
            assert_eq!(priority(class), Priority::Background);
        }
    }
}
