//! Writes of a RAID 5 as forks and joins, which Varki and Wang §5 leave for later work.
//!
//! A write of w of the G data units of a stripe uses one of three methods (Chen et al. §3), each
//! with one or two forks and joins:
//!
//! | method | reads | then writes |
//! | --- | --- | --- |
//! | read-modify-write | w + 1: old data, old parity | w + 1, at the same places |
//! | reconstruct | G − w: the rest of the stripe | w + 1, elsewhere |
//! | full stripe (w = G) | none | G + 1 |
//!
//! A write to the position of the preceding read is faster, unless the disk has done something else
//! in between: the arm is in place. The disk that was read last has to wait for the rest of a
//! revolution after its read; the others wait for any part of one.
//!
//! In a combined access a disk reads, waits for a revolution, and writes (Stodolsky et al.,
//! footnote 4). In this case parity follows after the data (footnote 9), and only one unit is
//! written.

use std::num::NonZeroU32;

use crate::fork_join::{Phase, Undisturbed};
use crate::service::Service;

/// How parity is updated with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Old data and parity are read, the difference is applied, and both are written.
    ReadModifyWrite,
    /// The rest of the stripe is read, and parity is computed anew.
    Reconstruct,
    /// The whole stripe is written.
    FullStripe,
}

/// A write to one stripe of a RAID 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The data units of a stripe: G.
    pub data: u32,
    /// The number of units written: w.
    pub written: u32,
}

/// Why a write is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The number of units is out of range.
    #[error("{written} of {data} data units cannot be written; write 1 to all of them")]
    Units {
        /// w.
        written: u32,
        /// G.
        data: u32,
    },
    /// The method is impossible for this write.
    #[error("{written} of {data} data units cannot be written by {method:?}")]
    Method {
        /// The method.
        method: Method,
        /// w.
        written: u32,
        /// G.
        data: u32,
    },
}

/// The service times of the accesses of a write.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// A read of a unit.
    pub read: &'a Service,
    /// A write of a unit.
    pub write: &'a Service,
    /// The number of disks of the array.
    pub disks: NonZeroU32,
}

impl Write {
    /// The method with the fewest accesses (Chen et al. §3); if both are equal, read-modify-write.
    ///
    /// # Errors
    /// The write is invalid.
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

    /// The forks and joins of the write.
    ///
    /// # Errors
    /// The write is invalid, or the method is impossible for it.
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

/// A write of one unit in which the data, and then its parity, is read and written in one access
/// each.
pub fn combined(modify: &Service) -> Vec<Phase> {
    let phase = modify.phase(NonZeroU32::MIN, 0.0);
    vec![phase, phase]
}

impl Accesses<'_> {
    /// Units, each on a different disk, are read; when all have been read they are written at the
    /// same positions. `together` is as in [`Service::last_of`].
    pub fn rewrite(&self, siblings: NonZeroU32, together: f64) -> [Phase; 2] {
        let undisturbed = Some(self.again(siblings));
        [self.read.phase(siblings, together), Phase { undisturbed, ..self.write.phase(siblings, together) }]
    }

    /// The same, if something of any length is waited for between reads and writes: then each disk
    /// waits for any part of a revolution.
    pub fn rewrite_later(&self, siblings: NonZeroU32, together: f64) -> [Phase; 2] {
        let (count, revolution) = (f64::from(siblings.get()), self.write.revolution);
        let taken = self.write.overhead + self.write.transfer.mean;
        let undisturbed = Some(Undisturbed {
            service: taken + revolution / 2.0,
            last: taken + revolution * count / (count + 1.0),
            after: 0.0,
            again: 1.0,
        });
        [self.read.phase(siblings, together), Phase { undisturbed, ..self.write.phase(siblings, together) }]
    }

    /// The writes of the same, if only this part of the units was read: the others are written
    /// elsewhere, and mostly the last is one of them.
    pub fn partly_rewritten_later(&self, siblings: NonZeroU32, together: f64, part: f64) -> Phase {
        let [_, phase] = self.rewrite_later(siblings, together);
        let elsewhere = ((1.0 - part) * f64::from(siblings.get())).round() as u32;
        let last = self.write.last_of(NonZeroU32::new(elsewhere).unwrap_or(NonZeroU32::MIN), together);
        let undisturbed = phase.undisturbed.map(|times| {
            let service = part * times.service + (1.0 - part) * phase.service;
            Undisturbed { service, last: last.max(times.last), again: part, ..times }
        });
        Phase { undisturbed, ..phase }
    }

    /// The times of units that are written where they were just read, if their disks did nothing
    /// else. All are written at the same time, when the last has been read: its disk waits for the
    /// rest of a revolution, the others for any part of one.
    fn again(&self, siblings: NonZeroU32) -> Undisturbed {
        let (count, revolution) = (f64::from(siblings.get()), self.write.revolution);
        let passed = self.read.passing + self.read.after_passing() + self.write.lead;
        let last_read = revolution - passed.rem_euclid(revolution);
        let taken = self.write.overhead + self.write.transfer.mean;
        let rotation = (last_read + (count - 1.0) * revolution / 2.0) / count;
        // The mean of the longest of `last_read` and k − 1 uniform times.
        let part = last_read / revolution;
        let longest = revolution * (1.0 - (1.0 - part.powf(count)) / count);
        Undisturbed { service: taken + rotation, last: taken + longest.max(rotation), after: 0.0, again: 1.0 }
    }
}
