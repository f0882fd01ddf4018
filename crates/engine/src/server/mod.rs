//! One array, one thread: hosts, members and commands in one loop.
//!
//! A turn of the loop asks the frontend for requests, does all foreground work that needs no
//! waiting, sends the answers, does a piece of background work, and sleeps if nothing is left to
//! do.

mod admin;
mod busy_poll;
mod eager;
mod options;
mod ready;
mod returning;

use std::io;
use std::path::PathBuf;

use parlour_array::record::Recorded;
use parlour_array::{Event, Geometry, Mode, Tuning};
use parlour_units::{Bytes, Duration, Instant};

use crate::backend::IoBackend;
use crate::control::Control;
use crate::events;
use crate::frontend::{Frontend, Port};
use crate::io::Io;
use crate::joining::Reception;
use crate::machine::Machine;
use crate::meter::Rates;
use crate::opening::OpenArray;
use crate::pulse::{self, Pulse, ServerStatus};
use crate::stopper::{StopRequest, Stopper};
use admin::Waiting;
use busy_poll::BusyPoll;
use eager::Eagerness;
pub use options::{ACCESS_TIMEOUT, ServeError, ServeOptions};
use ready::{Poller, Ready};
use returning::Returns;

/// How long to wait before the kernel is asked again, when it was out of memory.
const STALL: Duration = Duration::from_millis(10);

/// Lines of what has happened that are kept for those who ask.
const HISTORY: usize = 100;

/// Serves an array to hosts, until it is stopped.
#[derive(Debug)]
pub struct Server<F: Frontend> {
    machine: Machine,
    frontend: F,
    poller: Poller,
    stop: StopRequest,
    control: Option<Control>,
    reception: Reception<Waiting>,
    returns: Returns,
    stage: Stage,
    grace: Duration,
    pulse: Duration,
    next_pulse: Instant,
    rates: Rates,
    notes: Vec<String>,
    history: Vec<String>,
    /// What happened since the last pulse.
    news: Vec<String>,
    eagerness: Eagerness,
    busy_poll: BusyPoll,
}

/// How far stopping has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    /// The frontend finishes what is under way, until then.
    Draining(Instant),
    /// The array finishes what is under way and records that all is well. What waited is refused.
    Stopping,
    Stopped,
}

impl<F: Frontend> Server<F> {
    /// Makes everything ready to serve `open` through `frontend`.
    ///
    /// # Errors
    /// If accesses cannot be carried out, the system has no descriptors, or the control socket is
    /// taken.
    pub fn new(open: OpenArray, frontend: F, options: ServeOptions) -> Result<Server<F>, ServeError> {
        let io = Io::new(open.io)?;
        let control = options.control.as_deref().map(Control::listen).transpose()?;
        let returns = Returns::new(options.watched, open.present().to_vec(), options.look_every);
        let notes = open.notes().iter().map(ToString::to_string).collect();
        let OpenArray { array, inputs, mut roster, began, recorded, .. } = open;
        if options.recorder.is_some() && !recorded {
            return Err(ServeError::NotRecorded);
        }
        if let Some(witness) = &options.witness {
            roster.be_witnessed(witness);
        }
        let retain = retained(&inputs.tuning, array.geometry());
        let recorded = Recorded::new(array, &inputs, options.recorder.map(|recorder| recorder.0));
        let machine = Machine::new(recorded, roster, io, began, retain, options.access_timeout);
        let stop = StopRequest::new().map_err(ServeError::System)?;
        let reception = Reception::new().map_err(ServeError::System)?;
        let fds = ready::Descriptors {
            stop: stop.wait_fd(),
            frontend: frontend.wait_fd(),
            io: machine.io().wait_fd(),
            reception: reception.wait_fd(),
            control: control.as_ref().map(Control::wait_fd),
        };
        let poller = Poller::new(fds).map_err(ServeError::System)?;
        Ok(Server {
            machine,
            frontend,
            poller,
            stop,
            control,
            reception,
            returns,
            stage: Stage::Serving,
            grace: options.grace,
            pulse: options.pulse,
            next_pulse: Instant::ZERO,
            rates: Rates::default(),
            notes,
            history: Vec::new(),
            news: Vec::new(),
            eagerness: Eagerness::default(),
            busy_poll: BusyPoll::default(),
        })
    }

    /// A way to ask for a stop from another thread or a signal's handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// What serves the hosts.
    pub fn frontend(&self) -> &F {
        &self.frontend
    }

