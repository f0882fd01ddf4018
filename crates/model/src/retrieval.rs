//! The retrieval of whole files, and its cost (Hauser, Berman, Thoma).
//!
//! Two indicators describe the speed of a configuration: the Average Retrieval Time of a file by
//! one process, and the Average Additional Time per File per Process, which is the slope of
//! retrieval time over the number of processes. Bang is a rate that combines both. Sizes are in
//! kilobytes of 1,000 bytes, times in seconds, rates in megabytes per second, capacities in
//! gigabytes and prices in thousands of dollars, as in the tables.

/// A straight line through measured points, by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The value at 0. For retrieval time over file size: the Average Positioning Time (Preliminary
    /// study).
    pub intercept: f64,
    /// The slope. For time over size: the inverse of the Data Transfer Rate; over processes: the
    /// Average Additional Time per File per Process.
    pub slope: f64,
    /// The standard error of the intercept; none for two points.
    pub intercept_error: Option<f64>,
    /// The standard error of the slope; none for two points.
    pub slope_error: Option<f64>,
    /// r²: the fraction of the points' variance that the line explains, from 0 to 1.
    pub explained: f64,
}

/// Why no line can be fitted.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LineError {
    /// There are too few points.
    #[error("a line needs points at two places at least; measure more sizes or more numbers of processes")]
    OnePlace,
    /// A point is not finite.
    #[error("the point ({0}, {1}) is not finite; leave it out")]
    NotFinite(f64, f64),
}

impl Line {
    /// The line through points (x, y) that leaves the smallest squares in y.
    pub fn through(points: &[(f64, f64)]) -> Result<Line, LineError> {
        if let Some((x, y)) = points.iter().find(|(x, y)| !x.is_finite() || !y.is_finite()) {
            return Err(LineError::NotFinite(*x, *y));
        }
        let number = points.len() as f64;
        let (x_mean, y_mean) =
            (mean(points.iter().map(|point| point.0)), mean(points.iter().map(|point| point.1)));
        // Relative to the means, because sums of squares of large numbers would lose digits.
        let sum = |term: fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|(x, y)| term(x - x_mean, y - y_mean)).sum()
        };
        let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
        if points.len() < 2 || xx <= 0.0 {
            return Err(LineError::OnePlace);
        }
        let slope = xy / xx;
        let left: f64 = points.iter().map(|(x, y)| (y - y_mean - slope * (x - x_mean)).powi(2)).sum();
        let variance = (points.len() > 2).then(|| left / (number - 2.0));
        Ok(Line {
            intercept: y_mean - slope * x_mean,
            slope,
            intercept_error: variance
                .map(|variance| (variance * (1.0 / number + x_mean * x_mean / xx)).sqrt()),
            slope_error: variance.map(|variance| (variance / xx).sqrt()),
            explained: if yy > 0.0 { 1.0 - left / yy } else { 1.0 },
        })
    }

    /// The value of the line at x.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// The arithmetic mean; NaN for no values.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, number) = values.fold((0.0, 0.0), |(sum, number), value| (sum + value, number + 1.0));
    sum / number
}

/// The positioning time and transfer rate (Preliminary study), from points of file size (KB) and
/// average retrieval time (s): the line's intercept in seconds, and the inverse of its slope in
/// MB/s.
pub fn positioning_and_rate(points: &[(f64, f64)]) -> Result<(f64, f64), LineError> {
    let line = Line::through(points)?;
    Ok((line.intercept, 1e-3 / line.slope))
}

/// The two indicators of a configuration, in seconds (Procedures for successive studies).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indicators {
    /// Average Retrieval Time: of one file, by a single process.
    pub retrieval: f64,
    /// Average Additional Time per File per Process.
    pub additional: f64,
}

impl Indicators {
    /// From measurements: the mean time of a single process, and points of processes and mean time.
    pub fn measured(single: f64, by_processes: &[(f64, f64)]) -> Result<Indicators, LineError> {
        Ok(Indicators { retrieval: single, additional: Line::through(by_processes)?.slope })
    }

    /// Bang for files of a mean size in KB, in MB/s.
    pub fn bang(&self, size: f64) -> f64 {
        size / 1e3 / (self.retrieval + self.additional)
    }

    /// The seconds in which one process reads `files` files one after another (figure 8).
    pub fn sequential(&self, files: u32) -> f64 {
        f64::from(files) * self.retrieval
    }

    /// The seconds in which `files` processes read one file each at the same time (figure 8).
    pub fn concurrent(&self, files: u32) -> f64 {
        match files {
            0 => 0.0,
            files => self.retrieval + f64::from(files - 1) * self.additional,
        }
    }

    /// The throughput, in MB/s, of processes that read files of a mean size in KB without pauses.
    pub fn throughput(&self, processes: u32, size: f64) -> f64 {
        match processes {
            0 => 0.0,
            processes => f64::from(processes) * size / 1e3 / self.concurrent(processes),
        }
    }
}

