//! Runs hosts, in closed and open loops, and measures their requests.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use parlour_array::{Completion, Operation, RequestError, Tag};
use parlour_units::{Duration, Instant};
use parlour_workload::random::Random;
use parlour_workload::replay::ReplayError;
use parlour_workload::source::{Load, Source};
use parlour_workload::task::{Ask, Kind, Task};

use crate::history::History;
use crate::member::{Member, Tally};
use crate::paths::{Station, StationTally};
use crate::report::{
    Ended, Learned, LearnedTasks, MemberReport, Passed, Report, SourceReport, StationReport,
};
use crate::world::World;

/// The extent of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// The warm-up, which is not counted.
    pub warm_up: WarmUp,
    /// The least number of counted requests.
    pub least: u64,
    /// The most counted requests.
    pub most: u64,
    /// The most simulated time that is counted.
    pub longest: Option<Duration>,
    /// The measurement may end when the half width of the interval of the mean response time is at
    /// most this fraction of the mean; for sources with tasks, also that of the task time.
    pub precision: f64,
    /// For an open load: if more of its requests than this are under way at once, it is reported as
    /// unstable.
    pub backlog: usize,
}

/// The warm-up. All of these conditions must be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// The number of answered requests.
    pub requests: u64,
    /// Simulated time.
    pub time: Duration,
    /// The number of reintegrations of each region that is written.
    pub reintegrations: u64,
    /// The number of requests after which the warm-up fails.
    pub most: u64,
}

impl Default for Measure {
    /// Up to a million requests, until the mean is known to 1%.
    fn default() -> Measure {
        Measure {
            warm_up: WarmUp::default(),
            least: 10_000,
            most: 1_000_000,
            longest: None,
            precision: 0.01,
            backlog: 10_000,
        }
    }
}

impl Default for WarmUp {
    /// No warm-up.
    fn default() -> WarmUp {
        WarmUp { requests: 0, time: Duration::ZERO, reintegrations: 0, most: u64::MAX }
    }
}

/// Watches a run. It is called regularly: after every 64th answer.
pub trait Watch {
    /// Whether the array is warm, after the conditions of [`WarmUp`] are met.
    fn is_ready(&mut self, _world: &mut World) -> bool {
        true
    }

    /// The measurement begins.
    fn begins(&mut self, _world: &mut World) {}

    /// Whether the measurement is over, whatever its precision.
    fn is_over(&mut self, _world: &mut World) -> bool {
        false
    }

    /// Reports the progress of the run after a fixed number of steps. Returns whether the run
    /// continues; if not, the report contains what was measured so far. The answer does not change
    /// the figures of a run that continues.
    fn goes_on(&mut self, _progress: &Progress) -> bool {
        true
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Answered requests, including those of the warm-up.
    pub answered: u64,
    /// The estimated number of answered requests at the end of the measurement: the half width of
    /// an interval shrinks with the square root of their number. None while there is no estimate.
    pub expected: Option<u64>,
    /// The half width of the interval of the mean response time, as a fraction of the mean.
    /// Infinite while too few requests are answered.
    pub precision: f64,
    /// The required precision.
    pub wanted: f64,
}

/// No watcher.
impl Watch for () {}

/// The number of answers between two calls of the watcher.
const LOOK: u64 = 64;
/// The number of steps between two reports of the progress.
const ASK: u64 = 1_024;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// More requests arrive than are served.
    #[error(
        "the load '{source_name}' is unstable: {backlog} of its requests are under way after {seconds:.1} s, and more come than are \
         answered; let them come further apart"
    )]
    Unstable {
        /// The source's name.
        source_name: String,
        /// Requests under way.
        backlog: usize,
        /// Simulated seconds.
        seconds: f64,
    },
    /// Nothing happens any more.
    #[error("nothing happens any more, and {0} requests are not answered")]
    Stuck(usize),
    /// There is no source of requests.
    #[error("there is nobody who asks: a run has at least one source of requests")]
    NoSource,
    /// All sources ended during the warm-up.
    #[error(
        "all sources ended after {0} requests, before the warm-up did; make it shorter, or the sources longer"
    )]
    TooShort(u64),
    /// The watcher ended the run during the warm-up.
    #[error("interrupted after {0} requests of the warm-up, before any was counted")]
    Interrupted(u64),
    /// The array did not become warm.
    #[error("the array is not warm after {0} requests; wait for less, or longer")]
    NotWarm(u64),
    /// The array has no log to reintegrate.
    #[error("the warm-up waits for reintegrations, and this array has no parity log; leave that out")]
    NoLog,
    /// The array refused a request.
    #[error("'{source_name}': {length} sectors at {at}: {error}")]
    Refused {
        /// The source's name.
        source_name: String,
        /// The request's first sector.
        at: u64,
        /// The request's length.
        length: u64,
        /// The reason.
        error: RequestError,
    },
    /// A source cannot continue.
    #[error("'{source_name}': {error}")]
    Source {
        /// The source's name.
        source_name: String,
        /// The reason.
        error: ReplayError,
    },
}

