//! The script of a run: hosts' requests and faults, drawn from the seed before the run. Removing an
//! event does not change the others, so a failing script can be shortened.

use std::fmt;

use parlour_units::Duration;

use crate::coverage::Fault;
use crate::damage::{self, Damage};
use crate::options::{Load, Options};
use crate::oracle::Range;
use crate::random::{Keyed, Random};
use crate::run::Limits;
use crate::silent::{Area, How, Silent};

/// A run: an array and its events.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    pub(crate) options: Options,
    pub(crate) events: Vec<Event>,
}

/// An event at a time. The clock of events stops while the array is given time to come to rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) number: u64,
    pub(crate) at: Duration,
    pub(crate) what: What,
}

/// A host's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Read,
    Write { durable: bool },
    Zero { may_unmap: bool, fast_only: bool, durable: bool },
    Trim,
    Flush,
}

/// The way in which members return when the array is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    All,
    /// All members except one, which has another fault.
    But(Fault, u16),
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Host(Ask, Range),
    /// The array crashes and is opened again. Then all data is read, if `read`.
    Crash {
        power: bool,
        read: bool,
    },
    /// The array is stopped, loses power if `power`, and is opened again.
    Stop {
        power: bool,
        back: Return,
    },
    /// A slot loses its member.
    Lose(Fault, u16),
    Replace(u16),
    /// A missing member of a slot returns.
    Back(u16),
    Spare,
    /// A sector of a member's data area becomes unreadable.
    Latent(u16, u64),
    /// A sector of a member's metadata becomes unreadable; the number selects the sector.
    Metadata(u16, u64),
    Transient(u16),
    /// The next flush of a member fails.
    FlushFails(u16),
    /// All flushes of a member are reported as done, but make nothing durable.
    FlushesLie(u16),
    /// The system lacks a resource for the next access of a member.
    Starved(u16),
    /// A member has no space for data, logs or metadata.
    FullEverywhere(u16),
    Slow(u16),
    /// The next write of a kind to a member has a silent fault.
    Silent(u16, Silent),
    /// Another server opens the array, and writes a block; the number selects the block.
    Rival(u64),
    /// A member is copied while the array is served.
    Clone(u16),
    /// After the next stop, one of the copies is put into its member's slot; the number selects the
    /// copy.
    PutClone(u64),
    /// Metadata of a member, or a log on it, is damaged.
    Damage(u16, Damage),
    Scrub {
        repair: bool,
    },
    Full(u16),
    Rot(u64),
    /// The array comes to rest, and all checks are done. Missing members are replaced before, if
    /// `heal`.
    Rest {
        heal: bool,
    },
    /// The array comes to rest. Used by the exhaustive check.
    Quiet,
    /// From here on every cut is tried. Used by the exhaustive check.
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
    /// Draws the script of `seed`.
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
    /// Whether there are further faults: unreadable sectors of metadata, and former members used as
    /// new ones.
    pub(crate) fn has_more(&self) -> bool {
        Keyed::new(self.seed ^ MORE).of(&[0]).is_multiple_of(8)
    }

    /// Whether missing members return.
    pub(crate) fn has_returns(&self) -> bool {
        Keyed::new(self.seed ^ RETURNS).of(&[0]).is_multiple_of(4)
    }

    /// Whether members that do not answer or are excluded are given up: their accesses are reported
    /// as failed at once, and their writes may be carried out later.
    pub(crate) fn gives_up(&self) -> bool {
        Keyed::new(self.seed ^ GIVING_UP).of(&[0]).is_multiple_of(8)
    }

    /// Whether flushes fail.
    fn has_failed_flushes(&self) -> bool {
        Keyed::new(self.seed ^ FLUSHES).of(&[0]).is_multiple_of(8)
    }

    /// Adds one before every tenth event.
    fn add_failed_flushes(&mut self) {
        let keyed = Keyed::new(self.seed ^ FLUSHES);
        let members = u64::from(self.options.creation.members);
        self.add_beside(3 * BESIDE, |event| {
            let slot = (keyed.of(&[2, event.number]) % members) as u16;
            keyed.of(&[1, event.number]).is_multiple_of(10).then_some(What::FlushFails(slot))
        });
    }

    /// Whether writes have silent faults.
    pub(crate) fn has_silent_faults(&self) -> bool {
        Keyed::new(self.seed ^ SILENT).of(&[0]).is_multiple_of(8)
    }

    /// Adds one before every fourth event.
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

    /// Whether metadata is damaged.
    pub(crate) fn has_damage(&self) -> bool {
        Keyed::new(self.seed ^ DAMAGE).of(&[0]).is_multiple_of(8)
    }

    /// Adds one before most ends of a session, and before every twelfth event.
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

    /// Whether members are copied and the copies put into their slots.
    pub(crate) fn has_clones(&self) -> bool {
        Keyed::new(self.seed ^ CLONES).of(&[0]).is_multiple_of(16)
    }

    /// Adds a copy before every sixth event. Copies are used at stops.
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

    /// Whether members have no space for anything, and the system lacks memory.
    fn has_shortages(&self) -> bool {
        Keyed::new(self.seed ^ SHORTAGES).of(&[0]).is_multiple_of(16)
    }

    /// Adds one before every tenth event.
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

    /// Whether other servers open the array, if the array has a fence.
    fn has_rivals(&self) -> bool {
        let drawn = Keyed::new(self.seed ^ RIVALS).of(&[0]).is_multiple_of(8);
        drawn && self.options.tuning.fence.is_some()
    }

    /// Adds one before every thirtieth event.
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

    /// Adds one before every twelfth event.
    fn add_lies(&mut self) {
        let keyed = Keyed::new(self.seed ^ LIES);
        let members = u64::from(self.options.creation.members);
        self.add_beside(8 * BESIDE, |event| {
            let slot = (keyed.of(&[2, event.number]) % members) as u16;
            keyed.of(&[1, event.number]).is_multiple_of(12).then_some(What::FlushesLie(slot))
        });
    }

    /// Adds the events of `beside` before other events, with numbers from `numbers` on.
    fn add_beside(&mut self, numbers: u64, beside: impl Fn(&Event) -> Option<What>) {
        let mut events = Vec::with_capacity(self.events.len());
        for event in std::mem::take(&mut self.events) {
            let what = beside(&event);
            events.extend(what.map(|what| Event { number: event.number + numbers, at: event.at, what }));
            events.push(event);
        }
        self.events = events;
    }

    /// Adds returns some time after members were lost or stayed away.
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

    /// Adds one before the end of most sessions.
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

