//! An array with some lost blocks.

use std::collections::BTreeSet;

use parlour_array::RequestError;
use parlour_units::{Sectors, Stripe, Unit};

use crate::common::{Random, SEED, Setup, World, payload};

/// The stripe and the column with the unreadable sector.
pub(crate) const STRIPE: u64 = 5;
pub(crate) const COLUMN: u64 = 3;
/// The number of stripes that are written and checked.
pub(crate) const STRIPES: u64 = 12;

pub(crate) fn setups() -> Vec<Setup> {
    let mut blocks = Setup::named("raid5", 4);
    blocks.block = 8;
    let raid5 = Setup::named("raid5", 4);
    let mut all =
        vec![Setup::named("raid1", 2), raid5, blocks, Setup::named("parity-logging", 4), Setup::logged(4)];
    for setup in &mut all {
        setup.member_length = 3 * 2_048;
        // What is written is in the logs soon.
        setup.tuning.log_flush = Some(parlour_array::LogFlush::WhenFull);
    }
    all
}

/// What is unreadable when a log is reintegrated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Parity,
    Segment,
    /// Both headers of a segment, when the array is opened.
    Headers,
}

/// An array with known content, a part of which cannot be computed any more.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) content: Vec<u8>,
    /// Sectors of the array that are lost.
    pub(crate) lost: BTreeSet<u64>,
}

/// An array with known content, and no records outside its parity.
fn full(setup: &Setup) -> (World, Vec<u8>) {
    let mut world = World::new(setup, SEED);
    let content = payload(&mut Random(7), world.array.geometry().layout().stripe_data().get() * STRIPES);
    for (index, part) in content.chunks(64 * 512).enumerate() {
        world.write_now(index as u64 * 64, part).unwrap();
    }
    world.do_now(parlour_array::Operation::Flush, 0, 0, None).0.unwrap();
    (world.restart(), content)
}

/// Writes to all stripes, and continues until the log holds enough.
fn write_records(world: &mut World, content: &mut [u8], unreadable: Unreadable) {
    let setup = world.setup.clone();
    let (step, least) = match unreadable {
        Unreadable::Parity => (setup.unit, 1),
        // More than one segment holds.
        _ => (setup.block, 2 * setup.log.segment.expect("it has logs").get()),
    };
    let places = (0..content.len() as u64 / 512).step_by(step as usize);
    let written = places.clone().count();
    for (count, at) in places.cycle().enumerate() {
        if count >= written && world.array.status().log.expect("it has logs").live_records >= least {
            break;
        }
        let new = payload(&mut Random(count as u64), setup.block);
        content[at as usize * 512..][..new.len()].copy_from_slice(&new);
        world.write_now(at, &new).unwrap();
    }
}

impl Scene {
    /// One sector of a unit cannot be read, and the member with another unit of its stripe
    /// (`second`) is replaced.
    pub(crate) fn new(setup: &Setup, second: u16) -> Scene {
        Scene::disturbed(setup, second, |_, _| ())
    }

    /// The same; `disturb` gets the array, and the slot of the unit that cannot be read, before the
    /// rebuild goes on.
    pub(crate) fn disturbed(setup: &Setup, second: u16, disturb: impl FnOnce(&mut World, u16)) -> Scene {
        let (mut world, content) = full(setup);
        let geometry = world.array.geometry().clone();
        let layout = geometry.layout();
        let first = layout.locate(Stripe::new(STRIPE), Unit::new(0));
        let bad = geometry.data_start() + first.at.from_start() + Sectors::new(COLUMN);
        world.disk_at(first.slot.get()).unreadable.insert(bad.get());
        world.replace(layout.locate(Stripe::new(STRIPE), Unit::new(second)).slot.get());
        disturb(&mut world, first.slot.get());
        world
            .settle_until(|world| world.array.status().members.iter().all(|member| member.state == "active"));
        let data = u64::from(layout.data_units());
        let from = COLUMN / setup.block * setup.block;
        let units = [0, u64::from(second)].into_iter().filter(|unit| *unit < data);
        let at = |unit: u64| layout.stripe_data().get() * STRIPE + unit * setup.unit;
        let lost =
            units.flat_map(|unit| (0..setup.block).map(move |sector| at(unit) + from + sector)).collect();
        Scene { world, content, lost }
    }

