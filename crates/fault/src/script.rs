//! What will happen: hosts' requests and faults, drawn from the seed before anything runs. An event
//! that is taken out leaves the others as they were, so that a failing script can be made shorter.

use std::fmt;

use parlour_units::Duration;

use crate::coverage::Fault;
use crate::damage::{self, Damage};
use crate::options::{Load, Options};
use crate::oracle::Range;
use crate::random::{Keyed, Random};
use crate::run::Limits;
use crate::silent::{Area, How, Silent};

/// A run: an array and what happens to it.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    pub(crate) options: Options,
    pub(crate) events: Vec<Event>,
}

/// Something that happens at a time. The clock of events stands still while the array is given time
/// to come to rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) at: Duration,
    pub(crate) what: What,
}

/// What a host asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Read,
    Write { durable: bool },
    Zero { may_unmap: bool, fast_only: bool, durable: bool },
    Trim,
    Flush,
}

/// How members come back when the array is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    All,
    /// All but one, of which something else is the matter.
    But(Fault, u16),
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Host(Ask, Range),
    /// The array is gone at once, and opened again; then all of it is read, or not.
    Crash {
        power: bool,
        read: bool,
    },
    /// The array is stopped, perhaps loses power then, and is opened again.
    Stop {
        power: bool,
        back: Return,
    },
    /// A slot loses its member.
    Lose(Fault, u16),
    Replace(u16),
    /// Who was away from a slot comes back.
    Back(u16),
    Spare,
    /// A sector of a member's data area becomes unreadable.
    Latent(u16, u64),
    /// A sector of a member's metadata becomes unreadable; the number says which.
    Metadata(u16, u64),
    Transient(u16),
    /// The next flush of a member fails.
    FlushFails(u16),
    /// All flushes of a member are answered, and make nothing durable.
    FlushesLie(u16),
    /// The next access of a member finds the system without what it takes.
    Starved(u16),
    /// A member has no room, not for logs and metadata either.
    FullEverywhere(u16),
    Slow(u16),
    /// The next write of a kind to a member goes wrong, and is answered as done.
    Silent(u16, Silent),
    /// Another server opens the array, and writes a block: the number says which.
    Rival(u64),
    /// Somebody copies a member that is being used.
    Clone(u16),
    /// One of the copies is put in its member's slot when the array has been stopped next; the
    /// number says which.
    PutClone(u64),
    /// Metadata of a member, or a log on it, rots.
    Damage(u16, Damage),
    Scrub {
        repair: bool,
    },
    Full(u16),
    Rot(u64),
    /// The array comes to rest, and all is checked; what is missing may be replaced before.
    Rest {
        heal: bool,
    },
    /// The array comes to rest. Where every cut is tried.
    Quiet,
    /// From here on every cut is tried.
    Watch,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.nanoseconds() as f64 / 1e6;
        write!(f, "{at:>10.3} ms  #{:<4} ", self.number)?;
        match self.what {
            What::Host(Ask::Flush, _) => write!(f, "host: flush"),
            What::Host(ask, Range { at, length }) => write!(f, "host: {ask} {length} at {at}"),
            What::Crash { power, .. } => write!(f, "{}", if power { "power is cut" } else { "killed" }),
            What::Stop { power, back } => {
                let then = if power { ", power cut" } else { "" };
                match back {
                    Return::All => write!(f, "stop{then}, open"),
                    Return::But(fault, slot) => write!(f, "stop{then}, open: {} at {slot}", fault.name()),
                }
            }
            What::Lose(fault, slot) => write!(f, "{} of member {slot}", fault.name()),
            What::Replace(slot) => write!(f, "replace member {slot}"),
            What::Spare => write!(f, "add a spare"),
            What::Latent(slot, sector) => write!(f, "member {slot} cannot read data sector {sector}"),
            What::Back(slot) => write!(f, "member {slot} is back"),
            What::Metadata(slot, _) => write!(f, "member {slot} cannot read a sector of its metadata"),
            What::Transient(slot) => write!(f, "the next read of member {slot} fails"),
            What::FlushFails(slot) => write!(f, "the next flush of member {slot} fails"),
            What::Silent(slot, silent) => write!(f, "of member {slot}, {silent}"),
            What::Damage(slot, damage) => write!(f, "of member {slot}, {damage}"),
            What::FlushesLie(slot) => {
                write!(f, "flushes of member {slot} make nothing durable from here on")
            }
            What::Starved(slot) => {
                write!(f, "the system lacks what the next access of member {slot} takes")
            }
            What::FullEverywhere(slot) => write!(f, "member {slot} has no room, not for metadata either"),
            What::Rival(_) => write!(f, "another server opens the array"),
            What::Clone(slot) => write!(f, "member {slot} is copied"),
            What::PutClone(_) => write!(f, "a copy takes its member's slot when the array is stopped next"),
            What::Slow(slot) => write!(f, "member {slot} becomes slow"),
            What::Scrub { repair } => write!(f, "scrub{}", if repair { ", repairing" } else { "" }),
            What::Full(slot) => write!(f, "member {slot} has no room"),
            What::Rot(_) => write!(f, "a unit rots"),
            What::Rest { heal } => write!(f, "rest{}", if heal { ", all members whole" } else { "" }),
            What::Quiet => write!(f, "quiet"),
            What::Watch => write!(f, "cuts from here on"),
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ask::Read => "read",
            Ask::Write { durable: false } => "write",
            Ask::Write { durable: true } => "write durably",
            Ask::Zero { .. } => "zero",
            Ask::Trim => "trim",
            Ask::Flush => "flush",
        })
    }
}

