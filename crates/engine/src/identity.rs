//! Random identities: of arrays, members and sessions.

use parlour_array::Identity;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// The kernel did not return random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot get random numbers for an identity from the kernel: {0}")]
pub struct RandomError(Errno);

/// A new random identity.
pub(crate) fn fresh() -> Result<Identity, RandomError> {
    let mut bytes = [0; 16];
    // The kernel returns a request this short whole, or not at all.
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(16) => Ok(Identity(bytes)),
        Ok(_) => Err(RandomError(Errno::AGAIN)),
        Err(errno) => Err(RandomError(errno)),
    }
}
