//! How likely an array loses data, and how much: by drawing lives of arrays (Monte Carlo), over the
//! very layout and code.
//!
//! Read `assumed` (drives, people, scrubs), `life` (when drives fail), `array_life`
//! (failures, replacements, rebuilds), `exposure` (what is lost with a set of members),
//! `mission` (an array's years), `estimate` (means and intervals), and `rebuild` (how long a
//! rebuild takes, by the simulator). `docs/decisions/reliability-by-lives.md` says why it is done
//! so.

mod array_life;
mod assumed;
mod estimate;
mod exposure;
mod life;
mod mission;
mod rebuild;

use std::path::Path;

use parlour_array::Geometry;
use parlour_model::reliability::{Lifetimes, Redundancy, SparedArray, Spares};
use parlour_workload::random::Random;
use serde::Serialize;

pub use self::assumed::AssumedError;
use self::assumed::{Assumed, Limits};
use self::estimate::Draws;
pub use self::estimate::Estimate;
use self::life::HOURS_PER_YEAR;
use self::mission::{Losses, Missions};
pub use self::rebuild::RebuildError;
use crate::cores::on_all_cores;
use crate::experiment::build::BuildError;
use crate::experiment::setup::Setup;

/// Missions after which the interval is looked at.
const ROUND: u32 = 500;

/// Where the time of a rebuild comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RebuildSource {
    /// From the file.
    Given,
    /// From a simulation of the file's array, drives and load.
    Simulated,
}

/// The reliability of an array.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reliability {
    /// Any so many members may fail without loss of data.
    pub tolerance: u16,
    /// The data of hosts, in bytes.
    pub capacity: u64,
    /// The years that the array serves.
    pub years: f64,
    /// The time of a rebuild, in hours.
    pub rebuild_hours: f64,
    /// Where it comes from.
    pub rebuild_from: RebuildSource,
    /// Drives that fail in these years, in the mean.
    pub failures: f64,
    /// Losses of data in these years: their mean number, which is their probability if it is small.
    pub losses: Estimate,
    /// Those of them at which more members are missing than some stripe survives.
    pub by_members: Estimate,
    /// Those of them at which a sector is unreadable that is needed. (Both may be.)
    pub by_sectors: Estimate,
    /// Bytes lost in these years for each byte of hosts' data (NOMDL).
    pub lost_per_byte: Estimate,
    /// The mean time until a first loss, in years, by a Markov chain of failing drives alone; null
    /// if the chain does not have what is assumed.
    pub chain_mttdl_years: Option<f64>,
    /// The missions that were drawn.
    pub missions: u32,
}

