//! A member: a drive, its queue, and the array's metadata on it.

use parlour_array::{Action, Class, Effect, Geometry, MemberInfo};
use parlour_drive::angle::Angle;
use parlour_drive::description::{Description, DescriptionError};
use parlour_drive::drive::{Drive, Served};
use parlour_drive::mechanics::{Arm, Parts, Way};
use parlour_drive::queue::{Discipline, Queue, Waiting};
use parlour_units::{Duration, Instant, Sector, Sectors};
use parlour_workload::delay::Delay;
use parlour_workload::random::Random;

use crate::flat::{Flat, FlatModel};
use crate::identity::{Kind, identity};
use crate::metadata::Metadata;
use crate::paths::Line;

/// A drive in an array.
#[derive(Clone, Debug)]
pub struct Member {
    name: String,
    server: Server,
    queue: Queue<Effect>,
    /// The access that each unit is serving.
    serving: Vec<Option<Serving>>,
    held: Option<Hold>,
    /// The number of holds so far.
    holds: u32,
    people_first: bool,
    string: Option<u16>,
    dead: bool,
    info: MemberInfo,
    pub(crate) metadata: Metadata,
    tally: Tally,
}

#[derive(Clone, Debug)]
enum Server {
    Mechanical(Box<Drive>),
    Flat(Flat),
}

/// A drive is too short for its member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "array '{array}', member {member}: the drive {drive} has {blocks} blocks of 512 bytes, and the member is to have {wanted}; \
     make members at most that long, or take a larger drive"
)]
pub struct TooShort {
    /// The array's name.
    pub array: String,
    /// The number of the member.
    pub member: usize,
    /// The drive's name.
    pub drive: String,
    /// The number of its blocks.
    pub blocks: u64,
    /// The number of blocks that the member needs.
    pub wanted: u64,
}

/// An access that is being served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serving {
    since: Instant,
    /// When the drive itself is done with it.
    done: Instant,
    pub(crate) effect: Effect,
    /// The place that the drive chose for a write.
    pub(crate) placed: Option<Sector>,
}

/// The arm waits where it has read, because the same job writes there next. All other accesses wait
/// in the queue meanwhile.
#[derive(Clone, Copy, Debug)]
struct Hold {
    number: u32,
    at: Sector,
    length: Sectors,
    since: Instant,
}

impl Hold {
    fn is_for(&self, effect: Effect) -> bool {
        let writes = matches!(effect.action, Action::Write { .. });
        writes && effect.action.range() == Some((self.at, self.length))
    }
}

/// Totals of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Completed accesses.
    pub accesses: u64,
    /// The time in which its units were busy, summed over all units. Waiting for the bus is
    /// included.
    pub busy: Duration,
    /// The time that accesses have waited for it.
    pub queued: Duration,
    /// The time that completed accesses have waited for other accesses of their jobs.
    pub synchronized: Duration,
    /// The time of its mechanical parts.
    pub parts: Parts,
}

/// An access that has begun: its unit, and its next event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) unit: u16,
    pub(crate) at: Instant,
    /// At that time the access needs the bus; otherwise it is done.
    pub(crate) crosses: bool,
}

impl Default for Member {
    /// A placeholder without a drive: all its accesses fail.
    fn default() -> Member {
        let none = FlatModel::station(Delay::Fixed(Duration::ZERO));
        Member { dead: true, ..Member::flat(Flat::new(none, Random::new(0))) }
    }
}

impl Member {
    /// A mechanical drive, with this queue discipline.
    pub fn new(drive: Drive, discipline: Discipline) -> Member {
        let cylinders = drive.mechanics().seek.longest() + 1;
        Member::of(Server::Mechanical(Box::new(drive)), 1, Queue::new(discipline, cylinders))
    }

    /// A drive without mechanics. Accesses are served in the order of arrival.
    pub fn flat(flat: Flat) -> Member {
        let units = usize::from(flat.units());
        Member::of(Server::Flat(flat), units, Queue::new(Discipline::Fcfs, 1))
    }

