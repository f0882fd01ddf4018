//! Mean values of a disk array whose requests fork into sub-requests and join again, with processes
//! that wait for their answers and think (Varki and Wang §2.1–2.3).
//!
//! A request of k siblings goes to k of n disks. Each disk serves in the order of arrival. With m
//! processes
//!
//! > R(m) = O_k S + (k/n) S Q(m−1),  X(m) = m / (R(m) + Z),  Q(m) = R(m) X(m),  Q(0) = 0.
//!
//! S is a disk's mean service time, O_k S that of the last of k siblings ([`order`](crate::order),
//! and [`Service::last_of`](crate::service::Service::last_of)), Z the think time.
//!
//! The model is an approximation in three ways, whose errors partly cancel. The access in service
//! when a sub-request arrives is counted as if it had just begun; a request is counted at all its
//! disks until the last sub-request is done; and siblings are assumed to wait equally long.
//! Compared with the simulated array, its mean error is 3% to 4% over the paper's grid, depending
//! on the formula for the maximum (`crates/lab/tests/lab/varki.rs`). The first error is visible
//! where nothing cancels it: for single accesses with little variance of service times, responses
//! are up to 20% too long. [`Network::partly_served`] removes it, and is within 2%.
//!
//! The paper does not say how random sizes are divided among exactly k disks, what variance the
//! normal and uniform sizes have, or in which unit it measures times. Here a request is k stripe
//! units of one size, and times are in ms. Requests of several sizes are several phases, each with
//! its own k.
//!
//! Beyond the paper, requests may go through several forks and joins one after another ([`Phase`]),
//! as writes do ([`writes`](crate::writes)), or through one of several, as requests of different
//! sizes do. Each phase has its own R and Q, and the work in a disk's queue is the sum over phases
//! of (k/n) S Q(m−1). There may also be a [`Bus`].
//!
//! Times are in ms, throughputs in requests per second. An evaluation takes some nanoseconds for
//! each process and phase.

use std::num::NonZeroU32;

use parlour_drive::mechanics::Way;

use crate::order::Distribution;

/// A fork, and the join that waits for all siblings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// The mean number of times that a request goes through this phase: 1, or the fraction of
    /// requests that do.
    pub visits: f64,
    /// Sub-requests, each on a different disk: k.
    pub siblings: u32,
    /// The direction of the transfer. It matters only with a [bus](Bus::Strings).
    pub way: Way,
    /// Mean service time of a sub-request, in ms: S.
    pub service: f64,
    /// Its standard deviation, in ms. (Used only by [`Network::partly_served`].)
    pub deviation: f64,
    /// Mean service time of the last of the siblings, in ms: O_k S.
    pub last: f64,
    /// If the previous phase was on the same disks and at the same positions: the times if a disk
    /// did nothing in between.
    pub undisturbed: Option<Undisturbed>,
}

/// Service times at a position where the arm already is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undisturbed {
    /// S, in ms.
    pub service: f64,
    /// O_k S, in ms.
    pub last: f64,
    /// The time between the phases, in ms, if something else is waited for there.
    pub after: f64,
    /// The part of the siblings that were there in the previous phase: 1, or less if the others go
    /// elsewhere.
    pub again: f64,
}

/// The path for data between disks and hosts. It serves in the order of arrival, and all transfers
/// take the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bus {
    /// One path for all disks, used before or after the disks work on a request.
    Channel {
        /// Milliseconds per request.
        transfer: f64,
    },
    /// One bus for each group of disks. Read data crosses it while it is read from the platters, if
    /// the bus is free; written data crosses while the arm moves. So a disk's time increases only
    /// by its waiting time for the bus, and the disk is busy while it waits.
    Strings {
        /// The number of disks on each bus.
        disks: u32,
        /// Milliseconds per access.
        transfer: f64,
    },
}

/// A disk array and its processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    disks: u32,
    think: f64,
    phases: Vec<Phase>,
    bus: Option<Bus>,
    beside: Beside,
    partly_served: bool,
}