/// A run.
struct Run<'a> {
    world: &'a mut World,
    flows: Vec<Flow<'a>>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    /// The next events of hosts, by time; events with equal times keep the order in which they were
    /// scheduled.
    timers: BinaryHeap<Reverse<(u64, u64, Wake)>>,
    order: u64,
    /// Requests that follow an answer after a pause, until their time.
    later: Vec<(u32, Ask)>,
    free_later: Vec<u32>,
    /// The requests under way, by tag.
    under_way: Vec<Option<UnderWay>>,
    free_tags: Vec<u64>,
    /// Requests for which the array had no memory, in order.
    waiting: VecDeque<u64>,
    busy: usize,
    /// The integral of requests under way over time, in nanoseconds, up to `looked`.
    area: u128,
    looked: Instant,
    measured: Option<Measured>,
}

/// The measurement.
struct Measured {
    /// The number of requests in the warm-up.
    passed: u64,
    /// The results of all sources together, if there are several.
    all: Option<Learned>,
    history: History,
    /// The sum of response times, in nanoseconds.
    inside: u128,
    /// Requests that were answered with lost data.
    lost: u64,
}

/// Counts lost data; any other error is returned.
fn lost(error: RequestError, measured: &mut Option<Measured>) -> Result<(), RequestError> {
    if error != RequestError::Lost {
        return Err(error);
    }
    if let Some(measured) = measured {
        measured.lost += 1;
    }
    Ok(())
}

/// A source in a run.
struct Flow<'a> {
    source: &'a mut Source,
    random: Random,
    began: Instant,
    /// The next task of a recorded load.
    upcoming: Option<Task>,
    busy: usize,
    learned: Learned,
    tasks: Option<LearnedTasks>,
}

/// The performer of a task: a process of a closed load, or one arrival of an open load.
#[derive(Clone, Copy)]
struct Slot {
    flow: u16,
    process: u32,
    task: Option<Task>,
    began: Instant,
    bytes: u64,
}

/// A request under way.
#[derive(Clone, Copy)]
struct UnderWay {
    since: Instant,
    flow: u16,
    /// The slot of its task; none for a request that no task waits for.
    slot: Option<u32>,
    ask: Ask,
}

/// An event of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    /// A process has finished thinking, and begins a task.
    Begin(u32),
    /// A task has finished thinking, and sends requests.
    Go(u32),
    /// A request that follows an answer after a pause is due.
    Later(u32),
    /// A task of an open load arrives.
    Arrive(u16),
}

/// The result of a step.
enum Stepped {
    Went,
    Exhausted,
    TimeIsUp,
}

/// Runs all sources of requests at once, and measures.
///
/// # Errors
/// The run fails without figures.
pub fn run(
    world: &mut World,
    sources: &mut [Source],
    measure: &Measure,
    random: &Random,
) -> Result<Report, RunError> {
    watched(world, sources, measure, random, &mut ())
}