impl Script {
    /// Draws what `seed` stands for.
    pub(crate) fn draw(seed: u64, limits: &Limits) -> Script {
        let mut random = Random::new(seed);
        let options = Options::draw(&mut random, limits.organization, limits.consistency);
        let geometry = options.geometry();
        let mut draw = Draw {
            capacity: geometry.capacity().get(),
            block: options.creation.block.get(),
            members: options.creation.members,
            data: geometry.stored().layout.length,
            load: options.load.clone(),
            taste: [(); KINDS].map(|()| random.pick(&[0, 1, 1, 3])),
            at: Duration::ZERO,
            events: Vec::new(),
            random,
        };
        draw.events(limits);
        let mut script = Script { seed, options, events: draw.events };
        if script.has_more() {
            script.add_metadata_errors();
        }
        if script.has_returns() {
            script.add_returns();
        }
        if script.has_failed_flushes() {
            script.add_failed_flushes();
        }
        if script.has_silent_faults() {
            script.add_silent_faults();
        }
        if script.has_damage() {
            script.add_damage();
        }
        if script.has_clones() {
            script.add_clones();
        }
        if script.has_shortages() {
            script.add_shortages();
        }
        if script.has_rivals() {
            script.add_rivals();
        }
        if script.has_lies() {
            script.add_lies();
        }
        script
    }
}

impl Script {
    /// Whether more befalls the array than what is drawn in order: sectors of metadata cannot be
    /// read, and former members come back as new ones.
    pub(crate) fn has_more(&self) -> bool {
        Keyed::new(self.seed ^ MORE).of(&[0]).is_multiple_of(8)
    }

    /// Whether members that were away come back.
    pub(crate) fn has_returns(&self) -> bool {
        Keyed::new(self.seed ^ RETURNS).of(&[0]).is_multiple_of(4)
    }

    /// Whether members that do not answer, or are excluded, are given up: their accesses are
    /// answered at once, and what they were to write may land later.
    pub(crate) fn gives_up(&self) -> bool {
        Keyed::new(self.seed ^ GIVING_UP).of(&[0]).is_multiple_of(8)
    }

    /// Whether flushes fail.
    fn has_failed_flushes(&self) -> bool {
        Keyed::new(self.seed ^ FLUSHES).of(&[0]).is_multiple_of(8)
    }

