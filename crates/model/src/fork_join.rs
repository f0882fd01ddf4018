//! Mean values of a disk array whose requests fork into sub-requests and join again, with so many
//! processes that wait for their answers and think (Varki and Wang §2.1–2.3).
//!
//! A request of k siblings goes to k of n disks, each of which serves in the order of coming. With
//! m processes
//!
//! > R(m) = O_k S + (k/n) S Q(m−1),  X(m) = m / (R(m) + Z),  Q(m) = R(m) X(m),  Q(0) = 0.
//!
//! S is a disk's mean service time, O_k S that of the last of k siblings ([`order`](crate::order),
//! and [`Service::last_of`](crate::service::Service::last_of)), Z the time that processes think.
//!
//! It is an approximation in three ways that partly make up for one another: what is being served
//! when a sub-request comes is counted as if it had only begun; a request is counted at all its
//! disks until the last is done; and siblings are taken to wait equally long. Against the simulated
//! array its mean error is 3% to 4% over the paper's grid, depending on the maximum that is taken
//! (`crates/lab/tests/varki.rs`). The first shows where nothing makes up for it: of single accesses
//! whose service times vary little, responses come out up to 20% too long.
//! [`Network::partly_served`] is without it, and within 2%.
//!
//! The paper leaves open how sizes that are drawn are spread over just k disks, how those that are
//! normal or uniform scatter, and in which unit it measures times. Here a request is k stripe
//! units, all of one size, and times are in ms; requests of several sizes are several phases, each
//! with its own k.
//!
//! Beyond the paper, requests may go through several forks and joins one after the other
//! ([`Phase`]), as writes do ([`writes`](crate::writes)), or through one of several, as requests of
//! different sizes do: each phase has its own R and Q, and what is seen in a disk's queue is the
//! sum over phases of (k/n) S Q(m−1). And there may be a [`Bus`].
//!
//! Times are in ms, throughputs in requests a second. An evaluation takes some nanoseconds for each
//! process and phase.

use std::num::NonZeroU32;

use parlour_drive::mechanics::Way;

use crate::order::Distribution;

/// A fork, and the join that waits for all siblings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// How often a request goes through it, in the mean: 1, or the part of all requests that do.
    pub visits: f64,
    /// Sub-requests, each on a disk of its own: k.
    pub siblings: u32,
    /// What they do; only a [bus](Bus::Strings) makes a difference.
    pub way: Way,
    /// Mean service time of a sub-request, in ms: S.
    pub service: f64,
    /// Its standard deviation, in ms. (Only [`Network::partly_served`] looks at it.)
    pub deviation: f64,
    /// Mean service time of the last of the siblings, in ms: O_k S.
    pub last: f64,
    /// Where the phase before was on the same disks, and at the same places: the times as they are
    /// if a disk did nothing between.
    pub undisturbed: Option<Undisturbed>,
}

/// Service times at a place where the arm already is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undisturbed {
    /// S, in ms.
    pub service: f64,
    /// O_k S, in ms.
    pub last: f64,
}

/// What carries data between disks and hosts. It serves in the order of coming, and a transfer
/// always takes as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bus {
    /// One for all, before or after disks are busy with a request.
    Channel {
        /// Milliseconds of each request.
        transfer: f64,
    },
    /// One for each so many disks. What is read crosses it while it comes off the platters, if the
    /// bus is free; what is written crosses while the arm moves. So a disk's time is longer by what
    /// it waits for the bus, and no more; and it is busy meanwhile.
    Strings {
        /// Disks of each.
        disks: u32,
        /// Milliseconds of each access.
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
    partly_served: bool,
}

/// Means of a disk array with so many processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// m.
    pub processes: u32,
    /// From a request to its answer, in ms: R.
    pub response: f64,
    /// Requests a second: X.
    pub throughput: f64,
    /// Requests in the array: Q.
    pub queue: f64,
    /// The part of the time in which a disk is busy. (Of an approximation: it may come out a little
    /// above 1.)
    pub utilization: f64,
}