/// The same, with a watcher.
///
/// # Errors
/// The run fails without figures.
pub fn watched(
    world: &mut World,
    sources: &mut [Source],
    measure: &Measure,
    random: &Random,
    watch: &mut dyn Watch,
) -> Result<Report, RunError> {
    if sources.is_empty() {
        return Err(RunError::NoSource);
    }
    if measure.warm_up.reintegrations > 0 && least_reintegrations(world).is_none() {
        return Err(RunError::NoLog);
    }
    let now = world.now();
    let flow = |(number, source)| Flow {
        source,
        // Each source has its own random numbers, which do not depend on the other sources.
        random: random.part(number),
        began: now,
        upcoming: None,
        busy: 0,
        learned: Learned::new(now),
        tasks: None,
    };
    let mut run = Run {
        world,
        flows: (0..).zip(sources).map(flow).collect(),
        slots: Vec::new(),
        free_slots: Vec::new(),
        timers: BinaryHeap::new(),
        order: 0,
        later: Vec::new(),
        free_later: Vec::new(),
        under_way: Vec::new(),
        free_tags: Vec::new(),
        waiting: VecDeque::new(),
        busy: 0,
        area: 0,
        looked: now,
        measured: None,
    };
    run.start()?;
    let warm_up = run.warm_up(measure, watch)?;
    watch.begins(run.world);
    run.measure(measure, warm_up, watch)
}

fn least_reintegrations(world: &World) -> Option<u64> {
    world.logs().map(|log| log.least_reintegrations).min()
}