/// Other accesses to the disks, which nobody of the network waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// The fraction of each disk's time that they take.
    pub busy: f64,
    /// The work of those that wait at a disk or are in service there, in ms: the mean, without that
    /// which waits in the order of arrival.
    pub work: f64,
    /// The fraction of a disk's time that those take which wait in the order of arrival, as long as
    /// the network's own.
    pub ordered: f64,
    /// The number of them a ms, at each disk.
    pub accesses: f64,
}

impl std::ops::Add for Beside {
    type Output = Beside;

    fn add(self, other: Beside) -> Beside {
        Beside {
            busy: self.busy + other.busy,
            work: self.work + other.work,
            ordered: self.ordered + other.ordered,
            accesses: self.accesses + other.accesses,
        }
    }
}

/// The means of a disk array with a number of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// m.
    pub processes: u32,
    /// From a request to its answer, in ms: R.
    pub response: f64,
    /// Requests per second: X.
    pub throughput: f64,
    /// Requests in the array: Q.
    pub queue: f64,
    /// The network's accesses that wait at a disk or are in service there.
    pub at_disk: f64,
    /// The fraction of time in which a disk is busy. (In an approximation it may be slightly above
    /// 1.)
    pub utilization: f64,
}

/// Why a network is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// There are more siblings than disks.
    #[error("{siblings} siblings on {disks} disks are not possible: use 1 to as many as there are disks")]
    Siblings {
        /// k.
        siblings: u32,
        /// n.
        disks: u32,
    },
    /// A number is not a time.
    #[error("{name}: {value} ms is not possible; use a finite time that is not negative")]
    Time {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The last sibling is faster than the mean.
    #[error("the last sibling takes {last} ms, but the mean is {service} ms: it cannot take less")]
    Last {
        /// O_k S.
        last: f64,
        /// S.
        service: f64,
    },
    /// The service time is zero.
    #[error("service: 0 ms is not possible; use a time that is positive")]
    NoService,
    /// The number of visits is invalid.
    #[error("visits: {0} is not possible; use a finite number that is not negative")]
    Visits(f64),
    /// There is no phase.
    #[error("requests must go through one phase at least")]
    NoPhase,
    /// The number of processes is out of range.
    #[error("processes: {0} is not possible; use 1 to {MOST_PROCESSES}")]
    Processes(u32),
    /// The number of disks on a bus is out of range.
    #[error("{on_bus} disks on a bus are not possible: use 1 to {disks}, which is all")]
    Bus {
        /// The number of disks on the bus.
        on_bus: u32,
        /// n.
        disks: u32,
    },
}

/// The largest fraction of a disk's time that other accesses take.
const MOST_BESIDE: f64 = 0.95;

/// The most processes.
pub const MOST_PROCESSES: u32 = 1_000_000;

fn time(name: &'static str, value: f64) -> Result<(), NetworkError> {
    let possible = value.is_finite() && value >= 0.0;
    possible.then_some(()).ok_or(NetworkError::Time { name, value })
}

impl Phase {
    /// A phase of each request, with `siblings` sub-requests whose service times are independent
    /// and have this distribution.
    pub fn new(siblings: NonZeroU32, times: &Distribution) -> Phase {
        Phase {
            visits: 1.0,
            siblings: siblings.get(),
            way: Way::Read,
            service: times.mean(),
            deviation: times.deviation(),
            last: times.expected_maximum(siblings),
            undisturbed: None,
        }
    }

    /// The same for a fraction of all requests.
    #[must_use]
    pub fn visited(self, visits: f64) -> Phase {
        Phase { visits, ..self }
    }

