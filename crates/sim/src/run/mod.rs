//! Runs hosts, in closed and open loops, and measures their requests.

mod error;
mod extent;
mod flow;
mod hosts;
mod measured;
mod timers;
mod traffic;
mod watch;

use parlour_array::{Completion, RequestError};
use parlour_units::{Duration, Instant};
use parlour_workload::random::Random;
use parlour_workload::source::Source;

use crate::report::{Ended, Passed, Report};
use crate::world::World;
pub use error::RunError;
pub use extent::{Measure, WarmUp};
use flow::Flow;
use hosts::Hosts;
use measured::Measured;
use traffic::Traffic;
pub use watch::{Progress, Watch};

/// The number of answers between two calls of the watcher.
const LOOK: u64 = 64;
/// The number of steps between two reports of the progress.
const ASK: u64 = 1_024;
/// A time after all others.
const FAR: Instant = Instant::from_nanoseconds(u64::MAX);

/// A run.
struct Run<'a> {
    traffic: Traffic<'a>,
    hosts: Hosts<'a>,
    measured: Option<Measured>,
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
    let mut hosts = Hosts::new(sources, random, world.now());
    hosts.start(world.now())?;
    let mut run = Run { traffic: Traffic::new(world), hosts, measured: None };
    let warm_up = run.warm_up(measure, watch)?;
    watch.begins(run.traffic.world_mut());
    run.measure(measure, warm_up, watch)
}

fn least_reintegrations(world: &World) -> Option<u64> {
    world.logs().map(|log| log.least_reintegrations).min()
}

