//! The costs of parity logging: disk time (§3, §5, §8.1, §9) and memory (§2); and how logs are
//! balanced and reintegrated (§6).

use parlour_model::disk::Disk;
use parlour_model::utilization::reintegration::Targets;
use parlour_model::utilization::space::MEMORY_PRICE;
use parlour_model::utilization::{Array, Logging, Model, Organization, Reading};

use super::example::{DISK, DISKS, SUBLOGS, blind, example, known, logs, model, read_as, striped, unstriped};
use super::modelled::{misread, modelled};
use crate::reproduce::evidence::EvidenceError;
use crate::reproduce::study::Study;
use crate::reproduce::value::Value;

/// The longest track at which a crossover is looked for (figure 16), in data units.
const LONGEST_TRACK: u32 = 60;

/// "A range of ±10% around the optimum number of regions" (§2.4).
const AROUND_THE_OPTIMUM: f64 = 0.1;

pub(super) fn numbers(study: Study) -> Study {
    let parts = [memory, overheads, geometry, track_sizes, balance, failures, capacities];
    parts.into_iter().fold(study, |study, numbers| numbers(study))
}

/// §2.1, §2.2.
fn memory(study: Study) -> Study {
    let study = modelled(study, "st.buffer", || Ok(blind(unstriped())?.memory()));
    let study = modelled(study, "st.buffer.fig10", || Ok(blind(unstriped())?.memory()));
    let study =
        modelled(study, "st.buffer.cost", || Ok(100.0 * blind(unstriped())?.memory_cost(MEMORY_PRICE)));
    let study = modelled(study, "st.buffer.cost22", || {
        Ok(100.0 * blind(unstriped())?.memory_cost(MEMORY_PRICE) / f64::from(DISKS))
    });
    modelled(
        study,
        "st.region.mb",
        || Ok(logs(&blind(unstriped())?).parity() * DISK.cylinder_size() / 1024.0),
    )
}

/// Figure 13, and the numbers that follow from it.
fn overheads(study: Study) -> Study {
    let study = modelled(study, "st.fig13.logwrite", || Ok(blind(unstriped())?.small_write().log_write));
    let study = misread(study, "st.fig13.logread", || by_both(|model| model.small_write().log_read, true));
    let study = misread(study, "st.fig13.parity", || by_both(|model| model.small_write().parity_read, true));
    let study = modelled(study, "st.fig13.share", || {
        let work = blind(unstriped())?.small_write();
        Ok(100.0 * work.log_write / work.overhead())
    });
    let study =
        modelled(study, "st.fig13.raid5", || Ok(blind(Organization::Raid5)?.small_write().overhead()));
    misread(study, "st.36.7", || by_both(|model| model.throughput_per_disk(1.0), false))
}

/// The values by our reading of the formulas, and by the reading that comes nearest to figure 13.
fn by_both(of: fn(&Model) -> f64, preread: bool) -> Result<[f64; 2], EvidenceError> {
    let by = |reading| Ok(of(&example(read_as(reading), preread)?));
    Ok([by(Reading::Corrected)?, by(Reading::Figure13)?])
}

/// Footnote 5, §2.4 and §5.2.
fn geometry(study: Study) -> Study {
    let study = misread(study, "st.fn5", || {
        let [waits, begins] = [false, true].map(|zero_latency| DISK.track_run(1.0, zero_latency));
        Ok([100.0 * (1.0 - begins / waits), 100.0 * (waits / begins - 1.0)])
    });
    let study = modelled(study, "st.fig17.zlw", || {
        let zero_latency = Organization::ParityLogging(Logging { zero_latency: true, ..Logging::default() });
        Ok(100.0 * (known(zero_latency)?.throughput(1.0) / known(unstriped())?.throughput(1.0) - 1.0))
    });
    let study = modelled(study, "st.discrete", || {
        let more = (DISK.head_switch + DISK.single_cylinder_seek) / DISK.units;
        Ok(100.0 * more / known(unstriped())?.small_write().total())
    });
    let study = modelled(study, "st.regions.waste", || {
        let mut worst: f64 = 0.0;
        for sublogs in SUBLOGS {
            worst = worst.max(100.0 * logs(&blind(striped(sublogs))?).least_waste(AROUND_THE_OPTIMUM));
        }
        Ok(worst)
    });
    let study = modelled(study, "st.T1.a", || Ok(switching(DISK)));
    let study = modelled(study, "st.T1.b", || Ok(switching(Disk { tracks: 1.0, ..DISK })));
    modelled(study, "st.T1.c", || {
        let more = switching(Disk { tracks: 1.0, ..DISK }) - switching(DISK);
        Ok(100.0 * more / blind(unstriped())?.small_write().overhead())
    })
}

