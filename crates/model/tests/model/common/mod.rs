//! Drives of the catalogue, and pseudo-random numbers.
#![allow(dead_code, unreachable_pub, reason = "not every test needs all of it")]

use std::num::NonZeroU32;

use parlour_drive::angle::Angle;
use parlour_drive::catalogue;
use parlour_drive::description::Description;
use parlour_drive::electronics::Electronics;
use parlour_drive::mechanics::Mechanics;
use parlour_model::service::{Access, Pattern, Service, Work, service};

/// The parts of a drive.
pub struct Parts {
    pub mechanics: Mechanics,
    pub electronics: Electronics,
}

impl Parts {
    /// A drive of the catalogue.
    pub fn find(name: &str) -> Parts {
        let description = Description::parse(catalogue::find(name).unwrap()).unwrap();
        let mechanics = description.mechanics(Angle::default()).unwrap();
        Parts { mechanics, electronics: description.electronics().unwrap() }
    }

    pub fn service(&self, work: Work, blocks: u64, pattern: Pattern) -> Service {
        let access = Access { work, blocks, pattern };
        service(&self.mechanics, &self.electronics, access).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn uniform(&self, work: Work, blocks: u64) -> Service {
        self.service(work, blocks, Pattern::Uniform)
    }
}

/// Marsaglia's xorshift generator.
pub struct Drawn(pub u64);

impl Drawn {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }

    /// From 0 to 1.
    pub fn part(&mut self) -> f64 {
        self.below(1 << 52) as f64 / (1_u64 << 52) as f64
    }
}

pub fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

/// Asserts that a value is within a relative tolerance.
pub fn near(what: &str, value: f64, wanted: f64, part: f64) {
    assert!((value - wanted).abs() <= part * wanted.abs(), "{what}: {value} instead of {wanted}");
}
