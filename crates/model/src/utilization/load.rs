//! Workloads: TPC-A's records (figure 2), the airline reservation's mix (figure 26), and the cost
//! of a mix.

use super::array::Model;
use super::refused::Refused;
use super::work::Work;

/// The user processes per disk in the paper's simulations (§8).
pub const PROCESSES_PER_DISK: u32 = 3;

/// A kind of record of TPC-A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Its name.
    pub name: &'static str,
    /// The least number of records per transaction per second.
    pub count: f64,
    /// The size in bytes.
    pub size: f64,
}

/// TPC-A's records (figure 2).
pub const TPC_A: [Record; 4] = [
    Record { name: "account", count: 100e3, size: 100.0 },
    Record { name: "teller", count: 10.0, size: 100.0 },
    Record { name: "branch", count: 1.0, size: 100.0 },
    Record { name: "history", count: 30e3, size: 50.0 },
];

/// The least bytes of TPC-A's records for a number of transactions per second.
pub fn tpc_a_bytes(transactions: f64) -> f64 {
    transactions * TPC_A.iter().map(|record| record.count * record.size).sum::<f64>()
}

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Read.
    Read,
    /// Write.
    Write,
}

/// A kind of access, and its frequency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// The direction.
    pub way: Way,
    /// The frequency, in any unit.
    pub share: f64,
    /// The size in KB of 1024 bytes.
    pub size: f64,
}

const fn access(way: Way, share: f64, size: f64) -> Access {
    Access { way, share, size }
}

/// The airline reservation's accesses, in percent of all and in KB (figure 26). As listed the mean
/// read is 4.98 KB and the mean write 6.28 KB, not 4.61 and 5.71.
pub const AIRLINE: [Access; 7] = [
    access(Way::Read, 20.0, 1.0),
    access(Way::Read, 20.0, 2.0),
    access(Way::Read, 33.0, 4.0),
    access(Way::Read, 9.0, 24.0),
    access(Way::Write, 9.0, 1.0),
    access(Way::Write, 7.0, 8.0),
    access(Way::Write, 2.0, 24.0),
];

/// The fraction of a mix with one direction.
pub fn share(mix: &[Access], way: Way) -> f64 {
    let all: f64 = mix.iter().map(|access| access.share).sum();
    of(mix, way).map(|access| access.share).sum::<f64>() / all
}

/// The mean size, in KB, of the accesses with one direction.
pub fn mean_size(mix: &[Access], way: Way) -> f64 {
    let shares: f64 = of(mix, way).map(|access| access.share).sum();
    of(mix, way).map(|access| access.share * access.size).sum::<f64>() / shares
}

fn of(mix: &[Access], way: Way) -> impl Iterator<Item = &Access> {
    mix.iter().filter(move |access| access.way == way)
}

impl Model {
    /// The cost of a mean access of a mix, if none spans stripe units (in figure 27 these are 24
    /// KB).
    ///
    /// # Errors
    /// The mix is empty; an access is longer than a track; or data floats, and there is a write
    /// that is not one unit.
    pub fn mean_work(&self, mix: &[Access]) -> Result<Work, Refused> {
        let unit = self.array().disk.unit;
        let cost = |access: &Access| {
            let units = access.size / unit;
            let work = match access.way {
                Way::Read => self.read(units),
                Way::Write => self.write(units),
            };
            Ok((access.share, work?))
        };
        let costs = mix.iter().map(cost).collect::<Result<Vec<_>, Refused>>()?;
        Work::mean(costs).ok_or(Refused::EmptyMix)
    }

    /// The accesses of a mix per second on the whole array, if the busiest disk has the utilization
    /// `utilization` (0 to 1).
    ///
    /// # Errors
    /// As for [`Model::mean_work`].
    pub fn mix_throughput(&self, mix: &[Access], utilization: f64) -> Result<f64, Refused> {
        Ok(1e3 * utilization / self.busiest(&self.mean_work(mix)?))
    }
}