/// The configuration of disks, by its usable capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// Independent disks.
    Simple,
    /// Striped.
    Raid0,
    /// Striped and mirrored.
    Raid01,
    /// Volumes of several disks, of which parity takes one disk.
    Raid5 {
        /// The disks of a volume.
        disks: u32,
    },
}

/// The disks do not form whole volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{disks} disks make no whole number of volumes of {of} disks; add or take away disks")]
pub struct VolumeError {
    disks: u32,
    of: u32,
}

impl Configuration {
    /// The capacity of `disks` disks in GB, from that of each disk (for user data, in GB).
    pub fn capacity(self, disks: u32, each: f64) -> Result<f64, VolumeError> {
        let (of, data) = match self {
            Configuration::Simple | Configuration::Raid0 => (1, 1),
            Configuration::Raid01 => (2, 1),
            Configuration::Raid5 { disks } => (disks, disks.saturating_sub(1)),
        };
        if of == 0 || data == 0 || !disks.is_multiple_of(of) {
            return Err(VolumeError { disks, of });
        }
        Ok(f64::from(disks / of * data) * each)
    }
}

/// The price per gigabyte, in K$/GB.
pub fn cost(price: f64, capacity: f64) -> f64 {
    price / capacity
}

/// Bang per Buck per Gigabyte, in MB/s for each K$/GB (table II).
pub fn bang_per_buck(bang: f64, cost: f64) -> f64 {
    bang / cost
}

