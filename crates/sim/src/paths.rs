//! The paths between hosts and drives: processors, a channel, and buses with strings of drives.
//!
//! Each is a station that serves one thing after another, in the order of arrival. All are absent
//! by default, and then cost nothing.
//!
//! - A *processor* takes a time for each request before the array gets it, and a time for each
//!   access before its drive gets it (Chen et al., section 7.1: request overhead and IO CPU time).
//! - The *channel* carries the payload of each request: before the array gets a write, and after it
//!   has answered a read.
//! - A *string* is a bus with its drives. Drives have buffers, and release the bus while they seek
//!   and rotate. Written data crosses the bus before the drive begins. Read data crosses while it
//!   is read from the platters; the transfer begins so late that it ends together with the reading,
//!   if the bus is free. (In a read-modify-write, both directions cross before.) A drive takes its
//!   next access when the last one has crossed. Drives that hold their channel during a transfer,
//!   and lose a revolution when it is busy, such as the Amdahl's, are not modelled: with one drive
//!   per string, as Chen et al. measured (section 6), there is no such conflict.

use parlour_units::{Bytes, Duration, Instant, Sectors};

/// The paths between hosts and drives. There are none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// The processors.
    pub processors: Option<Processors>,
    /// The channel for hosts' payload.
    pub channel: Option<Bus>,
    /// The buses by number. A drive has the number of its bus
    /// ([`Member::on_string`](crate::member::Member::on_string)).
    pub strings: Vec<Bus>,
}

/// Processors with one shared queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    /// The number of processors.
    pub count: u16,
    /// The time for a host's request.
    pub request: Cost,
    /// The time for an access to a drive.
    pub access: Cost,
}

/// A processing time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The time for each request or access.
    pub each: Duration,
    /// The additional time for each sector of its payload.
    pub sector: Duration,
}

/// A bus or channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Bytes per second.
    pub rate: Bytes,
    /// The time of each transfer in addition to its bytes: arbitration, selection, status.
    pub each: Duration,
}

/// Why a path is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The number of processors is zero.
    #[error("processors: there must be one at least, or leave them out")]
    NoProcessor,
    /// A bus has the rate zero.
    #[error("{0}: its rate must be positive")]
    NoRate(String),
    /// A drive is on a string that does not exist.
    #[error(
        "array '{array}', member {member}: there is no string {string}; there are {strings}, counted from 0"
    )]
    NoString {
        /// The array's name.
        array: String,
        /// The number of the member.
        member: usize,
        /// The number of the string.
        string: u16,
        /// The number of strings.
        strings: usize,
    },
}

impl Cost {
    /// A cost of zero needs no queue either.
    pub(crate) fn is_nothing(self) -> bool {
        self == Cost::default()
    }

    pub(crate) fn of(self, length: Sectors) -> Duration {
        self.each + self.sector * length.get()
    }
}

impl Bus {
    /// The time to carry `length`.
    pub fn time(&self, length: Sectors) -> Duration {
        let bytes = u128::from(length.bytes().get());
        let nanoseconds = (bytes * 1_000_000_000).div_ceil(u128::from(self.rate.get().max(1)));
        self.each + Duration::from_nanoseconds(u64::try_from(nanoseconds).unwrap_or(u64::MAX / 4))
    }
}

/// Totals of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationTally {
    /// The number of things served.
    pub served: u64,
    /// The time in which its servers were busy, summed over all servers.
    pub busy: Duration,
    /// The time that the things served have waited for it.
    pub waited: Duration,
}

/// Serves in the order of arrival. The completion time is computed at arrival, so there is no queue
/// and there are no events.
#[derive(Clone, Debug)]
pub struct Station {
    name: String,
    /// When each server is free.
    free: Vec<Instant>,
    tally: StationTally,
}

impl Station {
    pub(crate) fn new(name: String, servers: u16) -> Station {
        Station { name, free: vec![Instant::ZERO; usize::from(servers)], tally: StationTally::default() }
    }

    /// The station's name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of things that it serves at once.
    pub fn servers(&self) -> usize {
        self.free.len()
    }

    /// Its totals.
    pub fn tally(&self) -> StationTally {
        self.tally
    }

    /// Serves something that takes `time`. Returns when the service begins and ends.
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

/// A bus with its station.
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

    /// Carries `length`. Returns when the transfer begins and ends.
    pub(crate) fn carry(&mut self, now: Instant, length: Sectors) -> (Instant, Instant) {
        self.station.take(now, self.bus.time(length))
    }
}

/// The stations of all paths.
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