    /// Some records are in a log. A part of that log cannot be read, or a sector of the parity into
    /// which it is still to be folded. The member with a unit of that parity's stripe, and no part
    /// of the log, is gone.
    pub(crate) fn behind_log(mut setup: Setup, unreadable: Unreadable) -> Scene {
        let segment = setup.log.segment.expect("it has logs");
        if unreadable != Unreadable::Parity {
            // Segments must not stay in memory.
            setup.tuning.log_memory = segment * 2;
        }
        let (mut world, mut content) = full(&setup);
        write_records(&mut world, &mut content, unreadable);
        let geometry = world.array.geometry().clone();
        let layout = geometry.layout();
        let stripe = Stripe::new(STRIPE);
        let log = layout.sublog_at(layout.region_of(stripe).0, 0, 0).expect("there are logs");
        let parity = layout.locate(stripe, Unit::new(layout.data_units()));
        let header = geometry.log_header_length().expect("there are logs");
        let bad = match unreadable {
            Unreadable::Parity => vec![(parity, Sectors::ZERO)],
            Unreadable::Segment => vec![(log, header)],
            Unreadable::Headers => vec![(log, Sectors::ZERO), (log, segment - header)],
        };
        for (location, offset) in bad {
            let sector = geometry.data_start() + location.at.from_start() + offset;
            world.disk_at(location.slot.get()).unreadable.insert(sector.get());
        }
        let holds_no_log = |unit: &u16| layout.locate(stripe, Unit::new(*unit)).slot != log.slot;
        let unit = (0..layout.data_units()).find(holds_no_log).expect("one of several units");
        let missing = layout.locate(stripe, Unit::new(unit)).slot;
        if unreadable == Unreadable::Headers {
            world.stop();
            world.disk_at(missing.get()).dead = true;
            world = world.reopen(false).expect("an array that was stopped can do without one");
        } else {
            world.array.fail(world.now, missing).unwrap();
            world.drain();
        }
        world.settle();
        let data = layout.stripe_data().get();
        let from = data * STRIPE + u64::from(unit) * setup.unit;
        let lost = match unreadable {
            Unreadable::Parity => (from..from + setup.block).collect(),
            _ => (0..data * STRIPES).filter(|at| world.read_now(*at, 1).is_err()).collect(),
        };
        Scene { world, content, lost }
    }

    /// A slot without a member.
    pub(crate) fn missing(&self) -> u16 {
        let members = self.world.array.status().members;
        members.iter().position(|member| member.state == "failed").expect("one was failed") as u16
    }

    pub(crate) fn block(&self) -> u64 {
        self.world.setup.block
    }

    /// Checks that exactly the lost sectors are errors, and all others read as written.
    pub(crate) fn check(&mut self) {
        let stripe = self.world.array.geometry().layout().stripe_data().get();
        for at in (0..stripe * STRIPES).step_by(stripe as usize) {
            let any_lost = self.lost.range(at..at + stripe).next().is_some();
            let step = if any_lost { self.block() } else { stripe };
            for at in (at..at + stripe).step_by(step as usize) {
                let read = self.world.read_now(at, step);
                let expected = &self.content[at as usize * 512..(at + step) as usize * 512];
                match self.lost.contains(&at) {
                    true => assert_eq!(read, Err(RequestError::Lost), "sector {at}"),
                    false => {
                        assert!(read.as_deref() == Ok(expected), "sector {at} reads wrong: {:?}", read.err())
                    }
                }
            }
        }
    }

    /// Writes the lost sectors again.
    pub(crate) fn write_lost(&mut self) {
        let mut random = Random(11);
        let step = self.block();
        for at in std::mem::take(&mut self.lost).into_iter().step_by(step as usize) {
            let new = payload(&mut random, step);
            self.content[at as usize * 512..(at + step) as usize * 512].copy_from_slice(&new);
            self.world.write_now(at, &new).unwrap();
        }
    }
}
