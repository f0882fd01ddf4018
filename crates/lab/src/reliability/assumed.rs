//! What is assumed of drives, of those who replace them, and of scrubs: the keys of
//! `[reliability]`, with the defaults of those that are not given.

use std::collections::BTreeSet;

use super::life::{HOURS_PER_YEAR, Life};
use crate::experiment::reliability::ReliabilitySettings;
use crate::settings::Time;

/// The part of drives that fail within a year: 1.57%, of 300,633 drives in 2024 (Backblaze Drive
/// Stats).
const FAILURES_PER_YEAR: f64 = 0.0157;
/// Sectors of a drive that become unreadable within a year: 3.45% of 1.53 million drives had some
/// within 32 months (Bairavasundaram et al., SIGMETRICS 2007). Those of a drive come together, and
/// count as one.
const UNREADABLE_PER_YEAR: f64 = 0.0132;
/// Linux distributions check md arrays once a month.
const SCRUB_HOURS: f64 = 30.0 * 24.0;
const REPLACEMENT_HOURS: f64 = 72.0;
const YEARS: f64 = 10.0;
const PRECISION: f64 = 0.05;
const AT_MOST: u32 = 100_000;

/// The bytes of a drive that a simulation of a rebuild needs.
const LEAST_SAMPLE: f64 = (64 << 20) as f64;
/// More failures in one life would take too long to draw.
const MOST_FAILURES: f64 = 10_000.0;
/// Failures of a shelf during a repair. They count by their rate, so they are to be rare.
const MOST_OVERLAP: f64 = 0.02;

/// What is assumed of drives and people. Times are in hours.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Assumed {
    pub(super) life: Life,
    /// How much more frequent failures are while an array is not whole.
    pub(super) while_degraded: f64,
    /// Drives that fail together.
    pub(super) together: Vec<Together>,
    /// Sectors of a drive that become unreadable.
    pub(super) unreadable_per_hour: f64,
    /// Sectors of a drive that are unreadable at any time, in the mean: found by scrubs only.
    pub(super) unreadable: f64,
    /// Spares in their places.
    pub(super) spares: u32,
    /// From the failure of a drive until another arrives.
    pub(super) replacement: f64,
    /// From then on until it is rebuilt.
    pub(super) rebuild: f64,
    /// How long an array serves.
    pub(super) hours: f64,
}

/// Drives that share what may fail: power, a cable, a shelf.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Together {
    pub(super) members: Vec<u16>,
    pub(super) per_hour: f64,
}

/// How many lives are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// Until half the interval is this part of the mean.
    pub(super) precision: f64,
    /// So many at most.
    pub(super) at_most: u32,
}

/// Why the `[reliability]` table is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AssumedError {
    /// A number is invalid.
    #[error("reliability.{key}: {value} is not possible; use {possible}")]
    Number {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        possible: &'static str,
    },
    /// Drives that fail together have no slots, or one twice.
    #[error("reliability.together: members are the slots of one or more drives, each once")]
    Shelf,
    /// Drives that fail together do so too often.
    #[error(
        "reliability.together.per-year: {0} is too often: the next failure comes before the drives of the one before are rebuilt; use less"
    )]
    TooOften(f64),
    /// Too many drives fail.
    #[error("reliability: {0:.0} drives fail in these years; use fewer years, or drives that live longer")]
    TooMany(f64),
    /// There is no such slot.
    #[error("reliability.together: there is no member {given}; there are {count}, counted from 0")]
    Nobody {
        /// The number in the file.
        given: u16,
        /// How many there are.
        count: u16,
    },
}