    /// Before every tenth event.
    fn add_failed_flushes(&mut self) {
        let keyed = Keyed::new(self.seed ^ FLUSHES);
        let members = u64::from(self.options.creation.members);
        self.add_beside(3 * BESIDE, |event| {
            let slot = (keyed.of(&[2, event.number]) % members) as u16;
            keyed.of(&[1, event.number]).is_multiple_of(10).then_some(What::FlushFails(slot))
        });
    }

    /// Whether writes go wrong and are answered as done.
    pub(crate) fn has_silent_faults(&self) -> bool {
        Keyed::new(self.seed ^ SILENT).of(&[0]).is_multiple_of(8)
    }

    /// Before every fourth event.
    fn add_silent_faults(&mut self) {
        let keyed = Keyed::new(self.seed ^ SILENT);
        let members = u64::from(self.options.creation.members);
        let areas = Area::all_of(&self.options.geometry());
        self.add_beside(4 * BESIDE, |event| {
            let [when, slot, how, area, number] = [1, 2, 3, 4, 5].map(|name| keyed.of(&[name, event.number]));
            let how = How::ALL[(how % 3) as usize];
            let area = areas[(area % areas.len() as u64) as usize];
            let what = What::Silent((slot % members) as u16, Silent { how, area, number });
            when.is_multiple_of(4).then_some(what)
        });
    }

    /// Whether metadata rots.
    pub(crate) fn has_damage(&self) -> bool {
        Keyed::new(self.seed ^ DAMAGE).of(&[0]).is_multiple_of(8)
    }

    /// Before most ends of a session, and every twelfth event.
    fn add_damage(&mut self) {
        let keyed = Keyed::new(self.seed ^ DAMAGE);
        let members = u64::from(self.options.creation.members);
        let geometry = self.options.geometry();
        self.add_beside(5 * BESIDE, |event| {
            let [when, slot, number] = [1, 2, 3].map(|name| keyed.of(&[name, event.number]));
            let at_rest = matches!(event.what, What::Crash { .. } | What::Stop { .. });
            let what = damage::What::draw(&geometry, keyed.of(&[4, event.number]));
            let damage = Damage { what, number, at_rest };
            let befalls = if at_rest { !when.is_multiple_of(3) } else { when.is_multiple_of(12) };
            befalls.then_some(What::Damage((slot % members) as u16, damage))
        });
    }

    /// Whether members are copied, and the copies put in their slots.
    pub(crate) fn has_clones(&self) -> bool {
        Keyed::new(self.seed ^ CLONES).of(&[0]).is_multiple_of(16)
    }

    /// Copies before every sixth event; they are used at stops.
    fn add_clones(&mut self) {
        let keyed = Keyed::new(self.seed ^ CLONES);
        let members = u64::from(self.options.creation.members);
        self.add_beside(6 * BESIDE, |event| {
            let [when, slot] = [1, 2].map(|name| keyed.of(&[name, event.number]));
            match event.what {
                What::Stop { .. } => Some(What::PutClone(slot)),
                _ => when.is_multiple_of(6).then_some(What::Clone((slot % members) as u16)),
            }
        });
    }

    /// Whether members have no room for anything, and the system lacks memory.
    fn has_shortages(&self) -> bool {
        Keyed::new(self.seed ^ SHORTAGES).of(&[0]).is_multiple_of(16)
    }

    /// Before every tenth event.
    fn add_shortages(&mut self) {
        let keyed = Keyed::new(self.seed ^ SHORTAGES);
        let members = u64::from(self.options.creation.members);
        self.add_beside(7 * BESIDE, |event| {
            let slot = (keyed.of(&[2, event.number]) % members) as u16;
            let what = match keyed.of(&[3, event.number]) % 2 {
                0 => What::Starved(slot),
                _ => What::FullEverywhere(slot),
            };
            keyed.of(&[1, event.number]).is_multiple_of(10).then_some(what)
        });
    }

    /// Whether other servers open the array, where that is looked for.
    fn has_rivals(&self) -> bool {
        let drawn = Keyed::new(self.seed ^ RIVALS).of(&[0]).is_multiple_of(8);
        drawn && self.options.tuning.fence.is_some()
    }