impl Run<'_> {
    /// Processes the next event before `end`: of a host or of the world.
    fn step(&mut self, end: Instant) -> Result<Stepped, RunError> {
        let (wakes, busy) = (self.hosts.next_time(), self.traffic.busy());
        if wakes.is_none() && busy == 0 {
            return Ok(Stepped::Exhausted);
        }
        let moves = self.traffic.world().next_time();
        let next = match (wakes, moves) {
            (Some(wakes), Some(moves)) => wakes.min(moves),
            (one, other) => one.or(other).ok_or(RunError::Stuck(busy))?,
        };
        if let Some(measured) = &mut self.measured {
            measured.record(next.min(end), &self.traffic);
        }
        if next > end {
            self.traffic.world_mut().advance(end);
            return Ok(Stepped::TimeIsUp);
        }
        if wakes == Some(next) {
            self.traffic.world_mut().advance(next);
            self.hosts.wake(&mut self.traffic)?;
        } else {
            self.traffic.world_mut().step_to(next);
        }
        Ok(Stepped::Went)
    }

    /// Processes an answer.
    fn answered(&mut self, Completion { tag, result }: Completion) -> Result<(), RunError> {
        let now = self.traffic.now();
        let request = self.traffic.take(tag);
        let flow = self.hosts.flow_mut(request.flow);
        flow.answered();
        match result {
            Ok(()) => {}
            // An array that has lost data reports this and continues.
            Err(RequestError::Lost) => self.measured.iter_mut().for_each(Measured::lose),
            Err(error) => return Err(flow.refused(&request.ask, error)),
        }
        if let Some(measured) = &mut self.measured {
            let time = now.since(request.since);
            flow.count(now, &request.ask, time);
            measured.count(now, &request.ask, time);
        }
        self.hosts.follow(&request, &mut self.traffic);
        Ok(())
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
            answers.extend(self.traffic.world_mut().answers());
            let mut ended = None;
            for completion in answers.drain(..) {
                self.answered(completion)?;
                answered += 1;
                ended = ended.or_else(|| enough(self, watch, answered));
            }
            self.traffic.retry();
            self.check_backlog(measure.backlog)?;
            if let Some(ended) = ended {
                return Ok((ended, answered));
            }
        }
    }

    /// The progress after `answered` requests in this part of the run.
    fn progress(&self, measure: &Measure, answered: u64) -> Progress {
        let Measure { least, most, precision: wanted, .. } = *measure;
        let Some(passed) = self.measured.as_ref().map(Measured::passed) else {
            return Progress { answered, expected: None, precision: f64::INFINITY, wanted };
        };
        let precision = self.precision();
        let square = (precision / wanted).powi(2);
        let needed = (answered as f64 * square).clamp(least as f64, most as f64);
        // A time limit or the watcher may end it earlier.
        let open = measure.longest.is_some();
        let expected = (precision.is_finite() && !open).then(|| passed.saturating_add(needed as u64));
        // If a fixed number of requests is requested, all of them are needed, whatever the
        // precision.
        let expected = expected.or_else(|| (least == most && !open).then(|| passed.saturating_add(most)));
        let answered = passed + answered;
        Progress { answered, expected: expected.map(|expected| expected.max(answered)), precision, wanted }
    }

    fn check_backlog(&self, most: usize) -> Result<(), RunError> {
        if self.traffic.busy() <= most {
            return Ok(());
        }
        let now = self.traffic.now();
        self.hosts.flows().iter().try_for_each(|flow| flow.check_backlog(most, now))
    }

    fn warm_up(&mut self, measure: &Measure, watch: &mut dyn Watch) -> Result<Passed, RunError> {
        let began = self.traffic.now();
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
        if answered < most && !warm(self.traffic.world_mut(), answered, watch) {
            answered = self.pass(measure, FAR, answered, watch, |run, watch, answered| {
                let look = answered == requests || answered.is_multiple_of(LOOK);
                answered >= most || look && warm(run.traffic.world_mut(), answered, watch)
            })?;
        }
        if answered >= most && !warm(self.traffic.world_mut(), answered, watch) {
            return Err(RunError::NotWarm(answered));
        }
        // Requests of sources that end are answered before anything is counted.
        self.hosts.end_warm_up();
        let is_ending = |run: &Run<'_>| run.hosts.flows().iter().any(Flow::is_ending);
        if is_ending(self) {
            answered = self.pass(measure, FAR, answered, watch, |run, _, _| !is_ending(run))?;
        }
        Ok(Passed { requests: answered, time: self.traffic.now().since(began) })
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
        mut self,
        measure: &Measure,
        warm_up: Passed,
        watch: &mut dyn Watch,
    ) -> Result<Report, RunError> {
        let began = self.traffic.now();
        self.hosts.measure(began)?;
        let several = match self.hosts.measured().count() {
            0 => return Err(RunError::NoSource),
            count => count > 1,
        };
        self.measured = Some(Measured::begin(&mut self.traffic, warm_up, several));
        let end = measure.longest.map_or(FAR, |longest| began + longest);
        let (ended, answered) = self
            .go_until(measure, end, watch, |run, watch, answered| run.is_enough(measure, answered, watch))?;
        if ended == Ended::Interrupted && answered == 0 {
            return Err(RunError::Interrupted(warm_up.requests));
        }
        let Run { mut traffic, hosts, measured } = self;
        let now = traffic.now();
        let measured_flows = hosts.into_flows().into_iter().filter(Flow::is_measured);
        let sources = measured_flows.map(|flow| flow.report(now)).collect();
        Ok(measured.expect("it was put there").report(&mut traffic, ended, sources))
    }

    fn is_enough(&mut self, measure: &Measure, answered: u64, watch: &mut dyn Watch) -> Option<Ended> {
        if answered >= measure.most {
            return Some(Ended::Most);
        }
        if answered.is_multiple_of(LOOK) && watch.is_over(self.traffic.world_mut()) {
            return Some(Ended::Watched);
        }
        if answered < measure.least || !answered.is_multiple_of(1_000) {
            return None;
        }
        (self.precision() <= measure.precision).then_some(Ended::Precise)
    }

    /// The largest half width of the required intervals, as a fraction of its mean.
    fn precision(&self) -> f64 {
        let all = self.measured.as_ref().and_then(Measured::mean);
        let response = all.or_else(|| self.hosts.measured().next().map(Flow::mean));
        let means = response.into_iter().chain(self.hosts.measured().filter_map(Flow::task_mean));
        means.map(|mean| mean.relative()).fold(0.0, f64::max)
    }
}
