//! Seek, rotation, transfer: the time of the arm and the platters for an access.

use std::ops::{Add, AddAssign};

use parlour_units::{Duration, Instant};

use crate::angle::{Angle, Spindle};
use crate::seek::SeekCurve;
use crate::surface::{Place, Surface};

/// The mechanical parts of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanics {
    /// The positions of blocks.
    pub surface: Surface,
    /// The seek times.
    pub seek: SeekCurve,
    /// The time to switch to another head.
    pub head_switch: Duration,
    /// The additional time of a write, compared with a read, before it may begin; may be negative.
    pub write_settle: Settle,
    /// The spindle.
    pub spindle: Spindle,
    /// Whether reads, and writes, take sectors in the order in which they pass.
    pub zero_latency: ZeroLatency,
}

/// A difference of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settle {
    /// Nanoseconds.
    pub nanoseconds: i64,
}

/// Whether accesses begin with the first wanted sector of a track that passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZeroLatency {
    /// Reads do.
    pub reads: bool,
    /// Writes do.
    pub writes: bool,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the host.
    Read,
    /// To the platters.
    Write,
}

/// The position of the arm, and the head in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// The cylinder.
    pub cylinder: u32,
    /// The surface.
    pub head: u32,
}

/// The parts of the time of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Seek, head switch and settling.
    pub seek: Duration,
    /// Waiting for rotation.
    pub rotation: Duration,
    /// Sectors passing under a head.
    pub transfer: Duration,
}

impl Parts {
    /// The sum of all parts.
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

/// The part of an access on one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// When the first sector begins to pass. With zero latency: the end, minus the time in which
    /// all wanted sectors pass.
    pub begins: Instant,
    /// When the last sector has passed.
    pub ends: Instant,
    /// The number of blocks.
    pub blocks: u64,
    /// When the first wanted sector begins to pass, and how many of the first blocks pass last.
    /// With zero latency the heads may arrive in the middle of the wanted sectors.
    pub turn: (Instant, u64),
    /// The parts of its time.
    pub parts: Parts,
}

impl Mechanics {
    /// The time for the arm to reach `place`.
    pub fn movement(&self, arm: Arm, place: Place, way: Way) -> Duration {
        self.movement_to(arm, Arm { cylinder: place.cylinder, head: place.head }, way)
    }

    /// The time from one position of the arm to another.
    pub fn movement_to(&self, arm: Arm, to: Arm, way: Way) -> Duration {
        let switch = if to.head == arm.head { Duration::ZERO } else { self.head_switch };
        let moving = self.seek.time(to.cylinder.abs_diff(arm.cylinder)).max(switch);
        match way {
            Way::Write if moving > Duration::ZERO => {
                let settled = moving.nanoseconds().saturating_add_signed(self.write_settle.nanoseconds);
                Duration::from_nanoseconds(settled)
            }
            _ => moving,
        }
    }

    /// Moves the arm to the first of `blocks` from `block` on, and transfers those that are on its
    /// track.
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

    /// The rotational delay before the first of `sectors` passes; with zero latency, the time in
    /// which no wanted sector passes. Also the time until any wanted sector passes, and how many of
    /// the first sectors pass after the others.
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
        // The heads are among the wanted sectors: from the next sector boundary on the access takes
        // a revolution.
        let into = self.spindle.angle(arrived) - place.angle;
        let sector = (into.revolutions() * track as f64).ceil() as u64;
        let boundary = self.spindle.wait(arrived, place.angle + Angle::of(sector, track));
        (rest + boundary, boundary, sector.min(sectors))
    }

    /// The first block on the track of `block` such that it and all following blocks pass before
    /// `block`, if the heads arrive at `arrived`. `block` itself if there is none.
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

    /// Does a whole access. Returns the parts of its time.
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
