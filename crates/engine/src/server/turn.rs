//! A turn of the server's loop polls the frontend for requests, does all foreground work that needs
//! no waiting, sends the answers, does a batch of background work, and sleeps if nothing is left to
//! do.

use std::io;

use parlour_array::Mode;
use parlour_units::{Duration, Instant, Sectors};

use super::ready::Ready;
use super::{HISTORY, ServeError, Server, Stage};
use crate::backend::IoBackend;
use crate::control::Control;
use crate::events;
use crate::frontend::{Frontend, Port};
use crate::pulse::Pulse;

/// How long to wait before the next attempt when the kernel was out of memory.
const STALL: Duration = Duration::from_millis(10);

impl<F: Frontend> Server<F> {
    /// Serves until stopped. Then hosts' requests are completed, the array is stopped, and this
    /// returns. `observer` is called once a second and after each event.
    ///
    /// # Errors
    /// If a system call of the server itself fails, or the array was abandoned. Failures of members
    /// are handled by the array.
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

    /// Closes the members before the waiting clients are answered.
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
        // Short requests are completed, as far as they need not wait, before a long one begins.
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

    /// Sleeps until there is something to do. Under load, only the frontend is polled.
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

    /// Polls instead of sleeping, as long as that is useful.
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

    /// Takes requests from the frontend. Returns their number.
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

    /// Why the array was abandoned, if it was and all requests are answered.
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

    /// Calls the observer when a second is over or there are events.
    fn beat(&mut self, observer: &mut dyn FnMut(&Pulse<'_>)) {
        let now = self.machine.now();
        let due = self.next_pulse <= now;
        if due {
            self.machine.roster.look_at_lengths();
            for change in self.machine.look_at_pace() {
                self.news.push(events::pace(&change, &self.machine.roster));
            }
            let destaged = Sectors::new(self.machine.array.get().counters().destaged);
            self.rates = self.machine.meter.take(now, destaged);
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

fn from_std(time: std::time::Duration) -> Instant {
    Instant::from_nanoseconds(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn to_std(now: Instant) -> std::time::Duration {
    std::time::Duration::from_nanos(now.nanoseconds())
}
