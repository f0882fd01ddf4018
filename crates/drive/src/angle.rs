//! Angles of the platters, and the spindle.

use std::ops::{Add, Sub};

use parlour_units::{Duration, Instant};

/// A fraction of a revolution, in units of 2⁻³² revolutions. Sums and differences wrap, as
/// revolutions do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Angle(u32);

impl Angle {
    /// `part` of `whole` equal parts of a revolution.
    pub const fn of(part: u64, whole: u64) -> Angle {
        Angle((((part % whole) << 32) / whole) as u32)
    }

    /// The angle of a number of revolutions; whole revolutions do not count.
    pub fn from_revolutions(revolutions: f64) -> Angle {
        Angle((revolutions.rem_euclid(1.0) * 4_294_967_296.0) as u64 as u32)
    }

    /// The angle multiplied by `count`.
    pub fn times(self, count: u64) -> Angle {
        Angle((u64::from(self.0).wrapping_mul(count)) as u32)
    }

    /// In revolutions, below one.
    pub fn revolutions(self) -> f64 {
        f64::from(self.0) / 4_294_967_296.0
    }
}

impl Add for Angle {
    type Output = Angle;
    fn add(self, other: Angle) -> Angle {
        Angle(self.0.wrapping_add(other.0))
    }
}

impl Sub for Angle {
    type Output = Angle;
    fn sub(self, other: Angle) -> Angle {
        Angle(self.0.wrapping_sub(other.0))
    }
}

/// The spindle. All heads of a drive are at the same angle at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spindle {
    /// The time of one revolution.
    pub revolution: Duration,
    /// The angle at time zero.
    pub phase: Angle,
}

impl Spindle {
    /// A sector that passed by less than this counts as not yet passed, because times are whole
    /// nanoseconds and angles are not.
    const SLACK: u32 = 1 << 14;

    /// The angle at an instant.
    pub fn angle(&self, at: Instant) -> Angle {
        let revolution = self.revolution.nanoseconds();
        Angle::of(at.nanoseconds() % revolution, revolution) + self.phase
    }

    /// The time from `at` until `angle` is under the heads.
    pub fn wait(&self, at: Instant, angle: Angle) -> Duration {
        let way = angle - self.angle(at);
        if way.0 > u32::MAX - Spindle::SLACK { Duration::ZERO } else { self.turn(way) }
    }

    /// The time of a rotation by `angle`.
    pub fn turn(&self, angle: Angle) -> Duration {
        Duration::from_nanoseconds((u64::from(angle.0) * self.revolution.nanoseconds()) >> 32)
    }

    /// The time in which `sectors` of a track of `track` sectors pass.
    pub fn pass(&self, sectors: u64, track: u32) -> Duration {
        Duration::from_nanoseconds(sectors * self.revolution.nanoseconds() / u64::from(track))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPINDLE: Spindle =
        Spindle { revolution: Duration::from_nanoseconds(11_111_111), phase: Angle::of(1, 4) };

    #[test]
    fn an_angle_comes_round_each_revolution() {
        let quarter = Duration::from_nanoseconds(11_111_111 / 4);
        for turns in [0, 1, 7, 1_000_003] {
            let at = Instant::ZERO + SPINDLE.revolution * turns;
            assert_eq!(SPINDLE.angle(at), Angle::of(1, 4));
            let wait = SPINDLE.wait(at, Angle::of(1, 2)).nanoseconds();
            assert!(wait.abs_diff(quarter.nanoseconds()) <= 1, "{wait}");
        }
    }

    #[test]
    fn what_has_just_come_is_not_waited_for_again() {
        for sector in 0..96 {
            let angle = Angle::of(sector, 96);
            let at = Instant::from_nanoseconds(5_000) + SPINDLE.wait(Instant::from_nanoseconds(5_000), angle);
            let again = SPINDLE.wait(at, angle);
            assert!(again.nanoseconds() <= 1, "sector {sector} is waited for by {again}");
        }
    }

    #[test]
    fn a_whole_track_takes_a_revolution() {
        assert_eq!(SPINDLE.pass(96, 96), SPINDLE.revolution);
        assert_eq!(SPINDLE.pass(0, 96), Duration::ZERO);
    }
}
