//! Writes of a RAID 5 as forks and joins: what Varki and Wang §5 leave to later.
//!
//! A write of w of the G data units of a stripe takes one of three ways (Chen et al. §3), each a
//! fork and join or two:
//!
//! | method | reads | then writes |
//! | --- | --- | --- |
//! | read-modify-write | w + 1: old data, old parity | w + 1, at the same places |
//! | reconstruct | G − w: the rest of the stripe | w + 1, elsewhere |
//! | full stripe (w = G) | none | G + 1 |
//!
//! What is written where it was read is there sooner, unless the disk has done something else
//! meanwhile: the arm is at its place, and a revolution, less what was read, has to pass on the
//! disk that was read last; on the others any part of one.
//!
//! In one access a disk reads, waits for a revolution, and writes (Stodolsky et al., footnote 4):
//! then data comes first and parity after it (footnote 9), and of one unit only.

use std::num::NonZeroU32;

use crate::fork_join::{Phase, Undisturbed};
use crate::service::Service;

/// How parity follows a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Old data and parity are read, the difference is put in, both are written.
    ReadModifyWrite,
    /// The rest of the stripe is read, parity computed anew.
    Reconstruct,
    /// The whole stripe is written.
    FullStripe,
}

/// A write to one stripe of a RAID 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Data units of a stripe: G.
    pub data: u32,
    /// Of which so many are written: w.
    pub written: u32,
}

/// Why there is no such write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// More than a stripe, or nothing.
    #[error("{written} of {data} data units cannot be written; write 1 to all of them")]
    Units {
        /// w.
        written: u32,
        /// G.
        data: u32,
    },
    /// Not so.
    #[error("{written} of {data} data units cannot be written by {method:?}")]
    Method {
        /// How.
        method: Method,
        /// w.
        written: u32,
        /// G.
        data: u32,
    },
}

/// The service times of the accesses that writes are made of.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// A unit read.
    pub read: &'a Service,
    /// A unit written.
    pub write: &'a Service,
    /// Disks of the array.
    pub disks: NonZeroU32,
}

impl Write {
    /// The method of the fewest accesses (Chen et al. §3); of equal ones, read-modify-write.
    ///
    /// # Errors
    /// There is no such write.
    pub fn method(self) -> Result<Method, WriteError> {
        let Write { data, written } = self;
        match written {
            0 => Err(WriteError::Units { written, data }),
            _ if written > data => Err(WriteError::Units { written, data }),
            _ if written == data => Ok(Method::FullStripe),
            _ if written < data - written => Ok(Method::ReadModifyWrite),
            _ => Ok(Method::Reconstruct),
        }
    }

    /// The forks and joins that it goes through.
    ///
    /// # Errors
    /// There is no such write, or it cannot be done so.
    pub fn phases(self, method: Method, accesses: Accesses<'_>) -> Result<Vec<Phase>, WriteError> {
        let Write { data, written } = self;
        self.method()?;
        let impossible = WriteError::Method { method, written, data };
        let all = NonZeroU32::new(written + 1).ok_or(impossible)?;
        let touched = match method {
            Method::ReadModifyWrite => written + 1,
            Method::Reconstruct | Method::FullStripe => data + 1,
        };
        let together = f64::from(touched) / f64::from(accesses.disks.get());
        let writes = accesses.write.phase(all, together);
        match method {
            Method::FullStripe if written == data => Ok(vec![writes]),
            Method::FullStripe => Err(impossible),
            Method::Reconstruct => {
                let rest = NonZeroU32::new(data - written).ok_or(impossible)?;
                Ok(vec![accesses.read.phase(rest, together), writes])
            }
            Method::ReadModifyWrite => Ok(accesses.rewrite(all, together).into()),
        }
    }
}

/// A write of one unit in which data, and then its parity, is read and written in one access each.
pub fn combined(modify: &Service) -> Vec<Phase> {
    let phase = modify.phase(NonZeroU32::MIN, 0.0);
    vec![phase, phase]
}

impl Accesses<'_> {
    /// So many units, each on a disk of its own, are read, and when all are, written where they
    /// were read. `together` is as in [`Service::last_of`].
    pub fn rewrite(&self, siblings: NonZeroU32, together: f64) -> [Phase; 2] {
        let undisturbed = Some(self.again(siblings));
        [self.read.phase(siblings, together), Phase { undisturbed, ..self.write.phase(siblings, together) }]
    }

    /// Units that are written where they have just been read, if their disks did nothing else. All
    /// are written at the same time, when the last was read: its disk has to wait for the rest of a
    /// revolution, the others for any part of one.
    fn again(&self, siblings: NonZeroU32) -> Undisturbed {
        let (count, revolution) = (f64::from(siblings.get()), self.write.revolution);
        let passed = self.read.passing + self.read.after_passing() + self.write.lead;
        let last_read = revolution - passed.rem_euclid(revolution);
        let taken = self.write.overhead + self.write.transfer.mean;
        let rotation = (last_read + (count - 1.0) * revolution / 2.0) / count;
        // The longest of `last_read` and k − 1 that are evenly distributed.
        let part = last_read / revolution;
        let longest = revolution * (1.0 - (1.0 - part.powf(count)) / count);
        Undisturbed { service: taken + rotation, last: taken + longest.max(rotation) }
    }
}
