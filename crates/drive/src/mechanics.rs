//! Seek, turn, transfer: what an access costs the arm and the platters.

use std::ops::{Add, AddAssign};

use parlour_units::{Duration, Instant};

use crate::angle::{Angle, Spindle};
use crate::seek::SeekCurve;
use crate::surface::{Place, Surface};

/// The moving parts of a drive, and how they move.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanics {
    /// Where blocks are.
    pub surface: Surface,
    /// How long the arm takes.
    pub seek: SeekCurve,
    /// How long it takes to read with another head.
    pub head_switch: Duration,
    /// How much longer than for a read the arm needs before it may write: negative if less.
    pub write_settle: Settle,
    /// What turns.
    pub spindle: Spindle,
    /// Whether reads, and writes, take sectors in the order in which they come by.
    pub zero_latency: ZeroLatency,
}

/// A difference of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settle {
    /// Nanoseconds.
    pub nanoseconds: i64,
}

/// Whether accesses begin with whatever of a track comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZeroLatency {
    /// Reads do.
    pub reads: bool,
    /// Writes do.
    pub writes: bool,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the host.
    Read,
    /// To the platters.
    Write,
}

/// Where the arm is, and which head is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// The cylinder.
    pub cylinder: u32,
    /// The surface.
    pub head: u32,
}

/// Where the time of an access went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Moving the arm, switching heads, settling.
    pub seek: Duration,
    /// Waiting for the platters.
    pub rotation: Duration,
    /// Sectors passing under a head.
    pub transfer: Duration,
}

impl Parts {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.seek + self.rotation + self.transfer
    }
}

impl Add for Parts {
    type Output = Parts;
    fn add(self, other: Parts) -> Parts {
        Parts {
            seek: self.seek + other.seek,
            rotation: self.rotation + other.rotation,
            transfer: self.transfer + other.transfer,
        }
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Parts) {
        *self = *self + other;
    }
}

/// A stretch of one track that an access transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// When the first sector begins to pass. With zero latency: as long before the end as all of
    /// them take.
    pub begins: Instant,
    /// When the last one has.
    pub ends: Instant,
    /// How many blocks it is.
    pub blocks: u64,
    /// When the first sector that is wanted begins to pass, and how many of the first blocks pass
    /// last: with zero latency, heads may come to rest amid what is wanted.
    pub turn: (Instant, u64),
    /// What it cost.
    pub parts: Parts,
}

impl Mechanics {
    /// How long the arm takes to `place`.
    pub fn movement(&self, arm: Arm, place: Place, way: Way) -> Duration {
        let switch = if place.head == arm.head { Duration::ZERO } else { self.head_switch };
        let moving = self.seek.time(place.cylinder.abs_diff(arm.cylinder)).max(switch);
        match way {
            Way::Write if moving > Duration::ZERO => {
                let settled = moving.nanoseconds().saturating_add_signed(self.write_settle.nanoseconds);
                Duration::from_nanoseconds(settled)
            }
            _ => moving,
        }
    }

    /// Moves the arm for the first of `blocks` from `block` on, and transfers what is on its track.
    pub fn pass(&self, arm: &mut Arm, at: Instant, way: Way, block: u64, blocks: u64) -> Pass {
        let (place, count, sectors) = self.surface.run(block, blocks);
        let seek = self.movement(*arm, place, way);
        *arm = Arm { cylinder: place.cylinder, head: place.head };
        let transfer = self.spindle.pass(sectors, place.track);
        let (rotation, first, passed) = self.rotation(at + seek, way, place, sectors);
        let parts = Parts { seek, rotation, transfer };
        let begins = at + seek + rotation;
        let turn = (at + seek + first, (passed * count).div_ceil(sectors.max(1)));
        Pass { begins, ends: begins + transfer, blocks: count, turn, parts }
    }

    /// How long it takes until the first of `sectors` passes; with zero latency, how much of the
    /// time nothing that is wanted passes. Then, how long until any that is wanted does, and how
    /// many of the first pass only after the others.
    fn rotation(&self, arrived: Instant, way: Way, place: Place, sectors: u64) -> (Duration, Duration, u64) {
        let wait = self.spindle.wait(arrived, place.angle);
        let takes_any = match way {
            Way::Read => self.zero_latency.reads,
            Way::Write => self.zero_latency.writes,
        };
        let track = u64::from(place.track);
        let rest = self.spindle.revolution - self.spindle.pass(sectors, place.track);
        if !takes_any || wait <= rest {
            return (wait, wait, 0);
        }
        // The heads are among what is wanted: from the next sector on it takes a revolution.
        let into = self.spindle.angle(arrived) - place.angle;
        let sector = (into.revolutions() * track as f64).ceil() as u64;
        let boundary = self.spindle.wait(arrived, place.angle + Angle::of(sector, track));
        (rest + boundary, boundary, sector.min(sectors))
    }

    /// The first block of the track of `block` from which on all pass before `block` does, if the
    /// heads are there at `arrived`; `block` itself, if none does.
    pub fn passes_before(&self, arrived: Instant, block: u64) -> u64 {
        let place = self.surface.place(block);
        let wait = self.spindle.wait(arrived, place.angle);
        let passes = |other: u64| {
            let before = self.surface.place(other);
            let same_track = before.number == place.number && before.sector < place.sector;
            same_track && self.spindle.wait(arrived, before.angle) < wait
        };
        let (mut none, mut first) = (block.saturating_sub(place.sector + 1), block);
        while none < first {
            let middle = none + (first - none) / 2;
            if passes(middle) { first = middle } else { none = middle + 1 }
        }
        first
    }

    /// All of an access. Says what it cost.
    pub fn access(&self, arm: &mut Arm, at: Instant, way: Way, (block, blocks): (u64, u64)) -> Parts {
        let (mut parts, mut now) = (Parts::default(), at);
        let (mut block, mut left) = (block, blocks);
        while left > 0 {
            let pass = self.pass(arm, now, way, block, left);
            parts += pass.parts;
            (now, block, left) = (pass.ends, block + pass.blocks, left - pass.blocks);
        }
        parts
    }
}
