//! Sizes in bytes, and their text form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes. Parses `"64KiB"`, `"1.5 GiB"`, `"4k"` (binary) and `"20TB"` (decimal);
/// prints the largest binary unit with at most one decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(u64);

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseBytesError {
    /// The text does not begin with a number.
    #[error("'{0}' is not a size; write a number and a unit, such as 64KiB, 1GiB or 20TB")]
    NoNumber(String),
    /// The unit is unknown.
    #[error("'{unit}' in '{text}' is not a unit of size; use B, KiB, MiB, GiB, TiB (or kB, MB, GB, TB)")]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// The unknown unit.
        unit: String,
    },
    /// The size is not a whole number of bytes.
    #[error("'{0}' is not a whole number of bytes")]
    Fraction(String),
    /// The size does not fit 64 bits.
    #[error("'{0}' is too large")]
    TooLarge(String),
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// `count` bytes.
    pub const fn new(count: u64) -> Bytes {
        Bytes(count)
    }

    /// `count` × 1024 bytes.
    pub const fn kib(count: u64) -> Bytes {
        Bytes(count * 1024)
    }

    /// `count` × 1024² bytes.
    pub const fn mib(count: u64) -> Bytes {
        Bytes(count * 1024 * 1024)
    }

    /// `count` × 1024³ bytes.
    pub const fn gib(count: u64) -> Bytes {
        Bytes(count * 1024 * 1024 * 1024)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The size as a length in memory.
    ///
    /// # Panics
    /// If `usize` is too small for it (on no supported platform).
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).expect("a size in memory fits usize")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 5] =
            [("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let Some(&(name, unit)) = UNITS.iter().find(|(_, unit)| self.0 >= *unit) else {
            return f.pad(&format!("{} B", self.0));
        };
        let text = if self.0.is_multiple_of(unit) {
            format!("{} {name}", self.0 / unit)
        } else {
            format!("{:.1} {name}", self.0 as f64 / unit as f64)
        };
        f.pad(&text)
    }
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Bytes, ParseBytesError> {
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let scale = unit_scale(unit.trim()).ok_or_else(|| {
            if number.is_empty() {
                ParseBytesError::NoNumber(text.into())
            } else {
                ParseBytesError::UnknownUnit { text: text.into(), unit: unit.trim().into() }
            }
        })?;
        scaled(number, scale, text).map(Bytes)
    }
}

fn unit_scale(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "p" | "pib" => 1 << 50,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "pb" => 1_000_000_000_000_000,
        _ => return None,
    })
}

/// `number` (decimal, with an optional fraction) × `scale`, exactly.
fn scaled(number: &str, scale: u64, text: &str) -> Result<u64, ParseBytesError> {
    let bad = || ParseBytesError::NoNumber(text.into());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(bad());
    }
    let digits: u128 =
        format!("{whole}{fraction}").parse().map_err(|_| ParseBytesError::TooLarge(text.into()))?;
    let divisor = u32::try_from(fraction.len())
        .ok()
        .and_then(|places| 10u128.checked_pow(places))
        .ok_or_else(|| ParseBytesError::Fraction(text.into()))?;
    let product =
        digits.checked_mul(u128::from(scale)).ok_or_else(|| ParseBytesError::TooLarge(text.into()))?;
    if product % divisor != 0 {
        return Err(ParseBytesError::Fraction(text.into()));
    }
    u64::try_from(product / divisor).map_err(|_| ParseBytesError::TooLarge(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_in_binary_and_decimal_units() {
        for (text, bytes) in [
            ("512", 512),
            ("64KiB", 65_536),
            ("64k", 65_536),
            ("1.5 GiB", 1_610_612_736),
            ("20TB", 20_000_000_000_000),
            ("0.5k", 512),
        ] {
            assert_eq!(text.parse(), Ok(Bytes::new(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_refused_with_its_reason() {
        assert!(matches!("".parse::<Bytes>(), Err(ParseBytesError::NoNumber(_))));
        assert!(matches!("x".parse::<Bytes>(), Err(ParseBytesError::NoNumber(_))));
        assert!(matches!("1.2.3k".parse::<Bytes>(), Err(ParseBytesError::NoNumber(_))));
        assert!(matches!("4 q".parse::<Bytes>(), Err(ParseBytesError::UnknownUnit { .. })));
        assert!(matches!("0.3".parse::<Bytes>(), Err(ParseBytesError::Fraction(_))));
        assert!(matches!("99999999999PiB".parse::<Bytes>(), Err(ParseBytesError::TooLarge(_))));
        assert!(matches!("-1".parse::<Bytes>(), Err(ParseBytesError::NoNumber(_))));
    }

    #[test]
    fn sizes_print_in_the_largest_unit() {
        assert_eq!(Bytes::new(511).to_string(), "511 B");
        assert_eq!(Bytes::kib(64).to_string(), "64 KiB");
        assert_eq!(Bytes::new(1_610_612_736).to_string(), "1.5 GiB");
    }
}
