//! A member: a drive, and what waits for it.

use parlour_array::{Action, Class, Effect};
use parlour_drive::drive::{Drive, Served};
use parlour_drive::mechanics::Way;
use parlour_drive::queue::{Discipline, Queue, Waiting};
use parlour_units::{Instant, Sector, Sectors};

/// A drive in an array.
#[derive(Clone, Debug)]
pub struct Member {
    drive: Drive,
    queue: Queue<Effect>,
    serving: Option<Effect>,
}

impl Member {
    /// A drive at rest, whose queue has this discipline.
    pub fn new(drive: Drive, discipline: Discipline) -> Member {
        let cylinders = drive.mechanics().seek.longest() + 1;
        Member { drive, queue: Queue::new(discipline, cylinders), serving: None }
    }

    /// An effect for this member comes. Says when it is done, if it is served at once.
    pub(crate) fn take(&mut self, now: Instant, effect: Effect) -> Option<Instant> {
        if self.serving.is_none() {
            return Some(self.serve(now, effect));
        }
        let (_, at, _) = access(effect);
        let cylinder = self.drive.mechanics().surface.place(at.get()).cylinder;
        let class = u8::from(effect.class == Class::Log);
        self.queue.push(Waiting { access: effect, cylinder, since: now, class });
        None
    }

    /// What was served is done. Says what it was, and when the next is.
    pub(crate) fn done(&mut self, now: Instant) -> (Effect, Option<Instant>) {
        let done = self.serving.take().expect("a member that is done has served something");
        let next = match self.queue.is_empty() {
            true => None,
            false => {
                let (arm, drive) = (self.drive.arm(), &self.drive);
                let positioning = |effect: &Effect| {
                    let (way, at, _) = access(*effect);
                    drive.positioning(now, way.unwrap_or(Way::Read), at.get())
                };
                self.queue.pop(arm, now, positioning).map(|waiting| self.serve(now, waiting.access))
            }
        };
        (done, next)
    }

    fn serve(&mut self, now: Instant, effect: Effect) -> Instant {
        self.serving = Some(effect);
        let (way, at, length) = access(effect);
        match way {
            Some(way) => {
                let Served { done, .. } = self.drive.serve(now, way, at.get(), length.get());
                done
            }
            None => self.drive.flush(now),
        }
    }
}

/// What an effect asks of a drive: none of the ways is a flush.
fn access(effect: Effect) -> (Option<Way>, Sector, Sectors) {
    match effect.action {
        Action::Read { at, length, .. } => (Some(Way::Read), at, length),
        Action::Write { at, length, .. } | Action::Zero { at, length, .. } => (Some(Way::Write), at, length),
        _ => (None, Sector::ZERO, Sectors::ZERO),
    }
}