impl Run<'_> {
    fn start(&mut self) -> Result<(), RunError> {
        for flow in 0..self.flows.len() as u16 {
            match self.flows[usize::from(flow)].source.load() {
                Load::Closed { processes, .. } => (0..processes).for_each(|process| {
                    let slot = self.slot(flow, process);
                    self.think(slot);
                }),
                Load::Open { .. } | Load::Recorded { .. } => self.expect_arrival(flow)?,
            }
        }
        Ok(())
    }

    fn slot(&mut self, flow: u16, process: u32) -> u32 {
        let slot = Slot { flow, process, task: None, began: self.world.now(), bytes: 0 };
        if let Some(free) = self.free_slots.pop() {
            self.slots[free as usize] = slot;
            return free;
        }
        self.slots.push(slot);
        self.slots.len() as u32 - 1
    }

    fn wake(&mut self, at: Instant, wake: Wake) {
        self.order += 1;
        self.timers.push(Reverse((at.nanoseconds(), self.order, wake)));
    }

    /// A process of a closed load thinks before its next task.
    fn think(&mut self, slot: u32) {
        let flow = &mut self.flows[usize::from(self.slots[slot as usize].flow)];
        if let Load::Closed { think, .. } = flow.source.load() {
            let at = self.world.now() + think.draw(&mut flow.random);
            self.wake(at, Wake::Begin(slot));
        }
    }

    /// Schedules the next arrival of an open load.
    fn expect_arrival(&mut self, number: u16) -> Result<(), RunError> {
        let flow = &mut self.flows[usize::from(number)];
        let at = match flow.source.load() {
            Load::Open { gap } => self.world.now() + gap.draw(&mut flow.random),
            _ => match flow.source.next_recorded().map_err(|error| flow.failed(error))? {
                Some((at, task)) => {
                    flow.upcoming = Some(task);
                    (flow.began + at).max(self.world.now())
                }
                None => return Ok(()),
            },
        };
        self.wake(at, Wake::Arrive(number));
        Ok(())
    }

    /// Begins the next task of a slot, if there is one. Returns whether there is.
    fn begin(&mut self, slot: u32) -> Result<bool, RunError> {
        let now = self.world.now();
        let Slot { flow, process, .. } = self.slots[slot as usize];
        let flow = &mut self.flows[usize::from(flow)];
        let task = match flow.upcoming.take() {
            Some(task) => Some(task),
            None => flow.source.begin(process, &mut flow.random).map_err(|error| flow.failed(error))?,
        };
        let Some(task) = task else {
            // This process has no further task.
            self.free_slots.push(slot);
            return Ok(false);
        };
        let thinks = task.thinks();
        let place = &mut self.slots[slot as usize];
        (place.task, place.began, place.bytes) = (Some(task), now, 0);
        match thinks {
            Duration::ZERO => self.go(slot),
            thinks => self.wake(now + thinks, Wake::Go(slot)),
        }
        Ok(true)
    }

    /// Sends the first requests of a task.
    fn go(&mut self, slot: u32) {
        let Slot { flow, task, .. } = &mut self.slots[slot as usize];
        let (flow, beside) = (*flow, task.as_mut().and_then(Task::take_beside));
        if let Some(ask) = beside {
            self.ask(flow, None, ask);
        }
        self.go_on(slot);
    }

    /// Sends all requests of a task that wait for no answer.
    fn go_on(&mut self, slot: u32) {
        loop {
            let Slot { flow, task, .. } = &mut self.slots[slot as usize];
            let flow = *flow;
            let Some(ask) = task.as_mut().and_then(Task::next_ask) else { return };
            self.ask(flow, Some(slot), ask);
        }
    }

    fn ask(&mut self, flow: u16, slot: Option<u32>, ask: Ask) {
        self.look();
        let tag = self.free_tags.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u64 - 1
        });
        self.under_way[tag as usize] = Some(UnderWay { since: self.world.now(), flow, slot, ask });
        self.busy += 1;
        self.flows[usize::from(flow)].busy += 1;
        if !self.waiting.is_empty() || !self.submit(tag, flow, ask) {
            self.waiting.push_back(tag);
        }
    }

    /// Returns whether there was memory for the request.
    fn submit(&mut self, tag: u64, flow: u16, Ask { kind, at, length }: Ask) -> bool {
        let operation = match kind {
            Kind::Read => Operation::Read,
            Kind::Write => Operation::Write { durable: self.flows[usize::from(flow)].source.durable },
            Kind::Trim => Operation::Trim,
            Kind::Flush => Operation::Flush,
        };
        self.world.submit(Tag(tag), operation, at, length)
    }

    /// Submits requests that had to wait for memory.
    fn retry(&mut self) {
        while let Some(tag) = self.waiting.front().copied() {
            let UnderWay { flow, ask, .. } =
                self.under_way[tag as usize].expect("what waits for memory is under way");
            if !self.submit(tag, flow, ask) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Processes an answer.
    fn answered(&mut self, Completion { tag, result }: Completion) -> Result<(), RunError> {
        self.look();
        let now = self.world.now();
        let UnderWay { since, flow: number, slot, ask } =
            self.under_way[tag.0 as usize].take().expect("what is answered was asked");
        self.free_tags.push(tag.0);
        self.busy -= 1;
        let time = now.since(since);
        let flow = &mut self.flows[usize::from(number)];
        flow.busy -= 1;
        // An array that has lost data reports this and continues.
        if let Err(error) = result.or_else(|error| lost(error, &mut self.measured)) {
            let (at, length) = (ask.at.get(), ask.length.get());
            return Err(RunError::Refused { source_name: flow.source.name.clone(), at, length, error });
        }
        if let Some(measured) = &mut self.measured {
            measured.inside += u128::from(time.nanoseconds());
            flow.learned.add(now, ask.kind, ask.length, time);
            if let Some(all) = &mut measured.all {
                all.add(now, ask.kind, ask.length, time);
            }
        }
        if let Some(slot) = slot {
            self.follow(slot, &ask);
        }
        Ok(())
    }

    /// Continues a task after one of its requests was answered.
    fn follow(&mut self, number: u32, ask: &Ask) {
        let now = self.world.now();
        let slot = &mut self.slots[number as usize];
        slot.bytes += ask.length.bytes().get();
        let flow = &mut self.flows[usize::from(slot.flow)];
        let task = slot.task.as_mut().expect("a task waits for its requests");
        if let Some((after, next)) = task.answered(ask, &mut flow.random) {
            let flow = slot.flow;
            match after {
                Duration::ZERO => self.ask(flow, Some(number), next),
                after => self.ask_later(number, now + after, next),
            }
            return self.go_on(number);
        }
        if !task.is_over() {
            return self.go_on(number);
        }
        if let Some(tasks) = flow.tasks.as_mut() {
            tasks.add(now, now.since(slot.began), slot.bytes);
        }
        slot.task = None;
        match flow.source.is_open() {
            true => self.free_slots.push(number),
            false => self.think(number),
        }
    }

    fn ask_later(&mut self, slot: u32, at: Instant, ask: Ask) {
        let index = match self.free_later.pop() {
            Some(free) => {
                self.later[free as usize] = (slot, ask);
                free
            }
            None => {
                self.later.push((slot, ask));
                self.later.len() as u32 - 1
            }
        };
        self.wake(at, Wake::Later(index));
    }

    fn woken(&mut self, wake: Wake) -> Result<(), RunError> {
        match wake {
            Wake::Begin(slot) => {
                self.begin(slot)?;
            }
            Wake::Go(slot) => self.go(slot),
            Wake::Later(index) => {
                let (slot, ask) = self.later[index as usize];
                self.free_later.push(index);
                self.ask(self.slots[slot as usize].flow, Some(slot), ask);
            }
            Wake::Arrive(flow) => {
                let slot = self.slot(flow, 0);
                if self.begin(slot)? {
                    self.expect_arrival(flow)?;
                }
            }
        }
        Ok(())
    }

    /// Processes the next event before `end`: of a host or of the world.
    fn step(&mut self, end: Instant) -> Result<Stepped, RunError> {
        let wakes = self.timers.peek().map(|Reverse((at, ..))| Instant::from_nanoseconds(*at));
        if wakes.is_none() && self.busy == 0 {
            return Ok(Stepped::Exhausted);
        }
        let moves = self.world.next_time();
        let next = match (wakes, moves) {
            (Some(wakes), Some(moves)) => wakes.min(moves),
            (one, other) => one.or(other).ok_or(RunError::Stuck(self.busy))?,
        };
        let until = next.min(end);
        if let Some(measured) = &mut self.measured
            && measured.history.is_due(until)
        {
            measured.history.record(until, self.world, self.busy);
        }
        if next > end {
            self.world.advance(end);
            return Ok(Stepped::TimeIsUp);
        }
        match wakes {
            Some(wakes) if wakes == next => {
                self.world.advance(wakes);
                if let Some(Reverse((_, _, wake))) = self.timers.pop() {
                    self.woken(wake)?;
                }
            }
            _ => self.world.step_to(next),
        }
        Ok(Stepped::Went)
    }

    /// Continues until `enough` returns a reason. It is called after each answer with the number of
    /// answers. Returns the reason and the number of answers, or the error.
    fn go_until(
        &mut self,
        measure: &Measure,
        end: Instant,
        watch: &mut dyn Watch,
        mut enough: impl FnMut(&mut Run<'_>, &mut dyn Watch, u64) -> Option<Ended>,
    ) -> Result<(Ended, u64), RunError> {
        let (mut answered, mut answers, mut steps) = (0, Vec::new(), 0_u64);
        loop {
            steps += 1;
            if steps.is_multiple_of(ASK) && !watch.goes_on(&self.progress(measure, answered)) {
                return Ok((Ended::Interrupted, answered));
            }
            match self.step(end)? {
                Stepped::Went => {}
                Stepped::Exhausted => return Ok((Ended::Exhausted, answered)),
                Stepped::TimeIsUp => return Ok((Ended::Time, answered)),
            }
            answers.extend(self.world.answers());
            let mut ended = None;
            for completion in answers.drain(..) {
                self.answered(completion)?;
                answered += 1;
                ended = ended.or_else(|| enough(self, watch, answered));
            }
            self.retry();
            self.check_backlog(measure.backlog)?;
            if let Some(ended) = ended {
                return Ok((ended, answered));
            }
        }
    }

    /// The progress after `answered` requests in this part of the run.
    fn progress(&self, measure: &Measure, answered: u64) -> Progress {
        let Measure { least, most, precision: wanted, .. } = *measure;
        let Some(passed) = self.measured.as_ref().map(|measured| measured.passed) else {
            return Progress { answered, expected: None, precision: f64::INFINITY, wanted };
        };
        let precision = self.precision();
        let square = (precision / wanted).powi(2);
        let needed = (answered as f64 * square).clamp(least as f64, most as f64);
        // A time limit or the watcher may end it earlier.
        let open = measure.longest.is_some();
        let expected = (precision.is_finite() && !open).then(|| passed + needed as u64);
        // If a fixed number of requests is requested, all of them are needed, whatever the
        // precision.
        let expected = expected.or_else(|| (least == most && !open).then_some(passed + most));
        let answered = passed + answered;
        Progress { answered, expected: expected.map(|expected| expected.max(answered)), precision, wanted }
    }

    fn check_backlog(&self, most: usize) -> Result<(), RunError> {
        if self.busy <= most {
            return Ok(());
        }
        match self.flows.iter().find(|flow| flow.busy > most && flow.source.is_open()) {
            Some(flow) => Err(RunError::Unstable {
                source_name: flow.source.name.clone(),
                backlog: flow.busy,
                seconds: self.world.now().nanoseconds() as f64 / 1e9,
            }),
            None => Ok(()),
        }
    }

    fn warm_up(&mut self, measure: &Measure, watch: &mut dyn Watch) -> Result<Passed, RunError> {
        let began = self.world.now();
        let WarmUp { requests, time, reintegrations, most } = measure.warm_up;
        let warm = |world: &mut World, answered, watch: &mut dyn Watch| {
            answered >= requests
                && (reintegrations == 0 || least_reintegrations(world) >= Some(reintegrations))
                && watch.is_ready(world)
        };
        let mut answered = 0;
        // First until the time is over, and then until all other conditions are met.
        if time > Duration::ZERO {
            answered = self.pass(measure, began + time, 0, watch, |_, _, answered| answered >= most)?;
        }
        if answered < most && !warm(self.world, answered, watch) {
            answered = self.pass(measure, FAR, answered, watch, |run, watch, answered| {
                let look = answered == requests || answered.is_multiple_of(LOOK);
                answered >= most || look && warm(run.world, answered, watch)
            })?;
        }
        if answered >= most && !warm(self.world, answered, watch) {
            return Err(RunError::NotWarm(answered));
        }
        Ok(Passed { requests: answered, time: self.world.now().since(began) })
    }

    /// Lets requests pass without counting them, after `before` earlier ones.
    fn pass(
        &mut self,
        measure: &Measure,
        end: Instant,
        before: u64,
        watch: &mut dyn Watch,
        mut enough: impl FnMut(&mut Run<'_>, &mut dyn Watch, u64) -> bool,
    ) -> Result<u64, RunError> {
        let enough = |run: &mut Run<'_>, watch: &mut dyn Watch, answered| {
            enough(run, watch, before + answered).then_some(Ended::Watched)
        };
        match self.go_until(measure, end, watch, enough)? {
            (Ended::Exhausted, answered) => Err(RunError::TooShort(before + answered)),
            (Ended::Interrupted, answered) => Err(RunError::Interrupted(before + answered)),
            (_, answered) => Ok(before + answered),
        }
    }

    fn measure(
        &mut self,
        measure: &Measure,
        warm_up: Passed,
        watch: &mut dyn Watch,
    ) -> Result<Report, RunError> {
        let began = self.world.now();
        let before: Vec<Tally> = self.world.members().map(Member::tally).collect();
        let stations: Vec<StationTally> = self.world.stations().map(Station::tally).collect();
        for flow in &mut self.flows {
            flow.learned = Learned::new(began);
            flow.tasks = flow.source.pattern().is_of_tasks().then(|| LearnedTasks::new(began));
        }
        // Requests under way are counted from here on.
        self.look();
        let (area_before, pending_before) = (self.area, self.pending(began));
        let all = (self.flows.len() > 1).then(|| Learned::new(began));
        let passed = warm_up.requests;
        self.measured = Some(Measured { passed, all, history: History::new(began), inside: 0, lost: 0 });
        let end = measure.longest.map_or(FAR, |longest| began + longest);
        let (ended, answered) = self
            .go_until(measure, end, watch, |run, watch, answered| run.is_enough(measure, answered, watch))?;
        if ended == Ended::Interrupted && answered == 0 {
            return Err(RunError::Interrupted(warm_up.requests));
        }
        self.look();
        let Measured { all, history, inside, lost, .. } = self.measured.take().expect("it was put there");
        let (now, area) = (self.world.now(), self.area - area_before);
        // Little's law, exact to the nanosecond: the sum of the times of all requests is the
        // integral of the number of requests under way.
        let little = inside + self.pending(now) - pending_before;
        assert_eq!(area, little, "requests are counted as long as they are under way");
        let span = now.since(began);
        let sources: Vec<SourceReport> = self.flows.drain(..).map(|flow| flow.report(now)).collect();
        let members = before.iter().zip(self.world.members());
        Ok(Report {
            span,
            ended,
            warm_up,
            together: all.map(|all| all.finish(now)),
            sources,
            under_way: area as f64 / span.nanoseconds().max(1) as f64,
            members: members
                .map(|(before, member)| MemberReport::new(*before, member.tally(), span))
                .collect(),
            stations: stations
                .iter()
                .zip(self.world.stations())
                .map(|(before, station)| StationReport::new(*before, station, span))
                .collect(),
            lost,
            history,
        })
    }

    fn is_enough(&mut self, measure: &Measure, answered: u64, watch: &mut dyn Watch) -> Option<Ended> {
        if answered >= measure.most {
            return Some(Ended::Most);
        }
        if answered.is_multiple_of(LOOK) && watch.is_over(self.world) {
            return Some(Ended::Watched);
        }
        if answered < measure.least || !answered.is_multiple_of(1_000) {
            return None;
        }
        (self.precision() <= measure.precision).then_some(Ended::Precise)
    }

    /// The largest half width of the required intervals, as a fraction of its mean.
    fn precision(&self) -> f64 {
        let all = self.measured.as_ref().and_then(|measured| measured.all.as_ref());
        let response = all.unwrap_or(&self.flows[0].learned).mean();
        let tasks = self.flows.iter().filter_map(|flow| flow.tasks.as_ref());
        let means = std::iter::once(response).chain(tasks.map(LearnedTasks::mean));
        means.map(|mean| mean.relative()).fold(0.0, f64::max)
    }

    /// The sum of the times of all requests under way, in nanoseconds.
    fn pending(&self, now: Instant) -> u128 {
        let time = |request: &UnderWay| u128::from(now.since(request.since).nanoseconds());
        self.under_way.iter().flatten().map(time).sum()
    }

    /// Counts the requests under way since the last call.
    fn look(&mut self) {
        let now = self.world.now();
        self.area += u128::from(now.since(self.looked).nanoseconds()) * self.busy as u128;
        self.looked = now;
    }
}

/// A time after all others.
const FAR: Instant = Instant::from_nanoseconds(u64::MAX);

impl Flow<'_> {
    fn failed(&self, error: ReplayError) -> RunError {
        RunError::Source { source_name: self.source.name.clone(), error }
    }

    fn report(self, now: Instant) -> SourceReport {
        SourceReport {
            name: self.source.name.clone(),
            answers: self.learned.finish(now),
            tasks: self.tasks.map(|tasks| tasks.finish(now)),
        }
    }
}