    /// Before every thirtieth event.
    fn add_rivals(&mut self) {
        let keyed = Keyed::new(self.seed ^ RIVALS);
        self.add_beside(9 * BESIDE, |event| {
            let comes = keyed.of(&[1, event.number]).is_multiple_of(30);
            comes.then_some(What::Rival(keyed.of(&[2, event.number])))
        });
    }

    /// Whether flushes lie.
    fn has_lies(&self) -> bool {
        Keyed::new(self.seed ^ LIES).of(&[0]).is_multiple_of(16)
    }

    /// Before every twelfth event.
    fn add_lies(&mut self) {
        let keyed = Keyed::new(self.seed ^ LIES);
        let members = u64::from(self.options.creation.members);
        self.add_beside(8 * BESIDE, |event| {
            let slot = (keyed.of(&[2, event.number]) % members) as u16;
            keyed.of(&[1, event.number]).is_multiple_of(12).then_some(What::FlushesLie(slot))
        });
    }

    /// Adds what `beside` says before events, under names from `numbers` on.
    fn add_beside(&mut self, numbers: u64, beside: impl Fn(&Event) -> Option<What>) {
        let mut events = Vec::with_capacity(self.events.len());
        for event in std::mem::take(&mut self.events) {
            let what = beside(&event);
            events.extend(what.map(|what| Event { number: event.number + numbers, at: event.at, what }));
            events.push(event);
        }
        self.events = events;
    }

    /// Some time after members were lost, or stayed away.
    fn add_returns(&mut self) {
        let keyed = Keyed::new(self.seed ^ RETURNS);
        let back = |event: &Event| {
            let slot = match event.what {
                What::Lose(_, slot) | What::Stop { back: Return::But(_, slot), .. } => slot,
                _ => return None,
            };
            let later = Duration::from_micros(keyed.of(&[1, event.number]) % LONGEST_ABSENCE_US);
            Some(Event { number: event.number + 2 * BESIDE, at: event.at + later, what: What::Back(slot) })
        };
        let returns: Vec<Event> = self.events.iter().filter_map(back).collect();
        self.events.extend(returns);
        self.events.sort_by_key(|event| (event.at, event.number));
    }

    /// One before the end of most sessions.
    fn add_metadata_errors(&mut self) {
        let keyed = Keyed::new(self.seed ^ MORE);
        let members = u64::from(self.options.creation.members);
        self.add_beside(BESIDE, |event| {
            let ends = matches!(event.what, What::Crash { .. } | What::Stop { .. });
            let slot = (keyed.of(&[2, event.number]) % members) as u16;
            let errs = ends && !keyed.of(&[1, event.number]).is_multiple_of(3);
            errs.then_some(What::Metadata(slot, keyed.of(&[3, event.number])))
        });
    }
}

/// Names the seeds that have more: none of those that stories were told of before there was any.
const MORE: u64 = 107;
/// Names the seeds in which members come back: none of those either.
const RETURNS: u64 = 179_535;
/// Names the seeds in which flushes fail: none of those either.
const FLUSHES: u64 = 200_185;
/// Names the seeds in which members are given up: none of those either.
const GIVING_UP: u64 = 337_312;
/// Names the seeds in which writes go wrong silently: none of those either.
const SILENT: u64 = 400_121;
/// Names the seeds in which metadata rots: none of those either.
const DAMAGE: u64 = 416_196;
/// Names the seeds in which copies of members are used: none of those either.
const CLONES: u64 = 500_229;
/// Names the seeds in which there is no room for anything, or too little memory: none of those
/// either.
const SHORTAGES: u64 = 500_440;
/// Names the seeds in which flushes lie: none of those either.
const LIES: u64 = 500_745;
/// Names the seeds in which other servers open the array: none of those either.
const RIVALS: u64 = 434_334;
const LONGEST_ABSENCE_US: u64 = 60_000;
/// Events beside those that were drawn in order have numbers from here.
const BESIDE: u64 = 1_000_000;

/// Kinds of faults, and what goes with them, that a swarm may leave out.
const KINDS: usize = 15;

