//! A source in a run.

use parlour_array::RequestError;
use parlour_units::{Duration, Instant};
use parlour_workload::random::Random;
use parlour_workload::replay::ReplayError;
use parlour_workload::source::{During, Load, Source};
use parlour_workload::task::{Ask, Task};

use super::error::RunError;
use crate::report::{Learned, LearnedTasks, SourceReport};
use crate::statistics::Estimate;

/// A source, with its random numbers and what was measured of its requests.
pub(super) struct Flow<'a> {
    source: &'a mut Source,
    random: Random,
    began: Instant,
    /// The next task of a recorded load.
    upcoming: Option<Task>,
    busy: usize,
    has_ended: bool,
    learned: Learned,
    tasks: Option<LearnedTasks>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(source: &'a mut Source, random: Random, now: Instant) -> Flow<'a> {
        let learned = Learned::new(now);
        Flow { source, random, began: now, upcoming: None, busy: 0, has_ended: false, learned, tasks: None }
    }

    /// The number of processes of a closed load.
    pub(super) fn processes(&self) -> Option<u32> {
        match self.source.load() {
            Load::Closed { processes, .. } => Some(processes),
            Load::Open { .. } | Load::Recorded { .. } => None,
        }
    }

    /// Whether a write is answered only when it is durable.
    pub(super) fn is_durable(&self) -> bool {
        self.source.durable
    }

    /// The part of the run in which it sends requests.
    pub(super) fn during(&self) -> During {
        self.source.during
    }

    /// The warm-up ends, and with it its sources.
    pub(super) fn end_warm_up(&mut self) {
        self.has_ended = self.source.during == During::WarmUp;
    }

    /// Whether it has ended, and has requests under way.
    pub(super) fn is_ending(&self) -> bool {
        self.has_ended && self.busy > 0
    }

    /// Whether its requests are measured.
    pub(super) fn is_measured(&self) -> bool {
        !self.has_ended
    }

    /// How long a process thinks before its next task. None where no process waits for the end of a
    /// task: in an open load.
    pub(super) fn think(&mut self) -> Option<Duration> {
        match self.source.load() {
            Load::Closed { think, .. } => Some(think.draw(&mut self.random)),
            Load::Open { .. } | Load::Recorded { .. } => None,
        }
    }

    /// The time of the next arrival of an open load, if there is one.
    pub(super) fn next_arrival(&mut self, now: Instant) -> Result<Option<Instant>, RunError> {
        if let Load::Open { gap } = self.source.load() {
            return Ok(Some(now + gap.draw(&mut self.random)));
        }
        let recorded = self.source.next_recorded().map_err(|error| self.failed(error))?;
        Ok(recorded.map(|(at, task)| {
            self.upcoming = Some(task);
            (self.began + at).max(now)
        }))
    }

    /// The next task of a process, if it has one.
    pub(super) fn next_task(&mut self, process: u32) -> Result<Option<Task>, RunError> {
        match self.upcoming.take() {
            _ if self.has_ended => Ok(None),
            Some(task) => Ok(Some(task)),
            None => self.source.begin(process, &mut self.random).map_err(|error| self.failed(error)),
        }
    }

    fn failed(&self, error: ReplayError) -> RunError {
        RunError::Source { source_name: self.source.name.clone(), error }
    }

    /// A request was sent.
    pub(super) fn sent(&mut self) {
        self.busy += 1;
    }

    /// A request was answered.
    pub(super) fn answered(&mut self) {
        self.busy -= 1;
    }

    /// What follows in a task after one of its requests was answered.
    pub(super) fn follow(&mut self, task: &mut Task, ask: &Ask) -> Option<(Duration, Ask)> {
        task.answered(ask, &mut self.random)
    }

    /// The measurement begins.
    pub(super) fn measure(&mut self, now: Instant) {
        self.learned = Learned::new(now);
        self.tasks = self.source.pattern().is_of_tasks().then(|| LearnedTasks::new(now));
    }

    /// Counts a request.
    pub(super) fn count(&mut self, now: Instant, ask: &Ask, time: Duration) {
        self.learned.add(now, ask.kind, ask.length, time);
    }

    /// Counts a task, if tasks are measured.
    pub(super) fn count_task(&mut self, now: Instant, time: Duration, bytes: u64) {
        if let Some(tasks) = &mut self.tasks {
            tasks.add(now, time, bytes);
        }
    }

    /// The mean response time.
    pub(super) fn mean(&self) -> Estimate {
        self.learned.mean()
    }

    /// The mean time of tasks, if they are measured.
    pub(super) fn task_mean(&self) -> Option<Estimate> {
        self.tasks.as_ref().map(LearnedTasks::mean)
    }

    /// The array has refused a request.
    pub(super) fn refused(&self, ask: &Ask, error: RequestError) -> RunError {
        let (at, length) = (ask.at.get(), ask.length.get());
        RunError::Refused { source_name: self.source.name.clone(), at, length, error }
    }

    /// An open load with more than `most` requests under way is unstable.
    pub(super) fn check_backlog(&self, most: usize, now: Instant) -> Result<(), RunError> {
        if self.busy <= most || !self.source.is_open() {
            return Ok(());
        }
        Err(RunError::Unstable {
            source_name: self.source.name.clone(),
            backlog: self.busy,
            seconds: now.nanoseconds() as f64 / 1e9,
        })
    }

    pub(super) fn report(self, now: Instant) -> SourceReport {
        SourceReport {
            name: self.source.name.clone(),
            answers: self.learned.finish(now),
            tasks: self.tasks.map(|tasks| tasks.finish(now)),
        }
    }
}
