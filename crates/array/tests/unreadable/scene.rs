//! An array in which something is lost.

use std::collections::BTreeSet;

use parlour_array::RequestError;
use parlour_array::layout::Unit;
use parlour_units::{Sectors, Stripe};

use crate::common::{Random, SEED, Setup, World, payload};

/// The stripe in which something is unreadable, and the column.
pub(crate) const STRIPE: u64 = 5;
pub(crate) const COLUMN: u64 = 3;
/// Stripes that are written and looked at.
pub(crate) const STRIPES: u64 = 12;

pub(crate) fn setups() -> Vec<Setup> {
    let mut blocks = Setup::named("raid5", 4);
    blocks.block = 8;
    let raid5 = Setup::named("raid5", 4);
    let mut all =
        vec![Setup::named("raid1", 2), raid5, blocks, Setup::named("parity-logging", 4), Setup::logged(4)];
    all.iter_mut().for_each(|setup| setup.member_length = 3 * 2_048);
    all
}

/// An array full of known content, a part of which nobody can compute any more.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) content: Vec<u8>,
    /// Sectors of the array that are lost.
    pub(crate) lost: BTreeSet<u64>,
}

impl Scene {
    /// A unit cannot be read in one place, and the member that holds another of its stripe (`second`) is replaced.
    pub(crate) fn new(setup: &Setup, second: u16) -> Scene {
        let mut world = World::new(setup, SEED);
        let content = payload(&mut Random(7), world.array.geometry().layout().stripe_data().get() * STRIPES);
        for (index, part) in content.chunks(64 * 512).enumerate() {
            world.write_now(index as u64 * 64, part).unwrap();
        }
        world.do_now(parlour_array::Operation::Flush, 0, 0, None).0.unwrap();
        // What logs hold is in the parity.
        let mut world = world.restart();
        let geometry = world.array.geometry().clone();
        let layout = geometry.layout();
        let first = layout.place(Stripe::new(STRIPE), Unit::new(0));
        let bad = geometry.data_start() + first.at.from_start() + Sectors::new(COLUMN);
        world.disk_at(first.member.get()).unreadable.insert(bad.get());
        world.replace(layout.place(Stripe::new(STRIPE), Unit::new(second)).member.get());
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

    pub(crate) fn block(&self) -> u64 {
        self.world.setup.block
    }

    /// Exactly what is lost is an error; all else reads as it was written.
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

    /// Writes what is lost anew.
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
