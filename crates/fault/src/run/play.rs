//! Plays the events of a script, one after another.

use super::Run;
use super::opening::fresh_disks;
use crate::content::Value;
use crate::coverage::Fault;
use crate::identity;
use crate::limits::Limits;
use crate::oracle::Oracle;
use crate::rig::Rig;
use crate::script::{Event, Extra, Return, Script, What};
use crate::shelf::Shelf;
use crate::trace::Trace;
use crate::violation::Violation;
use crate::world::World;

impl<'a> Run<'a> {
    /// Creates an array on new members.
    pub(crate) fn new(script: &'a Script, limits: &'a Limits, trace: Trace) -> Result<Run<'a>, Violation> {
        let options = script.options();
        let mut shelf = Shelf::new(fresh_disks(script, identity::ARRAY), script.seed(), trace.clone());
        if limits.digest_effects {
            shelf.digest_all();
        }
        if script.has(Extra::GivingUp) {
            shelf.let_give_up();
        }
        let order: Vec<usize> = (0..shelf.disks().len()).collect();
        let assembly = shelf.assemble(&order).map_err(|error| Violation::opening(&error))?;
        let world = World::open(shelf, &assembly, &order, options.tuning, false)
            .map_err(|refusal| Violation::opening(&refusal.error))?;
        let capacity = options.geometry().capacity().get();
        let mut oracle = Oracle::new(capacity, Value::fill(options.fill), options.promises());
        if limits.beyond {
            oracle.let_doubts_stay();
        }
        let mut run = Run::around(Rig::around(script, limits, world, oracle, trace));
        run.go_on()?;
        Ok(run)
    }

    /// Plays all events, and then restores full redundancy and does all checks.
    pub(crate) fn play(&mut self) -> Result<(), Violation> {
        self.play_events(self.rig.script.events())?;
        if self.lost {
            return Ok(());
        }
        self.standing_still(|run| {
            run.make_whole()?;
            run.verify()
        })
    }

    pub(crate) fn play_events(&mut self, events: &[Event]) -> Result<(), Violation> {
        for event in events {
            self.advance(event)?;
            self.rig.note(|| event.to_string());
            if !self.lost {
                self.happen(event)?;
            }
            if self.lost {
                return Ok(());
            }
        }
        Ok(())
    }

    fn happen(&mut self, event: &Event) -> Result<(), Violation> {
        match event.what {
            What::Host(ask, range) => self.host(event.number, ask, range).map(drop),
            What::Crash { power, read } => {
                let power = power || self.rig.forgets_failed_flush();
                self.rig.count_fault(if power { Fault::PowerCut } else { Fault::Kill });
                self.crash(power)?;
                if read { self.standing_still(Self::read_all) } else { Ok(()) }
            }
            What::Stop { power, back } => self.stop(power, back),
            What::Rival(number) => self.standing_still(|run| run.rival(event.number, number)),
            What::Rot(number) => self.standing_still(|run| run.rot(number)),
            What::Rest { heal } => self.standing_still(|run| {
                if heal {
                    run.make_whole()?;
                }
                run.settle()?;
                run.verify()
            }),
            What::Quiet => self.standing_still(Self::settle),
            What::Watch => {
                self.begin_watch();
                Ok(())
            }
            what => self.befall(what),
        }
    }

    fn stop(&mut self, power: bool, back: Return) -> Result<(), Violation> {
        if self.stopping.is_some() {
            return Ok(());
        }
        self.rig.count_fault(Fault::Stop);
        self.begin_stop(power, back)
    }
}
