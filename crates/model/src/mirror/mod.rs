//! Mirrors that read from the copy whose head is nearest (Molnar).
//!
//! The law in Molnar's mail is that N copies seek in `SEEK0/√N`, where `SEEK0` is the time of a
//! random read on one disk, including rotation. The actual result depends on the distance of the
//! nearest of N heads ([`Distance`]) and on the drive's seek curve; rotation and transfer do not
//! change.

mod distance;
mod grid;
mod steady;

pub use distance::{Distance, DistanceError};
pub use steady::SteadyHeads;

/// The law as printed: `SEEK0/√N`, in the unit of `SEEK0`.
pub fn seek_by_root(seek: f64, copies: u32) -> f64 {
    seek / f64::from(copies).sqrt()
}

/// The law that the mail hopes for: `~SEEK0/N`.
pub fn seek_by_copies(seek: f64, copies: u32) -> f64 {
    seek / f64::from(copies)
}

/// Converts the time of one read in milliseconds to reads per second, or back, with one read at a
/// time.
pub fn per_second(milliseconds: f64) -> f64 {
    1_000.0 / milliseconds
}

/// The cost of copies on the bus: each copy is written separately over the same bus.
pub fn bus_rate(written: f64, copies: u32) -> f64 {
    written * f64::from(copies)
}

/// How many times cheaper mirrors are than memory, if memory costs `memory` times as much as disks.
pub fn cheaper_than_memory(memory: f64, copies: u32) -> f64 {
    memory / f64::from(copies)
}

/// The mean time of a random read, in milliseconds, with one read at a time. `seek` is the mean
/// seek ([`Distance::seek`]). Half a revolution and the constant `overhead` (commands and transfer)
/// are added.
pub fn random_read(seek: f64, revolution: f64, overhead: f64) -> f64 {
    seek + revolution / 2.0 + overhead
}

#[cfg(test)]
mod tests {
    use parlour_drive::seek::SeekCurve;

    use super::*;

    fn one_place(value: f64) -> String {
        format!("{value:.1}")
    }

    /// mo.10.5, mo.5.7
    #[test]
    fn the_mails_seek_times_follow_from_its_rates() {
        assert_eq!(
            (one_place(per_second(94.9)), one_place(per_second(175.6))),
            ("10.5".into(), "5.7".into())
        );
    }

    /// mo.sqrt: what was measured is 92.5% of it (an erratum).
    #[test]
    fn the_root_law_says_more_than_was_measured() {
        let law = per_second(seek_by_root(per_second(94.9), 4));
        assert_eq!((one_place(law), one_place(100.0 * 175.6 / law)), ("189.8".into(), "92.5".into()));
    }

    /// mo.30.8, mo.8.0, mo.50 ("about 50%")
    #[test]
    fn the_mails_bandwidths_follow_from_bonnies() {
        assert_eq!(one_place(bus_rate(7.7, 4)), "30.8");
        assert_eq!((one_place(8_019.0 / 1e3), one_place(7_707.0 / 1e3)), ("8.0".into(), "7.7".into()));
        let gain: f64 = 11_848.0 / 7_707.0 - 1.0;
        assert_eq!((100.0 * gain / 10.0).round() * 10.0, 50.0);
    }

    /// mo.1_2
    #[test]
    fn four_disks_of_6_ms_seek_in_1_to_2_ms_if_copies_count() {
        assert!((1.0..2.0).contains(&seek_by_copies(6.0, 4)) && seek_by_root(6.0, 4) > 2.0);
    }

    /// mo.3_5
    #[test]
    fn ten_copies_are_3_to_5_times_cheaper_than_memory() {
        assert_eq!((cheaper_than_memory(30.0, 10), cheaper_than_memory(50.0, 10)), (3.0, 5.0));
    }

    /// A drive like the one in the mail, with a file of 500 MB, which is a ninth of its cylinders.
    /// With one read at a time, nearest-head choice gains a seventh, not the 85% that Bonnie
    /// measured: Bonnie has three processes, which several disks serve at the same time.
    #[test]
    fn nearest_heads_alone_do_not_gain_what_molnar_measured() {
        let curve = SeekCurve::formula((1.0, 0.0, 0.22021), true, 4_640).unwrap();
        let rate =
            |distance: Distance| one_place(per_second(random_read(distance.seek(&curve), 1e3 / 90.0, 1.3)));
        assert_eq!(rate(Distance::independent(1, 516).unwrap()), "95.0");
        assert_eq!(rate(Distance::independent(4, 516).unwrap()), "106.7");
        assert_eq!(rate(SteadyHeads::new(4).unwrap().distance(516).unwrap()), "109.4");
    }
}