    /// The drive of a description file, with its platters at `phase`. A drive without mechanics
    /// serves accesses in the order of arrival.
    ///
    /// # Errors
    /// The description is invalid.
    pub fn described(
        description: &Description,
        phase: Angle,
        discipline: Discipline,
    ) -> Result<Member, DescriptionError> {
        let member = match description.solid()? {
            Some(solid) => Member::flat(Flat::new(FlatModel::from(&solid), Random::new(0))),
            None => {
                let drive = Drive::new(description.mechanics(phase)?, description.electronics()?);
                Member::new(drive, discipline)
            }
        };
        Ok(member.named(&description.name))
    }

    fn of(server: Server, units: usize, queue: Queue<Effect>) -> Member {
        Member {
            name: String::new(),
            server,
            queue,
            serving: vec![None; units],
            held: None,
            holds: 0,
            people_first: false,
            string: None,
            dead: false,
            info: MemberInfo { identity: identity(Kind::Member, 0), length: Sectors::ZERO, unmaps: false },
            metadata: Metadata::default(),
            tally: Tally::default(),
        }
    }

    /// Sets a name for people.
    #[must_use]
    pub fn named(self, name: &str) -> Member {
        Member { name: format!("'{name}'"), ..self }
    }

    /// Serves accesses that no host waits for, such as log accesses, only while no access waits
    /// that a host waits for (Stodolsky et al., footnote 10; the paper's own arrays do not do
    /// this).
    #[must_use]
    pub fn people_first(self) -> Member {
        Member { people_first: true, ..self }
    }

    /// Entries of the array's journal go to free sectors near the heads: see [`Drive::write_near`].
    /// A drive without mechanics has no heads.
    #[must_use]
    pub fn journal_near_heads(mut self, geometry: &Geometry) -> Member {
        if let Server::Mechanical(drive) = &mut self.server {
            let lanes = geometry.commit_lanes();
            drive.write_near(lanes.map(|(at, length)| at.get()..(at + length).get()));
        }
        self
    }

    /// Puts the drive on a bus of the [paths](crate::paths::Paths): the one with this number, from
    /// 0.
    #[must_use]
    pub fn on_string(self, string: u16) -> Member {
        Member { string: Some(string), ..self }
    }

    /// The number of its blocks of 512 bytes; none if it is unlimited.
    pub fn blocks(&self) -> Option<u64> {
        match &self.server {
            Server::Mechanical(drive) => Some(drive.mechanics().surface.blocks()),
            Server::Flat(flat) => flat.blocks(),
        }
    }

    /// Its totals.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The number of accesses that wait for it.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The number of its bus.
    pub fn string(&self) -> Option<u16> {
        self.string
    }

    /// The information that the array gets about it.
    pub(crate) fn info(&self) -> MemberInfo {
        self.info.clone()
    }

    /// Makes it a member of an array, with this length.
    pub(crate) fn join(&mut self, array: &str, number: usize, length: Sectors) -> Result<(), TooShort> {
        if let Some(blocks) = self.blocks().filter(|blocks| *blocks < length.get()) {
            let (array, drive) = (array.to_owned(), self.name.clone());
            return Err(TooShort { array, member: number, drive, blocks, wanted: length.get() });
        }
        self.info = MemberInfo { identity: identity(Kind::Member, number as u64), length, unmaps: false };
        Ok(())
    }

    /// From now on all accesses fail (gone).
    pub(crate) fn die(&mut self) {
        self.dead = true;
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead
    }