/// The key of the seeds with further faults. It was chosen so that no seed that was used in
/// `stories.rs` before these faults existed has them.
const MORE: u64 = 107;
/// The key of the seeds in which members return, chosen in the same way.
const RETURNS: u64 = 179_535;
/// The key of the seeds in which flushes fail, chosen in the same way.
const FLUSHES: u64 = 200_185;
/// The key of the seeds in which members are given up, chosen in the same way.
const GIVING_UP: u64 = 337_312;
/// The key of the seeds in which writes have silent faults, chosen in the same way.
const SILENT: u64 = 400_121;
/// The key of the seeds in which metadata is damaged, chosen in the same way.
const DAMAGE: u64 = 416_196;
/// The key of the seeds in which copies of members are used, chosen in the same way.
const CLONES: u64 = 500_229;
/// The key of the seeds in which there is no space for anything or too little memory, chosen in the
/// same way.
const SHORTAGES: u64 = 500_440;
/// The key of the seeds in which flushes lie, chosen in the same way.
const LIES: u64 = 500_745;
/// The key of the seeds in which other servers open the array, chosen in the same way.
const RIVALS: u64 = 434_334;
const LONGEST_ABSENCE_US: u64 = 60_000;
/// Events that were added to those drawn in order have numbers from here.
const BESIDE: u64 = 1_000_000;

/// The kinds of faults, and of other events with them, that a seed may leave out.
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
            // Further faults follow, because handling one fault may fail in the middle of another.
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
        // Sometimes several requests come at once.
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

    /// Faults are more useful where hosts write.
    fn sector(&mut self) -> u64 {
        let reach = if self.random.chance(3) { self.data } else { (self.load.hot * 2).min(self.data) };
        self.random.below(reach)
    }
}
