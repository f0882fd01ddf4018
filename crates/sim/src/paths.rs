//! What lies between hosts and drives: processors, a channel, and buses on which drives hang in
//! strings.
//!
//! Each is a station that serves one thing after the other, in the order of coming. All are off
//! unless they are asked for, and then cost nothing.
//!
//! - A *processor* takes a time for each request before the array is told of it, and a time for
//!   each access before its drive is (Chen et al., section 7.1: request overhead and IO CPU time).
//! - The *channel* carries the payload of each request: before the array is told of a write, and
//!   after it has answered a read.
//! - A *string* is a bus with its drives. They have buffers and leave the bus while they move and
//!   wait: what is written crosses the bus before the drive turns to it; what is read crosses while
//!   it comes off the platters, beginning as late as lets it end with them if the bus is free.
//!   (What is read, changed and written in one access crosses both ways before.) A drive takes its
//!   next access when its last one has crossed. (Drives that hold their channel while they
//!   transfer, and miss a revolution when it is busy, as the Amdahl's, are not modelled: with one
//!   drive a string, as Chen et al. measured, section 6, there is no such conflict.)

use parlour_units::{Bytes, Duration, Instant, Sectors};

/// What there is between hosts and drives. Nothing, unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// Who computes.
    pub processors: Option<Processors>,
    /// What carries hosts' payload.
    pub channel: Option<Bus>,
    /// Buses by number; which of them a drive hangs on it says itself
    /// ([`Member::on_string`](crate::member::Member::on_string)).
    pub strings: Vec<Bus>,
}

/// Processors that share one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    /// How many.
    pub count: u16,
    /// What a request of a host takes.
    pub request: Cost,
    /// What an access to a drive takes.
    pub access: Cost,
}

/// How long something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Each time.
    pub each: Duration,
    /// And for each sector of its payload.
    pub sector: Duration,
}

/// A bus or channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Bytes a second.
    pub rate: Bytes,
    /// What each transfer takes beside its bytes: arbitration, selection, status.
    pub each: Duration,
}

/// Why there can be no such path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nobody computes.
    #[error("processors: there must be one at least, or leave them out")]
    NoProcessor,
    /// A bus carries nothing.
    #[error("{0}: its rate must be positive")]
    NoRate(String),
    /// A drive hangs on nothing.
    #[error(
        "array '{array}', member {member}: there is no string {string}; there are {strings}, counted from 0"
    )]
    NoString {
        /// Which array.
        array: String,
        /// Which of its members.
        member: usize,
        /// Where it should hang.
        string: u16,
        /// How many there are.
        strings: usize,
    },
}

impl Cost {
    /// What takes no time does not wait either.
    pub(crate) fn is_nothing(self) -> bool {
        self == Cost::default()
    }

    pub(crate) fn of(self, length: Sectors) -> Duration {
        self.each + self.sector * length.get()
    }
}

impl Bus {
    /// How long so much takes.
    pub fn time(&self, length: Sectors) -> Duration {
        let bytes = u128::from(length.bytes().get());
        let nanoseconds = (bytes * 1_000_000_000).div_ceil(u128::from(self.rate.get().max(1)));
        self.each + Duration::from_nanoseconds(u64::try_from(nanoseconds).unwrap_or(u64::MAX / 4))
    }
}

/// What a station has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationTally {
    /// How often it served.
    pub served: u64,
    /// How long, all its servers together.
    pub busy: Duration,
    /// How long those that it served have waited for it.
    pub waited: Duration,
}

/// Serves in the order of coming. When something is done is worked out when it comes: that takes no
/// queue and no events.
#[derive(Clone, Debug)]
pub struct Station {
    name: String,
    /// When which server is free.
    free: Vec<Instant>,
    tally: StationTally,
}