/// Checks all numbers, for an array of so many members.
pub(super) fn check(settings: &ReliabilitySettings, members: u16) -> Result<(), AssumedError> {
    let number = |key, value: Option<f64>, least: f64, most: f64, possible| match value {
        Some(value) if !(least..=most).contains(&value) => Err(AssumedError::Number { key, value, possible }),
        _ => Ok(()),
    };
    let hours = |time: Option<Time>| time.map(hours);
    number("failures-per-year", settings.failures_per_year, 1e-9, 0.9, "a part of all drives, as 0.0157")?;
    number("shape", settings.shape, 0.5, 10.0, "0.5 to 10")?;
    number("while-degraded", settings.while_degraded, 0.01, 1_000.0, "a factor, as 2.0")?;
    number("unreadable-per-year", settings.unreadable_per_year, 0.0, 1_000.0, "0 to 1000")?;
    number("scrub", hours(settings.scrub), 1e-3, 1e6, "more than 0, as \"30d\"")?;
    number("replacement", hours(settings.replacement), 0.0, 1e6, "0 or more, as \"72h\"")?;
    number("rebuild", hours(settings.rebuild), 1e-6, 1e6, "more than 0, as \"12h\"")?;
    let sample = settings.rebuild_sample.map(|sample| sample.bytes().get() as f64);
    number("rebuild-sample", sample, LEAST_SAMPLE, f64::MAX, "64 MiB or more, as \"1GiB\"")?;
    number("years", settings.years, 1e-3, 100.0, "0.001 to 100")?;
    number("precision", settings.precision, 1e-4, 1.0, "0.0001 to 1")?;
    number("at-most", settings.at_most.map(f64::from), 2.0, f64::MAX, "2 or more")?;
    for together in &settings.together {
        number("together.per-year", Some(together.per_year), 1e-12, 1e3, "more than 0, as 0.001")?;
        let distinct: BTreeSet<u16> = together.members.iter().copied().collect();
        if distinct.is_empty() || distinct.len() < together.members.len() {
            return Err(AssumedError::Shelf);
        }
        if let Some(given) = together.members.iter().find(|slot| **slot >= members) {
            return Err(AssumedError::Nobody { given: *given, count: members });
        }
    }
    let failures =
        f64::from(members) * -(-failures_per_year(settings)).ln_1p() * settings.years.unwrap_or(YEARS);
    let failures = failures * settings.while_degraded.unwrap_or(1.0).max(1.0);
    if failures > MOST_FAILURES { Err(AssumedError::TooMany(failures)) } else { Ok(()) }
}

fn failures_per_year(settings: &ReliabilitySettings) -> f64 {
    settings.failures_per_year.unwrap_or(FAILURES_PER_YEAR)
}

impl Limits {
    pub(super) fn of(settings: &ReliabilitySettings) -> Limits {
        Limits {
            precision: settings.precision.unwrap_or(PRECISION),
            at_most: settings.at_most.unwrap_or(AT_MOST),
        }
    }
}

impl Assumed {
    /// Checks what is known with the time of a rebuild only.
    pub(super) fn check(&self) -> Result<(), AssumedError> {
        let repair = self.replacement + self.rebuild;
        match self.together.iter().find(|together| together.per_hour * repair > MOST_OVERLAP) {
            Some(together) => Err(AssumedError::TooOften(together.per_hour * HOURS_PER_YEAR)),
            None => Ok(()),
        }
    }

    /// The assumptions, where a rebuild takes so many hours.
    pub(super) fn of(settings: &ReliabilitySettings, rebuild: f64) -> Assumed {
        let per_year = settings.unreadable_per_year.unwrap_or(UNREADABLE_PER_YEAR);
        let unreadable_per_hour = per_year / HOURS_PER_YEAR;
        let together = settings.together.iter().map(|together| Together {
            members: together.members.clone(),
            per_hour: together.per_year / HOURS_PER_YEAR,
        });
        Assumed {
            life: Life::new(failures_per_year(settings), settings.shape.unwrap_or(1.0)),
            while_degraded: settings.while_degraded.unwrap_or(1.0),
            together: together.collect(),
            unreadable_per_hour,
            // A failure comes in the middle between two scrubs, in the mean.
            unreadable: unreadable_per_hour * settings.scrub.map_or(SCRUB_HOURS, hours) / 2.0,
            spares: settings.spares.unwrap_or(0),
            replacement: settings.replacement.map_or(REPLACEMENT_HOURS, hours),
            rebuild,
            hours: settings.years.unwrap_or(YEARS) * HOURS_PER_YEAR,
        }
    }
}

fn hours(time: Time) -> f64 {
    time.0.as_secs_f64() / 3_600.0
}
