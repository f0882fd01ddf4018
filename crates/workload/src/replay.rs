//! Replays a recorded trace.

use std::fmt;
use std::io::BufRead;

use parlour_units::{Duration, Sector, Sectors};

use crate::space::Space;
use crate::task::{Ask, Kind, Task};
use crate::trace::{Format, Recorded, Trace, TraceError, What};

/// The devices of a trace that are replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// All devices, each as if it had the whole space.
    Each,
    /// Only this device.
    One(u32),
    /// These devices, one after another in the space: the number and the length of each. A
    /// remainder that is not a whole block is not used.
    Joined(Vec<(u32, Sectors)>),
}

/// How a request beyond the space is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The run ends with an error that names its line.
    Refused,
    /// Its position is taken modulo the space. If it would then exceed the end, it is moved back to
    /// end there.
    Wrapped,
}

/// The options of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// The devices.
    pub devices: Devices,
    /// How requests beyond the space are handled.
    pub beyond: Beyond,
}

/// A trace being replayed. It is read as needed, so its length does not matter.
///
/// Requests are extended to whole blocks. Reads, writes and trims of length zero are skipped.
pub struct Replay {
    trace: Trace<Box<dyn BufRead + Send>>,
    again: Again,
    space: Space,
    counts: Counts,
    /// The recorded time of its first request.
    first: Option<Duration>,
}

/// The counts of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Replayed requests.
    pub asked: u64,
    /// Requests skipped because they have no length.
    pub empty: u64,
    /// Requests skipped because they go to other devices.
    pub elsewhere: u64,
    /// Requests moved because they exceed the space.
    pub wrapped: u64,
}

/// Why a replay ends with an error.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A request exceeds the space.
    #[error(
        "line {line}: {length} sectors from {at} on reach beyond {space}; make the array larger, or let requests wrap around"
    )]
    Beyond {
        /// The line's number, from 1.
        line: u64,
        /// The request's first sector.
        at: u64,
        /// The request's length.
        length: u64,
        /// The length of the space, or of the request's device.
        space: u64,
    },
    /// The trace has no times.
    #[error("line {line}: the trace does not say when that was; replay it closed, so many requests at once")]
    Timeless {
        /// The line's number, from 1.
        line: u64,
    },
    /// The device is unknown.
    #[error("line {line}: device {device} is not among those that are joined; give its length")]
    UnknownDevice {
        /// The line's number, from 1.
        line: u64,
        /// The device's number in the trace.
        device: u32,
    },
}