impl Station {
    pub(crate) fn new(name: String, servers: u16) -> Station {
        Station { name, free: vec![Instant::ZERO; usize::from(servers)], tally: StationTally::default() }
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many things it serves at once.
    pub fn servers(&self) -> usize {
        self.free.len()
    }

    /// What it has done.
    pub fn tally(&self) -> StationTally {
        self.tally
    }

    /// Something comes that takes so long: from when to when it is served.
    pub(crate) fn take(&mut self, now: Instant, time: Duration) -> (Instant, Instant) {
        let first = self.free.iter_mut().min().expect("a station has a server");
        let from = now.max(*first);
        *first = from + time;
        self.tally.served += 1;
        self.tally.busy = self.tally.busy + time;
        self.tally.waited = self.tally.waited + from.since(now);
        (from, from + time)
    }
}

/// A bus at work.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) bus: Bus,
    pub(crate) station: Station,
}

impl Line {
    fn new(name: String, bus: Bus) -> Result<Line, PathError> {
        if bus.rate == Bytes::new(0) {
            return Err(PathError::NoRate(name));
        }
        Ok(Line { bus, station: Station::new(name, 1) })
    }

    /// So much is to be carried: from when to when it is.
    pub(crate) fn carry(&mut self, now: Instant, length: Sectors) -> (Instant, Instant) {
        self.station.take(now, self.bus.time(length))
    }
}

/// Paths at work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) processors: Option<(Processors, Station)>,
    pub(crate) channel: Option<Line>,
    pub(crate) strings: Vec<Line>,
}

impl Machine {
    pub(crate) fn new(paths: &Paths) -> Result<Machine, PathError> {
        let processors = match paths.processors {
            Some(Processors { count: 0, .. }) => return Err(PathError::NoProcessor),
            Some(all) => Some((all, Station::new("processors".to_owned(), all.count))),
            None => None,
        };
        let channel = paths.channel.map(|bus| Line::new("channel".to_owned(), bus)).transpose()?;
        let string = |(number, bus): (usize, &Bus)| Line::new(format!("string {number}"), *bus);
        let strings = paths.strings.iter().enumerate().map(string).collect::<Result<_, _>>()?;
        Ok(Machine { processors, channel, strings })
    }

    pub(crate) fn stations(&self) -> impl Iterator<Item = &Station> {
        let processors = self.processors.iter().map(|(_, station)| station);
        processors.chain(self.channel.iter().chain(&self.strings).map(|line| &line.station))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(milliseconds: u64) -> Instant {
        Instant::ZERO + MS(milliseconds)
    }

    #[test]
    fn a_station_serves_in_the_order_of_coming() {
        let mut station = Station::new("bus".to_owned(), 1);
        assert_eq!(station.take(at(0), MS(5)), (at(0), at(5)));
        assert_eq!(station.take(at(1), MS(2)), (at(5), at(7)));
        assert_eq!(station.take(at(9), MS(1)), (at(9), at(10)));
        assert_eq!(station.tally(), StationTally { served: 3, busy: MS(8), waited: MS(4) });
    }

    #[test]
    fn two_servers_share_a_queue() {
        let mut station = Station::new("processors".to_owned(), 2);
        assert_eq!(station.take(at(0), MS(5)), (at(0), at(5)));
        assert_eq!(station.take(at(0), MS(3)), (at(0), at(3)));
        assert_eq!(station.take(at(1), MS(3)), (at(3), at(6)));
        assert_eq!(station.take(at(1), MS(3)), (at(5), at(8)));
    }

    #[test]
    fn a_transfer_takes_its_bytes_and_what_each_one_takes() {
        let bus = Bus { rate: Bytes::new(20_000_000), each: Duration::from_micros(10) };
        assert_eq!(bus.time(Sectors::new(128)), Duration::from_nanoseconds(10_000 + 3_276_800));
    }

    #[test]
    fn what_cannot_be_a_path_is_refused() {
        let cost = Cost::default();
        let processors = Some(Processors { count: 0, request: cost, access: cost });
        let refused = |paths| Machine::new(&paths).expect_err("it cannot be").to_string();
        assert!(refused(Paths { processors, ..Paths::default() }).starts_with("processors: there must be"));
        let strings = vec![Bus { rate: Bytes::new(0), each: MS(1) }];
        assert!(refused(Paths { strings, ..Paths::default() }).starts_with("string 0: its rate"));
    }
}