/// The rate, in MB/s, of a track with this number of 512-byte sectors.
pub fn track_rate(sectors: u32, revolutions_per_minute: f64) -> f64 {
    f64::from(sectors) * 512.0 * revolutions_per_minute / 60.0 / 1e6
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Table I: Average Retrieval Time, Additional Time per File per Process, Bang.
    const TABLE_1: [(f64, f64, &str); 14] = [
        (0.109, 0.032, "1.152"),
        (0.115, 0.033, "1.098"),
        (0.106, 0.044, "1.083"),
        (0.118, 0.033, "1.076"),
        (0.114, 0.039, "1.062"),
        (0.122, 0.032, "1.055"),
        (0.114, 0.045, "1.022"),
        (0.113, 0.048, "1.009"),
        (0.114, 0.048, "1.003"),
        (0.127, 0.041, "0.967"),
        (0.113, 0.058, "0.950"),
        (0.116, 0.057, "0.939"),
        (0.110, 0.072, "0.893"),
        (0.134, 0.054, "0.864"),
    ];
    const SIZE: f64 = 162.5;
    /// Price with and without RAID management, in K$; disks, and GB of each.
    const PRICE: (f64, f64) = (26.733, 20.0);
    const DISKS: (u32, f64) = (18, 0.863);

    fn digits(value: f64) -> String {
        format!("{value:.3}")
    }

    fn capacity(configuration: Configuration) -> f64 {
        configuration.capacity(DISKS.0, DISKS.1).unwrap()
    }

    /// ha.avg
    #[test]
    fn the_mean_file_is_that_of_ten_sizes() {
        assert_eq!(mean((0..10).map(|step| 50.0 + 25.0 * f64::from(step))), SIZE);
    }

    /// ha.t1.*
    #[test]
    fn table_1s_bang_follows_from_its_times() {
        for (retrieval, additional, bang) in TABLE_1 {
            assert_eq!(digits(Indicators { retrieval, additional }.bang(SIZE)), bang);
        }
    }

    /// ha.cap.*
    #[test]
    fn the_capacities_follow_from_the_disks() {
        assert_eq!(digits(capacity(Configuration::Simple)), "15.534");
        assert_eq!(digits(capacity(Configuration::Raid0)), "15.534");
        assert_eq!(digits(capacity(Configuration::Raid5 { disks: 6 })), "12.945");
        assert_eq!(digits(capacity(Configuration::Raid01)), "7.767");
    }

    /// ha.t2.*
    #[test]
    fn table_2_follows_from_prices_and_capacities() {
        for (configuration, bang, printed_cost, printed) in [
            (Configuration::Raid01, 1.152, "3.442", "0.335"),
            (Configuration::Raid5 { disks: 6 }, 0.967, "2.065", "0.468"),
            (Configuration::Raid0, 1.098, "1.721", "0.638"),
        ] {
            let cost = cost(PRICE.0, capacity(configuration));
            assert_eq!(digits(cost), printed_cost);
            assert_eq!(digits(bang_per_buck(bang, cost)), printed);
        }
    }

    /// ha.t2.cost.simple, ha.t2.bpb.simple_volumes: an erratum.
    #[test]
    fn table_2s_simple_volumes_have_raid_5s_capacity() {
        let printed = cost(PRICE.1, capacity(Configuration::Raid5 { disks: 6 }));
        assert_eq!(
            (digits(printed), digits(bang_per_buck(1.055, printed))),
            ("1.545".into(), "0.683".into())
        );
        let right = cost(PRICE.1, capacity(Configuration::Simple));
        assert_eq!(
            (format!("{right:.4}"), digits(bang_per_buck(1.055, right))),
            ("1.2875".into(), "0.819".into())
        );
    }

    /// ha.1.2: of the four configurations of figure 8, the best and the worst for each kind of
    /// access; and the two kinds.
    #[test]
    fn ten_files_differ_by_less_than_1_2_seconds() {
        let six = [TABLE_1[0], TABLE_1[1], TABLE_1[5], TABLE_1[9], TABLE_1[13]];
        let times = |files| {
            let of = move |(retrieval, additional, _)| {
                let indicators = Indicators { retrieval, additional };
                [indicators.sequential(files), indicators.concurrent(files)]
            };
            six.into_iter().flat_map(of)
        };
        for files in 0..=10 {
            let most = times(files).fold(0.0, f64::max);
            assert!(most - times(files).fold(most, f64::min) < 1.2);
        }
        // The slowest concurrent access is faster than the fastest sequential one (Configuration
        // selection).
        let slowest = Indicators { retrieval: 0.134, additional: 0.054 }.concurrent(10);
        assert!(slowest < Indicators { retrieval: 0.106, additional: 0.044 }.sequential(10));
    }

    /// ha.4.3 was measured; the two indicators say 4.23.
    #[test]
    fn twelve_processes_have_the_throughput_that_the_indicators_say() {
        let throughput = Indicators { retrieval: 0.109, additional: 0.032 }.throughput(12, SIZE);
        assert_eq!(digits(throughput), "4.230");
    }

    /// ha.rate; the 5,400 revolutions per minute are from the drive's data, not from the text.
    #[test]
    fn the_drives_rates_follow_from_their_tracks() {
        assert_eq!(format!("{:.1}-{:.1}", track_rate(72, 5_400.0), track_rate(127, 5_400.0)), "3.3-5.9");
    }

    /// Anscombe's first quartet, with its line from the textbooks: y = 3.0001 + 0.50009 x, errors
    /// 1.1247 and 0.1179, r² = 0.6665.
    #[test]
    fn a_line_is_the_textbooks() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let line = Line::through(&points).unwrap();
        let close =
            |found: f64, expected: f64| assert!((found - expected).abs() < 6e-5, "{found} {expected}");
        close(line.intercept, 3.00009);
        close(line.slope, 0.50009);
        close(line.intercept_error.unwrap(), 1.12475);
        close(line.slope_error.unwrap(), 0.11791);
        close(line.explained, 0.66654);
    }

    #[test]
    fn positioning_and_rate_come_back_from_times_made_of_them() {
        let points: Vec<(f64, f64)> =
            (2..12).map(|step| 25.0 * f64::from(step)).map(|size| (size, 0.04 + size / 1e3 / 4.8)).collect();
        let (positioning, rate) = positioning_and_rate(&points).unwrap();
        assert!((positioning - 0.04).abs() < 1e-12 && (rate - 4.8).abs() < 1e-9);
        let by_processes: Vec<(f64, f64)> = (1..=12).map(f64::from).map(|n| (n, 0.09 + 0.032 * n)).collect();
        let indicators = Indicators::measured(0.12, &by_processes).unwrap();
        assert!((indicators.additional - 0.032).abs() < 1e-12 && indicators.retrieval == 0.12);
    }

    #[test]
    fn what_is_no_line_and_no_volume_is_told() {
        assert_eq!(Line::through(&[]), Err(LineError::OnePlace));
        assert_eq!(Line::through(&[(1.0, 2.0)]), Err(LineError::OnePlace));
        assert_eq!(Line::through(&[(1.0, 2.0), (1.0, 3.0)]), Err(LineError::OnePlace));
        assert!(matches!(Line::through(&[(1.0, f64::NAN), (2.0, 3.0)]), Err(LineError::NotFinite(..))));
        assert_eq!(Line::through(&[(1.0, 2.0), (2.0, 2.0)]).unwrap().slope_error, None);
        assert_eq!(
            Configuration::Raid5 { disks: 6 }.capacity(17, 1.0),
            Err(VolumeError { disks: 17, of: 6 })
        );
        assert!(Configuration::Raid5 { disks: 0 }.capacity(17, 1.0).is_err());
        assert!(Configuration::Raid5 { disks: 1 }.capacity(17, 1.0).is_err());
        assert!(Configuration::Raid01.capacity(17, 1.0).is_err());
    }

    proptest! {
        /// No other line has a smaller sum of squares.
        #[test]
        fn any_other_line_is_farther_off(
            points in prop::collection::vec((-100.0..100.0, -100.0..100.0), 3..20), tilt in -0.1..0.1, lift in -1.0..1.0,
        ) {
            let line = Line::through(&points).unwrap();
            let off = |tilt: f64, lift: f64| -> f64 {
                points.iter().map(|(x, y): &(f64, f64)| (y - line.at(*x) - tilt * x - lift).powi(2)).sum()
            };
            prop_assert!(off(0.0, 0.0) <= off(tilt, lift) * (1.0 + 1e-12));
            prop_assert!((0.0..=1.0 + 1e-12).contains(&line.explained));
        }
    }
}
