//! Virtual time: instants and durations in nanoseconds, which the array's driver supplies.

use std::fmt;
use std::ops::{Add, Mul, Sub};
use std::str::FromStr;

/// A moment, in nanoseconds since the driver's time zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of time in nanoseconds. Parses and prints `"12.5ms"`, `"3s"`, `"250us"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a duration; write a number and a unit, such as 12.5ms, 3s or 2h")]
pub struct ParseDurationError(String);

impl Instant {
    /// The driver's time zero.
    pub const ZERO: Instant = Instant(0);

    /// `nanoseconds` after time zero.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Instant {
        Instant(nanoseconds)
    }

    /// The nanoseconds since time zero.
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this instant, or zero if `earlier` is later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);

    /// A span of `nanoseconds`.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Duration {
        Duration(nanoseconds)
    }

    /// A span of `microseconds`.
    pub const fn from_micros(microseconds: u64) -> Duration {
        Duration(microseconds * 1_000)
    }

    /// A span of `milliseconds`.
    pub const fn from_millis(milliseconds: u64) -> Duration {
        Duration(milliseconds * 1_000_000)
    }

    /// A span of `seconds`.
    pub const fn from_secs(seconds: u64) -> Duration {
        Duration(seconds * 1_000_000_000)
    }

    /// The span in nanoseconds.
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, span: Duration) -> Instant {
        Instant(self.0.checked_add(span.0).expect("an instant fits 64 bits"))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.checked_add(other.0).expect("a duration fits 64 bits"))
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.checked_sub(other.0).expect("a duration is not negative"))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, times: u64) -> Duration {
        Duration(self.0.checked_mul(times).expect("a duration fits 64 bits"))
    }
}

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Duration, ParseDurationError> {
        let bad = || ParseDurationError(text.into());
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
        let (number, unit) = trimmed.split_at(split);
        let scale = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(bad)?.1;
        let value: f64 = number.parse().map_err(|_| bad())?;
        let nanoseconds = (value * scale as f64).round();
        if nanoseconds >= u64::MAX as f64 {
            return Err(bad());
        }
        Ok(Duration(nanoseconds as u64))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &(name, unit) = UNITS.iter().rev().find(|(_, unit)| self.0 >= *unit).unwrap_or(&UNITS[0]);
        let text = if self.0.is_multiple_of(unit) {
            format!("{}{name}", self.0 / unit)
        } else {
            format!("{:.1}{name}", self.0 as f64 / unit as f64)
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse_and_print() {
        assert_eq!("12.5ms".parse(), Ok(Duration(12_500_000)));
        assert_eq!("3 s".parse(), Ok(Duration::from_secs(3)));
        assert_eq!(Duration(12_500_000).to_string(), "12.5ms");
        assert_eq!(Duration::ZERO.to_string(), "0ns");
        assert!("12".parse::<Duration>().is_err());
        assert!("1 fortnight".parse::<Duration>().is_err());
    }
}
