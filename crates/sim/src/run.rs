//! Hosts, in a closed or an open loop, and what becomes of their requests.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use parlour_array::{Completion, Operation, RequestError, Tag};
use parlour_units::{Duration, Instant};
use parlour_workload::delay::Delay;
use parlour_workload::random::Random;
use parlour_workload::stream::{Ask, Stream};

use crate::statistics::{BatchMeans, Estimate, Times};
use crate::world::World;

/// When hosts ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// So many processes: each asks, waits for the answer, thinks, and asks again.
    Closed {
        /// How many.
        processes: u32,
        /// How long each thinks.
        think: Delay,
    },
    /// Requests come whether or not others are answered.
    Open {
        /// From one to the next.
        gap: Delay,
    },
}

/// How long to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Requests that are answered before anything is counted.
    pub warm_up: u64,
    /// Requests that are counted, at least.
    pub least: u64,
    /// And at most.
    pub most: u64,
    /// It is enough when the interval of the mean response time is this part of it, to either side.
    pub precision: f64,
    /// Of an open load: so many requests at once, and it is called unstable.
    pub backlog: usize,
}

/// Why a run gave no figures.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// More comes than can be served.
    #[error(
        "the load is unstable: {backlog} requests are under way after {seconds:.1} s, and more come than are answered; make the gap \
         between arrivals longer"
    )]
    Unstable {
        /// Requests under way.
        backlog: usize,
        /// Simulated seconds.
        seconds: f64,
    },
    /// Nothing happens any more.
    #[error("nothing happens any more, and {0} requests are not answered")]
    Stuck(usize),
    /// The array refused.
    #[error("a request was refused: {0}")]
    Refused(RequestError),
}

/// What a run has shown.
#[derive(Clone, Debug)]
pub struct Report {
    /// Simulated time that counts.
    pub span: Duration,
    /// Response times.
    pub response: Times,
    /// Requests a second.
    pub throughput: Estimate,
    /// Requests under way, in the mean over time.
    pub under_way: f64,
    /// By member: the part of the time in which it was busy.
    pub utilization: Vec<f64>,
}

/// A run under way.
struct Run<'a> {
    world: &'a mut World,
    stream: &'a mut Stream,
    load: Load,
    random: Random,
    /// When which process asks next; in an open loop, process 0.
    timers: BinaryHeap<Reverse<(u64, u64, u32)>>,
    order: u64,
    /// By tag: since when a request is under way, and whose it is.
    under_way: Vec<Option<(Instant, u32)>>,
    free: Vec<u64>,
    /// What the array had no memory for when it was asked, in order.
    waiting: VecDeque<(u64, Ask)>,
    busy: usize,
    /// Sum over time of requests under way, in nanoseconds, until `looked`.
    area: u128,
    looked: Instant,
}

/// Runs a stream of requests under a load, and measures.
///
/// # Errors
/// There are no figures.
pub fn run(
    world: &mut World,
    stream: &mut Stream,
    load: Load,
    measure: &Measure,
    random: Random,
) -> Result<Report, RunError> {
    let mut run = Run {
        looked: world.now(),
        world,
        stream,
        load,
        random,
        timers: BinaryHeap::new(),
        order: 0,
        under_way: Vec::new(),
        free: Vec::new(),
        waiting: VecDeque::new(),
        busy: 0,
        area: 0,
    };
    run.start();
    run.until_answered(measure.warm_up, measure, |_, _| false)?;
    run.measured(measure)
}