    fn check(&self, disks: u32) -> Result<(), NetworkError> {
        let Phase { visits, siblings, service, deviation, last, undisturbed, .. } = *self;
        if siblings == 0 || siblings > disks {
            return Err(NetworkError::Siblings { siblings, disks });
        }
        if !visits.is_finite() || visits < 0.0 {
            return Err(NetworkError::Visits(visits));
        }
        time("deviation", deviation)?;
        if let Some(Undisturbed { after, .. }) = undisturbed {
            time("after", after)?;
        }
        let undisturbed = undisturbed.map(|Undisturbed { service, last, .. }| (service, last));
        for (service, last) in [Some((service, last)), undisturbed].into_iter().flatten() {
            time("service", service)?;
            time("last", last)?;
            if service == 0.0 {
                return Err(NetworkError::NoService);
            }
            // Both values may have been computed: the last may be smaller by a rounding error.
            if last < service * (1.0 - 1e-9) {
                return Err(NetworkError::Last { last, service });
            }
        }
        Ok(())
    }

    /// The number of siblings that were there in the previous phase.
    pub fn again(&self) -> f64 {
        self.undisturbed.map_or(0.0, |times| times.again * f64::from(self.siblings))
    }

    /// S and O_k S if each disk, independently, was undisturbed since the previous phase with this
    /// probability. One disturbed disk is enough to delay the last sibling.
    fn times(&self, alone: f64) -> (f64, f64) {
        match self.undisturbed {
            None => (self.service, self.last),
            Some(at_place) => (
                alone * at_place.service + (1.0 - alone) * self.service,
                at_place.last + (1.0 - alone.powf(self.again())) * (self.last - at_place.last),
            ),
        }
    }
}

impl Network {
    /// An array with this number of disks, whose requests all go through one fork and join (as in
    /// the paper), and whose processes think for `think` ms.
    ///
    /// # Errors
    /// The parameters are invalid.
    pub fn new(disks: u32, phase: Phase, think: f64) -> Result<Network, NetworkError> {
        Network::of(disks, vec![phase], think)
    }

    /// The same for requests that go through several phases.
    ///
    /// # Errors
    /// The parameters are invalid.
    pub fn of(disks: u32, phases: Vec<Phase>, think: f64) -> Result<Network, NetworkError> {
        time("think", think)?;
        phases.iter().try_for_each(|phase| phase.check(disks))?;
        if phases.iter().all(|phase| phase.visits == 0.0) {
            return Err(NetworkError::NoPhase);
        }
        let beside = Beside::default();
        Ok(Network { disks, think, phases, bus: None, beside, partly_served: false })
    }

    /// The same with a bus.
    ///
    /// # Errors
    /// The parameters are invalid.
    pub fn with_bus(self, bus: Bus) -> Result<Network, NetworkError> {
        let (Bus::Channel { transfer } | Bus::Strings { transfer, .. }) = bus;
        time("transfer", transfer)?;
        match bus {
            Bus::Strings { disks: on_bus, .. } if on_bus == 0 || on_bus > self.disks => {
                Err(NetworkError::Bus { on_bus, disks: self.disks })
            }
            _ => Ok(Network { bus: Some(bus), ..self }),
        }
    }

    /// The same, but an access in service when a single sub-request arrives is partly done: its
    /// mean remaining time is S(1 + c²)/2, where c is its coefficient of variation. Siblings see
    /// its whole time: this compensates for their different waiting times, which the model ignores
    /// and which are about as much.
    #[must_use]
    pub fn partly_served(self) -> Network {
        Network { partly_served: true, ..self }
    }

    /// The same on disks that have other accesses, too. Disks serve all in the order of arrival.
    #[must_use]
    pub fn beside(self, beside: Beside) -> Network {
        Network { beside, ..self }
    }

    /// The means with this number of processes.
    ///
    /// # Errors
    /// The number is out of range.
    pub fn with(&self, processes: u32) -> Result<Measures, NetworkError> {
        let wrong = NetworkError::Processes(processes);
        let before = (processes as usize).checked_sub(1).ok_or(wrong)?;
        self.curve().nth(before).ok_or(wrong)
    }

