//! Units over disks, one after another (RAID 0).

use std::ops::Range;

use parlour_units::Sectors;

use crate::refused::Refused;

/// Unit `u` is the unit with index `u / disks` of disk `u % disks`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stripes {
    pub(crate) disks: u64,
    pub(crate) unit: Sectors,
}

impl Stripes {
    /// The units of a request.
    pub(crate) fn units(&self, at: u64, length: Sectors) -> Range<u64> {
        let first = at / self.unit.get();
        first..first + length / self.unit
    }

    /// The disk of a unit, and the unit's index there.
    pub(crate) fn place(&self, unit: u64) -> (u64, u64) {
        (unit % self.disks, unit / self.disks)
    }

    /// The unit with an index of a disk.
    pub(crate) fn unit_at(&self, disk: u64, index: u64) -> u64 {
        index * self.disks + disk
    }

    /// The indices of the units in a range that are on a disk.
    pub(crate) fn on_disk(&self, disk: u64, units: &Range<u64>) -> Range<u64> {
        let before = |unit: u64| unit / self.disks + u64::from(unit % self.disks > disk);
        before(units.start)..before(units.end)
    }
}

/// The unit, which is to be at least a sector long.
pub(crate) fn checked_unit(unit: Sectors, length: Sectors) -> Result<Sectors, Refused> {
    match unit.is_zero() || unit > length {
        true => Err(Refused::Unit { unit, length }),
        false => Ok(unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_one_run_on_each_disk() {
        let stripes = Stripes { disks: 5, unit: Sectors::new(4) };
        for (start, end) in [(0, 1), (3, 14), (7, 8), (0, 40), (9, 31), (5, 5)] {
            let mut seen = 0;
            for disk in 0..5 {
                for index in stripes.on_disk(disk, &(start..end)) {
                    let unit = stripes.unit_at(disk, index);
                    assert!((start..end).contains(&unit));
                    assert_eq!(stripes.place(unit), (disk, index));
                    seen += 1;
                }
            }
            assert_eq!(seen, end - start);
        }
    }
}