/// Why there is no reliability of an array.
#[derive(Debug, thiserror::Error)]
pub enum ReliabilityError {
    /// The array cannot be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The `[reliability]` table is invalid.
    #[error(transparent)]
    Settings(#[from] AssumedError),
    /// The time of a rebuild is not known.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
}

/// Checks the settings. Returns the array's geometry.
///
/// # Errors
/// The settings are invalid.
pub fn check(setup: &Setup, path: &Path) -> Result<Geometry, ReliabilityError> {
    let (geometry, _, _) = setup.geometry(path)?;
    assumed::check(&setup.reliability, geometry.members())?;
    Ok(geometry)
}

/// Draws missions of the array in `setup`, a file's settings, until the interval is narrow.
///
/// # Errors
/// The settings are invalid, or the rebuild cannot be simulated.
pub fn assess(setup: &Setup, path: &Path) -> Result<Reliability, ReliabilityError> {
    let geometry = check(setup, path)?;
    let settings = &setup.reliability;
    let (rebuild_hours, rebuild_from) = match settings.rebuild {
        Some(time) => (time.0.as_secs_f64() / 3_600.0, RebuildSource::Given),
        None => (rebuild::hours(setup, path)?, RebuildSource::Simulated),
    };
    let assumed = Assumed::of(settings, rebuild_hours);
    assumed.check()?;
    let drawn = draw(&assumed, &geometry, Limits::of(settings), setup.seed());
    let times = drawn.times.estimate();
    let (capacity, years) = (geometry.capacity().bytes().get(), assumed.hours / HOURS_PER_YEAR);
    Ok(Reliability {
        tolerance: geometry.fault_tolerance(),
        capacity,
        years,
        rebuild_hours,
        rebuild_from,
        failures: drawn.failures.estimate().mean,
        losses: times,
        by_members: drawn.by_members.estimate(),
        by_sectors: drawn.by_sectors.estimate(),
        lost_per_byte: drawn.bytes.estimate().times(1.0 / capacity as f64),
        chain_mttdl_years: chain(&assumed, &geometry).map(|hours| hours / HOURS_PER_YEAR),
        missions: drawn.missions,
    })
}

/// Assesses all setups of the file at `path`, in their order. `done` is called when one is.
pub fn assess_all(
    setups: &[&Setup],
    path: &Path,
    done: impl Fn() + Sync,
) -> Vec<Result<Reliability, ReliabilityError>> {
    on_all_cores(setups.len(), |number| {
        let assessed = assess(setups[number], path);
        done();
        assessed
    })
}

/// What missions have lost.
#[derive(Debug, Default)]
struct Drawn {
    missions: u32,
    failures: Draws,
    times: Draws,
    by_members: Draws,
    by_sectors: Draws,
    bytes: Draws,
}

impl Drawn {
    fn add(&mut self, losses: Losses) {
        self.missions += 1;
        self.failures.add(losses.failures);
        self.times.add(losses.times);
        self.by_members.add(losses.by_members);
        self.by_sectors.add(losses.by_sectors);
        self.bytes.add(losses.bytes);
    }
}

fn draw(assumed: &Assumed, geometry: &Geometry, limits: Limits, seed: u64) -> Drawn {
    let mut random = Random::new(seed);
    let mut missions = Missions::new(assumed, geometry, seed);
    let mut drawn = Drawn::default();
    let Limits { precision, at_most } = limits;
    while drawn.missions < at_most {
        (0..ROUND.min(at_most - drawn.missions)).for_each(|_| drawn.add(missions.draw(&mut random)));
        if [drawn.times, drawn.bytes].iter().all(|draws| draws.estimate().relative() <= precision) {
            break;
        }
    }
    drawn
}

/// The mean time to a loss by a Markov chain, in hours: whole members fail, at constant rates, and
/// any that are more than the tolerance lose data.
fn chain(assumed: &Assumed, geometry: &Geometry) -> Option<f64> {
    if assumed.while_degraded != 1.0 || !assumed.together.is_empty() {
        return None;
    }
    // Without a spare, each repair waits for a new drive.
    let (waits, spares) = match (assumed.spares, assumed.replacement) {
        (0, replacement) => (replacement, Spares::Pool),
        (_, 0.0) => (0.0, Spares::Pool),
        (spares, replacement) => (0.0, Spares::Kept { spares, replacement }),
    };
    let lifetimes = Lifetimes { failure: assumed.life.mean()?, repair: waits + assumed.rebuild };
    let layout = geometry.layout();
    let members = geometry.members();
    let groups = if geometry.keeps_copies() && members.is_multiple_of(layout.width()) {
        u32::from(members / layout.width())
    } else {
        u32::from(layout.groups())
    };
    let per_group = u32::from(members) / groups;
    let redundancy = Redundancy::new(groups, per_group, geometry.fault_tolerance().into()).ok()?;
    SparedArray::new(redundancy, lifetimes, spares, groups.min(2)).ok()?.mttdl().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    /// Drives that fail at a constant rate, without unreadable sectors, with a new drive at once.
    const PLAIN: &str = "
        members = 8
        member-size = \"256MiB\"
        drive.model = \"ibm-0661\"
        array.consistency = \"bitmap\"
        [reliability]
        failures-per-year = 0.03
        unreadable-per-year = 0
        replacement = \"0s\"
        rebuild = \"10h\"
        precision = 0.02
    ";
    const YEARS: f64 = 10.0;
    const REBUILD: f64 = 10.0;

    fn assessed(set: &[&str]) -> Reliability {
        let path = Path::new("plain.toml");
        let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        let experiment = Experiment::parse(path, PLAIN, &set).unwrap();
        assess(&experiment.points().unwrap()[0].setup, path).unwrap()
    }

    /// Failures of a drive in an hour.
    fn rate() -> f64 {
        -(1.0 - 0.03_f64).ln() / HOURS_PER_YEAR
    }

    fn hours() -> f64 {
        YEARS * HOURS_PER_YEAR
    }

    fn near(found: Estimate, expected: f64) {
        let off = (found.mean - expected).abs();
        assert!(off <= 2.0 * found.interval + 0.01 * expected, "{found:?} is not {expected}");
        assert!(found.interval < 0.05 * expected, "{found:?} says little");
    }

    #[test]
    fn an_array_that_survives_one_failure_loses_data_as_often_as_the_formula_says() {
        let found = assessed(&["array.organization=\"raid5\""]);
        let lifetimes = Lifetimes { failure: 1.0 / rate(), repair: REBUILD };
        let redundancy = Redundancy::checked(8, 1).unwrap();
        let mttdl = parlour_model::reliability::mttdl_with_fixed_repair(redundancy, lifetimes).unwrap();
        near(found.losses, hours() / mttdl);
        assert_eq!(found.by_sectors.mean, 0.0);
        // Half of the stripes are rebuilt by then, and one in four of the lost units is parity.
        let lost = 0.5 * 7.0 / 4.0 / 7.0;
        near(found.lost_per_byte, hours() / mttdl * lost);
        let failures = 8.0 * rate() * hours();
        assert!((found.failures / failures - 1.0).abs() < 0.05, "{} {failures}", found.failures);
    }

    #[test]
    fn two_more_failures_within_a_rebuild_lose_what_survives_two() {
        let found = assessed(&["array.organization=\"raid6\""]);
        near(found.losses, 8.0 * 7.0 * 6.0 * rate().powi(3) * REBUILD.powi(2) / 2.0 * hours());
    }

    #[test]
    fn mirrors_lose_data_with_a_partner_only() {
        let found = assessed(&["array.organization=\"raid10\""]);
        near(found.losses, 8.0 * rate().powi(2) * REBUILD * hours());
        let chain = found.chain_mttdl_years.unwrap();
        assert!((found.losses.mean * chain / YEARS - 1.0).abs() < 0.05, "{chain}");
    }

    #[test]
    fn unreadable_sectors_lose_data_when_a_member_is_missing() {
        let set = ["reliability.unreadable-per-year=0.02", "reliability.scrub=\"20d\""];
        let found = assessed(&[&["array.organization=\"raid5\""], &set[..]].concat());
        let unreadable = 0.02 / HOURS_PER_YEAR * 20.0 * 24.0 / 2.0;
        near(found.by_sectors, 8.0 * rate() * hours() * 7.0 * unreadable);
        let nothing_left = assessed(&[&["array.organization=\"raid0\""], &set[..]].concat());
        assert!(nothing_left.losses.mean > 2.0, "{nothing_left:?}");
    }

    #[test]
    fn what_fails_together_counts_by_its_own_rate() {
        let together = "reliability.together=[{ members = [1, 2], per-year = 0.001 }]";
        let found = assessed(&["array.organization=\"raid5\"", together]);
        let alone = assessed(&["array.organization=\"raid5\""]);
        let more = found.by_members.mean - alone.by_members.mean;
        assert!((more / (0.001 * YEARS) - 1.0).abs() < 0.05, "{more}");
        // The two are not a pair of mirrors.
        let mirrors = assessed(&["array.organization=\"raid10\"", together]);
        assert!(mirrors.losses.mean < 0.001, "{mirrors:?}");
    }

    #[test]
    fn declustered_stripes_lose_data_more_often_and_less_of_it() {
        let whole = assessed(&["array.organization=\"raid5\""]);
        let found = assessed(&["array.organization=\"raid5\"", "array.width=4"]);
        near(found.losses, whole.losses.mean);
        assert!(found.lost_per_byte.mean < 0.7 * whole.lost_per_byte.mean, "{found:?} {whole:?}");
    }

    #[test]
    fn drives_that_wear_out_lose_little_while_they_are_young() {
        let life = ["reliability.shape=3.0", "reliability.failures-per-year=0.003"];
        let of = |years| assessed(&[&["array.organization=\"raid5\"", years], &life[..]].concat());
        let (young, old) = (of("reliability.years=1"), of("reliability.years=3"));
        // The rate of losses grows with the square of that of failures, and so as t⁴.
        let times = old.losses.mean / young.losses.mean;
        assert!((times / 3.0_f64.powi(5) - 1.0).abs() < 0.15, "{times}");
    }

    /// Regression test: courses went on after the array's years.
    #[test]
    fn what_happens_after_an_arrays_years_does_not_count() {
        let set = ["reliability.years=0.05", "reliability.rebuild=\"1000h\""];
        let found = assessed(&[&["array.organization=\"raid5\""], &set[..]].concat());
        // Two failures within the years, which are shorter than a rebuild.
        let hazard = rate() * 0.05 * HOURS_PER_YEAR;
        near(found.losses, 8.0 * 7.0 * hazard.powi(2) / 2.0);
    }

    #[test]
    fn rare_failures_are_seen_too() {
        let rare = assessed(&["array.organization=\"raid6\"", "reliability.failures-per-year=1e-5"]);
        let rate = 1e-5 / HOURS_PER_YEAR;
        near(rare.losses, 8.0 * 7.0 * 6.0 * rate.powi(3) * REBUILD.powi(2) / 2.0 * hours());
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_by_its_key() {
        let refused = |set: &[&str]| {
            let set: Vec<String> = set.iter().map(|set| format!("reliability.{set}")).collect();
            let path = Path::new("plain.toml");
            let setup = Experiment::parse(path, PLAIN, &set).and_then(|experiment| experiment.points());
            let refused = setup.map(|points| assess(&points[0].setup, path).unwrap_err().to_string());
            refused.unwrap_or_else(|error| error.to_string())
        };
        for (set, said) in [
            ("failures-per-year=1.57", "failures-per-year: 1.57 is not possible; use a part"),
            ("replacement=\"2000000h\"", "replacement: 2000000 is not possible"),
            ("at-most=1", "at-most: 1 is not possible; use 2 or more"),
            ("rebuild-sample=\"64KiB\"", "rebuild-sample: 65536 is not possible; use 64 MiB"),
            ("together=[{ members = [], per-year = 0.1 }]", "each once"),
            ("together=[{ members = [1, 1], per-year = 0.1 }]", "each once"),
            ("together=[{ members = [8], per-year = 0.1 }]", "there is no member 8; there are 8"),
            ("together=[{ members = [1], per-year = 100 }]", "100 is too often"),
            ("together=[{ member = [1], per-year = 1 }]", "member"),
        ] {
            let told = refused(&[set]);
            assert!(told.contains(said), "{set}: {told}");
        }
        let told = refused(&["failures-per-year=0.9", "years=100", "while-degraded=1000"]);
        assert!(told.contains("drives fail in these years; use fewer years"), "{told}");
    }

    #[test]
    fn a_rebuild_takes_as_long_as_it_takes_in_a_simulation() {
        let path = Path::new("plain.toml");
        let text = PLAIN.replace("rebuild = \"10h\"", "rebuild-sample = \"64MiB\"");
        let set = ["array.organization=\"raid5\"".to_owned()];
        let experiment = Experiment::parse(path, &text, &set).unwrap();
        let found = assess(&experiment.points().unwrap()[0].setup, path).unwrap();
        assert_eq!(found.rebuild_from, RebuildSource::Simulated);
        // The drive writes 1.8 MB in a second at most.
        let least = 256.0 * 1_048_576.0 / 1.8e6 / 3_600.0;
        assert!(found.rebuild_hours > least && found.rebuild_hours < 4.0 * least, "{found:?}");
    }
}
