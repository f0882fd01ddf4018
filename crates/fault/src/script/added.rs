//! Adds the faults that only some seeds have to the events that were drawn in order.

use parlour_array::Geometry;
use parlour_units::Duration;

use super::{Event, Extra, Return, What};
use crate::area::Area;
use crate::damage::{self, Damage};
use crate::options::Options;
use crate::random::Keyed;
use crate::request::{Ask, LONGEST_REQUEST, Range};
use crate::silent::{How, Silent};

/// Events that were added to those drawn in order have numbers from here.
const BESIDE: u64 = 1_000_000;
const LONGEST_ABSENCE_US: u64 = 60_000;
/// Long writes behind one another.
const ROW: u64 = 4;

/// Adds the faults that `seed` has.
pub(super) fn add_all(seed: u64, options: &Options, events: Vec<Event>) -> Vec<Event> {
    let mut added = Added { seed, slots: u64::from(options.slots()), events };
    if added.has(Extra::MetadataErrors) {
        added.add_metadata_errors();
    }
    if added.has(Extra::Returns) {
        added.add_returns();
    }
    if added.has(Extra::FailedFlushes) {
        added.add_failed_flushes();
    }
    if added.has(Extra::Silent) {
        added.add_silent_faults(&options.geometry());
    }
    if added.has(Extra::Damage) {
        added.add_damage(&options.geometry());
    }
    if added.has(Extra::Clones) {
        added.add_clones();
    }
    if added.has(Extra::Shortages) {
        added.add_shortages();
    }
    // Without a fence, the array does not look for other servers.
    if added.has(Extra::Rivals) && options.tuning.fence.is_some() {
        added.add_rivals();
    }
    if added.has(Extra::Lies) {
        added.add_lies();
    }
    if added.has(Extra::Rows) {
        added.add_rows(&options.geometry());
    }
    added.events
}

struct Added {
    seed: u64,
    slots: u64,
    events: Vec<Event>,
}

impl Added {
    fn has(&self, extra: Extra) -> bool {
        extra.is_in(self.seed)
    }