    /// Takes an effect for this member. Returns its next event, if it is served at once. `places`
    /// are where an effect may write with the arm over this cylinder, if the drive is to choose.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        effect: Effect,
        bus: Option<&mut Line>,
        places: impl FnOnce(&Effect, u32) -> Vec<Sector>,
    ) -> Option<Begun> {
        if let Some(unit) = self.free_unit(now, effect) {
            return Some(self.serve(now, unit, effect, bus, places));
        }
        let cylinder = match &self.server {
            Server::Mechanical(drive) if self.queue.looks_at_cylinders() => {
                drive.cylinder(place(effect).get())
            }
            Server::Mechanical(_) | Server::Flat(_) => 0,
        };
        let waited_for = matches!(effect.class, Class::Foreground | Class::Metadata);
        let class = u8::from(self.people_first && !waited_for);
        self.queue.push(Waiting { access: effect, cylinder, since: now, class });
        None
    }

    /// The unit that serves `effect` at once, if there is one.
    fn free_unit(&mut self, now: Instant, effect: Effect) -> Option<usize> {
        if self.held.is_some_and(|hold| !hold.is_for(effect)) {
            return None;
        }
        self.end_hold(now);
        self.serving.iter().position(Option::is_none)
    }

    /// The arm waits where it has read: until the platters have turned once, and the place is
    /// passed again. Returns the number of this wait, and when it ends. A drive without mechanics
    /// does not wait.
    pub(crate) fn hold(&mut self, now: Instant, effect: Effect) -> Option<(u32, Instant)> {
        let Server::Mechanical(drive) = &self.server else { return None };
        let (at, length) = effect.action.range()?;
        self.holds += 1;
        self.held = Some(Hold { number: self.holds, at, length, since: now });
        Some((self.holds, now + drive.mechanics().spindle.revolution))
    }

    /// The wait with this number ends. Returns whether it had not ended before: then the next
    /// access can begin.
    pub(crate) fn let_go(&mut self, now: Instant, number: u32) -> bool {
        let waits = self.held.is_some_and(|hold| hold.number == number);
        if waits {
            self.end_hold(now);
        }
        waits
    }

    fn end_hold(&mut self, now: Instant) {
        if let Some(hold) = self.held.take() {
            self.tally.busy = self.tally.busy + now.since(hold.since);
        }
    }

    /// The number of its units that serve accesses at the same time.
    pub(crate) fn units(&self) -> usize {
        self.serving.len()
    }

    /// A unit has completed its access. Returns the access.
    pub(crate) fn done(&mut self, now: Instant, unit: u16) -> Serving {
        let done = self.serving[usize::from(unit)].take().expect("a unit that is done has served something");
        self.tally.accesses += 1;
        self.tally.busy = self.tally.busy + now.since(done.since);
        done
    }

    /// Records that a completed access has waited for others of its job.
    pub(crate) fn has_waited(&mut self, time: Duration) {
        self.tally.synchronized = self.tally.synchronized + time;
    }

    /// A free unit takes the next access from the queue, if there is one. Returns the access's next
    /// event.
    pub(crate) fn go_on(
        &mut self,
        now: Instant,
        unit: u16,
        bus: Option<&mut Line>,
        places: impl FnOnce(&Effect, u32) -> Vec<Sector>,
    ) -> Option<Begun> {
        let waiting = self.next(now)?;
        self.tally.queued = self.tally.queued + now.since(waiting.since);
        Some(self.serve(now, unit.into(), waiting.access, bus, places))
    }

    /// The data that a unit has read may cross the bus from now on. Returns when it has.
    pub(crate) fn cross(&mut self, now: Instant, unit: u16, bus: &mut Line) -> Begun {
        let serving = self.serving[usize::from(unit)].as_ref().expect("a unit that crosses serves something");
        let Action::Read { length, .. } = serving.effect.action else {
            unreachable!("only what is read crosses after the drive has begun");
        };
        let (_, crossed) = bus.carry(now, length);
        Begun { unit, at: crossed.max(serving.done), crosses: false }
    }

    fn next(&mut self, now: Instant) -> Option<Waiting<Effect>> {
        if self.queue.is_empty() {
            return None;
        }
        match &self.server {
            Server::Flat(_) => self.queue.pop(Arm::default(), now, |_| Duration::ZERO),
            Server::Mechanical(drive) => {
                let departure = drive.departure(now);
                self.queue.pop(drive.arm(), now, |effect| {
                    let way = match effect.action {
                        Action::Write { .. } | Action::Zero { .. } => Way::Write,
                        _ => Way::Read,
                    };
                    drive.positioning(departure, way, blocks(*effect))
                })
            }
        }
    }

    fn serve(
        &mut self,
        now: Instant,
        unit: usize,
        effect: Effect,
        bus: Option<&mut Line>,
        places: impl FnOnce(&Effect, u32) -> Vec<Sector>,
    ) -> Begun {
        let places = |cylinder| places(&effect, cylinder);
        let (mut at, mut crosses) = (None, false);
        let (done, placed) = match (bus, effect.action) {
            _ if self.dead => (now, None),
            (Some(bus), Action::Read { length, .. }) => {
                let (done, _) = self.work(now, effect, places);
                // As late as possible, so that the bus transfer ends together with the drive's
                // work.
                let early = done.since(now).nanoseconds().saturating_sub(bus.bus.time(length).nanoseconds());
                (at, crosses) = (Some(now + Duration::from_nanoseconds(early)), true);
                (done, None)
            }
            (Some(bus), action) if !crossing(action).is_zero() => {
                // Written data crosses the bus before the drive begins. In a read-modify-write, the
                // old data crosses in the other direction.
                let (from, crossed) = bus.carry(now, crossing(action));
                let (done, placed) = self.work(from, effect, places);
                (done.max(crossed), placed)
            }
            _ => self.work(now, effect, places),
        };
        self.serving[unit] = Some(Serving { since: now, done, effect, placed });
        Begun { unit: unit as u16, at: at.unwrap_or(done), crosses }
    }

    /// When the drive completes an access that it begins now, and the place that it chose.
    fn work(
        &mut self,
        now: Instant,
        effect: Effect,
        places: impl FnOnce(u32) -> Vec<Sector>,
    ) -> (Instant, Option<Sector>) {
        match &mut self.server {
            Server::Mechanical(drive) => {
                serve_mechanically(drive, now, effect.action, &mut self.tally.parts, places)
            }
            Server::Flat(flat) => {
                let may_choose = matches!(effect.action, Action::Write { .. });
                let placed = may_choose.then(|| places(0).into_iter().next()).flatten();
                (serve_flatly(flat, now, effect.action), placed)
            }
        }
    }
}

