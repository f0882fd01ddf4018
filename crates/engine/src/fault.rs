//! Classifies a failed access: what the kernel's error says about the member.

use parlour_units::words::without_numbers;
use rustix::io::Errno;

/// What a failed access says about its member, as far as the array needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The sectors cannot be read (a latent sector error). The rest of the member may be fine.
    Unreadable,
    /// The member does not answer, or refuses writes.
    Gone,
    /// The member is shorter than it was when it was opened.
    Truncated,
    /// The member has no space for the data. This is not a fault of the member.
    NoSpace,
    /// The member had no space for data that was to become durable. Earlier writes to it may be
    /// lost as well. This is not a fault of the member.
    Undurable,
    /// The system lacked a resource for the access, and did not get it in time. This is not a fault
    /// of the member.
    Starved,
}

/// A failed access: its fault, and the kernel's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The kernel returned an error.
    #[error("{}", without_numbers(&.errno.to_string()))]
    Refused {
        /// What the error says about the member.
        fault: Fault,
        /// The kernel's error.
        errno: Errno,
    },
    /// The member did not answer in time, or was excluded in the meantime.
    #[error("it did not answer in time")]
    Unanswered,
    /// A transfer ended early: the member is shorter than it was when it was opened.
    #[error("the member ends before its end; was it truncated?")]
    Truncated,
}

impl Failure {
    /// The failure of a read with the error `errno`.
    pub fn of_read(errno: Errno) -> Failure {
        let fault = match errno {
            // The block layer's errors for a medium error, a failed protection check and a target
            // error, and the file systems' errors for a bad checksum. They concern these sectors,
            // not the whole member.
            Errno::IO | Errno::NODATA | Errno::ILSEQ | Errno::REMOTEIO | Errno::BADMSG | Errno::UCLEAN => {
                Fault::Unreadable
            }
            _ => Fault::Gone,
        };
        Failure::Refused { fault, errno }
    }

    /// The failure of a write, zeroing or flush with the error `errno`.
    ///
    /// A drive remaps a bad sector when it is written. A drive that cannot write a sector has
    /// therefore failed.
    pub fn of_write(errno: Errno) -> Failure {
        let fault = match errno {
            // FBIG is a limit on file sizes. Like a full disk, it is not a fault of the member.
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Fault::NoSpace,
            _ => Fault::Gone,
        };
        Failure::Refused { fault, errno }
    }

    /// The failure, with the error `errno`, of a durable write through the page cache. The kernel
    /// reports only once that earlier writes were lost, so such a write is not repeated.
    pub(crate) fn of_cached_durable_write(errno: Errno) -> Failure {
        match Failure::of_write(errno) {
            Failure::Refused { fault: Fault::NoSpace, errno } => {
                Failure::Refused { fault: Fault::Undurable, errno }
            }
            failure => failure,
        }
    }

    /// The kernel's error, or the closest one where the kernel returned none.
    pub(crate) fn errno(self) -> Errno {
        match self {
            Failure::Refused { errno, .. } => errno,
            Failure::Unanswered => Errno::TIMEDOUT,
            Failure::Truncated => Errno::NXIO,
        }
    }

    /// What the failure says about the member.
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