    fn keyed(&self, extra: Extra) -> Keyed {
        extra.keyed(self.seed)
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

    /// Adds one before the end of most sessions.
    fn add_metadata_errors(&mut self) {
        let (keyed, slots) = (self.keyed(Extra::MetadataErrors), self.slots);
        self.add_beside(BESIDE, |event| {
            let ends = matches!(event.what, What::Crash { .. } | What::Stop { .. });
            let slot = (keyed.of(&[2, event.number]) % slots) as u16;
            let errs = ends && !keyed.of(&[1, event.number]).is_multiple_of(3);
            errs.then_some(What::Metadata(slot, keyed.of(&[3, event.number])))
        });
    }

    /// Adds returns some time after members were lost or stayed away.
    fn add_returns(&mut self) {
        let keyed = self.keyed(Extra::Returns);
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

    /// Adds one before every tenth event.
    fn add_failed_flushes(&mut self) {
        let (keyed, slots) = (self.keyed(Extra::FailedFlushes), self.slots);
        self.add_beside(3 * BESIDE, |event| {
            let slot = (keyed.of(&[2, event.number]) % slots) as u16;
            keyed.of(&[1, event.number]).is_multiple_of(10).then_some(What::FlushFails(slot))
        });
    }

    /// Adds one before every fourth event.
    fn add_silent_faults(&mut self, geometry: &Geometry) {
        let (keyed, slots) = (self.keyed(Extra::Silent), self.slots);
        let areas = Area::all_of(geometry);
        self.add_beside(4 * BESIDE, |event| {
            let [when, slot, how, area, number] = [1, 2, 3, 4, 5].map(|name| keyed.of(&[name, event.number]));
            let how = How::ALL[(how % 3) as usize];
            let area = areas[(area % areas.len() as u64) as usize];
            let what = What::Silent((slot % slots) as u16, Silent { how, area, number });
            when.is_multiple_of(4).then_some(what)
        });
    }

    /// Adds one before most ends of a session, and before every twelfth event.
    fn add_damage(&mut self, geometry: &Geometry) {
        let (keyed, slots) = (self.keyed(Extra::Damage), self.slots);
        self.add_beside(5 * BESIDE, |event| {
            let [when, slot, number] = [1, 2, 3].map(|name| keyed.of(&[name, event.number]));
            let at_rest = matches!(event.what, What::Crash { .. } | What::Stop { .. });
            let what = damage::What::draw(geometry, keyed.of(&[4, event.number]));
            let damage = Damage { what, number, at_rest };
            let befalls = if at_rest { !when.is_multiple_of(3) } else { when.is_multiple_of(12) };
            befalls.then_some(What::Damage((slot % slots) as u16, damage))
        });
    }

    /// Adds a copy before every sixth event. Copies are used at stops.
    fn add_clones(&mut self) {
        let (keyed, slots) = (self.keyed(Extra::Clones), self.slots);
        self.add_beside(6 * BESIDE, |event| {
            let [when, slot] = [1, 2].map(|name| keyed.of(&[name, event.number]));
            match event.what {
                What::Stop { .. } => Some(What::PutClone(slot)),
                _ => when.is_multiple_of(6).then_some(What::Clone((slot % slots) as u16)),
            }
        });
    }

    /// Adds one before every tenth event.
    fn add_shortages(&mut self) {
        let (keyed, slots) = (self.keyed(Extra::Shortages), self.slots);
        self.add_beside(7 * BESIDE, |event| {
            let slot = (keyed.of(&[2, event.number]) % slots) as u16;
            let what = match keyed.of(&[3, event.number]) % 2 {
                0 => What::Starved(slot),
                _ => What::FullEverywhere(slot),
            };
            keyed.of(&[1, event.number]).is_multiple_of(10).then_some(what)
        });
    }

    /// Adds one before every thirtieth event.
    fn add_rivals(&mut self) {
        let keyed = self.keyed(Extra::Rivals);
        self.add_beside(9 * BESIDE, |event| {
            let comes = keyed.of(&[1, event.number]).is_multiple_of(30);
            comes.then_some(What::Rival(keyed.of(&[2, event.number])))
        });
    }

    /// Adds a row of long writes before every eighth event. Each is one or two stripes long.
    fn add_rows(&mut self, geometry: &Geometry) {
        let (keyed, block) = (self.keyed(Extra::Rows), geometry.block().get());
        let (stripe, capacity) = (geometry.layout().stripe_data().get(), geometry.capacity().get());
        if stripe * 2 > LONGEST_REQUEST {
            return;
        }
        for event in std::mem::take(&mut self.events) {
            let Event { number, at: when, .. } = event;
            let mut at = keyed.of(&[2, number]) % (capacity / block) * block;
            for index in 0..ROW {
                let [more, durable] = [3, 4].map(|name| keyed.of(&[name, number, index]));
                let length = stripe.next_multiple_of(block) + more % (stripe / block) * block;
                if !keyed.of(&[1, number]).is_multiple_of(8) || at + length > capacity {
                    break;
                }
                let ask = Ask::Write { durable: durable.is_multiple_of(4) };
                let what = What::Host(ask, Range { at, length });
                self.events.push(Event { number: number + (10 + index) * BESIDE, at: when, what });
                at += length;
            }
            self.events.push(event);
        }
    }

    /// Adds one before every twelfth event.
    fn add_lies(&mut self) {
        let (keyed, slots) = (self.keyed(Extra::Lies), self.slots);
        self.add_beside(8 * BESIDE, |event| {
            let slot = (keyed.of(&[2, event.number]) % slots) as u16;
            keyed.of(&[1, event.number]).is_multiple_of(12).then_some(What::FlushesLie(slot))
        });
    }
}