/// The sectors of an access that cross the bus before the drive begins.
fn crossing(action: Action) -> Sectors {
    match action {
        Action::Write { length, .. } => length,
        Action::ReadModifyWrite { length, .. } | Action::Float { length, .. } => length * 2,
        _ => Sectors::ZERO,
    }
}

/// The position at which an access begins. For a flush any position is right.
fn place(effect: Effect) -> Sector {
    effect.action.range().map_or(Sector::ZERO, |(at, _)| at)
}

/// The blocks of an access: the first, and how many.
fn blocks(effect: Effect) -> (u64, u64) {
    let (at, length) = effect.action.range().unwrap_or((Sector::ZERO, Sectors::new(1)));
    (at.get(), length.get())
}

/// When an access is done, and the place that the drive chose.
fn serve_mechanically(
    drive: &mut Drive,
    now: Instant,
    action: Action,
    spent: &mut Parts,
    places: impl FnOnce(u32) -> Vec<Sector>,
) -> (Instant, Option<Sector>) {
    let cylinder = drive.arm().cylinder;
    let mut placed = None;
    let (served, durable) = match action {
        Action::Read { at, length, .. } => (drive.serve(now, Way::Read, at.get(), length.get()), false),
        Action::Write { at, length, durable, .. } => {
            let places = places(cylinder);
            if places.is_empty() {
                (drive.serve(now, Way::Write, at.get(), length.get()), durable)
            } else {
                let places = places.into_iter().map(Sector::get);
                let (served, place) = drive.write_nearest(now, length.get(), places);
                placed = Some(Sector::new(place));
                (served, durable)
            }
        }
        Action::Zero { at, length, .. } => (drive.serve(now, Way::Write, at.get(), length.get()), false),
        Action::ReadModifyWrite { at, length, durable, .. } => {
            (drive.modify(now, at.get(), length.get()), durable)
        }
        Action::Float { at, length, durable, .. } => {
            let places = places(cylinder).into_iter().map(Sector::get);
            let (served, place) = drive.float(now, at.get(), length.get(), places);
            placed = Some(Sector::new(place));
            (served, durable)
        }
        _ => return (drive.flush(now), None),
    };
    let Served { done, parts, .. } = served;
    *spent += parts;
    // Data that is only in the drive's buffer is not durable.
    (if durable { drive.flush(done) } else { done }, placed)
}

