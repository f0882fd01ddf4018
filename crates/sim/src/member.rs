//! A member: a drive, and what waits for it.

use parlour_array::{Action, Class, Effect};
use parlour_drive::drive::{Drive, Served};
use parlour_drive::mechanics::{Arm, Parts, Way};
use parlour_drive::queue::{Discipline, Queue, Waiting};
use parlour_units::{Duration, Instant, Sector, Sectors};

use crate::flat::Flat;

/// A drive in an array.
#[derive(Clone, Debug)]
pub struct Member {
    server: Server,
    queue: Queue<Effect>,
    /// What is being served: since when, and what.
    serving: Vec<Option<(Instant, Effect)>>,
    people_first: bool,
    tally: Tally,
}

#[derive(Clone, Debug)]
enum Server {
    Mechanical(Box<Drive>),
    Flat(Flat),
}

/// What a member has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Accesses that are done.
    pub accesses: u64,
    /// Time in which it served, of all its units.
    pub busy: Duration,
    /// Time that accesses have waited for it.
    pub queued: Duration,
    /// Where the time of its moving parts went.
    pub parts: Parts,
}

/// An access that has begun: in which unit, and when it is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) unit: u16,
    pub(crate) done: Instant,
}

impl Member {
    /// A drive at rest, whose queue has this discipline.
    pub fn new(drive: Drive, discipline: Discipline) -> Member {
        let cylinders = drive.mechanics().seek.longest() + 1;
        Member {
            server: Server::Mechanical(Box::new(drive)),
            queue: Queue::new(discipline, cylinders),
            serving: vec![None],
            people_first: false,
            tally: Tally::default(),
        }
    }

    /// A drive without mechanics: what waits is served in the order in which it came.
    pub fn flat(flat: Flat) -> Member {
        let units = usize::from(flat.units());
        Member {
            server: Server::Flat(flat),
            queue: Queue::new(Discipline::Fcfs, 1),
            serving: vec![None; units],
            people_first: false,
            tally: Tally::default(),
        }
    }

    /// The same, serving what no host waits for, as log accesses, only while nothing waits that one does (Stodolsky et al.,
    /// footnote 10; the paper's own arrays do not).
    #[must_use]
    pub fn people_first(self) -> Member {
        Member { people_first: true, ..self }
    }

    /// What it has done.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// An effect for this member comes. Says when it is done, if it is served at once.
    pub(crate) fn take(&mut self, now: Instant, effect: Effect) -> Option<Begun> {
        if let Some(unit) = self.serving.iter().position(Option::is_none) {
            return Some(self.serve(now, unit, effect));
        }
        let cylinder = match &self.server {
            Server::Mechanical(drive) => drive.mechanics().surface.place(access(effect).1.get()).cylinder,
            Server::Flat(_) => 0,
        };
        let waited_for = matches!(effect.class, Class::Foreground | Class::Metadata);
        let class = u8::from(self.people_first && !waited_for);
        self.queue.push(Waiting { access: effect, cylinder, since: now, class });
        None
    }

    /// What a unit served is done. Says what it was, and when the next is.
    pub(crate) fn done(&mut self, now: Instant, unit: u16) -> (Effect, Option<Begun>) {
        let slot = usize::from(unit);
        let (since, done) = self.serving[slot].take().expect("a unit that is done has served something");
        self.tally.accesses += 1;
        self.tally.busy = self.tally.busy + now.since(since);
        let next = self.next(now).map(|waiting| {
            self.tally.queued = self.tally.queued + now.since(waiting.since);
            self.serve(now, slot, waiting.access)
        });
        (done, next)
    }

    fn next(&mut self, now: Instant) -> Option<Waiting<Effect>> {
        if self.queue.is_empty() {
            return None;
        }
        match &self.server {
            Server::Flat(_) => self.queue.pop(Arm::default(), now, |_| Duration::ZERO),
            Server::Mechanical(drive) => self.queue.pop(drive.arm(), now, |effect| {
                let (way, at, _) = access(*effect);
                drive.positioning(now, way.unwrap_or(Way::Read), at.get())
            }),
        }
    }

    fn serve(&mut self, now: Instant, unit: usize, effect: Effect) -> Begun {
        self.serving[unit] = Some((now, effect));
        let (way, at, length) = access(effect);
        let done = match (&mut self.server, way) {
            (Server::Mechanical(drive), Some(way)) => {
                let Served { done, parts, .. } = drive.serve(now, way, at.get(), length.get());
                self.tally.parts += parts;
                // What is only in the drive's buffer is not durable.
                if matches!(effect.action, Action::Write { durable: true, .. }) {
                    drive.flush(done)
                } else {
                    done
                }
            }
            (Server::Mechanical(drive), None) => drive.flush(now),
            (Server::Flat(flat), Some(way)) => flat.serve(now, way, length.get()),
            (Server::Flat(flat), None) => flat.flush(now),
        };
        Begun { unit: unit as u16, done }
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

#[cfg(test)]
mod tests {
    use parlour_array::EffectId;
    use parlour_drive::angle::Angle;
    use parlour_drive::catalogue;
    use parlour_drive::description::Description;

    use super::*;

    fn member(name: &str) -> Member {
        let text = catalogue::find(name).expect("it is in the catalogue");
        let description = Description::parse(text).expect("it is a drive");
        let mechanics = description.mechanics(Angle::default()).expect("it is a drive");
        let electronics = description.electronics().expect("it is a drive");
        Member::new(Drive::new(mechanics, electronics), Discipline::Fcfs)
    }

    fn write(number: u64, class: Class, durable: bool) -> Effect {
        let place = parlour_units::Member::new(0);
        let (at, length) = (Sector::new(600_000), Sectors::new(8));
        Effect {
            id: EffectId::from_raw(number),
            class,
            action: Action::Write { member: place, at, length, durable },
        }
    }

    #[test]
    fn a_durable_write_waits_for_the_platters_and_others_for_the_buffer() {
        let took = |durable| {
            let begun =
                member("seagate-cheetah-9lp").take(Instant::ZERO, write(1, Class::Foreground, durable));
            begun.expect("it is idle").done.since(Instant::ZERO)
        };
        assert!(took(false) < Duration::from_millis(2), "{}", took(false));
        assert!(took(true) > Duration::from_millis(4), "{}", took(true));
    }

    #[test]
    fn people_come_first_where_that_is_wanted() {
        let next = |mut member: Member| {
            let begun = member.take(Instant::ZERO, write(1, Class::Log, false)).expect("it is idle");
            assert!(member.take(Instant::ZERO, write(2, Class::Log, false)).is_none());
            assert!(member.take(Instant::ZERO, write(3, Class::Foreground, false)).is_none());
            let (_, then) = member.done(begun.done, begun.unit);
            let then = then.expect("others wait");
            member.done(then.done, then.unit).0.id.get()
        };
        assert_eq!(next(member("ibm-0661")), 2);
        assert_eq!(next(member("ibm-0661").people_first()), 3);
    }
}