/// Why there is no such array.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// Siblings are to be on different disks.
    #[error("{siblings} siblings on {disks} disks are not possible: use 1 to as many as there are disks")]
    Siblings {
        /// k.
        siblings: u32,
        /// n.
        disks: u32,
    },
    /// A number is no time.
    #[error("{name}: {value} ms is not possible; use a finite time that is not negative")]
    Time {
        /// Which parameter.
        name: &'static str,
        /// What it was.
        value: f64,
    },
    /// The last is sooner than the mean.
    #[error("the last sibling takes {last} ms, but the mean is {service} ms: it cannot take less")]
    Last {
        /// O_k S.
        last: f64,
        /// S.
        service: f64,
    },
    /// Disks take no time.
    #[error("service: 0 ms is not possible; use a time that is positive")]
    NoService,
    /// Not how often.
    #[error("visits: {0} is not possible; use a finite number that is not negative")]
    Visits(f64),
    /// Nothing is asked for.
    #[error("requests must go through one phase at least")]
    NoPhase,
    /// Nobody asks, or too many do.
    #[error("processes: {0} is not possible; use 1 to {MOST_PROCESSES}")]
    Processes(u32),
    /// A bus without disks, or with more than there are.
    #[error("{on_bus} disks on a bus are not possible: use 1 to {disks}, which is all")]
    Bus {
        /// Wanted.
        on_bus: u32,
        /// n.
        disks: u32,
    },
}

/// More processes than anybody has.
pub const MOST_PROCESSES: u32 = 1_000_000;

fn time(name: &'static str, value: f64) -> Result<(), NetworkError> {
    let possible = value.is_finite() && value >= 0.0;
    possible.then_some(()).ok_or(NetworkError::Time { name, value })
}

impl Phase {
    /// What each request goes through: so many siblings, whose service times are distributed so,
    /// each for itself.
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

    /// The same for a part of all requests.
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
        let undisturbed = undisturbed.map(|Undisturbed { service, last }| (service, last));
        for (service, last) in [Some((service, last)), undisturbed].into_iter().flatten() {
            time("service", service)?;
            time("last", last)?;
            if service == 0.0 {
                return Err(NetworkError::NoService);
            }
            // Both may have been computed: the last may come sooner by as much as computing loses.
            if last < service * (1.0 - 1e-9) {
                return Err(NetworkError::Last { last, service });
            }
        }
        Ok(())
    }

    /// S and O_k S if a disk was left alone since the phase before with this probability, each disk
    /// by itself: one that was not makes the last late.
    fn times(&self, alone: f64) -> (f64, f64) {
        match self.undisturbed {
            None => (self.service, self.last),
            Some(at_place) => (
                alone * at_place.service + (1.0 - alone) * self.service,
                at_place.last + (1.0 - alone.powf(f64::from(self.siblings))) * (self.last - at_place.last),
            ),
        }
    }
}

impl Network {
    /// An array of so many disks, whose requests all go through one fork and join (the paper's),
    /// and whose processes think so many ms.
    ///
    /// # Errors
    /// There is none with these parameters.
    pub fn new(disks: u32, phase: Phase, think: f64) -> Result<Network, NetworkError> {
        Network::of(disks, vec![phase], think)
    }

    /// The same of requests that go through several phases.
    ///
    /// # Errors
    /// There is none with these parameters.
    pub fn of(disks: u32, phases: Vec<Phase>, think: f64) -> Result<Network, NetworkError> {
        time("think", think)?;
        phases.iter().try_for_each(|phase| phase.check(disks))?;
        if phases.iter().all(|phase| phase.visits == 0.0) {
            return Err(NetworkError::NoPhase);
        }
        Ok(Network { disks, think, phases, bus: None, partly_served: false })
    }

    /// The same with a bus.
    ///
    /// # Errors
    /// There is none with these parameters.
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

    /// The same, but what a single access finds being served has a part of its time behind it: what
    /// is left of S is S(1 + c²)/2 in the mean, c being its coefficient of variation. Siblings find
    /// it whole: that they wait differently long, which the model leaves out, is about as much.
    #[must_use]
    pub fn partly_served(self) -> Network {
        Network { partly_served: true, ..self }
    }

    /// With so many processes.
    ///
    /// # Errors
    /// There are none, or too many.
    pub fn with(&self, processes: u32) -> Result<Measures, NetworkError> {
        let wrong = NetworkError::Processes(processes);
        let before = (processes as usize).checked_sub(1).ok_or(wrong)?;
        self.curve().nth(before).ok_or(wrong)
    }

    /// With 1 process, with 2, and so on.
    pub fn curve(&self) -> impl Iterator<Item = Measures> + '_ {
        let mut found = Found::new(self.phases.len());
        (1..=MOST_PROCESSES).map(move |processes| {
            found.next(self, processes);
            found.measures
        })
    }

    /// The part of all disks that a phase is on.
    fn part(&self, phase: &Phase) -> f64 {
        f64::from(phase.siblings) / f64::from(self.disks)
    }
}

/// What was found with one process less.
struct Found {
    measures: Measures,
    phases: Vec<InPhase>,
    /// Requests at the channel.
    channel: f64,
}