    /// The means with 1 process, with 2, and so on.
    pub fn curve(&self) -> impl Iterator<Item = Measures> + '_ {
        let mut found = Found::new(self.phases.len());
        (1..=MOST_PROCESSES).map(move |processes| {
            found.next(self, processes);
            found.measures
        })
    }

    /// The fraction of all disks that a phase uses.
    fn part(&self, phase: &Phase) -> f64 {
        f64::from(phase.siblings) / f64::from(self.disks)
    }
}

/// The result with one process less.
struct Found {
    measures: Measures,
    phases: Vec<InPhase>,
    /// Requests at the channel.
    channel: f64,
}

/// The result for a phase.
#[derive(Clone, Copy, Default)]
struct InPhase {
    /// S and O_k S.
    service: f64,
    last: f64,
    /// The least time that the last sibling waits for the bus because of the others.
    siblings_wait: f64,
    /// The time of a request in this phase.
    taken: f64,
    /// The mean number of requests in this phase.
    queue: f64,
    /// The fraction of time in which a disk is busy with this phase.
    busy: f64,
}

/// The work in a disk's queue when a sub-request arrives, in ms.
#[derive(Clone, Copy)]
struct Seen {
    /// With the whole time of the access in service.
    whole: f64,
    /// With only its remaining time.
    rest: f64,
}

impl Seen {
    /// The work that a sub-request of this phase sees.
    fn by(self, phase: &Phase) -> f64 {
        if phase.siblings == 1 { self.rest } else { self.whole }
    }

    /// The mean time for which an access of this phase waits, if siblings wait independently, each
    /// for an exponential time: the longest of k such times is the sum of 1 to 1/k of their mean.
    fn apart(self, phase: &Phase) -> f64 {
        let longest: f64 = (1..=phase.siblings).map(|count| 1.0 / f64::from(count)).sum();
        self.by(phase) / longest
    }
}

impl Found {
    fn new(phases: usize) -> Found {
        Found { measures: Measures::default(), phases: vec![InPhase::default(); phases], channel: 0.0 }
    }

    fn next(&mut self, network: &Network, processes: u32) {
        self.settle_times(network);
        let carried = match network.bus {
            Some(Bus::Channel { transfer }) => transfer * (1.0 + self.channel),
            _ => 0.0,
        };
        let waited = self.bus_wait(network, processes);
        let seen = self.seen(network, waited);
        for (found, phase) in self.phases.iter_mut().zip(&network.phases) {
            found.taken = found.last + seen.by(phase) + waited.max(found.siblings_wait);
        }
        let taken = self.over(network, |_, found| found.taken);
        let stretched = (self.least(network, processes) / taken).max(1.0);
        self.phases.iter_mut().for_each(|found| found.taken *= stretched);
        let response = carried + taken * stretched;
        let rate = f64::from(processes) / (response + network.think);
        for (found, phase) in self.phases.iter_mut().zip(&network.phases) {
            let often = rate * phase.visits;
            found.queue = often * found.taken;
            found.busy = often * network.part(phase) * (found.service + waited);
        }
        self.channel = rate * carried;
        self.measures = Measures {
            processes,
            response,
            throughput: rate * 1e3,
            queue: rate * response,
            at_disk: rate
                * self.over(network, |phase, found| {
                    network.part(phase) * (found.service + waited + seen.apart(phase))
                }),
            utilization: self.phases.iter().map(|found| found.busy).sum(),
        };
    }

    /// The least time of a request, because of the capacity of a string: between two requests of a
    /// process, the data of all processes' requests has crossed it.
    fn least(&self, network: &Network, processes: u32) -> f64 {
        let Some(Bus::Strings { disks, transfer }) = network.bus else { return 0.0 };
        let crossing = f64::from(disks) * transfer * self.over(network, |phase, _| network.part(phase));
        f64::from(processes) * crossing - network.think
    }

    /// The sum over phases, weighted by their visits.
    fn over(&self, network: &Network, value: impl Fn(&Phase, &InPhase) -> f64) -> f64 {
        network.phases.iter().zip(&self.phases).map(|(phase, found)| phase.visits * value(phase, found)).sum()
    }

