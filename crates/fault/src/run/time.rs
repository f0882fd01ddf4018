//! Steps through virtual time, until something is done.

use parlour_array::Mode;
use parlour_units::{Duration, Instant};

use super::Run;
use crate::hosts::PATIENCE;
use crate::request::{Ask, Range};
use crate::script::{Event, Return, What};
use crate::violation::Violation;

/// The most steps without progress of virtual time.
const STANDSTILL: u32 = 1_000_000;
/// The array is read in ranges of this many sectors.
const LONG_READ: u64 = 512;
/// The number of the event to which these reads belong.
pub(super) const READING: u64 = u64::MAX >> 2;
/// Events that are not in the script have numbers from here on.
const UNWRITTEN: u64 = u64::MAX >> 3;

impl Run<'_> {
    /// Plays everything that happens before `event`.
    pub(super) fn advance(&mut self, event: &Event) -> Result<(), Violation> {
        let until = Instant::ZERO + event.at + self.offset;
        let (mut last, mut still) = (self.rig.now(), 0);
        while self.rig.world.next_time().is_some_and(|next| next <= until) && !self.lost {
            self.step()?;
            still = if self.rig.now() == last { still + 1 } else { 0 };
            last = self.rig.now();
            if still > STANDSTILL {
                return Err(Violation::Stuck("time stands still".into()));
            }
        }
        self.rig.world.wait_until(until);
        self.rig.hosts.are_patient(self.rig.now())
    }

    fn step(&mut self) -> Result<(), Violation> {
        self.rig.world.step()?;
        self.collect()?;
        match self.watch.count_step() {
            Some(what) => self.interrupt(what),
            None => Ok(()),
        }
    }

    fn interrupt(&mut self, what: What) -> Result<(), Violation> {
        self.rig.note(|| Event { number: UNWRITTEN, at: Duration::ZERO, what }.to_string());
        let before = self.rig.coverage().total();
        let result = if self.lost { Ok(()) } else { self.befall(what) };
        let happened = self.rig.coverage().total() > before;
        self.watch.interrupted(happened);
        if !happened {
            return Err(Violation::Stuck("what was to happen is more than is survived now".into()));
        }
        result
    }

    /// Does something that takes virtual time without advancing the clock of events.
    pub(super) fn standing_still(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let before = self.rig.now();
        let result = act(self);
        self.offset = self.offset + self.rig.now().since(before);
        result
    }

    /// Continues until `done`.
    pub(super) fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) -> Result<(), Violation> {
        let began = self.rig.now();
        while !done(self) && !self.lost {
            if self.rig.world.next_time().is_none() {
                return Err(Violation::Stuck(format!("{what}: {}", self.situation())));
            }
            self.step()?;
            if self.rig.now().since(began) > PATIENCE * 4 {
                return Err(Violation::Stuck(format!("{what} after long: {}", self.situation())));
            }
        }
        Ok(())
    }

    fn situation(&self) -> String {
        let status = self.rig.status();
        let states: Vec<&str> = status.slots().map(|member| member.state).collect();
        let open = self.rig.hosts.some_open();
        format!(
            "mode {}, members {states:?}, rebuild {:?}, resync {:?}, scrub {:?}, log {:?}, waiting {open:?}",
            status.mode, status.rebuild, status.resync, status.scrub, status.log
        )
    }

    /// Lets the array come to rest: no access or request is under way, and rebuild, resync and
    /// scrub have ended as far as possible.
    pub(super) fn settle(&mut self) -> Result<(), Violation> {
        self.until("the array does not come to rest", |run| {
            !run.rig.world.is_busy() && run.rig.hosts.rest() && run.is_done()
        })
    }

    fn is_done(&self) -> bool {
        let array = self.rig.world.array();
        let busy = || array.is_maintaining() || !array.held().staged.is_zero();
        (!self.rig.is_serving() || !busy()) && self.stopping.is_none()
    }

    /// Waits until the new session is recorded.
    pub(super) fn wait_until_recorded(&mut self) -> Result<(), Violation> {
        self.until("a second opening is not recorded", |run| !run.rig.is_opening())
    }

    /// Stops the array and opens it again. Waits for both.
    pub(super) fn restart(&mut self) -> Result<(), Violation> {
        if self.stopping.is_none() {
            self.begin_stop(false, Return::All)?;
        }
        self.until("the array does not stop", |run| run.stopping.is_none() && run.rig.is_serving())
    }

    /// Reads the whole array.
    pub(super) fn read_all(&mut self) -> Result<(), Violation> {
        let capacity = self.rig.geometry.capacity().get();
        let mut at = 0;
        while at < capacity && !self.lost {
            if !matches!(self.rig.mode(), Mode::Serving | Mode::ReadOnly) {
                return Ok(());
            }
            let length = LONG_READ.min(capacity - at);
            let tag = self.host(READING, Ask::Read, Range { at, length })?;
            self.until("a read of all", |run| run.rig.hosts.have(tag))?;
            at += length;
        }
        Ok(())
    }
}