/// What was found of a phase.
#[derive(Clone, Copy, Default)]
struct InPhase {
    /// S and O_k S.
    service: f64,
    last: f64,
    /// How long the last of its siblings waits for the bus because of the others, at least.
    siblings_wait: f64,
    /// How long the phase takes a request.
    taken: f64,
    /// Requests in it.
    queue: f64,
    /// The part of the time in which a disk is busy with it.
    busy: f64,
}

/// The work that is found at a disk, in ms.
#[derive(Clone, Copy)]
struct Seen {
    /// If what is being served is counted whole.
    whole: f64,
    /// If only what is left of it is.
    rest: f64,
}

impl Seen {
    /// By a sub-request of this phase.
    fn by(self, phase: &Phase) -> f64 {
        if phase.siblings == 1 { self.rest } else { self.whole }
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
            utilization: self.phases.iter().map(|found| found.busy).sum(),
        };
    }

    /// What requests take at least, as a string carries no more than it can: from a process's
    /// request to its next all have crossed it.
    fn least(&self, network: &Network, processes: u32) -> f64 {
        let Some(Bus::Strings { disks, transfer }) = network.bus else { return 0.0 };
        let crossing = f64::from(disks) * transfer * self.over(network, |phase, _| network.part(phase));
        f64::from(processes) * crossing - network.think
    }

    /// A sum over phases, each as often as it is visited.
    fn over(&self, network: &Network, value: impl Fn(&Phase, &InPhase) -> f64) -> f64 {
        network.phases.iter().zip(&self.phases).map(|(phase, found)| phase.visits * value(phase, found)).sum()
    }

    /// The work that a sub-request finds at its disk, where each waits so long for the bus.
    fn seen(&self, network: &Network, waited: f64) -> Seen {
        let phases = || network.phases.iter().zip(&self.phases);
        let whole =
            |(phase, found): (&Phase, &InPhase)| network.part(phase) * (found.service + waited) * found.queue;
        let behind = |(phase, found): (&Phase, &InPhase)| {
            let variation = phase.deviation / phase.service;
            found.busy * found.service * (1.0 - variation * variation).max(0.0) / 2.0
        };
        let whole = phases().map(whole).sum();
        let rest = if network.partly_served { whole - phases().map(behind).sum::<f64>() } else { whole };
        Seen { whole, rest }
    }

    /// S and O_k S of each phase. A disk does nothing between two phases at one place if nobody
    /// else is there when the first is done, and nobody comes until the last of its siblings is.
    fn settle_times(&mut self, network: &Network) {
        let idle = (1.0 - self.measures.utilization).max(0.0);
        let accesses = self.over(network, |phase, _| network.part(phase)) * self.measures.throughput / 1e3;
        let mut before = 0.0;
        for (found, phase) in self.phases.iter_mut().zip(&network.phases) {
            (found.service, found.last) = phase.times(idle * (-accesses * before).exp());
            before = found.last - found.service;
            found.siblings_wait = siblings_wait(network, phase, before);
        }
    }

    /// How long an access waits for its string.
    ///
    /// Of the other d − 1 disks of a string each is at the bus as often as it makes accesses, x,
    /// times the time W + T that each of them takes there; one that crosses has half of it behind
    /// it. So W = (d − 1) x T (W + T/2); and x falls as W grows: W is found by halving.
    fn bus_wait(&self, network: &Network, processes: u32) -> f64 {
        let Some(Bus::Strings { disks, transfer }) = network.bus else { return 0.0 };
        let others = f64::from(disks) - 1.0;
        let parts = self.over(network, |phase, _| network.part(phase));
        let too_long = |wait: f64| {
            let seen = self.seen(network, wait);
            let taken =
                |phase: &Phase, found: &InPhase| found.last + seen.by(phase) + wait.max(found.siblings_wait);
            let cycle = network.think + self.over(network, taken);
            // Of other requests: what siblings wait for one another is told apart.
            let accesses = f64::from(processes - 1) * parts / cycle;
            wait > others * accesses * transfer * (wait + transfer / 2.0)
        };
        // Nobody waits for each of the others twice.
        let (mut low, mut high) = (0.0, 2.0 * others * transfer);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if too_long(middle) { high = middle } else { low = middle }
        }
        f64::midpoint(low, high)
    }
}

/// How long the last sibling waits for its string because of the others on it. What is written
/// crosses as soon as it comes: the last one begins that much later, which counts as far as the
/// slowest does not take longer anyway. What is read crosses as it comes off the platters, from the
/// first sibling on, which is done as long before the mean as the last is after it.
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
