//! What a failed access says about its member.

use parlour_units::words::without_numbers;
use rustix::io::Errno;

/// How an access to a member failed, as far as the array must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The place cannot be read (a latent sector error); the rest of the member may be fine.
    Unreadable,
    /// The member does not answer, or refuses to write.
    Gone,
    /// The member ends before its end.
    Truncated,
    /// The member has no room for what should be there; not its fault.
    NoSpace,
    /// The member had no room for what it was to make durable, and what was written to it before is
    /// perhaps lost with that; not its fault.
    Undurable,
    /// The system lacked the means for the access, and went on lacking them; not the member's
    /// fault.
    Starved,
}

/// A failed access: its fault, and what the kernel said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The kernel refused.
    #[error("{}", without_numbers(&.errno.to_string()))]
    Refused {
        /// What that says about the member.
        fault: Fault,
        /// The kernel's reason.
        errno: Errno,
    },
    /// The member did not answer in time, or has been excluded meanwhile.
    #[error("it did not answer in time")]
    Unanswered,
    /// A transfer ended early: the member is shorter than it was.
    #[error("the member ends before its end; was it truncated?")]
    Truncated,
}

impl Failure {
    /// The failure of a read for the reason `errno`.
    pub fn of_read(errno: Errno) -> Failure {
        let fault = match errno {
            // The block layer's words for a medium error, a failed protection check and a target
            // error, and the file systems' for a bad checksum: all are about this place, not about
            // the member.
            Errno::IO | Errno::NODATA | Errno::ILSEQ | Errno::REMOTEIO | Errno::BADMSG | Errno::UCLEAN => {
                Fault::Unreadable
            }
            _ => Fault::Gone,
        };
        Failure::Refused { fault, errno }
    }

    /// The failure of a write, zeroing or flush for the reason `errno`.
    ///
    /// A drive remaps bad sectors when they are written, so one that cannot be written is at its
    /// end.
    pub fn of_write(errno: Errno) -> Failure {
        let fault = match errno {
            // FBIG is a limit on the size of files: the member is as innocent of it as of a full
            // disk.
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Fault::NoSpace,
            _ => Fault::Gone,
        };
        Failure::Refused { fault, errno }
    }

    /// The failure of a write that was to be durable, for the reason `errno`, on a member behind
    /// the page cache. That is told once of all that was written before, so no such write is done
    /// again.
    pub(crate) fn of_cached_durable_write(errno: Errno) -> Failure {
        match Failure::of_write(errno) {
            Failure::Refused { fault: Fault::NoSpace, errno } => {
                Failure::Refused { fault: Fault::Undurable, errno }
            }
            failure => failure,
        }
    }

    /// What the kernel said, or would have said.
    pub(crate) fn errno(self) -> Errno {
        match self {
            Failure::Refused { errno, .. } => errno,
            Failure::Unanswered => Errno::TIMEDOUT,
            Failure::Truncated => Errno::NXIO,
        }
    }

    /// What it says about the member.
    pub fn fault(self) -> Fault {
        match self {
            Failure::Refused { fault, .. } => fault,
            Failure::Unanswered => Fault::Gone,
            Failure::Truncated => Fault::Truncated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_medium_error_is_about_a_place_when_read_and_about_the_member_when_written() {
        for errno in [Errno::IO, Errno::NODATA, Errno::ILSEQ] {
            assert_eq!(Failure::of_read(errno).fault(), Fault::Unreadable);
            assert_eq!(Failure::of_write(errno).fault(), Fault::Gone);
        }
    }

    #[test]
    fn a_full_file_system_is_no_fault_of_the_member() {
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            assert_eq!(Failure::of_write(errno).fault(), Fault::NoSpace);
        }
    }

    #[test]
    fn a_member_that_does_not_answer_is_gone() {
        for errno in [Errno::NODEV, Errno::NXIO, Errno::ROFS, Errno::BADF, Errno::NOLINK, Errno::TIMEDOUT] {
            assert_eq!(Failure::of_read(errno).fault(), Fault::Gone);
            assert_eq!(Failure::of_write(errno).fault(), Fault::Gone);
        }
        assert_eq!(Failure::Truncated.fault(), Fault::Truncated);
    }
}