impl Replay {
    /// Replays a trace to this space.
    pub fn new(reader: Box<dyn BufRead + Send>, format: Format, again: Again, space: &Space) -> Replay {
        let (trace, space) = (Trace::new(reader, format), space.clone());
        Replay { trace, again, space, counts: Counts::default(), first: None }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The number of the last line read.
    pub fn line(&self) -> u64 {
        self.trace.line()
    }

    /// The next request, and its recorded time.
    pub(crate) fn next(&mut self) -> Result<Option<(Option<Duration>, Task)>, ReplayError> {
        while let Some(recorded) = self.trace.next() {
            let recorded = recorded?;
            if let Some(ask) = self.ask(&recorded)? {
                self.counts.asked += 1;
                return Ok(Some((recorded.at, Task::once(ask))));
            }
        }
        Ok(None)
    }

    /// The same, with the time since the first request. A request that is out of order is due when
    /// it is read.
    pub(crate) fn next_timed(&mut self) -> Result<Option<(Duration, Task)>, ReplayError> {
        match self.next()? {
            Some((Some(at), task)) => {
                let first = *self.first.get_or_insert(at);
                Ok(Some((if at > first { at - first } else { Duration::ZERO }, task)))
            }
            Some((None, _)) => Err(ReplayError::Timeless { line: self.line() }),
            None => Ok(None),
        }
    }

    fn ask(&mut self, recorded: &Recorded) -> Result<Option<Ask>, ReplayError> {
        let (kind, at, length) = match recorded.what {
            What::Read(at, length) => (Kind::Read, at, length),
            What::Write(at, length) => (Kind::Write, at, length),
            What::Trim(at, length) => (Kind::Trim, at, length),
            What::Flush => (Kind::Flush, Sector::ZERO, Sectors::ZERO),
        };
        let Some((start, room)) = self.device(recorded.device)? else {
            self.counts.elsewhere += 1;
            return Ok(None);
        };
        if kind == Kind::Flush {
            return Ok(Some(Ask { kind, at, length }));
        }
        if length.is_zero() {
            self.counts.empty += 1;
            return Ok(None);
        }
        let (at, length) = self.placed(at, length, room)?;
        Ok(Some(Ask { kind, at: self.space.fit(start + at.from_start(), length), length }))
    }

    /// The position of a device in the space, and its length.
    fn device(&self, device: u32) -> Result<Option<(Sector, Sectors)>, ReplayError> {
        let all = (Sector::ZERO, self.space.length());
        match &self.again.devices {
            Devices::Each => Ok(Some(all)),
            Devices::One(only) => Ok((device == *only).then_some(all)),
            Devices::Joined(devices) => {
                let (mut start, all) = (0, self.space.length().get());
                for (number, length) in devices {
                    let length = length.round_down(self.space.block()).get();
                    if *number == device {
                        return Ok(Some((Sector::new(start), Sectors::new(length.min(all - start)))));
                    }
                    start = start.saturating_add(length).min(all);
                }
                Err(ReplayError::UnknownDevice { line: self.line(), device })
            }
        }
    }

    /// A request in whole blocks, within the space that there is for it.
    fn placed(
        &mut self,
        at: Sector,
        length: Sectors,
        room: Sectors,
    ) -> Result<(Sector, Sectors), ReplayError> {
        let (line, block) = (self.line(), self.space.block());
        let beyond = ReplayError::Beyond { line, at: at.get(), length: length.get(), space: room.get() };
        let Some(end) =
            at.get().checked_add(length.get()).and_then(|end| end.checked_next_multiple_of(block.get()))
        else {
            return Err(beyond);
        };
        let first = at.from_start().round_down(block);
        let length = Sectors::new(end) - first;
        if end <= room.get() {
            return Ok((Sector::ZERO + first, length));
        }
        if self.again.beyond == Beyond::Refused || length > room.min(self.space.longest()) {
            return Err(beyond);
        }
        self.counts.wrapped += 1;
        let first = Sectors::new(first.get() % room.get()).min(room - length);
        Ok((Sector::ZERO + first, length))
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("line", &self.line())
            .field("again", &self.again)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(text: &'static str, devices: Devices, beyond: Beyond) -> Replay {
        let space = Space::new(Sectors::new(1_000), Sectors::new(8)).unwrap();
        Replay::new(Box::new(text.as_bytes()), Format::Disksim, Again { devices, beyond }, &space)
    }

    fn places(mut replay: Replay) -> Result<Vec<(u64, u64)>, String> {
        let mut places = Vec::new();
        while let Some((_, mut task)) = replay.next().map_err(|error| error.to_string())? {
            places.extend(task.next_ask().map(|ask| (ask.at.get(), ask.length.get())));
        }
        Ok(places)
    }

    #[test]
    fn requests_are_widened_to_blocks_and_empty_ones_left_out() {
        let mut replay = replay("0 0 9 8 1\n1 0 5 0 1\n2 0 16 8 0\n", Devices::Each, Beyond::Refused);
        let (at, mut task) = replay.next().unwrap().unwrap();
        let ask = Ask { kind: Kind::Read, at: Sector::new(8), length: Sectors::new(16) };
        assert_eq!((at, task.next_ask()), (Some(Duration::ZERO), Some(ask)));
        assert!(replay.next().unwrap().is_some() && replay.next().unwrap().is_none());
        assert_eq!(replay.counts(), Counts { asked: 2, empty: 1, ..Counts::default() });
    }

    #[test]
    fn what_reaches_beyond_is_refused_by_its_line_or_wrapped() {
        let text = "0 0 8 8 1\n1 0 2016 8 1\n2 0 1996 8 1\n";
        let refused = places(replay(text, Devices::Each, Beyond::Refused)).unwrap_err();
        assert!(refused.starts_with("line 2: 8 sectors from 2016 on reach beyond 1000"), "{refused}");
        let wrapped = places(replay(text, Devices::Each, Beyond::Wrapped));
        assert_eq!(wrapped, Ok(vec![(8, 8), (16, 8), (984, 16)]));
        let long = places(replay("0 0 0 2000 1\n", Devices::Each, Beyond::Wrapped));
        assert!(long.unwrap_err().starts_with("line 1: "));
        let far = places(replay("0 0 18446744073709551615 8 1\n", Devices::Each, Beyond::Wrapped));
        assert!(far.unwrap_err().starts_with("line 1: "));
    }

    #[test]
    fn one_device_is_chosen_or_several_are_joined() {
        let text = "0 3 8 8 1\n1 7 16 8 1\n2 3 24 8 1\n";
        assert_eq!(places(replay(text, Devices::One(3), Beyond::Refused)), Ok(vec![(8, 8), (24, 8)]));
        let joined = Devices::Joined(vec![(7, Sectors::new(100)), (3, Sectors::new(100))]);
        assert_eq!(places(replay(text, joined, Beyond::Refused)), Ok(vec![(104, 8), (16, 8), (120, 8)]));
        let short = Devices::Joined(vec![(3, Sectors::new(100))]);
        let unknown = places(replay(text, short, Beyond::Refused)).unwrap_err();
        assert!(unknown.starts_with("line 2: device 7"), "{unknown}");
    }

    #[test]
    fn times_count_from_the_first_request() {
        let mut replay = replay("7 0 8 8 1\n9 0 16 8 1\n6 0 8 8 1\n", Devices::Each, Beyond::Refused);
        let mut next = || replay.next_timed().unwrap().unwrap().0;
        assert_eq!([next(), next(), next()], [0, 2, 0].map(Duration::from_millis));
    }

    #[test]
    fn a_trace_without_times_is_not_replayed_by_times() {
        let space = Space::new(Sectors::new(1_000), Sectors::new(8)).unwrap();
        let text = "fio version 2 iolog\n/dev/a read 0 4096\n";
        let again = Again { devices: Devices::Each, beyond: Beyond::Refused };
        let mut replay = Replay::new(Box::new(text.as_bytes()), Format::Fio, again, &space);
        assert!(matches!(replay.next_timed(), Err(ReplayError::Timeless { line: 2 })));
    }
}
