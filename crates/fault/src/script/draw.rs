//! Draws the script of a seed.

use parlour_units::Duration;

use super::added::add_all;
use super::{Event, Return, Script, What};
use crate::coverage::Fault;
use crate::limits::Limits;
use crate::options::{Load, Options};
use crate::random::Random;
use crate::request::{Ask, Range};

/// Draws the script of `seed`.
pub(crate) fn draw(seed: u64, limits: &Limits) -> Script {
    let mut random = Random::new(seed);
    let options = Options::draw(&mut random, limits.organization, limits.consistency);
    let geometry = options.geometry();
    let mut draw = Draw {
        capacity: geometry.capacity().get(),
        block: options.creation.block.get(),
        slots: options.slots(),
        data: geometry.stored().layout.length,
        load: options.load.clone(),
        taste: [(); KINDS].map(|()| random.pick(&[0, 1, 1, 3])),
        at: Duration::ZERO,
        events: Vec::new(),
        random,
    };
    draw.events(limits);
    let events = add_all(seed, &options, draw.events);
    Script::new(seed, options, events)
}

/// The kinds of faults, and of other events with them, that a seed may leave out.
const KINDS: usize = 15;

struct Draw {
    capacity: u64,
    block: u64,
    slots: u16,
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
            _ => return (Ask::Flush, Range::NONE),
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
        let slot = self.random.below(u64::from(self.slots)) as u16;
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