impl Run<'_> {
    fn start(&mut self) {
        let count = match self.load {
            Load::Closed { processes, .. } => processes,
            Load::Open { .. } => 1,
        };
        (0..count).for_each(|process| self.wait(process));
    }

    /// A process asks after its delay.
    fn wait(&mut self, process: u32) {
        let delay = match self.load {
            Load::Closed { think, .. } => think,
            Load::Open { gap } => gap,
        };
        let at = self.world.now() + delay.draw(&mut self.random);
        self.order += 1;
        self.timers.push(Reverse((at.nanoseconds(), self.order, process)));
    }

    fn measured(&mut self, measure: &Measure) -> Result<Report, RunError> {
        let began = self.world.now();
        let tallies = |world: &World| world.members().iter().map(|member| member.tally().busy).collect();
        let before: Vec<Duration> = tallies(self.world);
        // What is under way already counts from here on.
        self.look();
        let area_before = self.area;
        let pending_before = self.pending(began);
        let (mut response, mut gaps, mut last) = (Times::default(), BatchMeans::default(), began);
        let mut inside: u128 = 0;
        self.until_answered(measure.most, measure, |time, now| {
            response.add(time);
            gaps.add(now.since(last).as_secs_f64());
            last = now;
            inside += u128::from(time.nanoseconds());
            let enough = response.count() >= measure.least && response.count().is_multiple_of(1_000);
            enough && response.mean().relative() <= measure.precision
        })?;
        self.look();
        let area = self.area - area_before;
        let ended = self.world.now();
        // Little's law, to the nanosecond: what all requests were under way is what was under way at all times.
        let little = inside + self.pending(ended) - pending_before;
        assert_eq!(area, little, "requests are counted as long as they are under way");
        let span = ended.since(began);
        let after: Vec<Duration> = tallies(self.world);
        let gap = gaps.estimate();
        let throughput = 1.0 / gap.mean;
        Ok(Report {
            span,
            throughput: Estimate { mean: throughput, half_width: throughput * gap.relative() },
            response,
            under_way: area as f64 / span.nanoseconds().max(1) as f64,
            utilization: before
                .iter()
                .zip(&after)
                .map(|(before, after)| (*after - *before).as_secs_f64() / span.as_secs_f64())
                .collect(),
        })
    }

    /// How long all that is under way has been so, in nanoseconds.
    fn pending(&self, now: Instant) -> u128 {
        self.under_way.iter().flatten().map(|(since, _)| u128::from(now.since(*since).nanoseconds())).sum()
    }

    /// Counts what was under way since this was last called.
    fn look(&mut self) {
        let now = self.world.now();
        self.area += u128::from(now.since(self.looked).nanoseconds()) * self.busy as u128;
        self.looked = now;
    }

    /// Goes on until so many requests are answered, or `enough` says that it is.
    fn until_answered(
        &mut self,
        count: u64,
        measure: &Measure,
        mut enough: impl FnMut(Duration, Instant) -> bool,
    ) -> Result<(), RunError> {
        let (mut answered, mut answers) = (0, Vec::new());
        while answered < count {
            self.next()?;
            if matches!(self.load, Load::Open { .. }) && self.busy > measure.backlog {
                let seconds = self.world.now().nanoseconds() as f64 / 1e9;
                return Err(RunError::Unstable { backlog: self.busy, seconds });
            }
            answers.extend(self.world.answers());
            let mut last = false;
            for Completion { tag, result } in answers.drain(..) {
                result.map_err(RunError::Refused)?;
                let time = self.answered(tag);
                answered += 1;
                last |= enough(time, self.world.now());
            }
            self.retry();
            if last {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Lets the next thing happen: a host asks, or the world moves.
    fn next(&mut self) -> Result<(), RunError> {
        let asks = self.timers.peek().map(|Reverse((at, ..))| Instant::from_nanoseconds(*at));
        match (asks, self.world.next_time()) {
            (Some(asks), world) if world.is_none_or(|world| asks <= world) => {
                self.world.advance(asks);
                if let Some(Reverse((_, _, process))) = self.timers.pop() {
                    self.ask(process);
                    if let Load::Open { .. } = self.load {
                        self.wait(process);
                    }
                }
            }
            (_, Some(at)) => {
                self.world.step(at);
            }
            (_, None) => return Err(RunError::Stuck(self.busy)),
        }
        Ok(())
    }

    fn ask(&mut self, process: u32) {
        self.look();
        let tag = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u64 - 1
        });
        self.under_way[tag as usize] = Some((self.world.now(), process));
        self.busy += 1;
        let ask = self.stream.next(&mut self.random);
        if !self.waiting.is_empty() || !self.submit(tag, ask) {
            self.waiting.push_back((tag, ask));
        }
    }

    /// Says whether there was room for it.
    fn submit(&mut self, tag: u64, Ask { reads, at, length }: Ask) -> bool {
        let operation = if reads { Operation::Read } else { Operation::Write { durable: false } };
        self.world.submit(Tag(tag), operation, at, length)
    }

    /// What had to wait for memory goes on.
    fn retry(&mut self) {
        while let Some((tag, ask)) = self.waiting.front().copied()
            && self.submit(tag, ask)
        {
            self.waiting.pop_front();
        }
    }

    /// How long a request took.
    fn answered(&mut self, tag: Tag) -> Duration {
        self.look();
        let (since, process) = self.under_way[tag.0 as usize].take().expect("what is answered was asked");
        self.free.push(tag.0);
        self.busy -= 1;
        if let Load::Closed { .. } = self.load {
            self.wait(process);
        }
        self.world.now().since(since)
    }
}