struct Draw {
    capacity: u64,
    block: u64,
    members: u16,
    data: u64,
    load: Load,
    taste: [u64; KINDS],
    at: Duration,
    events: Vec<Event>,
    random: Random,
}

impl Draw {
    fn events(&mut self, limits: &Limits) {
        let mut requests = 0;
        while requests < limits.requests {
            let longest = self.random.pick(&[4, 40, 40]);
            let burst = 1 + self.random.below(longest);
            for _ in 0..burst {
                self.wait();
                let (ask, range) = self.request();
                self.push(What::Host(ask, range));
            }
            requests += burst;
            if self.random.chance(6) {
                self.at = self.at + Duration::from_millis(self.random.below(6_000));
            }
            self.wait();
            let what = self.fault();
            self.push(what);
            // Faults on faults: what a lone fault finds right may be wrong in the middle of
            // another.
            while self.random.chance(3) {
                let longest = 1 << self.random.below(16);
                self.at = self.at + Duration::from_micros(self.random.below(longest));
                let what = self.fault();
                self.push(what);
            }
        }
    }

    fn push(&mut self, what: What) {
        let number = self.events.len() as u64;
        self.events.push(Event { number, at: self.at, what });
    }

    fn wait(&mut self) {
        let gap = self.random.below(self.load.gap.nanoseconds() * 2 + 1);
        // Several at once, now and then.
        if !self.random.chance(4) {
            self.at = self.at + Duration::from_nanoseconds(gap);
        }
    }

    fn request(&mut self) -> (Ask, Range) {
        let mix = self.load.mix;
        let durable = self.random.chance(4);
        let ask = match self.random.weighted(&mix) {
            0 => Ask::Read,
            1 => Ask::Write { durable: false },
            2 => Ask::Write { durable: true },
            3 => Ask::Zero { may_unmap: self.random.chance(2), fast_only: self.random.chance(8), durable },
            4 => Ask::Trim,
            _ => return (Ask::Flush, Range { at: 0, length: 0 }),
        };
        (ask, self.range())
    }

    fn range(&mut self) -> Range {
        let blocks = self.capacity / self.block;
        let length = match self.random.below(8) {
            0 => 1 + self.random.below(self.load.long),
            _ => 1 + self.random.below(self.load.short),
        };
        let length = length.min(blocks);
        let reach = match self.random.below(4) {
            0 => blocks - length + 1,
            _ => (self.load.hot / self.block).clamp(1, blocks - length + 1),
        };
        Range { at: self.random.below(reach) * self.block, length: length * self.block }
    }

    fn fault(&mut self) -> What {
        let slot = self.random.below(u64::from(self.members)) as u16;
        let yes = self.random.chance(2);
        match self.random.weighted(&self.taste) {
            0 | 1 => What::Crash { power: self.random.below(3) > 0, read: yes },
            2 => What::Stop { power: yes, back: Return::All },
            3 => What::Stop { power: yes, back: Return::But(self.absence(), slot) },
            4 | 5 => What::Lose(self.random.pick(&[Fault::Death, Fault::Exclusion, Fault::Hang]), slot),
            6 | 7 => What::Replace(slot),
            8 => What::Spare,
            9 => What::Latent(slot, self.sector()),
            10 => What::Transient(slot),
            11 if self.random.chance(3) => What::Full(slot),
            11 => What::Slow(slot),
            12 => What::Scrub { repair: yes },
            13 => What::Rest { heal: yes },
            _ if self.random.chance(3) => What::Rot(self.random.next()),
            _ => What::Replace(slot),
        }
    }

    fn absence(&mut self) -> Fault {
        let kinds = [Fault::Absence, Fault::Absence, Fault::ForeignMember, Fault::WipedMember];
        if self.random.chance(5) { Fault::TruncatedMember } else { self.random.pick(&kinds) }
    }

    /// Where hosts write is more interesting than elsewhere.
    fn sector(&mut self) -> u64 {
        let reach = if self.random.chance(3) { self.data } else { (self.load.hot * 2).min(self.data) };
        self.random.below(reach)
    }
}