/// The time that the three long accesses for a small write's parity spend on track switches.
fn switching(disk: Disk) -> f64 {
    3.0 * disk.track_switch() / disk.units
}

/// Figure 16: the track length from which parity logging is better than other organizations, and up
/// to which they are better.
fn track_sizes(study: Study) -> Study {
    let study = modelled(study, "st.fig16.mirror", || Ok(f64::from(behind(Organization::Mirrored)? + 1)));
    let study = modelled(study, "st.fig16.text", || Ok(f64::from(behind(Organization::Mirrored)?)));
    modelled(study, "st.fig16.raid5", || Ok(f64::from(behind(Organization::Raid5)?)))
}

/// The longest track, in data units, with which another organization still has the higher rate of
/// writes.
fn behind(other: Organization) -> Result<u32, EvidenceError> {
    let mut last = 0;
    for units in 1..=LONGEST_TRACK {
        if rate_with(units, other)? > rate_with(units, unstriped())? {
            last = units;
        }
    }
    Ok(last)
}

/// The rate of blind small writes per second of each disk, with tracks of this number of data
/// units.
pub(super) fn rate_with(units: u32, organization: Organization) -> Result<f64, EvidenceError> {
    let disk = Disk { units: units.into(), ..DISK };
    Ok(model(Array { disk, ..Array::example(organization) })?.throughput_per_disk(1.0))
}

/// §6, figures 19 and 22.
fn balance(study: Study) -> Study {
    let study = misread(study, "st.balance.rmw", || balanced(true));
    let study = misread(study, "st.balance.w", || balanced(false));
    let study = modelled(study, "st.balance.range", || {
        let sublogs = |preread| Ok(balanced(preread)?[0] * f64::from(DISKS));
        Ok(Value::Range(sublogs(true)?.floor(), sublogs(false)?.ceil()))
    });
    let study = modelled(study, "st.fig19.caption", || {
        let model = known(unstriped())?;
        let takes = logs(&model).reintegration(Targets::Common, 0.0).total();
        Ok(Value::Holds(model.reintegration_period(1.0).is_some_and(|period| takes > period)))
    });
    modelled(study, "st.fig22.seconds", || Ok(logs(&blind(striped(1))?).sublog_read() / 1e3))
}

/// The fraction of the disks that balances a hot region, and the printed one, which is that of the
/// other kind of writes.
fn balanced(preread: bool) -> Result<[f64; 2], EvidenceError> {
    let of = |preread| Ok(example(unstriped(), preread)?.balance().unwrap_or_default());
    Ok([of(preread)?, of(!preread)?])
}

/// §9, figure 30.
fn failures(study: Study) -> Study {
    let study = modelled(study, "st.fig30.35", || of_nonredundant(unstriped()));
    let study = modelled(study, "st.fig30.25", || of_nonredundant(Organization::Mirrored));
    let study = modelled(study, "st.fig30.15", || {
        let mut declines = Vec::new();
        for (less, preread) in [(1, true), (2, true), (1, false), (2, false)] {
            let more = surviving(unstriped(), less + 1, preread)?;
            declines.push(100.0 * (1.0 - more / surviving(unstriped(), less, preread)?));
        }
        let least = declines.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Value::Range(least, declines.into_iter().fold(0.0, f64::max)))
    });
    let study = modelled(study, "st.fig30.raid5", || surviving(Organization::Raid5, 3, false));
    modelled(study, "st.fig30.float", || surviving(Organization::Floating, 3, false))
}

/// The rate of blind writes of an array that survives three failures, in percent of a nonredundant
/// array's.
fn of_nonredundant(organization: Organization) -> Result<f64, EvidenceError> {
    let nonredundant = blind(Organization::Nonredundant)?.throughput_per_disk(1.0);
    Ok(100.0 * surviving(organization, 3, true)? / nonredundant)
}

/// The rate of small writes per second of each disk, in an array that survives this number of
/// failures.
pub(super) fn surviving(
    organization: Organization,
    failures: u32,
    preread: bool,
) -> Result<f64, EvidenceError> {
    let array = Array { failures, preread, ..Array::example(organization) };
    Ok(model(array)?.throughput_per_disk(1.0))
}

/// Figure 20. Its 90% do not say over how many disks a log is striped.
fn capacities(study: Study) -> Study {
    let study = modelled(study, "st.cap.L1", || Ok(100.0 * blind(striped(1))?.user_capacity()));
    let study = modelled(study, "st.cap.L3", || Ok(100.0 * blind(striped(3))?.user_capacity()));
    modelled(study, "st.cap.L6", || Ok(100.0 * blind(striped(6))?.user_capacity()))
}
