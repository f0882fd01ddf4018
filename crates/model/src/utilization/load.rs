//! What arrays are asked for: TPC-A's records (figure 2), the airline reservation's mix (figure
//! 26), and what a mix costs.

use super::array::Model;
use super::refused::Refused;
use super::work::Work;

/// User processes of the paper's simulations for each disk (§8).
pub const PROCESSES_PER_DISK: u32 = 3;

/// A kind of record that TPC-A keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Its name.
    pub name: &'static str,
    /// How many there are at least for each transaction a second.
    pub count: f64,
    /// Bytes.
    pub size: f64,
}

/// TPC-A's records (figure 2).
pub const TPC_A: [Record; 4] = [
    Record { name: "account", count: 100e3, size: 100.0 },
    Record { name: "teller", count: 10.0, size: 100.0 },
    Record { name: "branch", count: 1.0, size: 100.0 },
    Record { name: "history", count: 30e3, size: 50.0 },
];

/// Bytes that TPC-A keeps at least, at so many transactions a second.
pub fn tpc_a_bytes(transactions: f64) -> f64 {
    transactions * TPC_A.iter().map(|record| record.count * record.size).sum::<f64>()
}

/// Reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the array.
    Read,
    /// To it.
    Write,
}

/// A kind of access, and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// Which way.
    pub way: Way,
    /// How often, in any measure.
    pub share: f64,
    /// KB of 1024 bytes.
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

/// The part of a mix that goes one way.
pub fn share(mix: &[Access], way: Way) -> f64 {
    let all: f64 = mix.iter().map(|access| access.share).sum();
    of(mix, way).map(|access| access.share).sum::<f64>() / all
}

/// The mean size, in KB, of what goes one way.
pub fn mean_size(mix: &[Access], way: Way) -> f64 {
    let shares: f64 = of(mix, way).map(|access| access.share).sum();
    of(mix, way).map(|access| access.share * access.size).sum::<f64>() / shares
}

fn of(mix: &[Access], way: Way) -> impl Iterator<Item = &Access> {
    mix.iter().filter(move |access| access.way == way)
}

impl Model {
    /// What a mean access of a mix costs, where none spans stripe units (figure 27: they are of 24
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

    /// Accesses of a mix a second of the whole array, the busiest disk being used to `utilization`
    /// (0 to 1).
    ///
    /// # Errors
    /// As [`Model::mean_work`] has them.
    pub fn mix_throughput(&self, mix: &[Access], utilization: f64) -> Result<f64, Refused> {
        Ok(1e3 * utilization / self.busiest(&self.mean_work(mix)?))
    }
}
