//! Random identities: of arrays, members and sessions.

use parlour_array::Identity;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// The kernel gives no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot get random numbers for an identity from the kernel: {0}")]
pub struct RandomError(Errno);

/// An identity that nobody else has.
pub(crate) fn fresh() -> Result<Identity, RandomError> {
    let mut bytes = [0; 16];
    // So few bytes come at once, or not at all.
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(16) => Ok(Identity(bytes)),
        Ok(_) => Err(RandomError(Errno::AGAIN)),
        Err(errno) => Err(RandomError(errno)),
    }
}