    /// The array's state now.
    pub fn status(&self) -> ServerStatus {
        pulse::status(&self.machine, &self.notes, &self.history, self.rates)
    }

    /// The control socket's path, if there is one.
    pub fn control_path(&self) -> Option<PathBuf> {
        self.control.as_ref().map(|control| control.path().to_owned())
    }

    /// Serves until stopped: then hosts are drained, the array is stopped, and this returns.
    /// `observer` is called once a second and when something has happened.
    ///
    /// # Errors
    /// If the system fails the server itself. What fails on members is the array's affair.
    pub fn run(&mut self, observer: &mut dyn FnMut(&Pulse<'_>)) -> Result<(), ServeError> {
        self.next_pulse = self.machine.tick() + self.pulse;
        while self.stage != Stage::Stopped {
            self.turn(observer).map_err(ServeError::System)?;
            if let Some(error) = self.abandoned() {
                return self.end(Err(error));
            }
        }
        self.end(Ok(()))
    }

    /// Members are closed before waiting clients are answered.
    fn end(&mut self, result: Result<(), ServeError>) -> Result<(), ServeError> {
        self.machine.roster.close_all();
        if let Some(control) = &mut self.control {
            control.end(result.as_ref().map_err(ToString::to_string).copied());
        }
        result
    }

    fn turn(&mut self, observer: &mut dyn FnMut(&Pulse<'_>)) -> io::Result<()> {
        let ready = self.wait()?;
        let now = self.machine.tick();
        if self.machine.array.get().poll_timeout().is_some_and(|due| due <= now) {
            self.machine.array.handle_timeout(now);
        }
        self.machine.give_up_hung();
        let submitted = if ready.frontend || self.frontend_due() { self.poll_frontend()? } else { 0 };
        self.eagerness.learn(&ready, submitted);
        self.machine.admit_short();
        self.machine.run_foreground()?;
        self.answer_hosts();
        // Short requests are through, where nothing keeps them waiting, before a long one is worked
        // on.
        if self.machine.admit_long() {
            self.machine.run_foreground()?;
            self.answer_hosts();
        }
        self.machine.run_background()?;
        self.hear_events();
        if ready.stop {
            self.stop.clear();
            self.begin_stop();
        }
        self.serve_control(&ready)?;
        self.look_for_returns();
        self.advance_stage();
        self.beat(observer);
        Ok(())
    }

    /// Sleeps until there is something to do. While hosts keep it busy, only they are looked at.
    fn wait(&mut self) -> io::Result<Ready> {
        if self.eagerness.is_eager() {
            return Ok(Ready::frontend_only());
        }
        if self.machine.has_work() {
            return self.poller.wait(Some(Duration::ZERO));
        }
        let began = self.machine.tick();
        let watched = self.watch(began)?;
        let ready = match watched {
            Some(ready) => ready,
            None => self.poller.wait(self.next_deadline())?,
        };
        self.busy_poll.learn(self.machine.tick().since(began));
        Ok(ready)
    }

    /// Looks again and again instead of sleeping, for the moment that this is worth.
    fn watch(&mut self, began: Instant) -> io::Result<Option<Ready>> {
        let deadline = self.next_deadline();
        while self.busy_poll.is_worth(self.machine.tick().since(began)) && deadline != Some(Duration::ZERO) {
            let ready = self.poller.wait(Some(Duration::ZERO))?;
            if ready.any {
                return Ok(Some(ready));
            }
        }
        Ok(None)
    }

    fn next_deadline(&self) -> Option<Duration> {
        let now = self.machine.now();
        let frontend = self.frontend.deadline().map(from_std);
        let draining = match self.stage {
            Stage::Draining(until) => Some(until),
            _ => None,
        };
        let control = self.control.as_ref().and_then(Control::deadline);
        let array = self.machine.array.get().poll_timeout();
        let returns = self.machine.array.get().awaits_return().map(|_| self.returns.due());
        let hang = self.machine.hang_deadline();
        let stalled = self.machine.io().is_stalled().then(|| now + STALL);
        let all = [array, frontend, draining, control, hang, stalled, returns, Some(self.next_pulse)];
        let next = all.into_iter().flatten().min();
        next.map(|next| next.since(now))
    }

    fn frontend_due(&self) -> bool {
        self.frontend.deadline().is_some_and(|due| from_std(due) <= self.machine.now())
    }

    /// Lets the frontend take requests; says how many came.
    fn poll_frontend(&mut self) -> io::Result<u32> {
        let now = to_std(self.machine.now());
        let mut port = Port::new(&mut self.machine);
        self.frontend.poll(now, &mut port)?;
        Ok(port.submitted())
    }

    fn answer_hosts(&mut self) {
        while let Some(answered) = self.machine.poll_answer() {
            self.frontend.complete(answered.tag, answered.result, &mut Port::new(&mut self.machine));
        }
        self.frontend.flush(&mut Port::new(&mut self.machine));
    }

    fn hear_events(&mut self) {
        while let Some(event) = self.machine.array.poll_event() {
            self.news.push(events::line(&event, &self.machine.roster));
            self.follow(&event);
        }
    }

    /// Does what an event means for the files: nobody waits for a member that is out, which is
    /// closed as soon as its last access has returned.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::MemberFailed { slot, cause } => {
                if let Some(number) = self.machine.roster.standing(*slot) {
                    self.machine.give_up(number);
                    self.machine.roster.close(number);
                    if let Some(path) = self.machine.roster.path(number) {
                        self.returns.excluded(path, *cause, self.machine.now());
                    }
                }
            }
            Event::SpareDropped { member } => {
                self.machine.give_up(member.get());
                self.machine.roster.close(member.get());
            }
            Event::SlotTaken { slot, member, .. } => {
                let roster = &mut self.machine.roster;
                roster.occupy(*slot, member.get());
            }
            _ => {}
        }
    }

    fn begin_stop(&mut self) {
        if self.stage == Stage::Serving {
            self.stage = Stage::Draining(self.machine.now() + self.grace);
            self.frontend.close(&mut Port::new(&mut self.machine));
        }
    }

    fn advance_stage(&mut self) {
        let stopped = self.stage == Stage::Stopping && self.is_stopped();
        match self.stage {
            Stage::Draining(until) if self.frontend.is_idle() || until <= self.machine.now() => {
                let now = self.machine.now();
                self.machine.refuse_waiting();
                self.machine.array.stop(now);
                self.stage = Stage::Stopping;
            }
            Stage::Stopping if stopped => self.stage = Stage::Stopped,
            _ => {}
        }
    }

    /// Why the array was left as it is, if it was and all hosts know.
    fn abandoned(&mut self) -> Option<ServeError> {
        let error = match self.machine.array.get().mode() {
            Mode::Superseded => ServeError::Superseded,
            Mode::Halted => ServeError::Halted,
            _ => return None,
        };
        (self.machine.in_flight() == 0 && !self.machine.has_work()).then_some(error)
    }

    fn is_stopped(&mut self) -> bool {
        self.machine.array.get().mode() == Mode::Stopped
            && self.machine.in_flight() == 0
            && !self.machine.has_work()
    }

    /// Tells the observer when a second is over or something has happened.
    fn beat(&mut self, observer: &mut dyn FnMut(&Pulse<'_>)) {
        let now = self.machine.now();
        let due = self.next_pulse <= now;
        if due {
            self.machine.roster.look_at_lengths();
            for change in self.machine.look_at_pace() {
                self.news.push(events::pace(&change, &self.machine.roster));
            }
            self.rates = self.machine.meter.take(now);
            self.next_pulse = now + self.pulse;
        }
        if !due && self.news.is_empty() {
            return;
        }
        self.history.extend(self.news.iter().cloned());
        let old = self.history.len().saturating_sub(HISTORY);
        self.history.drain(..old);
        observer(&Pulse {
            machine: &self.machine,
            notes: &self.notes,
            history: &self.history,
            rates: self.rates,
            events: &self.news,
        });
        self.news.clear();
    }
}

/// Released memory that is worth keeping: as much as the array may have in use.
fn retained(tuning: &Tuning, geometry: &Geometry) -> Bytes {
    let logs = if geometry.layout().logs().is_some() {
        tuning.log_memory + tuning.reintegration_memory * u64::from(tuning.reintegration_buffers)
    } else {
        parlour_units::Sectors::ZERO
    };
    (tuning.host_memory + tuning.scratch_memory + tuning.preread_cache + logs).bytes()
}

fn from_std(time: std::time::Duration) -> Instant {
    Instant::from_nanoseconds(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn to_std(now: Instant) -> std::time::Duration {
    std::time::Duration::from_nanos(now.nanoseconds())
}