fn serve_flatly(flat: &mut Flat, now: Instant, action: Action) -> Instant {
    match action {
        Action::Read { length, .. } => flat.serve(now, Way::Read, length.get()),
        Action::Write { length, .. } | Action::Zero { length, .. } => {
            flat.serve(now, Way::Write, length.get())
        }
        // This drive has no rotation, so a floating write stays in place.
        Action::ReadModifyWrite { length, .. } | Action::Float { length, .. } => {
            let read = flat.serve(now, Way::Read, length.get());
            flat.serve(read, Way::Write, length.get())
        }
        _ => flat.flush(now),
    }
}

#[cfg(test)]
mod tests {
    use parlour_array::EffectId;
    use parlour_drive::catalogue;

    use super::*;

    fn nowhere(_: &Effect, _: u32) -> Vec<Sector> {
        Vec::new()
    }

    fn member(name: &str) -> Member {
        let text = catalogue::find(name).expect("it is in the catalogue");
        let description = Description::parse(text).expect("it is a drive");
        Member::described(&description, Angle::default(), Discipline::Fcfs).expect("it is a drive")
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
            let begun = member("seagate-cheetah-9lp").take(
                Instant::ZERO,
                write(1, Class::Foreground, durable),
                None,
                nowhere,
            );
            begun.expect("it is idle").at.since(Instant::ZERO)
        };
        assert!(took(false) < Duration::from_millis(2), "{}", took(false));
        assert!(took(true) > Duration::from_millis(4), "{}", took(true));
    }

    fn read(number: u64, at: u64) -> Effect {
        let place = parlour_units::Member::new(0);
        let action = Action::Read { member: place, at: Sector::new(at), length: Sectors::new(8) };
        Effect { action, ..write(number, Class::Foreground, false) }
    }

    /// A member whose arm waits where it has read what `write` writes, while another access waits.
    fn held() -> (Member, Instant, u32, Instant) {
        let mut member = member("ibm-0661");
        let begun = member.take(Instant::ZERO, read(1, 600_000), None, nowhere).expect("it is idle");
        assert!(member.take(Instant::ZERO, read(2, 0), None, nowhere).is_none());
        let done = member.done(begun.at, begun.unit);
        let (number, until) = member.hold(begun.at, done.effect).expect("it has platters");
        (member, begun.at, number, until)
    }

    #[test]
    fn what_an_arm_waits_for_comes_before_what_waits_and_takes_a_turn() {
        let (mut member, read, number, until) = held();
        let shortly = read + Duration::from_micros(300);
        let begun = member.take(shortly, write(3, Class::Foreground, false), None, nowhere);
        let begun = begun.expect("the arm waits for it");
        assert!(begun.at <= until, "a turn after it was read: {:?}, {until:?}", begun.at);
        assert_eq!(member.done(begun.at, begun.unit).effect.id.get(), 3);
        assert!(!member.let_go(until, number), "it waits no more");
        assert_eq!(member.tally().busy, begun.at.since(Instant::ZERO), "an arm that waits is busy");
        assert!(member.go_on(begun.at, 0, None, nowhere).is_some());
    }

    #[test]
    fn an_arm_does_not_wait_longer_than_a_turn() {
        let (mut member, read, number, until) = held();
        assert_eq!(until.since(read), Duration::from_micros(13_900));
        assert!(member.take(read, read_elsewhere(), None, nowhere).is_none(), "others wait");
        assert!(member.let_go(until, number));
        let next = member.go_on(until, 0, None, nowhere).expect("two wait");
        assert_eq!(member.done(next.at, next.unit).effect.id.get(), 2);
    }

    fn read_elsewhere() -> Effect {
        read(4, 1_000)
    }

    #[test]
    fn people_come_first_where_that_is_wanted() {
        let next = |mut member: Member| {
            let begun =
                member.take(Instant::ZERO, write(1, Class::Log, false), None, nowhere).expect("it is idle");
            assert!(member.take(Instant::ZERO, write(2, Class::Log, false), None, nowhere).is_none());
            assert!(member.take(Instant::ZERO, write(3, Class::Foreground, false), None, nowhere).is_none());
            member.done(begun.at, begun.unit);
            let then = member.go_on(begun.at, begun.unit, None, nowhere).expect("others wait");
            member.done(then.at, then.unit).effect.id.get()
        };
        assert_eq!(next(member("ibm-0661")), 2);
        assert_eq!(next(member("ibm-0661").people_first()), 3);
    }
}
