//! The server of one array: one thread, with one loop for hosts, members and commands.

mod admin;
mod busy_poll;
mod eager;
mod options;
mod ready;
mod returning;
mod scouting;
mod turn;
mod waiting;

use std::path::PathBuf;

use parlour_array::record::Recorded;
use parlour_array::{CommitPart, Event, Geometry, Tuning};
use parlour_units::{Bytes, Duration, Instant, Member};

use crate::backend::IoBackend;
use crate::control::Control;
use crate::events;
use crate::frontend::{Frontend, Port};
use crate::io::Io;
use crate::joining::Reception;
use crate::machine::Machine;
use crate::meter::Rates;
use crate::opening::OpenArray;
use crate::pulse::{self, ServerStatus};
use crate::stopper::{StopRequest, Stopper};
use busy_poll::BusyPoll;
use eager::Eagerness;
pub use options::{ACCESS_TIMEOUT, ServeError, ServeOptions};
use ready::Poller;
use returning::Returns;
use waiting::Waiting;

/// The number of events that are kept for the status.
const HISTORY: usize = 100;

/// Serves an array to hosts until it is stopped.
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
    /// Events since the last pulse.
    news: Vec<String>,
    eagerness: Eagerness,
    busy_poll: BusyPoll,
}

/// The stages of stopping a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    /// The frontend completes requests in progress, until this time.
    Draining(Instant),
    /// The array completes requests in progress and records a clean shutdown. Requests that waited
    /// are refused.
    Stopping,
    Stopped,
}

impl<F: Frontend> Server<F> {
    /// Prepares to serve `open` through `frontend`.
    ///
    /// # Errors
    /// If no backend can be started, there are no free file descriptors, or the control socket is
    /// in use.
    pub fn new(open: OpenArray, frontend: F, options: ServeOptions) -> Result<Server<F>, ServeError> {
        let io = options.backend.map_or_else(|| Io::new(open.io), |backend| Ok(Io::through(backend)))?;
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

    /// A handle to stop the server from another thread or from a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// The frontend.
    pub fn frontend(&self) -> &F {
        &self.frontend
    }

    /// The array's state now.
    pub fn status(&self) -> ServerStatus {
        // What the state shows and the observer has not heard of yet is among the events, too.
        let events = [&self.history[..], &self.news[..]].concat();
        let old = events.len().saturating_sub(HISTORY);
        pulse::status(&self.machine, &self.notes, &events[old..], self.rates)
    }

    /// The number of accesses to members that hang which the system has not answered. After the
    /// end the process lasts until it has.
    pub fn accesses_given_up(&self) -> usize {
        self.machine.accesses_given_up()
    }

    /// The control socket's path, if there is one.
    pub fn control_path(&self) -> Option<PathBuf> {
        self.control.as_ref().map(|control| control.path().to_owned())
    }

    fn hear_events(&mut self) {
        while let Some(event) = self.machine.array.poll_event() {
            self.news.push(events::line(&event, &self.machine.roster));
            self.follow(&event);
        }
    }

    /// Does what an event requires of the driver: an excluded member is given up, and is closed as
    /// soon as its last access has returned.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::MemberFailed { slot, cause } => {
                if let Some(number) = self.machine.roster.standing(*slot) {
                    self.machine.give_up(number);
                    self.machine.roster.close(number);
                    let (path, now) = (self.machine.roster.path(number), self.machine.now());
                    let member = self.machine.array.get().identity_of(Member::new(number));
                    if let (Some(path), Some(member)) = (path, member) {
                        self.returns.excluded(member, path, *cause, now);
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
}

/// How much released memory to keep: as much as the array may use.
fn retained(tuning: &Tuning, geometry: &Geometry) -> Bytes {
    let logs = if let Some(shared) = tuning.shared_memory {
        shared
    } else if geometry.layout().logs().is_some() {
        tuning.log_memory + tuning.reintegration_memory * u64::from(tuning.reintegration_buffers)
    } else {
        parlour_units::Sectors::ZERO
    };
    // A write that is staged takes at least half of its buffer; and copies that are destaged
    // together take half of the stream's length.
    let writes = geometry.commit_part(CommitPart::Writes).1;
    let staged = writes * 2 + parlour_units::Sectors::new(writes.get() / 2);
    (tuning.host_memory + tuning.scratch_memory + tuning.preread_cache + logs + staged).bytes()
}