    /// The work that a sub-request finds at its disk, if each access waits for the bus for the time
    /// `waited`.
    fn seen(&self, network: &Network, waited: f64) -> Seen {
        let phases = || network.phases.iter().zip(&self.phases);
        let whole =
            |(phase, found): (&Phase, &InPhase)| network.part(phase) * (found.service + waited) * found.queue;
        let behind = |(phase, found): (&Phase, &InPhase)| {
            let variation = phase.deviation / phase.service;
            found.busy * found.service * (1.0 - variation * variation).max(0.0) / 2.0
        };
        let whole = phases().map(whole).sum::<f64>();
        let rest = if network.partly_served { whole - phases().map(behind).sum::<f64>() } else { whole };
        // What waits of the others is as much as comes of them while an access waits.
        let Beside { work, ordered, .. } = network.beside;
        let of_all = |own: f64| (own + work) / (1.0 - ordered.min(MOST_BESIDE));
        Seen { whole: of_all(whole), rest: of_all(rest) }
    }

    /// Computes S and O_k S of each phase. A disk is undisturbed between two phases at one position
    /// if no other access waits there when the first phase is done, and none arrives until the last
    /// of its siblings is done.
    fn settle_times(&mut self, network: &Network) {
        let Beside { busy, accesses, .. } = network.beside;
        let idle = (1.0 - self.measures.utilization - busy).max(0.0);
        let own = self.over(network, |phase, _| network.part(phase)) * self.measures.throughput / 1e3;
        let accesses = own + accesses;
        let mut before = 0.0;
        for (found, phase) in self.phases.iter_mut().zip(&network.phases) {
            let after = phase.undisturbed.map_or(0.0, |times| times.after);
            (found.service, found.last) = phase.times(idle * (-accesses * (before + after)).exp());
            before = found.last - found.service;
            found.siblings_wait = siblings_wait(network, phase, before);
        }
    }

    /// The time that an access waits for its string.
    ///
    /// Each of the other d − 1 disks of a string makes x accesses per time, and each access is at
    /// the bus for W + T. An access that is crossing has half of T left. So W = (d − 1) x T (W +
    /// T/2). As x falls with increasing W, W is found by bisection.
    fn bus_wait(&self, network: &Network, processes: u32) -> f64 {
        let Some(Bus::Strings { disks, transfer }) = network.bus else { return 0.0 };
        let others = f64::from(disks) - 1.0;
        let parts = self.over(network, |phase, _| network.part(phase));
        let too_long = |wait: f64| {
            let seen = self.seen(network, wait);
            let taken =
                |phase: &Phase, found: &InPhase| found.last + seen.by(phase) + wait.max(found.siblings_wait);
            let cycle = network.think + self.over(network, taken);
            // Accesses of other requests. The waiting of siblings for one another is counted
            // separately.
            let accesses = f64::from(processes - 1) * parts / cycle;
            wait > others * accesses * transfer * (wait + transfer / 2.0)
        };
        // An access waits at most twice for each of the others.
        let (mut low, mut high) = (0.0, 2.0 * others * transfer);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if too_long(middle) { high = middle } else { low = middle }
        }
        f64::midpoint(low, high)
    }
}

/// How long the last sibling waits for its string because of the other siblings on it. Written data
/// crosses as soon as it arrives: the last sibling begins that much later, which counts only as far
/// as it exceeds the difference to the slowest sibling. Read data crosses while it is read from the
/// platters, from the first sibling on, which is done as long before the mean as the last is after
/// it.
fn siblings_wait(network: &Network, phase: &Phase, late: f64) -> f64 {
    let Some(Bus::Strings { disks, transfer }) = network.bus else { return 0.0 };
    let on_string = (network.part(phase) * f64::from(disks)).max(1.0);
    let apart = match phase.way {
        Way::Read => 2.0 * late,
        Way::Write => late,
    };
    ((on_string - 1.0) * transfer - apart).max(0.0)
}

/// Enough for nine digits.
const HALVINGS: u32 = 32;
